"""A Spark whose classes have other shapes than those that the agent knows runs as without it.

Methods of another shape stay as they are, and the agent says nothing. Where a method is as expected, but an object is not, the agent
says once what is missing (tests/targets/spark/shapes).
"""
import os
import subprocess

from spark_env import JAR, NOWHERE, TARGETS
from tailor_env import check


def run(which):
    done = subprocess.run([os.environ["TAILOR_JAVA"], f"-javaagent:{JAR}", "-cp", str(TARGETS / "shapes"), "org.apache.spark.SparkContext", which],
                          env={**os.environ, **NOWHERE}, capture_output=True, text=True, timeout=120)
    works = done.returncode == 0 and done.stdout.strip() == "4 calls"
    check(works, f"{which}: the program does its work" if works else f"{which}: the program does its work: {done.stdout}{done.stderr[-2000:]}")
    return [line for line in done.stderr.splitlines() if line.startswith("tailor:")]


said = run("other")
check(not said, f"methods of other shapes: the agent says {said}")
said = run("known")
check(len(said) == 1 and "is not as expected" in said[0] and "some operators will be missing" in said[0], f"objects of other shapes: the agent says {said}")
