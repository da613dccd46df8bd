#!/usr/bin/env python3
"""What is said of the HTTP interface in three places is the same: in daemon/serve/openapi.json, which is the contract, in
docs/http-api.md, and in viewer/web/src/data/types.ts, by which the page reads the answers.

The table of paths in daemon/serve/route.cc is compared with the contract by tests/unit/serve/route_test.cc, and the answers of the
programs by tests/integration/serve/http_contract.py.
"""
import json
import pathlib
import re
import sys

CONTRACT = pathlib.Path("daemon/serve/openapi.json")
PAGE = pathlib.Path("docs/http-api.md")
TYPES = pathlib.Path("viewer/web/src/data/types.ts")

# The type that the page reads an answer with, where it has another name than the schema.
NAMES = {"Fingerprint": "Query"}
# Answers that the page takes apart where it reads them, or does not read.
UNTYPED = {"Bounds", "Controlled", "Executions", "Fingerprints", "Session", "Sources", "TagCosts"}


# ---- TypeScript, as far as types.ts uses it ----------------------------------------------------------------------------

TOKEN = re.compile(r"\s+|//[^\n]*|(?P<text>\"[^\"]*\"|[A-Za-z_]\w*|[{}()\[\]<>|&:;,?=])")


class Types:
    """The interfaces of a file: {name: {property: (type, is_optional)}}. A type is a tuple whose first value is its kind."""

    def __init__(self, text):
        self.tokens = [t.group("text") for t in TOKEN.finditer(text) if t.group("text")]
        self.at = 0
        self.interfaces = {}
        while self.at < len(self.tokens):
            self.interface()

    def take(self, wanted=None):
        token = self.tokens[self.at]
        if wanted is not None and token != wanted:
            raise ValueError(f"{TYPES}: {wanted!r} expected, and there is {token!r} ({' '.join(self.tokens[self.at - 8:self.at])})")
        self.at += 1
        return token

    def next_is(self, *wanted):
        if self.at < len(self.tokens) and self.tokens[self.at] in wanted:
            self.at += 1
            return True
        return False

    def interface(self):
        self.take("export")
        self.take("interface")
        name, properties = self.take(), {}
        if self.next_is("extends"):
            properties.update(self.base())
            while self.next_is(","):
                properties.update(self.base())
        properties.update(self.object()[1])
        self.interfaces[name] = properties

    def base(self):
        name = self.take()
        if name != "Partial":
            return self.interfaces[name]
        self.take("<")
        inner = self.interfaces[self.take()]
        self.take(">")
        return {key: (kind, True) for key, (kind, _) in inner.items()}

    def object(self):
        self.take("{")
        properties = {}
        while not self.next_is("}"):
            if self.next_is("["):  # [key: string]: unknown
                while not self.next_is("]"):
                    self.take()
                self.take(":")
                self.union()
            else:
                name = self.take()
                optional = self.next_is("?")
                self.take(":")
                properties[name] = (self.union(), optional)
            self.next_is(";", ",")
        return ("object", properties)

    def union(self):
        parts = [self.both()]
        while self.next_is("|"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else ("union", parts)

    def both(self):
        kind = self.array()
        while self.next_is("&"):
            left, right = self.resolve(kind), self.resolve(self.array())
            kind = ("object", {**left[1], **right[1]})
        return kind

    def array(self):
        kind = self.single()
        while self.next_is("["):
            if self.next_is("]"):
                kind = ("array", kind)
            else:  # Source["unit"]
                key = self.take().strip('"')
                self.take("]")
                kind = self.resolve(kind)[1][key][0]
        return kind

    def single(self):
        if self.next_is("("):
            kind = self.union()
            self.take(")")
            return kind
        if self.next_is("["):
            parts = [self.union()]
            while self.next_is(","):
                parts.append(self.union())
            self.take("]")
            return ("array", parts[0])
        if self.tokens[self.at] == "{":
            return self.object()
        name = self.take()
        if name.startswith('"'):
            return ("literal", name.strip('"'))
        if name == "Record":
            self.take("<")
            self.union()
            self.take(",")
            kind = self.union()
            self.take(">")
            return ("record", kind)
        return (name,) if name in ("string", "number", "boolean", "null", "unknown") else ("named", name)

    def resolve(self, kind):
        return ("object", self.interfaces[kind[1]]) if kind[0] == "named" else kind


# ---- A type against a schema -------------------------------------------------------------------------------------------

class Comparison:
    def __init__(self, contract, types):
        self.schemas = contract["components"]["schemas"]
        self.types = types
        self.wrong = []
        self.seen = set()

    def whole(self, schema):
        """The schema with what it refers to, and the parts of allOf, in one."""
        if "$ref" in schema:
            return self.whole(self.schemas[schema["$ref"].rpartition("/")[2]])
        if "allOf" not in schema:
            return schema
        out = {"type": "object", "required": [], "properties": {}}
        for part in [*schema["allOf"], {k: v for k, v in schema.items() if k != "allOf"}]:
            part = self.whole(part)
            out["required"] += part.get("required", [])
            out["properties"].update(part.get("properties", {}))
        return out

    def say(self, where, text):
        line = f"{TYPES}: {where}: {text}"
        if line not in self.wrong:
            self.wrong.append(line)

    def compare(self, kind, schema, where):
        """What the page expects at `where` is what the contract promises."""
        if kind[0] == "unknown":
            return
        key = (repr(kind), json.dumps(schema, sort_keys=True))
        if key in self.seen:
            return
        self.seen.add(key)
        kind, schema = self.types.resolve(kind), self.whole(schema)
        kinds = list(kind[1]) if kind[0] == "union" else [kind]
        alternatives = [self.whole(each) for each in schema.get("oneOf", schema.get("anyOf", [schema]))]
        promised = set()
        for each in alternatives:
            of = each.get("type", "any")
            promised.update(of if isinstance(of, list) else [of])
        if "null" in promised and not any(k[0] in ("null", "unknown") for k in kinds):
            self.say(where, "may be null, says the contract, and is not here")
        literals = {k[1] for k in kinds if k[0] == "literal"}
        if literals:
            declared = set()
            for each in alternatives:
                declared.update(each.get("enum", [each["const"]] if "const" in each else []))
            if declared - {None} != literals:
                self.say(where, f"is one of {sorted(literals)}, and of {sorted(declared - {None})} in the contract")
        for each in kinds:
            self.one(each, alternatives, promised, where)

    def one(self, kind, alternatives, promised, where):
        kind = self.types.resolve(kind)
        wanted = {"string": {"string"}, "number": {"number", "integer"}, "boolean": {"boolean"}, "null": {"null"},
                  "array": {"array"}, "object": {"object"}, "record": {"object"}, "literal": {"string"}}[kind[0]]
        if not wanted & promised:
            self.say(where, f"is {kind[0]}, and {', '.join(sorted(promised))} in the contract")
            return
        schema = next(each for each in alternatives
                      if wanted & set(each["type"] if isinstance(each.get("type"), list) else [each.get("type")]))
        if kind[0] == "array":
            if "items" not in schema:
                self.say(where, "has no items in the contract")
            else:
                self.compare(kind[1], schema["items"], where + "[]")
        elif kind[0] == "record" and isinstance(schema.get("additionalProperties"), dict):
            self.compare(kind[1], schema["additionalProperties"], where + ".*")
        elif kind[0] == "object":
            self.properties(kind[1], schema, where)

    def properties(self, properties, schema, where):
        declared, required = schema.get("properties", {}), set(schema.get("required", []))
        for name, (kind, optional) in properties.items():
            if name not in declared:
                self.say(f"{where}.{name}", "is not in the contract")
                continue
            if not optional and name not in required:
                self.say(f"{where}.{name}", "may be missing, says the contract, and not here")
            self.compare(kind, declared[name], f"{where}.{name}")


def compare_types(contract, text):
    types = Types(text)
    comparison = Comparison(contract, types)
    for schema in sorted(answers(contract)):
        name = NAMES.get(schema, schema)
        if name in types.interfaces:
            comparison.compare(("named", name), {"$ref": "#/components/schemas/" + schema}, name)
        elif schema not in UNTYPED:
            comparison.wrong.append(f"{TYPES}: there is no interface {name} for the answer {schema} (or name it in {sys.argv[0]})")
    return comparison.wrong


def answers(contract):
    """Names of the schemas that paths answer with."""
    out = set()
    for methods in contract["paths"].values():
        for operation in methods.values():
            schema = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
            if "$ref" in schema:
                out.add(schema["$ref"].rpartition("/")[2])
    return out


# ---- The page of the documentation -------------------------------------------------------------------------------------

def described_paths(page):
    """{(method, path)} of the table of paths."""
    out = set()
    for row in re.findall(r"^\| (.*?) \|", page[page.index("## Paths"):], re.M):
        for method, path in re.findall(r"`(GET|POST|DELETE) ([^`]+)`", row):
            path = path.partition("?")[0]
            out.add((method, path if path.startswith("/") else "/api/v1/" + path))
    return out


def parameters_of(contract, operation):
    for parameter in operation.get("parameters", []):
        if "$ref" in parameter:
            parameter = contract["components"]["parameters"][parameter["$ref"].rpartition("/")[2]]
        if parameter["in"] == "query":
            yield parameter["name"]


def compare_page(contract, page):
    wrong = []
    described = {each for each in described_paths(page) if not each[1].startswith("/assets") and each[1] != "/"}
    declared = set()
    for path, methods in contract["paths"].items():
        for method, operation in methods.items():
            declared.add((method.upper(), path))
            for name in parameters_of(contract, operation):
                if not re.search(rf"`{name}[=`]|[?&]{name}=", page):
                    wrong.append(f"{PAGE}: the parameter {name} of {path} is not described")
    wrong += [f"{PAGE}: {method} {path} is in the contract and not in the table of paths" for method, path in sorted(declared - described)]
    wrong += [f"{CONTRACT}: {method} {path} is in {PAGE} and not here" for method, path in sorted(described - declared)]
    return wrong


def main() -> int:
    contract, page = json.loads(CONTRACT.read_text()), PAGE.read_text()
    wrong = compare_page(contract, page) + compare_types(contract, TYPES.read_text())
    for line in wrong:
        print(line)
    print(f"{len(contract['paths'])} paths checked, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
