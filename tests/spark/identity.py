"""The byte code of every class that Spark generates is the same with and without the agent: its marks are comments.

The twin, whose marks are statements, must be found out.
"""
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

from spark_env import C1_ALONE, JAR, TARGETS, TEST_JAR, TWIN_JAR, command, environment, run
from tailor_env import check

QUERIES = ("q1", "q3", "q6", "q9", "q18")
# Spark orders the parameters of some functions by hash codes that HotSpot draws; these are all the same.
SAME = f"-XX:+UnlockExperimentalVMOptions -XX:hashCode=2 {C1_ALONE}"


def units(version, folder, name, *options):
    """Each unit as (number of methods, digests of its classes without debug information), and what the queries gave."""
    classes = folder / name
    text = " ".join([SAME, *options, f"-javaagent:{TEST_JAR}={classes}"])
    given, said = run(command(version, folder / f"{name} data", *QUERIES), environment(text))
    check("tailor:" not in said, "the agent has nothing to complain of")
    lines = subprocess.run([os.environ["TAILOR_JAVA"], "-cp", f"{TARGETS / 'normal'}:{os.environ['TAILOR_ASM_JAR']}", "Normal", str(classes)],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    found = collections.defaultdict(list)
    for unit, file, methods, digest in map(str.split, lines):
        found[unit].append((file, int(methods), digest))
    return collections.Counter(tuple(sorted(unit)) for unit in found.values()), given


def whole_stages(found):
    return {unit: count for unit, count in found.items() if any("ForCodegenStage" in file for file, _, _ in unit)}


def main():
    version, twin = sys.argv[1], "twin" in sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="tailor-spark-") as name:
        folder = pathlib.Path(name)
        # Side by side: much of what Spark does at its start is done by one thread.
        with concurrent.futures.ThreadPoolExecutor() as runs:
            run_plain = runs.submit(units, version, folder, "plain")
            run_agent = runs.submit(units, version, folder, "agent", f"-javaagent:{JAR}")
            run_twin = runs.submit(units, version, folder, "marked", f"-javaagent:{TWIN_JAR} -Dtailor.twin=statement") if twin else None
            (plain, given), (agent, same) = run_plain.result(), run_agent.result()
        check(given == same, "the queries give the same rows with and without the agent")
        stages = whole_stages(plain)
        check(len(stages) >= 20, f"{sum(plain.values())} units were generated, {sum(stages.values())} of them of whole stages")
        for unit in sorted(plain | agent):
            check(plain[unit] == agent[unit], f"{sum(methods for _, methods, _ in unit)} methods of {unit[-1][0]}: {plain[unit]} times without "
                                              f"the agent, {agent[unit]} times with it")
        if twin:
            marked, _ = run_twin.result()
            changed = sum(marked[unit] != count for unit, count in stages.items())
            check(changed == len(stages), f"marks that are statements change {changed} of {len(stages)} units of whole stages")


if __name__ == "__main__":
    main()
