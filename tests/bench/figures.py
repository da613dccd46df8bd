"""The figures of docs/benchmarks: rows in files, and the one table of docs/benchmarks.md that is made from them.

Each docs/benchmarks/TOPIC.jsonl has one fact a line, a JSON object:

    what, value      what was measured, and the number (or the text) that was found
    machine, command where it was measured, and how to measure it again
    low, high        the 95 % interval, where there is one
    unit, goal       where they apply
    date, commit     when it was measured or entered, and the code; unknown for old rows
    detail           true: a row of a long list (by query), which stays out of the page

tests/bench/run calls this at its end: what build/bench holds takes the place of the rows of the same command on the same
machine. All other rows stay as they are.

    figures.py                  writes the table from the rows
    figures.py --check          says whether the rows are well formed and the table is theirs
    figures.py --take FOLDER    takes the results of benchmarks into the rows, and writes the table
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

from printed import facts_printed

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN = "<!-- figures: tests/bench/figures.py writes this table -->"
END = "<!-- end of the figures -->"
HEAD = ["| what | result | goal | machine | command | date |", "| --- | ---: | --- | --- | --- | --- |"]
NEEDED = ("what", "value", "machine", "command")
MAY_HAVE = (*NEEDED, "low", "high", "unit", "goal", "date", "commit", "detail")
LABELS = ("what", "way", "program", "payload", "query", "name", "where", "variant", "share", "frequency")  # of a row in a list
ESTIMATES = ("ratio", "change", "bias")  # what `low` and `high` beside them are the interval of
LISTS = ("queries",)  # by query: too long for the page
# Where a result comes from, what was asked for, and single runs.
NOT_RESULTS = {"name", "machine", "time", "command", "commit", "options", "runs", "rounds", "pairs", "sf", "turns", "turn_us"}
ANY = "any"  # the machine of a figure that is the same on every one: of code for a named CPU, or of single steps
SPREADS = ("stddev", "cv")  # of repetitions


def shown(value):
    """Four digits say all that a benchmark knows; counts are exact."""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def readable(key):
    return key.replace("_", " ")


def with_interval(row):
    """(key, fact, keys) of each value that has its interval beside it: `keys` are those that make up the fact."""
    for key, value in row.items():
        low, high = ("low", "high") if key in ESTIMATES else (f"{key}_low", f"{key}_high")
        if low in row and high in row:
            yield key, {"value": value, "low": row[low], "high": row[high]}, {key, low, high}


def label_of(row):
    """What tells this row of a list from the others."""
    return [f"{shown(row[key])} Hz" if key == "frequency" else str(row[key]) for key in LABELS if key in row]


def facts_in(value, path=()):
    """(path, fact) of every number and text below `value`. A value with its interval is one fact."""
    if isinstance(value, dict):
        taken = NOT_RESULTS | set(LABELS if path else ())
        for key, fact, keys in with_interval(value):
            taken = taken | keys
            yield (*path, readable(key)), fact
        for key, below in value.items():
            if key not in taken:
                yield from facts_in(below, (*path, readable(str(key))))
    elif isinstance(value, list):
        for number, below in enumerate(value, 1):
            label = label_of(below) if isinstance(below, dict) else []
            yield from facts_in(below, (*path[:-1], *(label or [*path[-1:], str(number)])))
    elif isinstance(value, bool):
        yield path, {"value": "yes" if value else "no"}
    else:
        yield path, {"value": value}


def of_google_benchmark(found):
    """(topic, what all rows share, rows) of a result of Google Benchmark."""
    context = found["context"]
    binary = pathlib.Path(context["executable"]).name
    rows = []
    for each in found["benchmarks"]:
        if each.get("error_occurred") or each.get("aggregate_name") in SPREADS:
            continue
        rows.append({"what": f"{each['name']}, CPU time", "value": each["cpu_time"], "unit": each["time_unit"]})
        for name, unit in (("items_per_second", "items/s"), ("bytes_per_second", "bytes/s")):
            if name in each:
                rows.append({"what": f"{each['name']}, rate", "value": each[name], "unit": unit})
    shared = {"machine": context.get("machine", "not noted").replace(";", ","), "command": f"build/bench-bin/{binary}"}
    return binary, shared, rows


def of_script(found):
    if "printed" in found:
        return found["name"], {"machine": found["machine"], "command": found["command"]}, facts_printed(found["printed"])
    rows = [{"what": ", ".join(path), **fact, **({"detail": True} if set(path) & set(LISTS) else {})}
            for path, fact in facts_in(found)]
    return found["name"], {key: found[key] for key in ("machine", "command", "commit") if key in found}, rows


def commit_of_tree():
    """The commit that was measured; a plus sign where files differ from it."""
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--exclude=*", "--dirty=+"], capture_output=True, text=True)
    return {"commit": done.stdout.strip()} if done.returncode == 0 else {}


def results_in(folder):
    """topic -> rows, for every result that a benchmark left in the folder."""
    topics = {}
    for file in sorted(folder.glob("*.json")):
        found = json.loads(file.read_text())
        topic, shared, rows = of_google_benchmark(found) if "context" in found else of_script(found)
        when = {"date": time.strftime("%Y-%m-%d", time.localtime(file.stat().st_mtime)), **commit_of_tree()}
        topics.setdefault(topic, []).extend({**row, **when, **shared} for row in rows)
    return topics


def origin(row):
    return row["command"], row["machine"]


def taken(old, new):
    """The old rows, with the new in place of those of the same command and machine. Goals stay: nobody measures them."""
    goals = {row["what"]: row["goal"] for row in old if "goal" in row}
    replaced = {origin(row) for row in new} | {(row["command"], ANY) for row in new}
    return [row for row in old if origin(row) not in replaced] + [{**row, **goal_of(goals, row)} for row in new]


def goal_of(goals, row):
    return {"goal": goals[row["what"]]} if row["what"] in goals else {}


def read(file):
    return [json.loads(line) for line in file.read_text().splitlines() if line] if file.exists() else []


def line_of(row):
    return json.dumps({key: row[key] for key in MAY_HAVE if key in row}, ensure_ascii=False)


def problems_of(file):
    """What is wrong with the rows of a file, in words."""
    seen = set()
    for number, line in enumerate(file.read_text().splitlines(), 1):
        where = f"{file.name}:{number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            yield f"{where}: not JSON: {error}"
            continue
        if missing := [key for key in NEEDED if key not in row]:
            yield f"{where}: has no {', '.join(missing)}"
        elif unknown := [key for key in row if key not in MAY_HAVE]:
            yield f"{where}: nobody knows {', '.join(unknown)}; a row has {', '.join(MAY_HAVE)}"
        elif (row["what"], *origin(row)) in seen:
            yield f"{where}: '{row['what']}' stands twice for one command and machine"
        else:
            seen.add((row["what"], *origin(row)))


def result_of(row):
    unit = f" {row['unit']}" if "unit" in row else ""
    interval = f" [{shown(row['low'])}, {shown(row['high'])}]" if "low" in row and "high" in row else ""
    bound = f", at most {shown(row['high'])}{unit}" if "high" in row and not interval else ""
    return f"{shown(row['value'])}{unit}{interval}{bound}"


def table_row(topic, number, row):
    """The first row of a topic has an anchor, for the text above the table."""
    anchor = f'<a id="figures-{topic}"></a>' if number == 0 else ""
    cells = [f"{anchor}{topic}: {row['what']}", result_of(row), row.get("goal", ""), row["machine"], f"`{row['command']}`",
             row.get("date", "")]
    return f"| {' | '.join(map(cell, cells))} |"


def table_of(folder):
    lines = list(HEAD)
    for file in sorted(folder.glob("*.jsonl")):
        rows = [row for row in read(file) if not row.get("detail")]
        lines += [table_row(file.stem, number, row) for number, row in enumerate(rows)]
    return lines


def page_with(page, lines):
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"figures: the page has no lines '{BEGIN}' and '{END}'")
    return before + "\n".join([begin, *lines, end]) + after


def check(page, folder):
    problems = [problem for file in sorted(folder.glob("*.jsonl")) for problem in problems_of(file)]
    if not problems and page_with(page.read_text(), table_of(folder)) != page.read_text():
        problems = [f"{page.name}: the table is not that of the rows in {folder.name}: run python3 tests/bench/figures.py"]
    print("\n".join(problems) or f"{page.name}: {len(table_of(folder)) - len(HEAD)} figures, as its rows say")
    return bool(problems)


def take(results, folder):
    for topic, rows in results_in(results).items():
        file = folder / f"{topic}.jsonl"
        file.write_text("".join(f"{line_of(row)}\n" for row in taken(read(file), rows)))
        print(f"{file.name}: {len(rows)} figures")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--take", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--docs", type=pathlib.Path, default=ROOT / "docs", help="the folder that has benchmarks.md and benchmarks/")
    given = parser.parse_args()
    page, folder = given.docs / "benchmarks.md", given.docs / "benchmarks"
    if given.check:
        return check(page, folder)
    if given.take:
        take(given.take, folder)
    page.write_text(page_with(page.read_text(), table_of(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
