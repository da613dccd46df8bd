"""Of the samples of a window's tasks at most 5 % are of nobody: no operator, and none of the JVM's and Spark's own parts that are known.

No JVM flag helps: frames of compiled code are walked by what HotSpot says of their size, and native code is skipped by the frame
in which the thread left Java. The twin has samples by perf, which does not read that frame.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from spark_env import JAR, command, environment, record
from tailor_env import BIN, at_least, check, sampling_denied, skip, until_enough

QUERIES = ("window",)  # most of its time is in code that was not generated, whose owners only stacks show
OUTSIDE = "Spark task, outside of generated code"
# Whose the samples of each execution are. Once HotSpot has compiled the code: of each query the later half.
OWNERS = """WITH runs AS (SELECT pid, execution, substr(plan_name, instr(plan_name, ': ') + 2) AS query,
        row_number() OVER (PARTITION BY plan_name LIKE 'SQL execution%', substr(plan_name, instr(plan_name, ': ') + 2) ORDER BY begin_ns DESC) AS back,
        count(*) OVER (PARTITION BY substr(plan_name, instr(plan_name, ': ') + 2)) AS times
    FROM executions WHERE plan_name LIKE 'SQL execution%')
    SELECT query, coalesce(c.component, c.owner) AS owner, c.how AS how, count(*) AS samples FROM samples JOIN cells c USING (cell)
    JOIN runs r ON r.pid = c.pid AND r.execution = c.execution WHERE 2 * back <= times AND c.unit = 'ns_on_cpu' GROUP BY 1, 2, 3"""


def measure(version, *options):
    def once(work):
        """For each query its samples by owner."""
        with tempfile.TemporaryDirectory(prefix="tailor-spark-") as name:
            folder = pathlib.Path(name)
            record(folder / "profile.tailor", command(version, folder / "data", *(f"{query}*{6 + 2 * work}" for query in QUERIES)),
                   environment(f"-javaagent:{JAR}", TAILOR_SPARK_SCALE=1), options=options)
            found = {query: {} for query in QUERIES}
            text = subprocess.run([str(BIN / "tailor"), "sql", str(folder / "profile.tailor"), "--json", "-q", OWNERS], capture_output=True,
                                  text=True, check=True).stdout
            for row in json.loads(text):
                if row["query"] in found:
                    found[row["query"]][row["owner"]] = found[row["query"]].get(row["owner"], 0) + row["samples"]
            return found
    return once


def whole(owners):
    return sum(owners.values())


def unidentified(owners):
    return owners.get(OUTSIDE, 0) + owners.get("unattributed", 0)


def identified(found):
    """Whether at least 95 % of the samples of each query can be."""
    good = True
    for query, owners in found.items():
        nobody, all_of = unidentified(owners), whole(owners)
        print(f"{query}: {nobody} of {all_of} samples of its tasks are of nobody: {nobody / all_of:.1%}")
        good = at_least(all_of - nobody, all_of, 0.95) and good
    return good


def main():
    if reason := sampling_denied():
        skip(reason)
    version = sys.argv[1]
    found = until_enough(1000, lambda found: min(map(whole, found.values())), measure(version))
    check(identified(found), "at most 5 % of each query's samples are of nobody")
    if "twin" in sys.argv[2:]:
        check(not identified(measure(version, "--sampler", "perf")(1)), "without the frames in which threads left Java the check fails")


if __name__ == "__main__":
    main()
