#!/usr/bin/env python3
"""All 22 queries of TPC-H in weft and in DuckDB on the same data: warm, execution only, best of several runs.

Wall time is what users wait for; CPU time is less disturbed by other work on the machine. Compilation is not
counted on either side: weft executes a compiled query, DuckDB's planning of these queries takes about a
millisecond. Prints a table and the geometric means of the ratios weft / DuckDB. Then how long weft takes from the
text of a query to generated code running, in a process that has run a query before, and the median of the 22.
"""
import argparse
import json
import math
import pathlib
import statistics
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "integration/weft"), str(TESTS / "bench")]
import paired
from reference import QUERIES, connect, load_weft
from tailor_env import BIN, run

ALONE = {"TAILOR_DISABLE": "1"}
# The first query of a process also pays for loading the code generator.
WARM_UP = "select count(*) from region"
parser = argparse.ArgumentParser()
parser.add_argument("--sf", default="1")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--runs", type=int, default=5)
options = parser.parse_args()
load_weft(options.sf)
connection = connect(options.sf)
connection.execute(f"set threads to {options.threads}")

ratios = {"wall": [], "cpu": []}
rows = []
print(f"{'query':8} {'weft wall':>10} {'DuckDB wall':>12} {'ratio':>6} {'weft CPU':>10} {'DuckDB CPU':>12} {'ratio':>6}   (ms)")
for number in range(1, 23):
    sql = (QUERIES / f"q{number}.sql").read_text()
    theirs = []
    for _ in range(options.runs + 1):
        wall, cpu = time.perf_counter(), time.process_time()
        connection.execute(sql).fetchall()
        theirs.append((time.perf_counter() - wall, time.process_time() - cpu))
    text = run(BIN / "weft", "--sf", options.sf, "--threads", options.threads, "--repeat", options.runs + 1, "--quiet",
               "--opt", 2, "--tpch", number, "--timing-json", "-", env=ALONE)
    ours = [(e["wall_ns"] / 1e9, e["cpu_ns"] / 1e9) for e in json.loads(text)["executions"]]
    line = f"tpch-{number:<3}"
    for i, kind in enumerate(("wall", "cpu")):
        a, b = min(t[i] for t in ours[1:]), min(t[i] for t in theirs[1:])
        ratios[kind].append(a / b)
        line += f" {a * 1e3:10.1f} {b * 1e3:12.1f} {a / b:6.2f}"
    print(line, flush=True)
    rows.append({"query": f"tpch-{number}", "wall": ratios["wall"][-1], "cpu": ratios["cpu"][-1]})
for kind, values in ratios.items():
    mean = math.exp(sum(map(math.log, values)) / len(values))
    print(f"geometric mean of weft / DuckDB, {kind}: {mean:.2f}")
    rows.append({"query": "geometric mean", kind: mean})

# From the text to generated code running, the best of several runs. CPU time tells what it takes where nothing else runs.
best = {}
for _ in range(options.runs):
    for number in range(1, 23):
        text = run(BIN / "weft", "--sf", options.sf, "--threads", options.threads, "--quiet", "-c", WARM_UP, "--tpch", number,
                   "--timing-json", "-", env=ALONE)
        query = json.loads(text)["queries"][-1]
        known = best.setdefault(query["name"], query)
        for key, value in query.items():
            if key != "name":
                known[key] = min(known[key], value)
COLUMNS = {"plan_ms": "plan", "generate_ms": "generate", "compile_ms": "compile", "first_code_ms": "text to code running",
           "preparing_cpu_ms": "CPU time"}
print("\n" + f"{'query':8}" + "".join(f"{title:>22}" for title in COLUMNS.values()) + "   (ms)")
for name, query in best.items():
    print(f"{name:8}" + "".join(f"{query[key]:22.1f}" for key in COLUMNS))
print(f"{'median':8}" + "".join(f"{statistics.median(query[key] for query in best.values()):22.1f}" for key in COLUMNS))
paired.report("weft_against_duckdb", f"SF {options.sf}, {options.threads} threads, on {paired.machine()}",
              {"rows": rows, "queries": list(best.values()), "options": vars(options)})
