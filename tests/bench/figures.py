"""Writes what the benchmarks left in build/bench into the table of docs/benchmarks.md: one fact a row.

Rows of commands that were run again are replaced. All other rows stay as they are. tests/bench/run calls this at its end.

    figures.py [FOLDER PAGE]
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN = "<!-- figures: tests/bench/figures.py writes this table -->"
END = "<!-- end of the figures -->"
HEAD = ["| what | result | machine | command |", "| --- | ---: | --- | --- |"]
LABELS = ("what", "way", "program", "payload", "query", "name", "where", "variant", "share", "frequency")  # of a row in a list
ESTIMATES = ("ratio", "change", "bias")  # what `low` and `high` beside them are the interval of
# Where a result comes from, what was asked for, and single runs.
NOT_RESULTS = {"name", "machine", "time", "command", "options", "runs", "rounds", "pairs"}
SPREADS = ("stddev", "cv")  # of repetitions


def shown(value):
    """Four digits say all that a benchmark knows; counts are exact."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def readable(key):
    return key.replace("_", " ")


def value_with_interval(row):
    """(key, text) of what the row's interval is of, and the keys that this takes; nothing where it has none."""
    for key, value in row.items():
        low, high = ("low", "high") if key in ESTIMATES else (f"{key}_low", f"{key}_high")
        if low in row and high in row:
            yield key, f"{shown(value)} [{shown(row[low])}, {shown(row[high])}]", {key, low, high}


def label_of(row):
    """What tells this row of a list from the others."""
    return [f"{shown(row[key])} Hz" if key == "frequency" else str(row[key]) for key in LABELS if key in row]


def facts_in(value, path=()):
    """(what, result) of every number and text below `value`. A value with its interval is one fact."""
    if isinstance(value, dict):
        taken = NOT_RESULTS | set(LABELS if path else ())
        for key, text, keys in value_with_interval(value):
            taken = taken | keys
            yield (*path, readable(key)), text
        for key, below in value.items():
            if key not in taken:
                yield from facts_in(below, (*path, readable(str(key))))
    elif isinstance(value, list):
        for number, below in enumerate(value, 1):
            label = label_of(below) if isinstance(below, dict) else []
            yield from facts_in(below, (*path[:-1], *(label or [*path[-1:], str(number)])))
    elif isinstance(value, bool):
        yield path, "yes" if value else "no"
    else:
        yield path, value if isinstance(value, str) else shown(value)


def of_google_benchmark(found):
    context = found["context"]
    binary = pathlib.Path(context["executable"]).name
    rows = []
    for each in found["benchmarks"]:
        if each.get("error_occurred") or each.get("aggregate_name") in SPREADS:
            continue
        what = f"{binary}: {each['name']}"
        rows.append((f"{what}, CPU time", f"{shown(each['cpu_time'])} {each['time_unit']}"))
        for name, unit in (("items_per_second", "items/s"), ("bytes_per_second", "bytes/s")):
            if name in each:
                rows.append((f"{what}, rate", f"{shown(each[name])} {unit}"))
    return context.get("machine", "not noted").replace(";", ","), f"build/bench-bin/{binary}", rows


def of_script(found):
    return found["machine"], found["command"], [(f"{found['name']}: {', '.join(path)}", result) for path, result in facts_in(found)]


def facts_of(folder):
    """command -> rows of the table, for every result in the folder."""
    facts = {}
    for file in sorted(folder.glob("*.json")):
        found = json.loads(file.read_text())
        machine, command, rows = of_google_benchmark(found) if "context" in found else of_script(found)
        facts[f"`{cell(command)}`"] = [f"| {cell(what)} | {cell(result)} | {cell(machine)} | `{cell(command)}` |"
                                       for what, result in rows]
    return facts


def command_of(row):
    return row.rsplit(" | ", 1)[1].removesuffix(" |")


def updated(page, facts):
    """The page with the rows of these commands in place of those that it had of them."""
    before, begin, rest = page.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"figures: the page has no lines '{BEGIN}' and '{END}'")
    old = [line for line in table.splitlines() if line.startswith("| ") and line not in HEAD]
    kept = [row for row in old if command_of(row) not in facts]
    rows = sorted(kept + [row for rows in facts.values() for row in rows], key=lambda row: (command_of(row), row))
    return before + "\n".join([begin, *HEAD, *rows, end]) + after


def main():
    folder, page = map(pathlib.Path, sys.argv[1:]) if len(sys.argv) == 3 else (ROOT / "build/bench", ROOT / "docs/benchmarks.md")
    facts = facts_of(folder)
    page.write_text(updated(page.read_text(), facts))
    print(f"{page.name}: {sum(map(len, facts.values()))} figures of {len(facts)} commands")


if __name__ == "__main__":
    main()
