"""`tailor pause` and `resume`: no sample in between, nothing of it counted as missing, and every report says so."""
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


with tempfile.TemporaryDirectory() as folder:
    journal = pathlib.Path(folder) / "journal"
    with Daemon(options=["--journal", journal]) as daemon:
        def status(pid):
            whole = json.loads(daemon.tailor("status", "--json"))
            return next((p for p in whole["processes"] if p["info"]["process"]["pid"] == pid), None), whole

        def received(pid):
            process, _ = status(pid)
            return int(process["accounting"]["received"]) if process else 0

        def weft():
            return subprocess.Popen([BIN / "weft", "--sf", "0.05", "--threads", "1", "--repeat", "100000", "--quiet", "--query",
                                     "tpch-1"], env={**os.environ, **daemon.env})

        engines = [weft()]
        try:
            pid = engines[0].pid
            wait_for("an engine is sampled", lambda: received(pid) > 100)
            daemon.tailor("pause", pid)
            paused_from = cpu_ns(pid)
            process, _ = status(pid)
            check(process["paused"] and not process["sampled"], f"status: {process['not_sampled_because']}")
            wait_for("what was sampled before has been attributed",
                     lambda: int(status(pid)[1]["samples_pending"]) == 0)
            samples = received(pid)
            wait_for("the engine works during the pause", lambda: cpu_ns(pid) - paused_from > 3 * 10**9)
            check(received(pid) == samples, f"{samples} samples, and no further one in {(cpu_ns(pid) - paused_from) / 1e9:.2f} s of CPU time")
            check(int(status(pid)[0]["paused_ns"]) > 10**9, "status says how long")
            check("paused since" in daemon.tailor("status"), "in words, too")
            check("paused already" in refused(daemon, "pause", pid, code=2), "it cannot be paused twice")
            check("paused on request" in refused(daemon, "record", "-p", pid, "--seconds", "1", "-o", "/dev/null"),
                  "a recording does not go around the pause")
            engines.append(weft())
            other = engines[1].pid
            wait_for("another engine is sampled meanwhile", lambda: received(other) > 20)
            paused_to = cpu_ns(pid)
            daemon.tailor("resume", pid)
            wait_for("it goes on", lambda: received(pid) > samples + 100)
            check(status(pid)[0]["sampled"] and not status(pid)[0]["paused"], "status says that it goes on")
            check("is not paused" in refused(daemon, "resume", pid, code=3), "what is not paused cannot be resumed")
            check("is not sampled" in refused(daemon, "pause", 2**22 + 7, code=3), "nor can be paused what is not there")
            refused(daemon, "pause", "every", code=2)

            # All of them, and whoever comes later.
            daemon.tailor("pause", "all")
            wait_for("what was sampled before has been attributed",
                     lambda: int(json.loads(daemon.tailor("status", "--json"))["samples_pending"]) == 0)
            before = {engine.pid: received(engine.pid) for engine in engines}
            engines.append(weft())
            late = engines[2].pid
            wait_for("an engine registers during a pause of all", lambda: status(late)[0] is not None)
            check(status(late)[1]["all_paused"] and not status(late)[0]["sampled"], "it is not sampled")
            time.sleep(0.5)
            check(all(received(p) == count for p, count in before.items()) and received(late) == 0, "nor is any other")
            daemon.tailor("resume", "all")
            wait_for("all of them go on", lambda: all(received(p) > count for p, count in before.items()) and received(late) > 0)

            # A user who is in the daemon's group, and no more than that, does not decide for others.
            if os.geteuid() == 0 and shutil.which("setpriv"):
                os.chmod(daemon.folder.name, 0o711)
                for words in (["pause", "all"], ["resume", "all"], ["pause", str(pid)], ["resume", str(pid)]):
                    said = subprocess.run(["setpriv", "--reuid=65534", "--regid=0", "--clear-groups", BIN / "tailor", *words],
                                          capture_output=True, text=True, env={**os.environ, **daemon.env})
                    check(said.returncode == 1 and "only root and the user" in said.stderr, f"{words}: {said.stderr.strip()}")
                check(status(pid)[0]["sampled"], "and nothing was paused")
            else:
                print("not checked: other users, because this needs root and setpriv")
        finally:
            for engine in engines:
                engine.kill()
                engine.wait()
        daemon.stop()
        report = daemon.report("--pid", pid)
        pauses = [pause for pause in report["recording"]["pauses"] if pause["pid"] == pid]
        check(len(pauses) == 2 and all(pause["to"] for pause in pauses), f"the report has both pauses: {pauses[0]['from']} to {pauses[0]['to']}")
        check("was not sampled from" in daemon.tailor("report", "--pid", pid), "and says so")

        # Its samples stand for the time that it was sampled in; what it used meanwhile is in no account.
        sampled_ns, used_ns = (report["recording"][key] for key in ("cpu_sampled_ns", "cpu_used_ns"))
        check(at_least(sampled_ns / 1e6, used_ns / 1e6, 0.85), f"samples stand for {sampled_ns / used_ns:.0%} of the time that counts")
        # The twin: an account that has the time of the first pause must not hold.
        with_pause = used_ns + paused_to - paused_from
        check(not at_least(sampled_ns / 1e6, with_pause / 1e6, 0.85), f"with the pause it would have been {sampled_ns / with_pause:.0%}")

        replayed, again = (journal.with_name(name) for name in ("one.tailor", "two.tailor"))
        run(BIN / "tailor", "replay", journal, "-o", replayed)
        run(BIN / "tailor", "replay", journal, "-o", again)
        check(filecmp.cmp(replayed, again, shallow=False), "two replays of the journal are the same")
        same = json.loads(run(BIN / "tailor", "report", replayed, "--pid", pid, "--json"))
        check(same["recording"]["pauses"] == report["recording"]["pauses"], "they have the pauses")
        check(same["samples"] == report["samples"], f"and the {report['samples']} samples of the store")
