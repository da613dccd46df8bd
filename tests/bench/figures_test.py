"""The table of figures: what one run replaces, and what stays."""
import json
import pathlib
import sys
import tempfile

import figures
from tailor_env import check, run

PAGE = f"""# Benchmarks

By hand.

{figures.BEGIN}
{chr(10).join(figures.HEAD)}
| agent_bench: mark, CPU time | 99 ns | old | `build/bench-bin/agent_bench` |
| capture: kept | 1 | old | `./dev bench capture` |
{figures.END}

The end.
"""
GOOGLE = {"context": {"executable": "build/bench-bin/agent_bench", "machine": "X|Y; Linux"},
          "benchmarks": [{"name": "mark", "cpu_time": 10.612, "time_unit": "ns", "items_per_second": 123456789.0},
                         {"name": "mark_cv", "aggregate_name": "cv", "cpu_time": 0.01, "time_unit": "ns"},
                         {"name": "broken", "error_occurred": True}]}
SCRIPT = {"name": "overhead", "machine": "X", "time": "2026", "command": "python3 tests/bench/overhead.py",
          "samples": 12345, "own_cpu": 0.5, "runs": [[1.85, 1.86, 218.8]], "options": {"pairs": 24, "sf": "1"},
          "rows": [{"frequency": 1000, "what": "tailor record", "ratio": 1.02, "low": 1.01, "high": 1.03, "pairs": 24, "bytes": 7,
                    "spare": 0.5, "spare_low": 0.4, "spare_high": 0.6},
                   {"frequency": 5000, "what": "tailor record", "by": {"tag": 0.25}, "passed": True}]}
PROGRAM = {"name": "clock_edges", "machine": "X", "command": "clock_edges 20", "printed": ["offset 3 ns", "wrong 0 of 10"]}


def rows_of(page):
    return [line for line in page.splitlines() if line.startswith("| ") and line not in figures.HEAD]


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "agent_bench.json").write_text(json.dumps(GOOGLE))
    (folder / "overhead.json").write_text(json.dumps(SCRIPT))
    (folder / "clock_edges.json").write_text(json.dumps(PROGRAM))
    facts = figures.facts_of(folder)
    page = figures.updated(PAGE, facts)
print(page)
check(page.startswith("# Benchmarks\n\nBy hand.\n") and page.endswith("The end.\n"), "the rest of the page stays")
rows = rows_of(page)
GOOGLE_END = "X\\|Y, Linux | `build/bench-bin/agent_bench` |"
SCRIPT_END = "X | `python3 tests/bench/overhead.py` |"
EXPECTED = [f"| agent_bench: mark, CPU time | 10.61 ns | {GOOGLE_END}",
            f"| agent_bench: mark, rate | 123,456,789 items/s | {GOOGLE_END}",
            "| capture: kept | 1 | old | `./dev bench capture` |",
            "| clock_edges: printed, 1 | offset 3 ns | X | `clock_edges 20` |",
            "| clock_edges: printed, 2 | wrong 0 of 10 | X | `clock_edges 20` |",
            f"| overhead: samples | 12,345 | {SCRIPT_END}",
            f"| overhead: own cpu | 0.5 | {SCRIPT_END}",
            f"| overhead: tailor record, 1,000 Hz, ratio | 1.02 [1.01, 1.03] | {SCRIPT_END}",
            f"| overhead: tailor record, 1,000 Hz, spare | 0.5 [0.4, 0.6] | {SCRIPT_END}",
            f"| overhead: tailor record, 1,000 Hz, bytes | 7 | {SCRIPT_END}",
            f"| overhead: tailor record, 5,000 Hz, by, tag | 0.25 | {SCRIPT_END}",
            f"| overhead: tailor record, 5,000 Hz, passed | yes | {SCRIPT_END}"]
check(sorted(rows) == sorted(EXPECTED), "the table has each new figure once, and what was not run again")
check(not any("99 ns" in row for row in rows), "the figure that it replaces is gone")
check(figures.updated(page, facts) == page, "a second time changes nothing")
with tempfile.TemporaryDirectory() as folder:
    copy = pathlib.Path(folder) / "page.md"
    copy.write_text(PAGE)
    (pathlib.Path(folder) / "overhead.json").write_text(json.dumps(SCRIPT))
    run(sys.executable, figures.__file__, folder, copy)
    check("1.02 [1.01, 1.03]" in copy.read_text(), "the program does the same to a file")
real = figures.ROOT / "docs/benchmarks.md"
check(rows_of(figures.updated(real.read_text(), facts))[-1:], "docs/benchmarks.md has the place for the table")
