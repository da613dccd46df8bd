"""Compares weft with DuckDB on random queries (query_generator.py).

A difference is reported with its seed and text; `--first SEED --count 1` repeats it.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import query_generator
from answers import differences, reference, sort_key, texts
from tailor_env import BIN, ROOT, check, skip

# Joins that multiply can make results nobody wants to sort in Python.
MOST_ROWS = 200_000


def rows_of_weft(sql, scale_factor, threads):
    """The sorted rows, or the error weft ended with."""
    done = subprocess.run([str(BIN / "weft"), "--sf", scale_factor, "--threads", threads, "--json", "-c", sql],
                          capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        return None, f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
    rows = json.loads(done.stdout, object_pairs_hook=lambda pairs: [value for _, value in pairs], parse_float=str)
    return sorted(map(texts, rows), key=sort_key), None


def compare(connection, sql, scale_factor, threads):
    """What differs, as a list of texts; nothing also where the result is too large to compare."""
    expected = connection.execute(sql).fetchmany(MOST_ROWS + 1)
    if len(expected) > MOST_ROWS:
        return []
    actual, error = rows_of_weft(sql, scale_factor, threads)
    if error:
        return [error]
    return differences(actual, sorted(map(texts, expected), key=sort_key))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sf", default="0.01")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=150)
    options = parser.parse_args()
    try:
        import duckdb
    except ImportError:
        skip("the reference, the Python package duckdb, is not installed")
    loaded = subprocess.run([str(BIN / "weft"), "--sf", options.sf, "load-tpch"], capture_output=True, text=True)
    if loaded.returncode != 0:
        skip(loaded.stderr.strip())
    program = os.environ.get("WEFT_TPCHGEN") or shutil.which("tpchgen-cli") or str(ROOT / ".dev/cache/venv/bin/tpchgen-cli")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "tbl", "-s", options.sf, "--output-dir", folder, "-q"], check=True)
        connection = reference(duckdb, folder)
    # A comparison that cannot fail would prove nothing: two different queries have to differ.
    twin = compare(connection, "select count(*) from nation", options.sf, "1")
    wrong_twin = differences([["24"]], [["25"]])
    check(not twin and wrong_twin, "equal answers compare equal, different ones do not")
    wrong = []
    for seed in range(options.first, options.first + options.count):
        sql = query_generator.query(seed)
        found = compare(connection, sql, options.sf, "1" if seed % 2 else "3")
        if found:
            wrong.append(seed)
            print(f"seed {seed}: {found[:2]}\n  {sql}", flush=True)
    check(not wrong, f"{options.count} generated queries without a difference" if not wrong else f"seeds {wrong} differ")


if __name__ == "__main__":
    main()
