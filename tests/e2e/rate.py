"""`tailor rate`: a process, or all, sampled more often for a while; weights, status, reports and replays are right across it."""
import filecmp
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from live_daemon import cpu_ns, refused, wait_for
from tailor_env import BIN, Daemon, at_least, check, run, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)

USUAL, RAISED = 99, 997


with tempfile.TemporaryDirectory() as folder:
    journal = pathlib.Path(folder) / "journal"
    with Daemon(frequency=USUAL, options=["--journal", journal, "--max-frequency", 2000]) as daemon:
        def status(pid):
            whole = json.loads(daemon.tailor("status", "--json"))
            return next((p for p in whole["processes"] if p["info"]["process"]["pid"] == pid), None), whole

        def received(pid):
            process, _ = status(pid)
            return int(process["accounting"]["received"]) if process else 0

        def per_cpu_second(pid, seconds):
            """Samples of a second of CPU time, over as many as asked for."""
            samples, before = received(pid), cpu_ns(pid)  # in this order, as below: to ask takes as long both times
            wait_for(f"{seconds} s of CPU time", lambda: cpu_ns(pid) - before > seconds * 10**9)
            time.sleep(0.5)  # what was taken is attributed
            return (received(pid) - samples) / ((cpu_ns(pid) - before) / 1e9)

        def weft():
            return subprocess.Popen([BIN / "weft", "--sf", "0.05", "--threads", "1", "--repeat", "100000", "--quiet", "--query",
                                     "tpch-1"], env={**os.environ, **daemon.env})

        engines = [weft(), weft()]
        try:
            pid, other = (engine.pid for engine in engines)
            wait_for("engines are sampled", lambda: received(pid) > 20 and received(other) > 20)
            usual = per_cpu_second(pid, 2)
            check(0.6 * USUAL < usual < 1.5 * USUAL, f"{usual:.0f} samples per second of CPU time, configured are {USUAL}")

            said = daemon.tailor("rate", RAISED, "--pid", pid)
            check(f"process {pid}: sampled at {RAISED} Hz" in said, said.strip())
            check(status(pid)[0]["rate"]["frequency"] == RAISED, "status has it")
            check("rate" not in status(other)[0], "and not of the other engine")
            check(f"sampled at {RAISED} Hz: tailor rate" in daemon.tailor("status"), "in words, too")
            time.sleep(0.5)
            raised, still = per_cpu_second(pid, 2), per_cpu_second(other, 1)
            check(0.7 * RAISED < raised < 1.3 * RAISED, f"{raised:.0f} samples per second of CPU time, asked for are {RAISED}")
            check(still < 2 * USUAL, f"the other engine has {still:.0f}")
            daemon.tailor("rate", "default", "--pid", pid)
            check("rate" not in status(pid)[0], "it goes back")
            time.sleep(0.5)
            check(per_cpu_second(pid, 1) < 2 * USUAL, "and is sampled as before")

            # Of all, for a while.
            daemon.tailor("rate", RAISED, "--for", "10s")  # longer than it takes to look
            check(all(status(p)[0]["rate"]["frequency"] == RAISED for p in (pid, other)), "all have the rate of all")
            check(int(status(pid)[1]["rate"]["until_ns"]) > time.time_ns() - 10**9, "status says until when")
            wait_for("it is over by itself", lambda: "rate" not in status(pid)[1] and "rate" not in status(other)[0])

            # What cannot be.
            check("from 1 to 2000 Hz" in refused(daemon, "rate", 2001, "--pid", pid, code=2), "no more than the configuration allows")
            check("is not sampled" in refused(daemon, "rate", 500, "--pid", 2**22 + 7, code=3), "nor of what is not there")
            check("no rate of its own" in refused(daemon, "rate", "default", "--pid", pid, code=3), "nor back from nothing")
            refused(daemon, "rate", "often", code=2)
            refused(daemon, "rate", 500, "--for", "soon", code=2)
            if os.geteuid() == 0 and shutil.which("setpriv"):
                os.chmod(daemon.folder.name, 0o711)
                for words in (["rate", "500"], ["rate", "500", "--pid", str(pid)]):
                    said = subprocess.run(["setpriv", "--reuid=65534", "--regid=0", "--clear-groups", BIN / "tailor", *words],
                                          capture_output=True, text=True, env={**os.environ, **daemon.env})
                    check(said.returncode == 1 and "only root and the user" in said.stderr, f"{words}: {said.stderr.strip()}")
            else:
                print("not checked: other users, because this needs root and setpriv")
        finally:
            for engine in engines:
                engine.kill()
                engine.wait()
        daemon.stop()
        report = daemon.report("--pid", pid)
        rates = [rate for rate in report["recording"]["rates"] if rate["pid"] == pid]
        check([rate["frequency"] for rate in rates] == [RAISED, RAISED] and all(rate["to"] for rate in rates),
              f"the report has both times: {[(rate['from'], rate['to'], rate['why']) for rate in rates]}")
        check(f"was sampled at {RAISED} Hz from" in daemon.tailor("report", "--pid", pid), "and says so")

        # Samples stand for the time that was used: neither lost nor counted twice at a change.
        sampled_ns, used_ns = (report["recording"][key] for key in ("cpu_sampled_ns", "cpu_used_ns"))
        check(at_least(sampled_ns / 1e7, used_ns / 1e7, 0.9) and sampled_ns < 1.1 * used_ns,
              f"samples stand for {sampled_ns / used_ns:.1%} of the time that was used")

        replayed, again = (journal.with_name(name) for name in ("one.tailor", "two.tailor"))
        run(BIN / "tailor", "replay", journal, "-o", replayed)
        run(BIN / "tailor", "replay", journal, "-o", again)
        check(filecmp.cmp(replayed, again, shallow=False), "two replays of the journal are the same")
        same = json.loads(run(BIN / "tailor", "report", replayed, "--pid", pid, "--json"))
        check(same["recording"]["rates"] == report["recording"]["rates"], "they have the rates")
        check(same["samples"] == report["samples"] and same["weight"] == report["weight"],
              f"and the {report['samples']} samples of the store with their weights")
