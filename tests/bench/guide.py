"""Replays the use cases of docs/guide.md on this host: records, and prints what Tailor shows.

    python3 tests/bench/guide.py expert | optimizer | operator [--sf 1] [--folder OUT]

Profiles, and pages for a browser, are left in the folder.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

BIN = pathlib.Path(os.environ.get("TAILOR_BUILD", pathlib.Path(__file__).parents[2] / "build")) / "bin"


def show(*command):
    """Prints a command as a user would type it, and what it says."""
    words = [str(each) for each in command]
    print("$ " + " ".join([pathlib.Path(words[0]).name, *words[1:]]), flush=True)
    if subprocess.run(words, env={**os.environ, "TAILOR_PAGER": ""}).returncode != 0:
        sys.exit(f"{words[0]} failed")


def record(profile, query, *options, data=(), repeat):
    show(BIN / "tailor", "record", *options, "-o", profile, "--", BIN / "weft", *data, "--threads", "2", "--quiet", "--query", query,
         "--repeat", str(repeat))


def expert(folder, scale):
    """Figure 9: which operator of the plan takes the time?"""
    profile = folder / "figure-9.tailor"
    record(profile, "figure-9", data=("--sf", scale), repeat=20)
    show(BIN / "tailor", "report", profile, "--last", "19")
    show(BIN / "tailor", "report", profile, "--html", folder / "figure-9.html")


def load_by_date(folder, scale):
    """TPC-H with orders in the order of their dates, and lineitem in that of its orders: as a shop's tables grow."""
    import duckdb

    data = folder / "by-date"
    if (data / "lineitem.csv").exists():
        return data
    data.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as raw:
        subprocess.run([pathlib.Path(sys.executable).parent / "tpchgen-cli", "parquet", "-s", scale, f"--output-dir={raw}",
                        "--tables=orders,lineitem,partsupp"], check=True)
        db = duckdb.connect()
        db.execute(f"CREATE TABLE numbered AS SELECT *, row_number() OVER (ORDER BY o_orderdate, o_orderkey) AS number "
                   f"FROM '{raw}/orders.parquet'")
        tables = {
            "orders": "SELECT number AS o_orderkey, o_orderdate FROM numbered ORDER BY number",
            "lineitem": "SELECT number AS l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice "
                        f"FROM '{raw}/lineitem.parquet' JOIN numbered ON o_orderkey = l_orderkey ORDER BY number, l_linenumber",
            "partsupp": f"SELECT ps_partkey, ps_suppkey, ps_supplycost FROM '{raw}/partsupp.parquet'",
        }
        for name, query in tables.items():
            db.execute(f"COPY ({query}) TO '{data / name}.csv' (HEADER)")
    for name in tables:
        show(BIN / "weft", "--data", data, "load-csv", data / f"{name}.csv")
    return data


def optimizer(folder, scale):
    """Figures 10 and 11: two plans with the same intermediate results. Which one is faster, and why?"""
    data = load_by_date(folder, scale)
    for plan in ("a", "b"):
        record(folder / f"plan-{plan}.tailor", f"figure-10{plan}", "-F", "10000", data=("--data", data), repeat=20)
    show(BIN / "tailor", "diff", folder / "plan-a.tailor", folder / "plan-b.tailor")
    for plan in ("a", "b"):
        profile = folder / f"plan-{plan}.tailor"
        show(BIN / "tailor", "timeline", "--last", "1", profile)
        show(BIN / "tailor", "report", "--last", "1", profile, "--html", folder / f"plan-{plan}.html")


def operator(folder, scale):
    """Figure 12: how do the operators go through memory?"""
    profile = folder / "memory.tailor"
    record(profile, "figure-9", "--memory", "-F", "10000", data=("--sf", scale), repeat=20)
    show(BIN / "tailor", "memory", "--last", "20", profile)
    show(BIN / "tailor", "report", "--last", "1", profile, "--html", folder / "memory.html")


if __name__ == "__main__":
    cases = {each.__name__: each for each in (expert, optimizer, operator)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=cases)
    parser.add_argument("--sf", default="1", help="scale factor of TPC-H")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("guide"), help="where profiles and pages go")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    cases[given.case](given.folder, given.sf)
