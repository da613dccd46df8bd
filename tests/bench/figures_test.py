"""The rows of figures: what one run replaces, what stays, and whether the page's table is theirs."""
import json
import pathlib
import sys
import tempfile

import figures
from tailor_env import check, run

PAGE = f"# Benchmarks\n\nBy hand.\n\n{figures.BEGIN}\n{figures.END}\n\nThe end.\n"
ORIGIN = {"machine": "X", "command": "python3 tests/bench/overhead.py"}
OLD = [{"what": "gone", "value": 99, **ORIGIN},
       {"what": "tailor record, 1,000 Hz, ratio", "value": 9.9, "goal": "at most 1.01", **ORIGIN},
       {"what": "everywhere", "value": 1, "machine": "any", "command": ORIGIN["command"]},
       {"what": "of another machine", "value": 2.5, "unit": "ms", "high": 3.5, "goal": "at most 4 ms", "machine": "E|",
        "command": ORIGIN["command"], "date": "2025-01-31"},
       {"what": "of another command", "value": "a text", "machine": "X", "command": "./other"}]
GOOGLE = {"context": {"executable": "build/bench-bin/agent_bench", "machine": "X|Y; Linux"},
          "benchmarks": [{"name": "mark", "cpu_time": 10.612, "time_unit": "ns", "items_per_second": 123456789.0},
                         {"name": "mark_cv", "aggregate_name": "cv", "cpu_time": 0.01, "time_unit": "ns"},
                         {"name": "broken", "error_occurred": True}]}
SCRIPT = {"name": "overhead", "time": "2026", **ORIGIN,
          "samples": 12345, "own_cpu": 0.5, "runs": [[1.85, 1.86, 218.8]], "options": {"pairs": 24, "sf": "1"},
          "queries": {"tpch-6": 1.5},
          "rows": [{"frequency": 1000, "what": "tailor record", "ratio": 1.02, "low": 1.01, "high": 1.03, "pairs": 24, "bytes": 7,
                    "spare": 0.5, "spare_low": 0.4, "spare_high": 0.6},
                   {"frequency": 5000, "what": "tailor record", "by": {"tag": 0.25}, "passed": True}]}
PROGRAM = {"name": "clock_edges", "machine": "X", "command": "clock_edges 20",
           "printed": ["[ RUN      ] All/Truth.Holds/O2_zen", "| query | samples | wrong |", "| --- | --- | --- |",
                       *(f"| q{n} | {n} | 0.5 % |" for n in range(14)), "| all | 1,234 | 0.1 % |", "offset 3 ns", "[       OK ]"]}
ROWS = {"agent_bench": ["| <a id=\"figures-agent_bench\"></a>agent_bench: mark, CPU time | 10.61 ns |  | X\\|Y, Linux | `build/bench-bin/agent_bench` | TODAY |",
                        "| agent_bench: mark, rate | 123,456,789 items/s |  | X\\|Y, Linux | `build/bench-bin/agent_bench` | TODAY |"],
        "clock_edges": ["| <a id=\"figures-clock_edges\"></a>clock_edges: O2, zen, all, samples | 1,234 |  | X | `clock_edges 20` | TODAY |",
                        "| clock_edges: O2, zen, all, wrong | 0.1 % |  | X | `clock_edges 20` | TODAY |",
                        "| clock_edges: O2, zen, printed, 1 | offset 3 ns |  | X | `clock_edges 20` | TODAY |"],
        "overhead": ["| <a id=\"figures-overhead\"></a>overhead: of another machine | 2.5 ms, at most 3.5 ms | at most 4 ms | E\\| | `python3 tests/bench/overhead.py` | 2025-01-31 |",
                     "| overhead: of another command | a text |  | X | `./other` |  |",
                     *(f"| overhead: {what} | {result} | {goal} | X | `python3 tests/bench/overhead.py` | TODAY |" for what, result, goal in (
                         ("samples", "12,345", ""), ("own cpu", "0.5", ""),
                         ("tailor record, 1,000 Hz, ratio", "1.02 [1.01, 1.03]", "at most 1.01"),
                         ("tailor record, 1,000 Hz, spare", "0.5 [0.4, 0.6]", ""), ("tailor record, 1,000 Hz, bytes", "7", ""),
                         ("tailor record, 5,000 Hz, by, tag", "0.25", ""), ("tailor record, 5,000 Hz, passed", "yes", "")))]}


def write_rows(file, rows):
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def figures_of(docs, *arguments):
    return run(sys.executable, figures.__file__, "--docs", docs, *arguments)


with tempfile.TemporaryDirectory() as folder:
    docs, results = pathlib.Path(folder) / "docs", pathlib.Path(folder) / "results"
    (docs / "benchmarks").mkdir(parents=True)
    results.mkdir()
    page = docs / "benchmarks.md"
    page.write_text(PAGE)
    write_rows(docs / "benchmarks/overhead.jsonl", OLD)
    for name, result in (("agent_bench", GOOGLE), ("overhead", SCRIPT), ("clock_edges", PROGRAM)):
        (results / f"{name}.json").write_text(json.dumps(result))
    figures_of(docs, "--take", results)
    text = page.read_text()
    check(text.startswith("# Benchmarks\n\nBy hand.\n") and text.endswith("The end.\n"), "the rest of the page stays")
    today = json.loads((docs / "benchmarks/agent_bench.jsonl").read_text().splitlines()[0])["date"]
    table = [line for line in text.splitlines() if line.startswith("| ") and line not in figures.HEAD]
    expected = [row.replace("TODAY", today) for rows in ROWS.values() for row in rows]
    for row in sorted(set(table) ^ set(expected)):
        print(f"{'too much' if row in table else 'missing '}: {row}")
    check(table == expected, "the table has each new figure once, and what was not run again; goals stay")
    long = [json.loads(line) for line in (docs / "benchmarks/clock_edges.jsonl").read_text().splitlines()]
    check(sum(row.get("detail", False) for row in long) == 28, "the rows of a long table are in the file and not on the page")
    figures_of(docs, "--take", results)
    check(page.read_text() == text, "a second time changes nothing")
    check(not figures.check(page, docs / "benchmarks"), "such a page is as its rows say")
    page.write_text(text.replace("12,345", "12,346"))
    check(figures.check(page, docs / "benchmarks"), "a figure that was changed by hand is found")
    page.write_text(text)
    write_rows(docs / "benchmarks/other.jsonl", [{"what": "no machine", "value": 1, "command": "x"}, {**OLD[0], "wat": 1}, OLD[0], OLD[0]])
    problems = list(figures.problems_of(docs / "benchmarks/other.jsonl"))
    check(len(problems) == 3, f"rows that are not well formed are told: {problems}")
