"""Queries that are never the same twice, for so many seconds and rounds at least: python churn_queries.py SECONDS ROUNDS

Prints how many there were, and what the agent kept half-way and at the end.
"""
import json
import pathlib
import re
import sys
import time

from queries import session


def kept(spark):
    """After a collection: what the agent counts (tailor.jvm.Agent.counts()), and the JVM's memory in KiB."""
    jvm = spark.sparkContext._jvm
    for _ in range(3):
        jvm.java.lang.System.gc()
        time.sleep(0.5)
        query(spark, time.monotonic_ns())  # the agent hears of what is gone when Spark compiles
    pid = jvm.java.lang.ProcessHandle.current().pid()
    resident = re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    return {"counts": list(jvm.tailor.jvm.Agent.counts()), "kib": int(resident.group(1))}


def query(spark, number):
    spark.sql(f"select sum(id * {number}), count(*) from range(0, 100000, 1, 2) where id % 7 <> {number % 7} and id <> {number}").collect()


def main():
    seconds, rounds = float(sys.argv[1]), int(sys.argv[2])
    spark = session()
    begin, done, then = time.monotonic(), 0, None
    while done < rounds or time.monotonic() < begin + seconds:
        done += 1
        query(spark, done)
        if then is None and done >= rounds / 2 and time.monotonic() > begin + seconds / 2:
            then = kept(spark)
    print(json.dumps({"queries": done, "then": then, "now": kept(spark)}))
    spark.stop()


if __name__ == "__main__":
    main()
