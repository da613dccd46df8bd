"""Code that javac compiles for Spark has no operators: its lines are those of a source that Spark has written anew. The agent says
so once, and the query gives the same rows. The twin is the same query with Janino: there the operators have samples.
"""
import pathlib
import sys
import tempfile

from spark_env import C1_ALONE, JAR, command, environment, record, report
from tailor_env import check, sampling_denied, skip, until_enough

GENERATED = ("HashAggregate", "BroadcastHashJoin", "Filter", "Project", "Range")
WORD = "spark.sql.codegen.compiler=jdk has no operators"


def measure(version, compiler):
    def once(work):
        with tempfile.TemporaryDirectory(prefix="tailor-spark-") as name:
            folder = pathlib.Path(name)
            settings = f"--conf spark.sql.codegen.compiler={compiler} pyspark-shell"
            given, said = record(folder / "profile.tailor", command(version, folder / "data", f"aggregate*{1 + work}"),
                                 environment(f"{C1_ALONE} -javaagent:{JAR}", PYSPARK_SUBMIT_ARGS=settings, TAILOR_SPARK_SCALE=0.2))
            return given["aggregate"], said, report(folder / "profile.tailor")
    return once


def of_operators(measured):
    """Samples of operators that have generated code."""
    plans = [plan for plan in measured[2]["plans"] if plan["name"].startswith("SQL execution")]
    return sum(operator["samples"] for plan in plans for operator in plan["operators"] if operator["name"] in GENERATED)


def of_tasks(measured):
    outside = sum(row["samples"] for row in measured[2]["component_rows"] if row["name"] == "Spark task, outside of generated code")
    return outside + of_operators(measured)


def main():
    if reason := sampling_denied():
        skip(reason)
    version = sys.argv[1]
    rows, said, found = until_enough(200, of_tasks, measure(version, "jdk"))
    check(said.count(WORD) == 1, f"that code of javac has no operators the agent says {said.count(WORD)} times")
    check(of_operators((rows, said, found)) == 0, f"none of {of_tasks((rows, said, found)):.0f} samples of its tasks is an operator's with generated code")
    check(found["accounting"]["messages_rejected"] == 0, "the daemon refuses nothing that the agent says")

    same, quiet, twin = until_enough(200, of_operators, measure(version, "janino"))
    check(same == rows, f"{len(rows)} rows are the same as with Janino")
    check(WORD not in quiet, f"with Janino the agent says nothing of it, and {of_operators((same, quiet, twin)):.0f} samples are operators'")


if __name__ == "__main__":
    main()
