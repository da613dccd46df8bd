"""A small Spark program: two tables, a filter, a join and an aggregation, executed so many times.

spark-submit or python queries.py ROUNDS [DUMP]: DUMP is a folder for the classes that Spark generates.
"""
import sys

from pyspark.sql import SparkSession

rounds = int(sys.argv[1])
spark = SparkSession.builder.master("local[2]").appName("tailor").config("spark.ui.enabled", "false") \
    .config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "ERROR").getOrCreate()
spark.range(40_000_000).selectExpr("id % 1000 as k", "id as v").createOrReplaceTempView("facts")
spark.range(1000).selectExpr("id as k", "id % 10 as grp").createOrReplaceTempView("dims")
QUERY = """select grp, sum(v) as total, count(*) as n from facts join dims on facts.k = dims.k
           where v % 7 <> 3 group by grp"""
spark.sparkContext.setJobDescription("join and aggregate")
for _ in range(rounds):
    rows = spark.sql(QUERY).collect()
assert len(rows) == 10
print(sum(row["n"] for row in rows))
spark.stop()
