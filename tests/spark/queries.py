"""Queries of Spark that the tests run, each by its name: python queries.py DATA NAME[*ROUNDS] ...

DATA is a folder for tables; what is not there is made. The environment says how Spark runs: TAILOR_JAVA_OPTIONS for the
driver's JVM, TAILOR_EXECUTOR_OPTIONS for those of executors, TAILOR_SPARK_MASTER, TAILOR_SPARK_JARS (the class of burn()),
TAILOR_SPARK_SCALE (rows of facts and few are multiplied by it), TAILOR_SPARK_LINEITEMS. Prints what each query gave, as JSON.
"""
import json
import os
import pathlib
import re
import sys

from pyspark.sql import SparkSession
from pyspark.sql.types import LongType

LINEITEMS = int(os.environ.get("TAILOR_SPARK_LINEITEMS", "40000"))
TABLES = {
    "lineitem": (LINEITEMS, """id div 4 as l_orderkey, id % 200 as l_partkey, id % 10 as l_suppkey, cast(id % 50 + 1 as double) as l_quantity,
        cast(id % 9973 as double) as l_extendedprice, (id % 11) / 100.0D as l_discount, (id % 8) / 100.0D as l_tax,
        substring('ANR', cast(id % 3 + 1 as int), 1) as l_returnflag, substring('OF', cast(id % 2 + 1 as int), 1) as l_linestatus,
        date_add(date'1992-01-01', cast(id % 2500 as int)) as l_shipdate"""),
    "orders": (LINEITEMS // 4, """id as o_orderkey, id % 1000 as o_custkey, cast(id % 7919 as double) as o_totalprice,
        date_add(date'1992-01-01', cast(id % 2400 as int)) as o_orderdate, 0 as o_shippriority"""),
    "customer": (1000, "id as c_custkey, concat('Customer#', id) as c_name, if(id % 5 = 0, 'BUILDING', 'MACHINERY') as c_mktsegment"),
    "part": (200, "id as p_partkey, concat(if(id % 3 = 0, 'green ', 'red '), id) as p_name"),
    "supplier": (10, "id as s_suppkey, id % 5 as s_nationkey"),
    "partsupp": (2000, "id % 200 as ps_partkey, id div 200 as ps_suppkey, cast(id % 100 as double) as ps_supplycost"),
    "nation": (5, "id as n_nationkey, concat('NATION ', id) as n_name"),
}
FILES = {"lineitem", "orders", "sales"}
SCALE = float(os.environ.get("TAILOR_SPARK_SCALE", "1"))
TABLES |= {
    "facts": (int(20_000_000 * SCALE), "id % 1000 as k, id as v"),
    "few": (int(2_000_000 * SCALE), "id % 1000 as k, id as v"),
    "dims": (1000, "id as k, id % 10 as grp"),
    "sales": (int(20_000_000 * SCALE), "id % 1000 as k, id as v"),
}
QUERIES = {
    "q1": """select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
        sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_discount), count(*) from lineitem
        where l_shipdate <= date'1998-09-02' group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus""",
    "q3": """select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
        from customer, orders, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey
        and o_orderdate < date'1995-03-15' and l_shipdate > date'1995-03-15' group by l_orderkey, o_orderdate, o_shippriority
        order by revenue desc, o_orderdate limit 10""",
    "q6": """select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date'1994-01-01'
        and l_shipdate < date'1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24""",
    "q9": """select nation, o_year, sum(amount) from (select n_name as nation, year(o_orderdate) as o_year,
        l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity as amount from part, supplier, lineitem, partsupp, orders, nation
        where s_suppkey = l_suppkey and ps_suppkey = l_suppkey and ps_partkey = l_partkey and p_partkey = l_partkey
        and o_orderkey = l_orderkey and s_nationkey = n_nationkey and p_name like '%green%') group by nation, o_year
        order by nation, o_year desc""",
    "q18": """select /*+ MERGE(orders) */ c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity)
        from customer, orders, lineitem where o_orderkey in (select l_orderkey from lineitem group by l_orderkey
        having sum(l_quantity) > 120) and c_custkey = o_custkey and o_orderkey = l_orderkey
        group by c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice order by o_totalprice desc, o_orderdate limit 100""",
    "aggregate": "select grp, sum(v), count(*) from facts join dims on facts.k = dims.k where v % 7 <> 3 group by grp",
    "subquery": "select count(*) from few where v % 20 < (select max(grp) from dims)",
    # Operators without generated code.
    "window": """select sum(r), max(s) from (select row_number() over (partition by k order by v) r, sum(v) over (partition by k order by v) s
        from few)""",
    "lists": "select max(size(l)) from (select k, collect_list(v) l from few group by k)",
    # burn() in one operator each.
    "burn_filter": "select sum(v) from few where burn(v) % 3 <> 7",
    "burn_join": "select count(*) from few join dims on few.k = dims.k and burn(few.v + dims.grp) >= dims.grp",
    "burn_sum": "select grp, sum(burn(v) % 5) from few join dims on few.k = dims.k group by grp",
}

# Scan, filter, join, aggregation: plainly, and with busy() in one of them.
SFJA = "select grp, sum({aggregate}) from sales join dims on sales.k = dims.k and {join} >= grp where {filter} % 7 <> 3 group by grp"
PLAIN = {"filter": "v", "join": "v + grp", "aggregate": "v + grp"}
QUERIES["sfja_reference"] = SFJA.format(**PLAIN)
QUERIES |= {f"sfja_{name}": SFJA.format(**{**PLAIN, name: f"busy({text})"}) for name, text in PLAIN.items()}


def session():
    builder = SparkSession.builder.master(os.environ.get("TAILOR_SPARK_MASTER", "local[2]")).appName("tailor")
    jars = os.environ.get("TAILOR_SPARK_JARS", "")
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR", "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": os.environ.get("TAILOR_JAVA_OPTIONS", ""), "spark.driver.extraClassPath": jars,
        "spark.executor.extraJavaOptions": os.environ.get("TAILOR_EXECUTOR_OPTIONS", ""), "spark.executor.extraClassPath": jars,
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.sql.ansi.enabled": "false",
    }
    for key, value in settings.items():
        if value:
            builder = builder.config(key, value)
    return builder.getOrCreate()


def tables(spark, folder, queries):
    """Those of the queries: the two large ones of TPC-H as files of Parquet, the others made on the way."""
    words = set(re.findall(r"\w+", " ".join(queries)))
    for name, (rows, columns) in TABLES.items():
        if name not in words:
            continue
        table = spark.range(0, rows, 1, 1 if name in FILES else 2).selectExpr(*split(columns))
        if name in FILES:
            if not (folder / name / "_SUCCESS").exists():
                table.write.mode("overwrite").parquet(str(folder / name))
            table = spark.read.parquet(str(folder / name))
        table.createOrReplaceTempView(name)


def split(columns):
    """At the commas outside of parentheses."""
    parts, depth = [""], 0
    for letter in columns:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def main():
    spark = session()
    tables(spark, pathlib.Path(sys.argv[1]), [QUERIES[each.partition("*")[0]] for each in sys.argv[2:]])
    if os.environ.get("TAILOR_SPARK_JARS"):
        spark.udf.registerJavaFunction("burn", "tailor.test.Burn", LongType())
    given = {}
    for argument in sys.argv[2:]:
        name, _, rounds = argument.partition("*")
        spark.sparkContext.setJobDescription(name)
        for _ in range(int(rounds or 1)):
            given[name] = [str(row) for row in spark.sql(QUERIES[name]).collect()]
    spark.sparkContext.setJobDescription(None)
    print(json.dumps(given))
    spark.stop()


if __name__ == "__main__":
    main()
