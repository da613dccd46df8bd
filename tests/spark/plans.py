"""`tailor report` shows the physical plan that was executed, with what its operators cost and how many rows they gave."""
import pathlib
import sys
import tempfile

from spark_env import JAR, command, environment, plan_of, record, report
from tailor_env import at_least, check, sampling_denied, skip, until_enough

SCALE = 5
ROWS = 20_000_000 * SCALE  # of facts


def measure(version):
    def once(work):
        with tempfile.TemporaryDirectory(prefix="tailor-spark-") as name:
            folder = pathlib.Path(name)
            _, said = record(folder / "profile.tailor", command(version, folder / "data", f"subquery*{1 + work}", f"aggregate*{2 + 2 * work}"),
                             environment(f"-javaagent:{JAR}", TAILOR_SPARK_SCALE=SCALE))
            # Without the first two: where HotSpot still interprets the code, nobody knows of which operator it is.
            return report(folder / "profile.tailor"), report(folder / "profile.tailor", "--last", str(2 * work)), said
    return once


def samples_to_judge(found):
    """Those of the last aggregates; none while no subquery has one in its operators: the report leaves out such a plan.

    A first execution of some tenths of a second can be over before HotSpot tells of the code that it ran.
    """
    everything, last, _ = found
    return last["windows"]["samples"] if any(plan["name"].endswith(": subquery") for plan in everything["plans"]) else 0


def rows_of(operator):
    return [float(each["value"]) for each in operator["attributes"] if each["key"] == "rows"]


def one_tree(plan):
    names = [operator["name"] for operator in plan["operators"]]
    roots = [operator["name"] for operator in plan["operators"] if operator["depth"] == 0]
    check(len(roots) == 1, f"{plan['name']}: one tree of {names}" if len(roots) == 1 else f"{plan['name']}: one tree, not {roots} of {names}")
    check("AdaptiveSparkPlan" not in names, "it is the plan that was executed in the end")
    return plan["operators"]


def main():
    if reason := sampling_denied():
        skip(reason)
    everything, last, said = until_enough(1000, samples_to_judge, measure(sys.argv[1]))

    operators = one_tree(plan_of(last, "aggregate"))
    by_name = {operator["name"]: operator for operator in operators}
    check(any(operator["name"] == "AQEShuffleRead" for operator in operators), "adaptive execution has changed it")
    rows = rows_of(by_name["Filter"])
    check(rows and abs(rows[0] / ROWS - 6 / 7) < 1e-6, f"the filter gave {rows} of {ROWS} rows")
    hot = max(operators, key=lambda operator: operator["weight"])
    check(hot["name"] in ("HashAggregate", "BroadcastHashJoin"), f"{hot['name']} is the most expensive: {hot['share']:.1%}")

    # Of the time of tasks: all samples within the execution.
    whole, inside = last["windows"]["samples"], last["windows"]["in_operators"]
    named = sum(row["samples"] for row in last["component_rows"] if row["name"] != "Spark task, outside of generated code")
    check(at_least(inside + named, whole, 0.95), f"{(inside + named) / whole:.1%} of {whole:.0f} samples of its tasks are identified, {inside / whole:.1%} as operators'")

    names = [operator["name"] for operator in one_tree(plan_of(everything, "subquery"))]
    check(names.count("Range") == 2, "the subquery is a part of it, and no operator is there twice")
    refused = everything["accounting"]["messages_rejected"]
    problems = [line for line in said.splitlines() if line.startswith("tailor: ")]
    check(refused == 0, "the daemon refuses nothing that the agent says" + (f", not {refused} of its messages: {problems}" if refused else ""))


if __name__ == "__main__":
    main()
