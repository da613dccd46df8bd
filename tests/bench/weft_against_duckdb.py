#!/usr/bin/env python3
"""All 22 queries of TPC-H in weft and in DuckDB on the same data: warm, execution only, best of several runs.

Wall time is what users wait for; CPU time is less disturbed by other work on the machine. Compilation is not
counted on either side: weft executes a compiled query, DuckDB's planning of these queries takes about a
millisecond. Prints a table and the geometric means of the ratios weft / DuckDB. Then how long weft takes from the
text of a query to generated code running, for each of the 22 in one process and its median.
"""
import argparse
import json
import math
import pathlib
import statistics
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "integration/weft")]
from reference import QUERIES, connect, load_weft
from tailor_env import BIN, run

ALONE = {"TAILOR_DISABLE": "1"}
parser = argparse.ArgumentParser()
parser.add_argument("--sf", default="1")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--runs", type=int, default=5)
options = parser.parse_args()
load_weft(options.sf)
connection = connect(options.sf)
connection.execute(f"set threads to {options.threads}")

ratios = {"wall": [], "cpu": []}
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
for kind, values in ratios.items():
    print(f"geometric mean of weft / DuckDB, {kind}: {math.exp(sum(map(math.log, values)) / len(values)):.2f}")

every = [argument for number in range(1, 23) for argument in ("--tpch", number)]
text = run(BIN / "weft", "--sf", options.sf, "--threads", options.threads, "--quiet", *every, "--timing-json", "-", env=ALONE)
print(f"\n{'query':8} {'plan':>8} {'generate':>9} {'compile':>8} {'text to code running':>22}   (ms)")
for query in json.loads(text)["queries"]:
    print(f"{query['name']:8} {query['plan_ms']:8.1f} {query['generate_ms']:9.1f} {query['compile_ms']:8.1f} {query['first_code_ms']:22.1f}")
first = [query["first_code_ms"] for query in json.loads(text)["queries"]]
print(f"median from text to generated code running: {statistics.median(first):.1f} ms, longest {max(first):.1f} ms")
