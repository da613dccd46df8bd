#!/usr/bin/env python3
"""All 22 queries of TPC-H in weft and in DuckDB on the same data: warm, execution only, best of several runs.

Wall time is what users wait for; CPU time is less disturbed by other work on the machine. Compilation is not
counted on either side: weft executes a compiled query, DuckDB's planning of these queries takes about a
millisecond. Prints a table and the geometric means of the ratios weft / DuckDB.
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "integration/weft")]
from answers import QUERIES, reference
from tailor_env import BIN, ROOT, run, skip

parser = argparse.ArgumentParser()
parser.add_argument("--sf", default="1")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--runs", type=int, default=5)
options = parser.parse_args()
try:
    import duckdb
except ImportError:
    skip("the Python package duckdb is not installed")
program = os.environ.get("WEFT_TPCHGEN") or shutil.which("tpchgen-cli") or str(ROOT / ".dev/cache/venv/bin/tpchgen-cli")
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([program, "tbl", "-s", options.sf, "--output-dir", folder, "-q"], check=True)
    connection = reference(duckdb, folder)
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
               "--tpch", number, "--timing-json", "-", env={"TAILOR_DISABLE": "1"})
    ours = [(e["wall_ns"] / 1e9, e["cpu_ns"] / 1e9) for e in json.loads(text)["executions"]]
    line = f"tpch-{number:<3}"
    for i, kind in enumerate(("wall", "cpu")):
        a, b = min(t[i] for t in ours[1:]), min(t[i] for t in theirs[1:])
        ratios[kind].append(a / b)
        line += f" {a * 1e3:10.1f} {b * 1e3:12.1f} {a / b:6.2f}"
    print(line, flush=True)
for kind, values in ratios.items():
    print(f"geometric mean of weft / DuckDB, {kind}: {math.exp(sum(map(math.log, values)) / len(values)):.2f}")
