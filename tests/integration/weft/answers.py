"""Compares weft's answers with DuckDB's on the same generated tables.

For every query that comes with weft, at every optimisation level asked for and on one and three threads. The
reference reads the generator's text files by itself, so that nothing of weft's storage is shared. Decimal
results are compared as numbers to the sixth digit after the point (weft's quotients have six, DuckDB's are
floating-point numbers); everything else exactly. Rows are compared as sorted lists.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from tailor_env import BIN, ROOT, check, run, skip

QUERIES = ROOT / "compiler/weft/queries"
TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
NAMES = {f"q{n}": f"tpch-{n}" for n in range(1, 23)} | {"figure9": "figure-9", "sfja": "sfja"}


def reference(duckdb, folder):
    """A DuckDB connection with the eight tables, typed as the specification has them."""
    connection = duckdb.connect()
    decimal, key = "decimal(15,2)", "bigint"
    columns = {
        "region": ["r_regionkey " + key, "r_name varchar", "r_comment varchar"],
        "nation": ["n_nationkey " + key, "n_name varchar", "n_regionkey " + key, "n_comment varchar"],
        "supplier": ["s_suppkey " + key, "s_name varchar", "s_address varchar", "s_nationkey " + key, "s_phone varchar",
                     "s_acctbal " + decimal, "s_comment varchar"],
        "customer": ["c_custkey " + key, "c_name varchar", "c_address varchar", "c_nationkey " + key, "c_phone varchar",
                     "c_acctbal " + decimal, "c_mktsegment varchar", "c_comment varchar"],
        "part": ["p_partkey " + key, "p_name varchar", "p_mfgr varchar", "p_brand varchar", "p_type varchar",
                 "p_size integer", "p_container varchar", "p_retailprice " + decimal, "p_comment varchar"],
        "partsupp": ["ps_partkey " + key, "ps_suppkey " + key, "ps_availqty integer", "ps_supplycost " + decimal,
                     "ps_comment varchar"],
        "orders": ["o_orderkey " + key, "o_custkey " + key, "o_orderstatus varchar", "o_totalprice " + decimal,
                   "o_orderdate date", "o_orderpriority varchar", "o_clerk varchar", "o_shippriority integer",
                   "o_comment varchar"],
        "lineitem": ["l_orderkey " + key, "l_partkey " + key, "l_suppkey " + key, "l_linenumber integer",
                     "l_quantity " + decimal, "l_extendedprice " + decimal, "l_discount " + decimal, "l_tax " + decimal,
                     "l_returnflag varchar", "l_linestatus varchar", "l_shipdate date", "l_commitdate date",
                     "l_receiptdate date", "l_shipinstruct varchar", "l_shipmode varchar", "l_comment varchar"],
    }
    for table in TABLES:
        connection.execute(f"create table {table} ({', '.join(columns[table])})")
        connection.execute(f"copy {table} from '{folder}/{table}.tbl' (delimiter '|', header false)")
    return connection


def same(a, b):
    """Equal texts, or numbers apart by no more than the sixth digit after the point can be rounded."""
    if a == b:
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return abs(x - y) <= 6e-7 or abs(x - y) <= 1e-9 * abs(y)


def sort_key(row):
    """Orders rows of both systems alike: numbers by value, rounded so that both round to the same."""
    key = []
    for text in row:
        try:
            key.append((0, round(float(text), 4), ""))
        except ValueError:
            key.append((1, 0.0, text))
    return key


def texts(row):
    return ["null" if v is None else str(v) for v in row]


def rows_of_weft(name, *options):
    lines = run(BIN / "weft", "--query", name, *options).splitlines()
    return sorted((line.split("|") for line in lines[1:]), key=sort_key)


def differences(actual, expected):
    if len(actual) != len(expected):
        return [f"{len(actual)} rows, expected {len(expected)}"]
    return [f"{a}, expected {e}" for a, e in zip(actual, expected) if len(a) != len(e) or not all(map(same, a, e))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sf", default="0.01")
    parser.add_argument("--levels", default="0,2")
    parser.add_argument("--queries", default=",".join(NAMES))
    parser.add_argument("--write", help="also write the reference's answers to this file, for expected_answers.py")
    options = parser.parse_args()
    try:
        import duckdb
    except ImportError:
        skip("the reference, the Python package duckdb, is not installed")
    generator = subprocess.run([str(BIN / "weft"), "--sf", options.sf, "load-tpch"], capture_output=True, text=True)
    if generator.returncode != 0:
        skip(generator.stderr.strip())
    program = os.environ.get("WEFT_TPCHGEN") or shutil.which("tpchgen-cli") or str(ROOT / ".dev/cache/venv/bin/tpchgen-cli")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "tbl", "-s", options.sf, "--output-dir", folder, "-q"], check=True)
        connection = reference(duckdb, folder)
    wrong, answers = [], {}
    for stem in options.queries.split(","):
        sql = (QUERIES / f"{stem}.sql").read_text()
        expected = sorted((texts(row) for row in connection.execute(sql).fetchall()), key=sort_key)
        answers[NAMES[stem]] = {"rows": len(expected), "first": expected[:40]}
        for level in options.levels.split(","):
            for threads in ("1", "3"):
                actual = rows_of_weft(NAMES[stem], "--sf", options.sf, "--opt", level, "--threads", threads)
                if found := differences(actual, expected):
                    wrong.append(f"{NAMES[stem]} at O{level} on {threads} threads")
                    print(f"{wrong[-1]}: {found[:3]}")
        print(f"{NAMES[stem]}: {len(expected)} rows", flush=True)
    if options.write:
        pathlib.Path(options.write).write_text(json.dumps(answers, indent=0) + "\n")
    check(not wrong, f"all answers equal DuckDB's at scale factor {options.sf}" if not wrong else "; ".join(wrong))


if __name__ == "__main__":
    main()
