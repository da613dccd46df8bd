"""Runs one small query under each of the hostile names that tests/spark/hostile.py knows: python hostile_queries.py NAMES ROUNDS

NAMES is a file of Java's properties, a name each. Java reads it: Python cannot hand over half a pair of surrogates.
"""
import pathlib
import sys

from queries import session

KEY = "spark.job.description"


def main():
    spark = session()
    spark.range(0, 2_000_000, 1, 2).selectExpr("id % 1000 as k", "id as v").createOrReplaceTempView("few")
    spark.sql("create or replace temporary view `<b>\x1b[31m\U0001F4CA</b>` as select k, v from few where v < 1000")
    spark.sql("cache table `<b>\x1b[31m\U0001F4CA</b>`")
    own = spark.sparkContext._jsc.sc().localProperties().get()
    jvm = spark.sparkContext._jvm
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        own.load(jvm.java.io.StringReader(f"{KEY}={line}"))
        for _ in range(int(sys.argv[2])):
            spark.sql("select sum(v % 7) from few where k <> 3").collect()
        spark.sql("select sum(v % 7) from `<b>\x1b[31m\U0001F4CA</b>`").collect()
    spark.stop()
    print("{}")


if __name__ == "__main__":
    main()
