"""A daemon that is killed and begins anew under a running Spark: executions and their operators go on."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from spark_env import JAR, command, environment
from tailor_env import BIN, Daemon, check, sampling_denied, skip

DEADLINE = 120  # seconds, for a Spark that begins on a busy machine


def wait_for_operators(daemon, spark, what):
    """Until executions that began since have samples in operators. A fast host has few of them in each."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline and spark.poll() is None:
        done = subprocess.run([str(BIN / "tailor"), "report", "--last", "20", "--json"], capture_output=True, text=True,
                              env={**os.environ, **daemon.env})
        found = json.loads(done.stdout) if done.returncode == 0 else {"plans": []}
        samples = collections.Counter()
        for plan in found["plans"]:
            if plan["name"].endswith(": aggregate"):
                samples.update({operator["name"]: operator["samples"] for operator in plan["operators"] if operator["samples"] > 0})
        if samples.total() >= 100:
            check("HashAggregate" in samples, f"{what}: the last executions have {dict(samples)}")
            return
        time.sleep(1)
    check(False, f"{what}: an execution has operators with samples")


def main():
    if reason := sampling_denied():
        skip(reason)
    with Daemon() as daemon, tempfile.TemporaryDirectory(prefix="tailor-spark-") as folder:
        spark = subprocess.Popen(command(sys.argv[1], pathlib.Path(folder) / "data", "aggregate*100000"), start_new_session=True,
                                 env={**environment(f"-javaagent:{JAR}"), **daemon.env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for_operators(daemon, spark, "before")
            daemon.stop(signal.SIGKILL)
            time.sleep(2)
            check(spark.poll() is None, "Spark runs on without a daemon")
            # Nothing of before is left to be read.
            daemon.env["TAILOR_STORE"] = str(daemon.store.with_name("second"))
            daemon.command[daemon.command.index("--store") + 1] = daemon.env["TAILOR_STORE"]
            daemon.start()
            wait_for_operators(daemon, spark, "after the daemon was killed and started again")
        finally:
            os.killpg(spark.pid, signal.SIGKILL)
            spark.wait()


if __name__ == "__main__":
    main()
