"""What the tests of Spark share: the versions that were fetched, and how tests/spark/queries.py runs under Tailor."""
import json
import os
import pathlib
import subprocess

from tailor_env import BIN, BUILD, ROOT, check, skip

HERE = pathlib.Path(__file__).resolve().parent
JAR, TWIN_JAR = BUILD / "lib" / "tailor-jvm.jar", BUILD / "lib" / "tailor-jvm-marks.jar"
TARGETS = BUILD / "targets" / "spark"
TEST_JAR, BURN_RANGES = TARGETS / "spark-test.jar", TARGETS / "burn_ranges.so"
# Much of a short run's time is C2's. Tests that need no code of C2 go without.
C1_ALONE = "-XX:TieredStopAtLevel=1"
NOWHERE = {"TAILOR_SOCKET": "/nonexistent/agent.sock", "TAILOR_CONTROL": "/nonexistent/control.sock", "TAILOR_STORE": "/nonexistent"}


def python_of(version):
    """The Python that has this version of PySpark. Ends the test as skipped where it was not fetched."""
    cache = pathlib.Path(os.environ.get("TAILOR_CACHE", ROOT / ".dev" / "cache")) / "spark"
    if not (cache / version / "complete").exists():
        skip(f"PySpark {version} was not fetched: tests/spark/fetch, or ./dev fetch, gets it from PyPI")
    return cache / version / "bin" / "python"


def command(version, data, *queries):
    return [str(python_of(version)), str(HERE / "queries.py"), str(data), *queries]


def environment(java_options="", **more):
    """Of a command; java_options are those of the driver."""
    own = {key: str(value) for key, value in more.items()}
    java = pathlib.Path(os.environ["TAILOR_JAVA"]).resolve().parents[1]
    return {**os.environ, **NOWHERE, "JAVA_HOME": str(java), "TAILOR_JAVA_OPTIONS": java_options, "TAILOR_SPARK_JARS": str(TEST_JAR), **own}


def run(arguments, env, timeout=1400):
    """What it printed as JSON, and what it said. It must succeed."""
    done = subprocess.run(list(map(str, arguments)), env=env, capture_output=True, text=True, timeout=timeout)
    check(done.returncode == 0, f"{' '.join(map(str, arguments[-3:]))} runs" + ("" if done.returncode == 0 else done.stdout[-2000:] + done.stderr[-4000:]))
    return json.loads(done.stdout), done.stderr


def record(profile, arguments, env, frequency=997, options=()):
    """The same under `tailor record`."""
    return run([BIN / "tailor", "record", "-F", frequency, *options, "-o", profile, "--", *arguments], env)


def report(profile, *arguments):
    return json.loads(subprocess.run([str(BIN / "tailor"), "report", str(profile), "--json", *arguments], capture_output=True, text=True,
                                     check=True).stdout)


def plan_of(found, query):
    """The plan of the last execution of a query in a report."""
    plans = [plan for plan in found["plans"] if plan["name"].startswith("SQL execution") and plan["name"].endswith(f": {query}")]
    check(plans, f"{query} has a plan" if plans else f"{query} has a plan among {[plan['name'] for plan in found['plans']]}")
    return max(plans, key=lambda plan: plan["plan"])
