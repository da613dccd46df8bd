"""The table of figures: what one run replaces, and what stays."""
import json
import pathlib
import tempfile

import figures
from tailor_env import check

PAGE = f"""# Benchmarks

By hand.

{figures.BEGIN}
{chr(10).join(figures.HEAD)}
| agent_bench: mark, CPU time | 99 ns | old | `build/bench-bin/agent_bench` |
| capture: kept | 1 | old | `./dev bench capture` |
{figures.END}

The end.
"""
GOOGLE = {"context": {"executable": "build/bench-bin/agent_bench", "machine": "X|Y"},
          "benchmarks": [{"name": "mark", "cpu_time": 10.612, "time_unit": "ns", "items_per_second": 123456789.0},
                         {"name": "mark_cv", "aggregate_unit": "percentage", "cpu_time": 0.01, "time_unit": "ns"},
                         {"name": "broken", "error_occurred": True}]}
SCRIPT = {"name": "overhead", "machine": "X", "time": "2026", "command": "python3 tests/bench/overhead.py",
          "ratios": {"1000": [1.02, 1.01, 1.03]}, "samples": 12345, "engines": [{"name": "weft"}]}


def rows_of(page):
    return [line for line in page.splitlines() if line.startswith("| ") and line not in figures.HEAD]


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "agent_bench.json").write_text(json.dumps(GOOGLE))
    (folder / "overhead.json").write_text(json.dumps(SCRIPT))
    facts = figures.facts_of(folder)
    page = figures.updated(PAGE, facts)
print(page)
check(page.startswith("# Benchmarks\n\nBy hand.\n") and page.endswith("The end.\n"), "the rest of the page stays")
rows = rows_of(page)
check("| agent_bench: mark, CPU time | 10.61 ns | X\\|Y | `build/bench-bin/agent_bench` |" in rows, "a new figure is in the table")
check("| agent_bench: mark, rate | 123,456,789 items/s | X\\|Y | `build/bench-bin/agent_bench` |" in rows, "and its rate")
check("| overhead: ratios, 1000 | 1.02 [1.01, 1.03] | X | `python3 tests/bench/overhead.py` |" in rows, "a value has its interval")
check("| overhead: samples | 12,345 | X | `python3 tests/bench/overhead.py` |" in rows, "a count is exact")
check(not any("99 ns" in row for row in rows), "the figure that it replaces is gone")
check("| capture: kept | 1 | old | `./dev bench capture` |" in rows, "what was not run again stays")
check(len(rows) == 6, f"{len(rows)} rows: neither the spread of repetitions nor a benchmark that failed is a figure")
check(figures.updated(page, facts) == page, "a second time changes nothing")
real = figures.ROOT / "docs/benchmarks.md"
check(rows_of(figures.updated(real.read_text(), facts))[-1:], "docs/benchmarks.md has the place for the table")
