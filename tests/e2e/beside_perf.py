"""Whoever else records on the host is not disturbed: `perf record` works beside a tailord that samples. Records of mappings go to
all recorders of a host as one of them has asked for them, and perf ends at those that it has not asked for."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from tailor_env import BIN, Daemon, check, run, sampling_denied, skip

TRIES = 3


def perf_works(perf, folder):
    data = folder / "perf.data"
    record = [perf, "record", "-g", "-e", "cpu-clock", "-o", data, "--", "python3", "-c", "import json"]
    recorded = subprocess.run(record, capture_output=True, text=True, timeout=300)
    if recorded.returncode != 0:
        return f"perf record ended with {recorded.returncode}: {recorded.stderr[-300:]}"
    shown = subprocess.run([perf, "script", "-i", data], capture_output=True, text=True, timeout=300)
    return "" if shown.returncode == 0 else f"perf script ended with {shown.returncode}: {shown.stderr[-300:]}"


def main():
    perf = shutil.which("perf")
    if perf is None:
        skip("there is no perf here")
    with tempfile.TemporaryDirectory(prefix="tailor-beside-") as name:
        folder = pathlib.Path(name)
        if problem := perf_works(perf, folder):
            skip(f"perf cannot record here, without tailord either: {problem}")
        with Daemon(frequency=997) as daemon:
            engine = subprocess.Popen([BIN / "weft", "--sf", "0.1", "--threads", "1", "--repeat", "100000", "--quiet",
                                       "--query", "tpch-1"], env={**os.environ, **daemon.env})
            try:
                until = time.monotonic() + 120
                while "weft" not in run(BIN / "tailor", "status", env=daemon.env) and time.monotonic() < until:
                    time.sleep(0.1)
                problems = [perf_works(perf, folder) for _ in range(TRIES)]
            finally:
                engine.kill()
                engine.wait()
            check(not any(problems), f"perf records beside tailord, {TRIES} times: {[p for p in problems if p]}")
            check(daemon.stop() == 0, "the daemon ends")


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    main()
