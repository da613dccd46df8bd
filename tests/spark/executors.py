"""Executors in processes of their own work for the driver's query: a report shows one query, with the driver's operators.

A costly function stands in one operator of each query. Its samples are taken in executors, which have no plan of their own: that they
belong to this operator shows that driver and executors number operators and lines alike. The twin's driver says of each line that it is
the next operator's.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from spark_env import JAR, TWIN_JAR, command, environment, plan_of, record, report
from tailor_env import BIN, at_least, check, sampling_denied, skip, until_enough

BEARER = {"burn_filter": "Filter", "burn_join": "BroadcastHashJoin"}
EXECUTORS = 2


def measure(version, driver):
    def once(work):
        with tempfile.TemporaryDirectory(prefix="tailor-spark-") as name:
            folder = pathlib.Path(name)
            # Of each query the last execution counts: HotSpot has compiled most of its code by then.
            record(folder / "profile.tailor", command(version, folder / "data", *(f"{query}*2" for query in BEARER)),
                   environment(driver, TAILOR_SPARK_MASTER=f"local-cluster[{EXECUTORS},1,1024]",
                               TAILOR_EXECUTOR_OPTIONS=f"-javaagent:{JAR}", TAILOR_SPARK_SCALE=2 * work))
            executions = json.loads(subprocess.run([str(BIN / "tailor"), "list", str(folder / "profile.tailor"), "--json"], capture_output=True,
                                                   text=True, check=True).stdout)["executions"]
            return report(folder / "profile.tailor"), executions
    return once


def fewest(found):
    return min(plan_of(found[0], query)["samples"] for query in BEARER)


def own_samples(plan, bearer):
    return sum(operator["samples"] for operator in plan["operators"] if operator["name"] == bearer)


def right(plan, bearer):
    return at_least(own_samples(plan, bearer), plan["samples"], 0.8)


def main():
    if reason := sampling_denied():
        skip(reason)
    version, *twin = sys.argv[1:]
    found, executions = until_enough(300, fewest, measure(version, f"-javaagent:{JAR}"))
    for query, bearer in BEARER.items():
        plan = plan_of(found, query)
        check(right(plan, bearer), f"{query}: {own_samples(plan, bearer):.0f} of {plan['samples']:.0f} samples in operators are {bearer}'s")
        roots = [operator["name"] for operator in plan["operators"] if operator["depth"] == 0]
        check(len(roots) == 1, f"{query}: its plan is the driver's, one tree below {roots}")
        listed = [each for each in executions if each["plan_name"].endswith(f": {query}")]
        check(len(listed) == 2, f"{query}: {len(listed)} executions are listed, and none of an executor's own")
        whole = sum(each["samples"] for each in listed)
        check(whole >= plan["samples"], f"{query}: its executions have the {whole} samples of all executors")
    drivers = {plan["process"]["pid"] for plan in found["plans"] if plan["name"].startswith("SQL execution")}
    check(len(drivers) == 1, f"all plans are of one process: {drivers}")
    check(found["accounting"]["messages_rejected"] == 0, "the daemon refuses nothing that the agent says")
    if twin:
        found, _ = until_enough(100, fewest, measure(version, f"-javaagent:{TWIN_JAR} -Dtailor.twin=shift"))
        for query, bearer in BEARER.items():
            plan = plan_of(found, query)
            check(not right(plan, bearer), f"{query}: with operators shifted by one {own_samples(plan, bearer):.0f} of {plan['samples']:.0f} samples are {bearer}'s")


if __name__ == "__main__":
    main()
