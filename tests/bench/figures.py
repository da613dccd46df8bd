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


def shown(value):
    """Four digits say all that a benchmark knows; counts are exact."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def leaves(value, path=()):
    """Every number or text below `value`, with the keys that lead to it. A list of numbers is one fact: a value and its interval."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from leaves(below, (*path, str(key)))
    elif isinstance(value, list) and any(isinstance(each, (dict, list, str)) for each in value):
        for number, below in enumerate(value):
            yield from leaves(below, (*path, str(number)))
    elif isinstance(value, list):
        if value:
            first, *rest = map(shown, value)
            yield path, f"{first} [{', '.join(rest)}]" if rest else first
    elif isinstance(value, bool) or value is None or isinstance(value, str):
        yield path, str(value)
    else:
        yield path, shown(value)


def of_google_benchmark(found):
    context = found["context"]
    binary = pathlib.Path(context["executable"]).name
    rows = []
    for each in found["benchmarks"]:
        if each.get("error_occurred"):
            continue
        what = f"{binary}: {each['name']}"
        if each.get("aggregate_unit") == "percentage":  # the spread of repetitions
            continue
        rows.append((f"{what}, CPU time", f"{shown(each['cpu_time'])} {each['time_unit']}"))
        for name, unit in (("items_per_second", "items/s"), ("bytes_per_second", "bytes/s")):
            if name in each:
                rows.append((f"{what}, rate", f"{shown(each[name])} {unit}"))
    return context.get("machine", "not noted"), f"build/bench-bin/{binary}", rows


def of_script(found):
    facts = {key: value for key, value in found.items() if key not in ("name", "machine", "time", "command")}
    rows = [(f"{found['name']}: {', '.join(path)}", result) for path, result in leaves(facts)]
    return found["machine"], found["command"], rows


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
