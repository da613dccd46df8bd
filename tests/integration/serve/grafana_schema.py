"""The dashboard has no field that Grafana's dashboard schema lacks, all that it demands, and values of the right type.

The tables below are written after `packages/grafana-schema/src/raw/dashboard/x/dashboard_types.gen.ts` of github.com/grafana/grafana
at commit 01639dccf972a16954e750399422f52cb1e475c5. What a plugin defines (`options`, `custom`, queries) is not in that schema, and is
not checked here. Usage: grafana_schema.py DASHBOARD"""
import copy
import json
import pathlib
import sys

# By kind of object: the type of each field, with "!" where it must be there. A name with a capital is another kind, "[...]" a list.
KINDS = {
    "Dashboard": {"annotations": "Annotations", "description": "text", "editable": "bool", "fiscalYearStartMonth": "number", "gnetId": "text",
                  "graphTooltip": {0, 1, 2}, "id": "any", "links": "[any]", "liveNow": "bool", "panels": "[Panel]", "refresh": "text",
                  "revision": "number", "schemaVersion": "number!", "snapshot": "any", "tags": "[text]", "templating": "Templating",
                  "time": "Time", "timepicker": "any", "timezone": "text", "title": "text", "uid": "text", "version": "number",
                  "weekStart": "text"},
    "Annotations": {"list": "[Annotation]"},
    "Annotation": {"builtIn": "number", "datasource": "DataSource!", "enable": "bool!", "filter": "any", "hide": "bool", "iconColor": "text!",
                   "name": "text!", "target": "any", "type": "text"},
    "DataSource": {"type": "text", "uid": "text"},
    "Templating": {"list": "[Variable]"},
    "Variable": {"allValue": "text", "current": "any", "datasource": "DataSource", "description": "text", "hide": {0, 1, 2},
                 "includeAll": "bool", "label": "text", "multi": "bool", "name": "text!", "options": "[any]", "query": "any",
                 "refresh": {0, 1, 2}, "regex": "text", "skipUrlSync": "bool", "sort": set(range(9)),
                 "type": {"query", "adhoc", "groupby", "constant", "datasource", "interval", "textbox", "custom", "system"}},
    "Time": {"from": "text!", "to": "text!"},
    "Panel": {"datasource": "DataSource", "description": "text", "fieldConfig": "Fields", "gridPos": "Place", "hideTimeOverride": "bool",
              "id": "number", "interval": "text", "libraryPanel": "any", "links": "[any]", "maxDataPoints": "number", "maxPerRow": "number",
              "options": "any", "pluginVersion": "text", "repeat": "text", "repeatDirection": {"h", "v"}, "targets": "[any]",
              "timeFrom": "text", "timeShift": "text", "title": "text", "transformations": "[Transformation]", "transparent": "bool",
              "type": "text!"},
    "Row": {"collapsed": "bool!", "datasource": "DataSource", "gridPos": "Place", "id": "number!", "panels": "[Panel]!", "repeat": "text",
            "title": "text", "type": "text!"},
    "Place": {"h": "number!", "static": "bool", "w": "number!", "x": "number!", "y": "number!"},
    "Transformation": {"disabled": "bool", "filter": "Matcher", "id": "text!", "options": "any!", "topic": "text"},
    "Matcher": {"id": "text!", "options": "any"},
    "Fields": {"defaults": "Field!", "overrides": "[Override]!"},
    "Override": {"matcher": "Matcher!", "properties": "[Property]!"},
    "Property": {"id": "text!", "value": "any"},
    "Field": {"color": "any", "custom": "any", "decimals": "number", "description": "text", "displayName": "text",
              "displayNameFromDS": "text", "filterable": "bool", "links": "[any]", "mappings": "[any]", "max": "number", "min": "number",
              "noValue": "text", "path": "text", "thresholds": "any", "unit": "text", "writeable": "bool"},
}
# Beyond the schema, whose objects are open where a plugin adds fields: those of Prometheus in annotations, and of queries in variables.
OF_PLUGINS = {"Annotation": {"expr", "step", "titleFormat", "textFormat"}, "Variable": {"definition"}}
TYPES = {"text": str, "bool": bool, "number": (int, float), "any": object}


def faults(kind, value, where):
    """What is wrong with a value, as sentences."""
    if isinstance(kind, set):
        return [] if value in kind and not isinstance(value, bool) else [f"{where} is {value!r}"]
    kind = kind.rstrip("!")
    if kind.startswith("["):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [fault for number, each in enumerate(value) for fault in faults(kind[1:-1], each, f"{where}[{number}]")]
    if kind in TYPES:
        wrong = not isinstance(value, TYPES[kind]) or (kind == "number" and isinstance(value, bool))
        return [f"{where} is {value!r}, which is no {kind}"] if wrong else []
    if not isinstance(value, dict):
        return [f"{where} is no object"]
    if kind == "Panel" and value.get("type") == "row":
        kind = "Row"
    known = KINDS[kind]
    found = [f"{where} has no {name}" for name, of in known.items() if isinstance(of, str) and of.endswith("!") and name not in value]
    for name, each in value.items():
        if name in known:
            found += faults(known[name], each, f"{where}.{name}")
        elif name not in OF_PLUGINS.get(kind, ()):
            found.append(f"{where}.{name} is not in the schema")
    return found


def spoilt(dashboard):
    """Broken twins, each with one fault."""
    def twin(change):
        copied = copy.deepcopy(dashboard)
        change(copied)
        return copied

    chart = next(i for i, panel in enumerate(dashboard["panels"]) if panel["type"] == "timeseries")
    yield "a field of another name", twin(lambda d: d["panels"][chart].update(fieldConfigs=d["panels"][chart].pop("fieldConfig")))
    yield "a text for a number", twin(lambda d: d["panels"][chart]["gridPos"].update(h="8"))
    yield "a panel without a type", twin(lambda d: d["panels"][chart].pop("type"))
    yield "an annotation without a name", twin(lambda d: d["annotations"]["list"][0].pop("name"))
    yield "a variable of an unknown type", twin(lambda d: d["templating"]["list"][0].update(type="list"))


def main():
    dashboard = json.loads(pathlib.Path(sys.argv[1]).read_text())
    if found := faults("Dashboard", dashboard, "dashboard"):
        print("FAILED:", *found, sep="\n")
        sys.exit(1)
    print(f"ok: {len(dashboard['panels'])} panels are as the schema wants them")
    for name, twin in spoilt(dashboard):
        if not faults("Dashboard", twin, "dashboard"):
            print("FAILED: not found:", name)
            sys.exit(1)
        print("ok: found:", name)


if __name__ == "__main__":
    main()
