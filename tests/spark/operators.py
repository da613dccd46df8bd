"""Operators without generated code, and what a shuffle writes and reads, have time of their own."""
import pathlib
import sys
import tempfile

from spark_env import JAR, command, environment, plan_of, record, report
from tailor_env import at_least, at_most, check, sampling_denied, skip, until_enough


def measure(version):
    # Of each query the last execution counts: HotSpot has compiled most of its code by then.
    def once(work):
        with tempfile.TemporaryDirectory(prefix="tailor-spark-") as name:
            folder = pathlib.Path(name)
            record(folder / "profile.tailor", command(version, folder / "data", "window*2", "lists*2"),
                   environment(f"-javaagent:{JAR}", TAILOR_SPARK_SCALE=0.3 * work))
            return report(folder / "profile.tailor")
    return once


def samples_of(plan, *names):
    return sum(operator["samples"] for operator in plan["operators"] if operator["name"] in names)


def fewest(found):
    return min(samples_of(plan_of(found, query), "Window", "ObjectHashAggregate") for query in ("window", "lists"))


def main():
    if reason := sampling_denied():
        skip(reason)
    version = sys.argv[1]
    found = until_enough(100, fewest, measure(version))
    # Each row is compared, numbered and added up by the window, but only moved by all others.
    for query, name in (("window", "Window"), ("lists", "ObjectHashAggregate")):
        plan = plan_of(found, query)
        own, exchange, whole = samples_of(plan, name), samples_of(plan, "Exchange"), plan["samples"]
        check(at_least(own, whole, 0.2), f"{query}: {name} has no generated code, and {own:.0f} of {whole:.0f} samples")
        check(at_least(exchange, whole, 0.02), f"{query}: what its exchanges wrote and read has {exchange:.0f} of {whole:.0f} samples")
        stages = {pipeline["name"]: pipeline["samples"] for pipeline in plan["pipelines"] if pipeline["samples"] > 0}
        # Number 0: no pipeline is known. So it is for samples beside the time of a task.
        unknown = stages.pop("", 0)
        check(at_most(unknown, whole, 0.01), f"{query}: {unknown:.0f} of {whole:.0f} samples have no pipeline")
        check(len(stages) >= 2 and all(name.startswith("stage ") for name in stages), f"{query}: its stages are pipelines: {stages}")
    check(found["accounting"]["messages_rejected"] == 0, "the daemon refuses nothing that the agent says")


if __name__ == "__main__":
    main()
