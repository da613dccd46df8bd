"""Whoever else records on the host is not disturbed: `perf record` works beside a tailord that samples, and beside `tailor record`
of a process. Records of mappings go to all recorders of a host as one of them has asked for them, and perf ends at those that it
has not asked for."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
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


def check_perf(perf, folder, beside):
    problems = [perf_works(perf, folder) for _ in range(TRIES)]
    check(not any(problems), f"perf records beside {beside}, {TRIES} times: {[p for p in problems if p]}")


@contextlib.contextmanager
def engine(env):
    process = subprocess.Popen([BIN / "weft", "--sf", "0.1", "--threads", "1", "--repeat", "100000", "--quiet", "--query", "tpch-1"],
                               env={**os.environ, **env})
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def is_sampled(daemon):
    return int(json.loads(run(BIN / "tailor", "status", "--json", env=daemon.env))["total"]["received"]) > 0


def beside_daemon(perf, folder):
    with Daemon(frequency=997) as daemon:
        with engine(daemon.env):
            until = time.monotonic() + 120
            while not is_sampled(daemon) and time.monotonic() < until:
                time.sleep(0.1)
            check(is_sampled(daemon), "tailord samples")
            check_perf(perf, folder, "tailord")
        check(daemon.stop() == 0, "the daemon ends")


def beside_record(perf, folder):
    nobody = {"TAILOR_SOCKET": str(folder / "agent.sock"), "TAILOR_CONTROL": str(folder / "control.sock")}
    profile = folder / "p.tailor"
    with engine(nobody) as process:
        recorder = subprocess.Popen([BIN / "tailor", "record", "-p", str(process.pid), "-o", profile], env={**os.environ, **nobody},
                                    stderr=subprocess.PIPE, text=True)
        said = ""
        while "Ctrl-C ends it" not in said:
            line = recorder.stderr.readline()
            said += line
            if not line:
                check(False, f"tailor record begins: {said}")
        check_perf(perf, folder, "tailor record")
        recorder.send_signal(signal.SIGINT)
        said += recorder.communicate(timeout=300)[1]
        check(recorder.returncode == 0, f"tailor record ends: {said[-300:]}")
    samples = json.loads(run(BIN / "tailor", "report", profile, "--json"))["samples"]
    check(samples > 0, f"it took {samples} samples")


def main():
    perf = shutil.which("perf")
    if perf is None:
        skip("there is no perf here")
    with tempfile.TemporaryDirectory(prefix="tailor-beside-") as name:
        folder = pathlib.Path(name)
        if problem := perf_works(perf, folder):
            skip(f"perf cannot record here, without Tailor either: {problem}")
        beside_daemon(perf, folder)
        beside_record(perf, folder)


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    main()
