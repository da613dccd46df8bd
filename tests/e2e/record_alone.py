"""`tailor record -p` without a daemon: an engine that has run for a while is found, and its plan is in the file."""
import json
import os
import pathlib
import subprocess
import tempfile

from live_daemon import cpu_ns, wait_for
from tailor_env import BIN, check, operators, run, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)

with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    nobody = {**os.environ, "TAILOR_SOCKET": str(folder / "agent.sock"), "TAILOR_CONTROL": str(folder / "control.sock"),
              "TAILOR_STORE": str(folder / "store")}
    engine = subprocess.Popen([BIN / "weft", "--sf", "0.05", "--threads", "1", "--repeat", "1000000", "--quiet", "--query", "tpch-3"],
                              env=nobody, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        wait_for("the engine has used a second of CPU time", lambda: engine.poll() is not None or cpu_ns(engine.pid) > 10**9)
        check(engine.poll() is None, "the engine runs, and no daemon does")
        profile = folder / "alone.tailor"
        # What is asked for on the command line counts: no daemon has another opinion.
        done = subprocess.run([BIN / "tailor", "record", "-p", str(engine.pid), "--seconds", "3", "-F", "499", "-o", profile],
                              env=nobody, capture_output=True, text=True, timeout=120)
        check(done.returncode == 0 and "recording process" in done.stderr, f"it is recorded: {done.stderr.strip()}")
        check(not (folder / "agent.sock").exists(), "the recorder leaves no socket behind")
    finally:
        engine.kill()
        engine.wait()
    report = json.loads(run(BIN / "tailor", "report", profile, "--json"))
    check(report["source"]["period"] in range(1_900_000, 2_100_000), f"at the rate asked for: {report['source']['period']} ns")
    check(report["samples"] > 0 and operators(report), f"{report['samples']} samples, with the plan")
    check(report["operators"]["share"] > 0.8, f"{report['operators']['share']:.1%} of them are the operators'")
    check(all(process["pid"] == engine.pid for process in (plan["process"] for plan in report["plans"])), "all of that process")

missing = subprocess.run([BIN / "tailor", "record", "-p", "999999999", "-o", "/dev/null"], capture_output=True, text=True,
                         env={**os.environ, "TAILOR_CONTROL": "/nonexistent/control.sock"})
check(missing.returncode == 3 and "999999999" in missing.stderr, f"a process that is not there: {missing.stderr.strip()}")
