#!/usr/bin/env python3
"""What a table in the code declares once is in every place that repeats it.

- The columns of reports (daemon/query/reports/cost_columns.cc): each object with a cost in daemon/serve/openapi.json has them, the
  interface Cost in viewer/web/src/data/types.ts, and the table of a cost in docs/report-json.md. Those that only costs of elapsed time
  have are in the schema Cost, where they may be missing, and in that table.
- The formats of exports (daemon/export/export_formats.cc): the first table of docs/exports.md has a row for each.
"""
import json
import pathlib
import re
import sys

import check_api

COLUMNS = pathlib.Path("daemon/query/reports/cost_columns.cc")
FORMATS = pathlib.Path("daemon/export/export_formats.cc")
REPORTS_PAGE = pathlib.Path("docs/report-json.md")
EXPORTS_PAGE = pathlib.Path("docs/exports.md")


def declared(path, after=""):
    """The first value of each entry of the table in a source that has the text `after` behind it."""
    table = re.search(r"\[\] = \{\n(.*?)\n\};", path.read_text(), re.S)
    return re.findall(r'^ {4}\{"(\w+)",' + after, table.group(1), re.M) if table else []


def keys_of_table(page, begin):
    """What stands in backquotes in the first column of the first table behind a text."""
    table = page[page.index(begin):].split("\n| --- ", 1)[1].split("\n\n")[0]
    return {key for row in table.splitlines()[1:] for key in re.findall(r"`(\w+)`", row.split(" | ")[0])}


def costs_in(node, where):
    """(place, properties) of each object that has most of a cost. `where` is the place of `node`."""
    if isinstance(node, list):
        node = dict(enumerate(node))
    if not isinstance(node, dict):
        return
    properties = node.get("properties", {})
    if "weight" in properties and "share_low" in properties:
        yield where, properties
    for key, value in node.items():
        yield from costs_in(value, f"{where}/{key}")


def check_columns(columns, elapsed):
    contract = json.loads(check_api.CONTRACT.read_text())["components"]["schemas"]
    places = dict(costs_in(contract, check_api.CONTRACT.as_posix()))
    places[f"{check_api.TYPES}: Cost"] = check_api.Types(check_api.TYPES.read_text()).interfaces["Cost"]
    places[REPORTS_PAGE.as_posix()] = keys_of_table(REPORTS_PAGE.read_text(), "A **cost** is")
    wanted = [(place, keys, columns) for place, keys in places.items()]
    schema = f"{check_api.CONTRACT}: Cost"
    wanted += [(schema, contract["Cost"]["properties"], elapsed), (REPORTS_PAGE, places[REPORTS_PAGE.as_posix()], elapsed)]
    wrong = [f"{place}: the column {column} of {COLUMNS} is missing" for place, keys, of in wanted for column in of if column not in keys]
    wrong += [f"{schema}: there is no column {key} in {COLUMNS}" for key in contract["Cost"]["properties"] if key not in columns + elapsed]
    required = {name: contract[name]["required"] for name in ("Cost", "CompareCost")}
    wrong += [f"{check_api.CONTRACT}: {name} requires {keys}, and {COLUMNS} has {columns}" for name, keys in required.items() if set(keys) != set(columns)]
    return wrong


def check_formats(formats):
    described = keys_of_table(EXPORTS_PAGE.read_text(), "# Exports")
    wrong = [f"{EXPORTS_PAGE}: the format {name} of {FORMATS} is missing" for name in sorted(set(formats) - described)]
    return wrong + [f"{EXPORTS_PAGE}: there is no format {name} in {FORMATS}" for name in sorted(described - set(formats))]


def main() -> int:
    every, elapsed, formats = declared(COLUMNS), declared(COLUMNS, r"\s+Of::kElapsed,"), declared(FORMATS)
    columns = [column for column in every if column not in elapsed]
    wrong = [f"{path}: no table was found" for path, found in ((COLUMNS, columns), (FORMATS, formats)) if not found]
    wrong += check_columns(columns, elapsed) + check_formats(formats)
    for line in wrong:
        print(line)
    print(f"{len(every)} columns and {len(formats)} formats checked, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
