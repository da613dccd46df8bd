"""A Spark in local mode that runs the queries of tests/spark/queries.py when a benchmark asks, one execution after the other.

As a module: Spark, the handle. As a program: what runs behind it, under a Python that has PySpark.
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIVE = {"TAILOR_SOCKET", "TAILOR_CONTROL", "TAILOR_STORE"}


def java_home():
    """That of TAILOR_JAVA, else of the java that is found."""
    java = os.environ.get("TAILOR_JAVA") or subprocess.run(["which", "java"], capture_output=True, text=True, check=True).stdout.strip()
    return str(pathlib.Path(java).resolve().parents[1])


def python_of(version):
    python = pathlib.Path(os.environ.get("TAILOR_CACHE", ROOT / ".dev" / "cache")) / "spark" / version / "bin" / "python"
    if not python.exists():
        raise SystemExit(f"PySpark {version} was not fetched: tests/spark/fetch gets it from PyPI")
    return python


class Spark:
    """Use as a context manager. `prefix` is a command line that it runs behind; options are those of the driver's JVM."""

    def __init__(self, version, data, queries, options="", prefix=(), env=None):
        self.command = [*map(str, prefix), str(python_of(version)), str(HERE / "spark_work.py"), str(data), *queries]
        self.env = {**os.environ, "JAVA_HOME": java_home(), "TAILOR_JAVA_OPTIONS": options, "PYTHONPATH": str(ROOT / "tests" / "spark"),
                    **{key: str(value) for key, value in (env or {}).items()}}

    def __enter__(self):
        self.process = subprocess.Popen(self.command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.answer()["pid"]
        return self

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"Spark has ended with {self.process.wait()}")
        return json.loads(line)

    def run(self, query, times=1):
        """For each execution its stages: {"tasks", "cpu" (ns, by Spark)}."""
        self.process.stdin.write(f"{query} {times}\n")
        self.process.stdin.flush()
        return self.answer()["executions"]

    def cpu_ns(self):
        """CPU time of the JVM so far. Linux numbers the clock of a process so (CPUCLOCK_SCHED)."""
        return time.clock_gettime_ns(~self.pid << 3 | 2)

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait(timeout=120)
        self.process.stdout.close()


def stages_of(spark, group):
    """What Spark knows of the stages of a group of jobs that has ended, when its listener has heard of all."""
    context = spark.sparkContext
    scala = context._jsc.sc()
    scala.listenerBus().waitUntilEmpty()
    tracker, found = context.statusTracker(), []
    for job in tracker.getJobIdsForGroup(group):
        for stage in tracker.getJobInfo(job).stageIds:
            data = scala.statusStore().lastStageAttempt(stage)
            if data.numCompleteTasks() > 0:
                found.append({"stage": stage, "tasks": data.numCompleteTasks(), "cpu": data.executorCpuTime()})
    return found


def main():
    import queries

    from pyspark.sql.types import LongType

    spark = queries.session()
    queries.tables(spark, pathlib.Path(sys.argv[1]), [queries.QUERIES[name] for name in sys.argv[2:]])
    if os.environ.get("TAILOR_SPARK_JARS"):
        for name in ("Burn", "Busy"):
            spark.udf.registerJavaFunction(name.lower(), f"tailor.test.{name}", LongType())
    print(json.dumps({"pid": spark._jvm.java.lang.ProcessHandle.current().pid()}), flush=True)
    count = 0
    for line in sys.stdin:
        name, times = line.split()
        executions = []
        for _ in range(int(times)):
            count += 1
            spark.sparkContext.setJobGroup(f"execution {count}", name)
            spark.sql(queries.QUERIES[name]).collect()
            executions.append(stages_of(spark, f"execution {count}"))
        print(json.dumps({"executions": executions}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
