"""TPC-H in PostgreSQL: its tables by tpchgen-cli, with primary keys and indexes on foreign keys, and its 22 queries."""
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MONEY = "numeric(15,2)"
TABLES = {
    "region": ("r_regionkey int primary key, r_name text, r_comment text", ()),
    "nation": ("n_nationkey int primary key, n_name text, n_regionkey int, n_comment text", ()),
    "part": ("p_partkey int primary key, p_name text, p_mfgr text, p_brand text, p_type text, p_size int, p_container text,"
             f" p_retailprice {MONEY}, p_comment text", ()),
    "supplier": ("s_suppkey int primary key, s_name text, s_address text, s_nationkey int, s_phone text,"
                 f" s_acctbal {MONEY}, s_comment text", ("s_nationkey",)),
    "partsupp": (f"ps_partkey int, ps_suppkey int, ps_availqty int, ps_supplycost {MONEY}, ps_comment text,"
                 " primary key (ps_partkey, ps_suppkey)", ("ps_suppkey",)),
    "customer": ("c_custkey int primary key, c_name text, c_address text, c_nationkey int, c_phone text,"
                 f" c_acctbal {MONEY}, c_mktsegment text, c_comment text", ("c_nationkey",)),
    "orders": (f"o_orderkey bigint primary key, o_custkey int, o_orderstatus text, o_totalprice {MONEY}, o_orderdate date,"
               " o_orderpriority text, o_clerk text, o_shippriority int, o_comment text", ("o_custkey", "o_orderdate")),
    "lineitem": (f"l_orderkey bigint, l_partkey int, l_suppkey int, l_linenumber int, l_quantity {MONEY}, l_extendedprice {MONEY},"
                 f" l_discount {MONEY}, l_tax {MONEY}, l_returnflag text, l_linestatus text, l_shipdate date, l_commitdate date,"
                 " l_receiptdate date, l_shipinstruct text, l_shipmode text, l_comment text",
                 ("l_orderkey", "l_partkey, l_suppkey", "l_shipdate")),
}


def generator():
    return os.environ.get("WEFT_TPCHGEN", str(ROOT / ".dev/cache/venv/bin/tpchgen-cli"))


def load(server, scale_factor):
    """Makes the tables. The server's user reads the generated files."""
    with tempfile.TemporaryDirectory(prefix="tailor-tpch-") as folder:
        os.chmod(folder, 0o755)
        subprocess.run([generator(), "csv", "-s", str(scale_factor), "--output-dir", folder], check=True, stdout=subprocess.DEVNULL)
        for name, (columns, indexes) in TABLES.items():
            path = pathlib.Path(folder) / f"{name}.csv"
            os.chmod(path, 0o644)
            server.sql(f"create table {name} ({columns}); copy {name} from '{path}' (format csv, header);"
                       + "".join(f"create index on {name} ({index});" for index in indexes))
            path.unlink()
    server.sql("vacuum analyze")


def queries(numbers=range(1, 23)):
    folder = ROOT / "compiler/weft/queries"
    return {f"TPC-H {n}": (folder / f"q{n}.sql").read_text(encoding="utf-8").strip().rstrip(";") + ";" for n in numbers}
