#!/usr/bin/env python3
"""Checks the layers of docs/ARCHITECTURE.md.

- Every folder with sources is in USES below and includes headers of the folders it names there, of itself, and of
  nothing else of ours. A folder that is not in the table fails.
- USES has no circle: an arrow that would close one fails. Nor have files of one folder, a source and its header as one.
- The folders of the tables in docs/ARCHITECTURE.md are those of USES, and those below tests. Inside daemon, a folder uses
  only folders above its own line.
- What a library or a program links in CMake is the library of each folder that its sources include, and no library of ours
  that they do not include, directly or through a header. Inside daemon each is named; elsewhere one may bring others.
- What the agent links of ours is of its own folders, or of one that it may include. deploy/ builds no library and no program.
- A folder of tests/unit is that of a folder of ours, or in TESTED; a folder of ours has unit tests, or is in TESTED_ELSEWHERE.
- A unit test includes what the folder that it tests may include, that folder, headers beside it and tests/support; what more it
  needs is in TESTS_NEED, with the reason. A test links the libraries of the folders that its sources include.
- Java packages and folders of the web page import what JAVA_USES and PAGE_USES name.
- The command line makes a library (daemon/serve/library.h) for a service, and asks the service alone.
- Nothing is at the top level that does not belong there.
- "session" names nothing in our code but what docs/glossary.md says: a visitor of the web page, and daemon/session.
"""
import dataclasses
import pathlib
import posixpath
import re
import subprocess
import sys

BASE = {"proto/base", "proto/include", "proto/tailor"}
VOCABULARY = BASE | {"daemon/profile"}
DECODE = VOCABULARY | {"daemon/capture/decode"}
# What a report is made of.
REPORTS = {f"daemon/query/{room}" for room in ("load", "sums", "time", "reports", "json")}
AGENT = {"agent/include", "proto/include"}

# Folder -> the folders whose headers it may include, besides its own.
USES = {
    "proto/base": set(),
    "proto/include": set(),
    "proto/control": BASE,
    "proto/traffic": {"proto/base", "proto/tailor"},
    "agent": AGENT | {"proto/base"},
    "agent/include": {"proto/include"},
    "agent/jvm": AGENT,
    "agent/postgres": AGENT,
    "kmod": {"proto/include"},
    "compiler/tagging": BASE | AGENT,
    "compiler/dwarf": BASE | {"compiler/tagging"},
    "compiler/llvm": BASE | AGENT | {"compiler/tagging"},
    "compiler/weft/types": BASE,
    "compiler/weft/catalog": BASE | {"compiler/weft/types"},
    "compiler/weft/plan": BASE | {"compiler/weft/types", "compiler/weft/catalog"},
    "compiler/weft/sql": BASE | {"compiler/weft/plan", "compiler/weft/catalog", "compiler/weft/types"},
    "compiler/weft/storage": BASE | AGENT | {"compiler/weft/catalog", "compiler/weft/types"},
    "compiler/weft/runtime": BASE | AGENT | {"compiler/weft/plan", "compiler/weft/types", "compiler/weft/storage"},
    "compiler/weft/optimizer": BASE | {"compiler/weft/plan", "compiler/weft/sql", "compiler/weft/catalog", "compiler/weft/types"},
    "compiler/weft/codegen": BASE | AGENT | {"compiler/llvm", "compiler/tagging", "compiler/weft/plan", "compiler/weft/runtime",
                                             "compiler/weft/storage", "compiler/weft/types"},
    "compiler/weft/exec": BASE | AGENT | {"compiler/llvm", "compiler/tagging", "compiler/weft/codegen", "compiler/weft/optimizer",
                                          "compiler/weft/plan", "compiler/weft/runtime", "compiler/weft/storage",
                                          "compiler/weft/types", "compiler/weft/catalog"},
    "compiler/weft/workflow": BASE | AGENT | {"compiler/llvm", "compiler/tagging", "compiler/weft/codegen", "compiler/weft/exec",
                                              "compiler/weft/runtime"},
    "compiler/weft/tool": BASE | AGENT | {"proto/control", "compiler/llvm", "compiler/tagging", "compiler/weft/exec", "compiler/weft/plan",
                                          "compiler/weft/runtime", "compiler/weft/storage", "compiler/weft/types", "compiler/weft/workflow"},
    "daemon/os": BASE,
    "daemon/profile": BASE,
    "daemon/clock": BASE | {"daemon/os"},
    "daemon/capture/decode": VOCABULARY,
    "daemon/capture/select": DECODE,
    "daemon/capture/host": DECODE | {"daemon/os", "daemon/capture/select"},
    "daemon/bpf": DECODE | {"daemon/os", "daemon/capture/select", "daemon/capture/host"},
    "daemon/registration": BASE | {"daemon/os"},
    "daemon/formats": DECODE | {"daemon/capture/select"},
    "daemon/foreign": BASE | {"daemon/formats"},
    "daemon/process": BASE,
    "daemon/enrich": BASE,
    "daemon/attribute": DECODE | {"daemon/process"},
    "daemon/unwind": DECODE | {"daemon/os", "daemon/capture/select", "daemon/capture/host", "daemon/registration"},
    "daemon/pipeline": DECODE | {"daemon/clock", "daemon/registration", "daemon/process", "daemon/enrich", "daemon/attribute"},
    "daemon/store": VOCABULARY | {"daemon/os"},
    "daemon/query/code": VOCABULARY,
    "daemon/query/symbols": VOCABULARY | {"daemon/os", "daemon/store", "daemon/query/code"},
    "daemon/query/load": VOCABULARY | {"daemon/store", "daemon/query/code", "daemon/query/symbols"},
    "daemon/query/sums": VOCABULARY | {"daemon/query/symbols", "daemon/query/load"},
    "daemon/query/time": BASE | {"daemon/query/load", "daemon/query/sums"},
    "daemon/query/reports": BASE | {"proto/traffic", "daemon/store", "daemon/query/symbols", "daemon/query/load", "daemon/query/sums", "daemon/query/time"},
    "daemon/query/json": VOCABULARY | {"daemon/query/load", "daemon/query/sums", "daemon/query/time", "daemon/query/reports"},
    "daemon/config": DECODE | {"daemon/os", "daemon/capture/select", "daemon/capture/host", "daemon/query/reports"},
    "daemon/redact": BASE,
    "daemon/serve": VOCABULARY | REPORTS | {"daemon/store", "daemon/redact", "proto/control"},
    "daemon/serve/http": VOCABULARY | {"daemon/os", "daemon/serve", "daemon/store", "daemon/query/time"},
    "daemon/metrics": VOCABULARY | {"daemon/serve", "daemon/store", "daemon/query/load", "daemon/query/sums", "daemon/query/time", "daemon/redact"},
    "daemon/journal": VOCABULARY | {"daemon/pipeline", "daemon/store", "daemon/capture/decode"},
    "daemon/session": DECODE | {"daemon/os", "daemon/config", "daemon/capture/select", "daemon/capture/host", "daemon/bpf", "daemon/clock",
                                "daemon/registration", "daemon/formats", "daemon/foreign", "daemon/process", "daemon/unwind",
                                "daemon/pipeline", "daemon/redact", "daemon/store", "daemon/query/load", "daemon/journal"},
    "daemon/import": DECODE | {"daemon/formats", "daemon/foreign", "daemon/pipeline", "daemon/store", "daemon/journal", "daemon/clock"},
    "daemon/export": VOCABULARY | REPORTS | {"daemon/formats"},
    "daemon/control": BASE | {"daemon/os", "proto/control"},
    "daemon/tailord": VOCABULARY | {"daemon/os", "daemon/config", "daemon/session", "daemon/control", "daemon/serve", "daemon/serve/http", "daemon/metrics", "daemon/query/time", "daemon/query/reports", "daemon/query/json", "daemon/store",
                                    "daemon/journal", "proto/control"},
    "viewer/cli": VOCABULARY | REPORTS | {"daemon/os", "daemon/config", "daemon/capture/select", "daemon/capture/host", "daemon/session", "daemon/serve", "daemon/serve/http",
                                "daemon/query/symbols", "daemon/store", "daemon/journal", "daemon/pipeline", "daemon/formats", "daemon/import", "daemon/export",
                                "proto/control"},
}
# Folder of unit tests -> the folders that it tests, where that is not the one of its name. All rooms of query are one program.
TESTED = {"agent": {"agent"}, "control": {"proto/control", "daemon/control"}, "weft/optimizer": {"compiler/weft/optimizer", "compiler/weft/catalog"},
          "weft/exec": {"compiler/weft/exec", "compiler/weft/codegen"},
          **{f"query/{room}": {each for each in USES if each.startswith("daemon/query/")} for room in ("code", "symbols", "load", "sums", "time", "reports", "json")}}
# Folders without unit tests: the folder has contracts alone, which its users test, or is tested in its host.
TESTED_ELSEWHERE = {"agent/include", "proto/include", "proto/tailor", "agent/postgres", "kmod"}
# Folder of unit tests -> what it includes beyond that, and why.
TESTS_NEED = {
    "agent": {"proto/tailor", "daemon/process", "compiler/llvm"},  # the other end: what the agent says is read as the daemon reads it
    "capture/decode": {"daemon/capture/select", "daemon/capture/host"},  # attributes as they are really asked for
    "capture/select": {"daemon/capture/host", "daemon/query/sums"},  # an event's page, host, and what its samples add up to
    "cli": {"tests/unit/query/symbols"},  # ELF files that tests make
    "import": {"daemon/query/load", "daemon/query/sums", "daemon/query/reports", "tests/unit/query/symbols"},  # a report of what was imported, ELF files that tests make
    "jvm": {"proto/base", "daemon/unwind"},  # frames that the daemon has to unwind
    "metrics": {"daemon/query/reports"},  # the same sums, by a report
    "pipeline": {"daemon/bpf", "daemon/capture/select", "daemon/query/code"},  # samples of BPF; one history of code in two readings
    "registration": {"agent"},  # messages as the agent encodes them
    "serve": {"daemon/serve/http"},  # an answer's status
    "serve/http": {"daemon/control"},  # a server that is asked on both sockets
    "session": {"daemon/query/symbols", "tests/unit/query/symbols", "tests/unit/unwind"},  # names of what was held; played threads
    "weft/optimizer": {"tests/unit/weft/plan"},  # expressions
}
# Test -> folders of which it needs a header and no library.
HEADERS_ALONE = {"agent_test": {"compiler/llvm"}}  # where a tag can live
# Java package -> the packages of ours that it may import. Agent.java is the entry, and starts the parts.
JAVA_USES = {"tailor.jvm": set(), "tailor.jvm.spark": {"tailor.jvm"}}
JAVA_ENTRIES = {"agent/jvm/java/tailor/jvm/Agent.java"}
# Folder of viewer/web/src -> the other folders that it may import. main.tsx is the entry.
PAGE = "viewer/web/src"
PAGE_USES = {"data": set(), "state": set(), "model": {"data"}, "draw": {"model", "state"}, "ui": {"data", "state", "model", "draw"}}
# Public header in angle brackets, below tailor/ -> its folder.
AGENT_HEADERS = pathlib.Path("agent/include/tailor")
TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "daemon", "kmod", "agent", "compiler", "proto", "viewer",
             "tests", "deploy", "docs", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "dev"}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)
LIBRARY = re.compile(r"tailor_library\(\s*([\w${}]+)\s+SOURCES(.*?)(?:DEPS(.*?))?\)", re.S)
PROGRAM = re.compile(r"add_executable\(\s*(\w+)(.*?)\)", re.S)
TEST = re.compile(r"tailor_test\(\s*(\w+)(.*?)\)", re.S)
JAVA_IMPORT = re.compile(r"^import (?:static )?(tailor(?:\.[a-z]\w*)*)\.[A-Z*]", re.M)
PAGE_IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*["'](\.[^"']*)["']""")
GROUP = re.compile(r"add_library\(\s*(\w+)\s+INTERFACE\s*\)")
LINKS = re.compile(r"target_link_libraries\(\s*(\w+)\s(.*?)\)", re.S)
# The adapter for LLVM is one library for each version, made in a loop.
MADE_IN_A_LOOP = {"${adapter}": "tailor_llvm"}
ARCHITECTURE = pathlib.Path("docs/ARCHITECTURE.md")
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')
# Not the folder or its namespace, and not in a path.
SESSION = re.compile(r"(?<![\w/:])sessions?_?\b(?!::)")
# A function of a library, or one of daemon/serve that gets a library.
LIBRARY_ASKED = re.compile(r"\blibrary_?(?:->|\.)\w+\(|\bserve::\w+\(\*library_?\b")
# Visitors of the web page, and sessions that PostgreSQL calls so.
SESSION_FOLDERS = {"daemon/serve/http", "agent/postgres"}


def other_sessions(name: str, folder: str, text: str) -> list[str]:
    """Where a source of the agent or the daemon calls something else a session."""
    if not folder.startswith(("agent", "daemon")) or folder in SESSION_FOLDERS:
        return []
    text = TEXT.sub("", text)
    lines = [text.count("\n", 0, found.start()) + 1 for found in SESSION.finditer(text)]
    return [f"{name}:{line}: docs/glossary.md keeps the word session for something else" for line in lines]


def asks_library(name: str, folder: str, text: str) -> list[str]:
    """Where a source of the command line asks a library and not a service."""
    if folder != "viewer/cli":
        return []
    lines = [text.count("\n", 0, found.start()) + 1 for found in LIBRARY_ASKED.finditer(text)]
    return [f"{name}:{line}: the command line asks a serve::Service, and no library" for line in lines]


def folder_of(path: str) -> str | None:
    """The folder of USES that a source or header belongs to: the longest one that is a prefix."""
    parts = path.split("/")[:-1]
    while parts:
        if "/".join(parts) in USES:
            return "/".join(parts)
        parts.pop()
    return None


def target_folder(quote: str, target: str, including: str) -> str | None:
    """The folder that an included header belongs to; None: it is not ours."""
    if target.startswith("tailor/"):
        if target.startswith("tailor/v1/"):
            return "proto/tailor"
        return "agent/include" if (AGENT_HEADERS / target.split("/")[-1]).exists() else "proto/include"
    if target.split("/")[0] in {"proto", "agent", "compiler", "daemon", "viewer"}:
        return folder_of(target) or target
    if quote == '"' and (pathlib.Path(including).parent / target).exists():
        return folder_of(including)
    return None


def circles(uses: dict[str, set[str]]) -> list[str]:
    """What reaches itself."""
    found = []
    for start in uses:
        seen, todo = set(), list(uses[start])
        while todo:
            each = todo.pop()
            if each not in seen:
                seen.add(each)
                todo.extend(uses.get(each, ()))
        if start in seen:
            found.append(start)
    return found


def circles_of_files(folder: str, files: list[str]) -> list[str]:
    """Files of a folder, a source and its header as one, that use each other in a circle."""
    uses: dict[str, set[str]] = {}
    for name in files:
        path = pathlib.Path(name)
        if path.parent.as_posix() != folder or path.suffix not in (".c", ".cc", ".h") or not path.exists():
            continue
        for _, target in INCLUDE.findall(path.read_text(errors="replace")):
            used = pathlib.Path(target)
            is_beside = used.parent == path.parent or (path.parent / target).exists()
            if is_beside and used.stem != path.stem:
                uses.setdefault(path.stem, set()).add(used.stem)
    return [f"{folder}: {stem} uses itself through others" for stem in sorted(circles(uses))]


@dataclasses.dataclass
class Target:
    """A library or program of CMake."""
    file: str
    folder: str  # of USES
    sources: list[str]
    links: set[str]


def targets() -> dict[str, Target]:
    found = {}
    for top in ("compiler", "daemon", "proto", "viewer"):
        for path in sorted(pathlib.Path(top).rglob("CMakeLists.txt")):
            text, here = path.read_text(), path.parent.as_posix()
            links: dict[str, set[str]] = {}
            for name, linked in LINKS.findall(text):
                links.setdefault(name, set()).update(linked.split())
            made = [(name, sources, set(deps.split())) for name, sources, deps in LIBRARY.findall(text)]
            made += [(name, sources, set()) for name, sources in PROGRAM.findall(text)]
            made += [(name, "", set()) for name in GROUP.findall(text)]
            folder = folder_of(path.as_posix()) or here
            for name, sources, deps in made:
                names = [f"{here}/{source}" for source in sources.split() if source.endswith((".cc", ".c"))]
                if not names and "_sources}" in sources:  # a list of its own: all of the folder
                    names = [source.as_posix() for source in pathlib.Path(folder).glob("*.cc")]
                name = MADE_IN_A_LOOP.get(name, name)
                found[name] = Target(path.as_posix(), folder, names, deps | links.get(name, set()))
    return found


def reached(target: Target, all_targets: dict[str, Target]) -> set[str]:
    """What a target links, and what that brings."""
    seen, todo = set(), list(target.links)
    while todo:
        name = todo.pop()
        if name in all_targets and name not in seen:
            seen.add(name)
            todo.extend(all_targets[name].links)
    return seen


def check_libraries(includes: dict[str, set[str]], headers: dict[str, set[str]]) -> list[str]:
    """What CMake links against what the sources of each target include."""
    made = targets()
    known = {name: target for name, target in made.items() if target.sources or target.links & set(made)}
    of_folder: dict[str, set[str]] = {}
    for name, target in known.items():
        if target.sources:
            of_folder.setdefault(target.folder, set()).add(name)
    bad = []
    for name, target in known.items():
        if not target.sources:
            continue
        folder, linked = target.folder, target.links & set(known)
        needed = set().union(*(includes.get(source, set()) for source in target.sources)) - {folder}
        wanted = needed | headers.get(folder, set())
        if len(of_folder[folder]) == 1:  # else a header may be of the others alone
            needed = wanted
        # A program brings what the library beside it does.
        of_sibling = set().union(*(known[name].links for name in of_folder[folder] & linked))
        has = linked | of_sibling if folder.startswith("daemon/") else reached(target, known)
        for used in sorted(needed):
            if used in of_folder and not of_folder[used] & has:
                bad.append(f"{target.file}: {name} includes {used} and does not link {' or '.join(sorted(of_folder[used]))}")
        for dep in sorted(linked):
            # What stands for several: one of them is needed, and not what they bring along.
            group = set() if known[dep].sources else known[dep].links & set(known)
            if not {known[each].folder for each in {dep} | group} & (wanted | {folder}):
                bad.append(f"{target.file}: {name} links {dep} and includes nothing of {known[dep].folder}")
    return bad


def tested_by(folder: str) -> set[str]:
    """The folders of ours that a folder below tests/unit tests."""
    return TESTED.get(folder) or {each for each in USES if folder in (each, each.partition("/")[2])}


def check_mirror(files: list[str]) -> list[str]:
    """Folders of unit tests against those of the sources."""
    beside = {pathlib.PurePath(name).parent.as_posix().removeprefix("tests/unit/") for name in files if re.match(r"tests/unit/.*_test\.(cc|c)$", name)}
    bad = [f"tests/unit/{folder}: there is no folder of ours that it tests" for folder in sorted(beside) if not tested_by(folder)]
    tested = TESTED_ELSEWHERE.union(*(tested_by(folder) for folder in beside))
    return bad + [f"{folder}: there is no folder with its unit tests" for folder in sorted(set(USES) - tested)]


def of_unit_test(folder: str) -> set[str]:
    """What the unit tests of a folder below tests/unit may include of ours, beside tests/support and their own folder."""
    tested = tested_by(folder)
    return tested.union(*(USES[each] for each in tested), TESTS_NEED.get(folder, ()))


def check_unit_tests(files: list[str]) -> list[str]:
    """What unit tests include."""
    bad = []
    for name in files:
        folder = pathlib.PurePath(name).parent.as_posix()
        if not name.startswith("tests/unit/") or not name.endswith((".cc", ".h", ".c")) or not pathlib.Path(name).exists():
            continue
        allowed = of_unit_test(folder.removeprefix("tests/unit/"))
        for quote, target in INCLUDE.findall(pathlib.Path(name).read_text(errors="replace")):
            beside = pathlib.PurePath(target).parent.as_posix()
            used = beside if target.startswith("tests/") else target_folder(quote, target, name)
            if used and used not in allowed | {"tests/support", folder}:
                bad.append(f"{name}: {folder} may not include {target}")
    return bad


def check_links_of_tests(made: dict[str, Target]) -> list[str]:
    """What tests link against what their sources include, of the folders that are one library each."""
    bad = []
    of_folder: dict[str, set[str]] = {}
    for name, target in made.items():
        if target.sources:
            of_folder.setdefault(target.folder, set()).add(name)
    for path in sorted(pathlib.Path("tests").rglob("CMakeLists.txt")):
        for name, words in TEST.findall(path.read_text()):
            sources = [path.parent / word for word in words.split() if word.endswith(".cc") and "$" not in word]
            texts = [(source.as_posix(), source.read_text(errors="replace")) for source in sources if source.exists()]
            used = {target_folder(quote, target, source) for source, text in texts for quote, target in INCLUDE.findall(text)}
            has = reached(Target(path.as_posix(), "", [], set(words.split()) & set(made)), made)
            for folder in sorted(filter(None, used - HEADERS_ALONE.get(name, set()))):
                if folder in of_folder and not of_folder[folder] & has:
                    bad.append(f"{path}: {name} includes {folder} and does not link {' or '.join(sorted(of_folder[folder]))}")
    return bad


def check_links_of_agent(made: dict[str, Target]) -> list[str]:
    """What agent/ links of other folders, and what deploy/ builds."""
    bad = []
    for path in sorted(pathlib.Path("agent").rglob("CMakeLists.txt")):
        folder = folder_of(path.as_posix())
        for name in {word for _, linked in LINKS.findall(path.read_text()) for word in linked.split()} & set(made):
            if made[name].folder not in USES[folder]:
                bad.append(f"{path}: {folder} may not link {name}")
    for path in sorted(pathlib.Path("deploy").rglob("*")):
        if path.suffix in (".txt", ".cmake") and re.search(r"^\s*(add_library|add_executable|tailor_library)\(", path.read_text(), re.M):
            bad.append(f"{path}: deploy builds no library and no program")
    return bad


def check_java(files: list[str]) -> list[str]:
    bad = []
    for name in files:
        if not name.startswith("agent/jvm/java/") or not name.endswith(".java") or not pathlib.Path(name).exists():
            continue
        package = pathlib.PurePath(name).parent.as_posix().removeprefix("agent/jvm/java/").replace("/", ".")
        if package not in JAVA_USES:
            bad.append(f"{name}: its package is not in the table of .dev/check_folders.py")
            continue
        may = set(JAVA_USES) if name in JAVA_ENTRIES else JAVA_USES[package] | {package}
        bad += [f"{name}: {package} may not import {used}" for used in JAVA_IMPORT.findall(pathlib.Path(name).read_text()) if used not in may]
    return bad


def check_page(files: list[str]) -> list[str]:
    bad = []
    for name in files:
        path = pathlib.PurePath(name)
        if not name.startswith(f"{PAGE}/") or path.suffix not in (".ts", ".tsx") or not pathlib.Path(name).exists():
            continue
        parts = path.relative_to(PAGE).parts
        if len(parts) == 1:
            continue
        if parts[0] not in PAGE_USES:
            bad.append(f"{name}: its folder is not in the table of .dev/check_folders.py")
            continue
        may = PAGE_USES[parts[0]] | {parts[0]}
        for target in PAGE_IMPORT.findall(pathlib.Path(name).read_text()):
            used = posixpath.relpath(posixpath.normpath(posixpath.join(path.parent.as_posix(), target)), PAGE).split("/")[0]
            if used not in may:
                bad.append(f"{name}: {parts[0]} may not import {target}")
    return bad


def table_rows(heading: str) -> list[tuple[str, str]]:
    """(first cell without quotes and slash, the rest) of the first table below a line of ARCHITECTURE."""
    text = ARCHITECTURE.read_text()
    table = text[text.index(heading):].split("\n|", 2)[2].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ", 1) for line in table.splitlines()[1:]]
    return [(cells[0].strip("`/"), cells[1]) for cells in rows]


def check_architecture(files: list[str]) -> list[str]:
    """The tables of folders in ARCHITECTURE against USES and the tree."""
    bad = []
    inner = [f"daemon/{name}" for name, _ in table_rows("Inside `daemon/`")]
    wanted = {folder for folder in USES if folder.startswith("daemon/")}
    bad += [f"{ARCHITECTURE}: {folder} is not in the table" for folder in sorted(wanted - set(inner))]
    bad += [f"{ARCHITECTURE}: there is no {folder}" for folder in sorted(set(inner) - wanted)]
    for at, folder in enumerate(inner):
        below = sorted((USES.get(folder, set()) & set(inner)) - set(inner[:at]))
        bad += [f"{ARCHITECTURE}: {folder} uses {used}, which is not above it" for used in below]
    # Others have a row, or are named in the row of the folder that they lie in: `include/`.
    outer = dict(table_rows("## Folders"))
    tests = {"/".join(name.split("/")[:2]) for name in files if name.startswith("tests/") and name.count("/") > 1}
    for folder in sorted((set(USES) - wanted) | tests):
        top, *below = folder.split("/")
        if folder not in outer and not (top in outer and (not below or f"`{below[0]}/`" in outer[top])):
            bad.append(f"{ARCHITECTURE}: {folder} is not in the table")
    there = {"/".join(name.split("/")[:depth]) for name in files for depth in (1, 2)}
    for top, text in outer.items():
        named = [top] + [f"{top}/{name}" for name in re.findall(r"`([\w-]+)/`", text)]
        bad += [f"{ARCHITECTURE}: there is no {folder}" for folder in named if folder not in there]
    return bad


def main() -> int:
    files = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    bad = [f".dev/check_folders.py: {folder} uses itself through others" for folder in circles(USES)]
    by_folder: dict[str, list[str]] = {}
    for name in files:
        by_folder.setdefault(pathlib.Path(name).parent.as_posix(), []).append(name)
    for folder in sorted(by_folder):
        bad += circles_of_files(folder, by_folder[folder])
    for top in {f.split("/")[0] for f in files}:
        if top not in TOP_LEVEL and not top.startswith("."):
            bad.append(f"{top}: not a top-level folder of this project")
    checked = 0
    includes: dict[str, set[str]] = {}
    headers: dict[str, set[str]] = {}
    for name in files:
        if not name.endswith((".cc", ".h", ".c")) or name.startswith(("tests/", "docs/")) or not pathlib.Path(name).exists():
            continue
        checked += 1
        folder = folder_of(name)
        if folder is None:
            bad.append(f"{name}: its folder is not in the table of .dev/check_folders.py")
            continue
        text = pathlib.Path(name).read_text(errors="replace")
        bad += other_sessions(name, folder, text) + asks_library(name, folder, text)
        for quote, target in INCLUDE.findall(text):
            used = target_folder(quote, target, name)
            if used is None or used == folder:
                continue
            includes.setdefault(name, set()).add(used)
            if name.endswith(".h"):
                headers.setdefault(folder, set()).add(used)
            if used not in USES[folder]:
                bad.append(f"{name}: {folder} may not include {target}")
    bad += check_libraries(includes, headers)
    made = targets()
    bad += check_unit_tests(files) + check_links_of_tests(made) + check_links_of_agent(made) + check_java(files) + check_page(files)
    bad += check_architecture(files) + check_mirror(files)
    for line in sorted(set(bad)):
        print(line)
    print(f"{checked} files checked, {len(set(bad))} violations")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
