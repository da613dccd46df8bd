"""Queries whose code is new each time: what the agent keeps of them goes when Spark's classes go.

The twin is a Spark that keeps all of its classes: there dictionaries are left. python churn.py VERSION SECONDS [twin]
"""
import pathlib
import sys
import tempfile

from spark_env import HERE, JAR, environment, python_of, record, report
from tailor_env import check, sampling_denied, skip

ROUNDS = 60
CACHED = 20  # units that Spark keeps


def measure(version, seconds, cached):
    with tempfile.TemporaryDirectory(prefix="tailor-spark-") as name:
        profile = pathlib.Path(name) / "profile.tailor"
        # The heap has all of its pages from the beginning, so that what grows is not it.
        options = f"-javaagent:{JAR} -Xms1g -XX:+AlwaysPreTouch"
        settings = f"--conf spark.sql.codegen.cache.maxEntries={cached} pyspark-shell"
        said, _ = record(profile, [python_of(version), HERE / "churn_queries.py", seconds, ROUNDS],
                         environment(options, PYSPARK_SUBMIT_ARGS=settings), frequency=199)
        return said, report(profile)


def main():
    if reason := sampling_denied():
        skip(reason)
    version, seconds, *twin = sys.argv[1:]
    said, found = measure(version, seconds, CACHED)
    (_, _, _, live_then, plans_then, *_), (loads, unloads, dropped, live, plans, queued, _, lost) = (said[when]["counts"] for when in ("then", "now"))
    print(f"{loads} pieces of code loaded, {unloads} unloaded; {queued} messages; {live_then} pieces lived half-way and {live} at the end; "
          f"memory {said['then']['kib']} KiB half-way, {said['now']['kib']} KiB at the end")
    check(dropped == 0 and lost == 0, f"of {said['queries']} queries nothing was dropped")
    # Each query has a unit or two. Spark keeps CACHED of them, and the JVM some that it has not collected yet.
    check(plans <= said["queries"] / 2 and plans <= 2 * plans_then + CACHED,
          f"dictionaries go with the classes: {plans_then} were left half-way, {plans} after {said['queries']} queries")
    if float(seconds) >= 300:
        check(said["now"]["kib"] <= 1.15 * said["then"]["kib"], "the memory of the JVM has not grown by more than 15 % in the second half")
    check(found["accounting"]["messages_rejected"] == 0, "the daemon refuses nothing that the agent says")
    if twin:
        said, _ = measure(version, 0, 10 * ROUNDS)
        plans = said["now"]["counts"][4]
        check(plans >= said["queries"], f"where Spark keeps its classes {plans} dictionaries are left after {said['queries']} queries")


if __name__ == "__main__":
    main()
