"""What the tests of weft's answers share: the reference, DuckDB on the same generated tables, and how rows compare.

The reference reads the generator's text files by itself, so that nothing of weft's storage is shared. Decimal
results are compared as numbers to the sixth digit after the point (weft's quotients have six, DuckDB's are
floating-point numbers); everything else exactly.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from tailor_env import BIN, ROOT, run, skip

QUERIES = ROOT / "compiler/weft/queries"
TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
# The columns that the answers of TPC-H are ordered by; where they tie, any order is right.
ORDER = {"tpch-1": [0, 1], "tpch-2": [0, 2, 1, 3], "tpch-3": [1, 2], "tpch-4": [0], "tpch-5": [1], "tpch-7": [0, 1, 2],
         "tpch-8": [0], "tpch-9": [0, 1], "tpch-10": [2], "tpch-11": [1], "tpch-12": [0], "tpch-13": [1, 0],
         "tpch-15": [0], "tpch-16": [3, 0, 1, 2], "tpch-18": [4, 3], "tpch-20": [0], "tpch-21": [1, 0], "tpch-22": [0]}


def load_weft(scale_factor):
    """Makes weft's tables, or skips with the reason why that cannot be done."""
    loaded = subprocess.run([str(BIN / "weft"), "--sf", scale_factor, "load-tpch"], capture_output=True, text=True)
    if loaded.returncode != 0:
        skip(loaded.stderr.strip())


def connect(scale_factor):
    """A DuckDB connection with the eight tables, typed as the specification has them."""
    try:
        import duckdb
    except ImportError:
        skip("the reference, the Python package duckdb, is not installed")
    program = os.environ.get("WEFT_TPCHGEN") or shutil.which("tpchgen-cli") or str(ROOT / ".dev/cache/venv/bin/tpchgen-cli")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "tbl", "-s", scale_factor, "--output-dir", folder, "-q"], check=True)
        return read_tables(duckdb.connect(), folder)


def read_tables(connection, folder):
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


def rows_of_weft(*arguments):
    """The rows of one query in the order in which weft gives them."""
    text = run(BIN / "weft", "--json", *arguments)
    rows = json.loads(text, object_pairs_hook=lambda pairs: [value for _, value in pairs], parse_float=str)
    return [texts(row) for row in rows]


def unsorted(actual, expected, columns):
    """Whether rows that are equal as a set differ in the order of these columns."""
    project = lambda rows: [[row[c] for c in columns] for row in rows]
    return differences(project(actual), project(expected))


def differences(actual, expected):
    if len(actual) != len(expected):
        return [f"{len(actual)} rows, expected {len(expected)}"]
    return [f"{a}, expected {e}" for a, e in zip(actual, expected) if len(a) != len(e) or not all(map(same, a, e))]
