"""SIGHUP: a running tailord reads its configuration again, takes over what may change, names what may not, and keeps
everything as it was where the file is broken. The rules for processes follow."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from live_daemon import wait_for
from tailor_env import BIN, Daemon, check, sampling_denied

SPIN = "import time\nwhile True: pass"

with tempfile.TemporaryDirectory() as folder:
    config = pathlib.Path(folder) / "tailord.toml"
    config.write_text('log-level = "info"\nkeep-days = 7\n')
    with Daemon(options=["--config", config]) as daemon:
        def said():
            return daemon.said()

        def reload(text, *words):
            before = len(said())
            config.write_text(text)
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(f"the log says: {', '.join(words)}", lambda: all(word in said()[before:] for word in words))
            check(daemon.process.poll() is None, "and the daemon runs")

        def process(pid):
            found = json.loads(daemon.tailor("status", "--json"))["processes"]
            return next((each for each in found if each["info"]["process"]["pid"] == pid), None)

        reload('log-level = "info"\nkeep-days = 7\n', "read again; changed: nothing")
        reload('log-level = "info"\nkeep-days = 1\nkeep-megabytes = 64\n', "changed: keep-days, keep-megabytes")
        reload('log-level = "info"\nkeep-days = 1\nkeep-megabytes = 64\nmax-memory = 99\n', "until tailord is restarted: max-memory")
        reload('log-level = "info"\nkeep-dayz = 9\n[processes]\nignore = [7]\n', "everything stays as it was", "2:1: there is no option",
               ":4:11: \"ignore\" lists")
        reload("no TOML at all", "everything stays as it was")
        config.unlink()
        daemon.process.send_signal(signal.SIGHUP)
        wait_for("a file that is not there is told", lambda: said().count("everything stays as it was") == 3)
        # What was changed before is still so: the same values change nothing.
        reload('log-level = "info"\nkeep-days = 1\nkeep-megabytes = 64\n', "read again; changed: nothing")

        if reason := sampling_denied():
            print(f"not checked: rules for processes, because {reason}")
            sys.exit(0)
        weft = subprocess.Popen([BIN / "weft", "--sf", "0.05", "--threads", "1", "--repeat", "1000000000", "--quiet", "--query", "tpch-6"],
                                env={**os.environ, **daemon.env})
        stranger = subprocess.Popen([sys.executable, "-c", SPIN])
        try:
            wait_for("an engine is sampled", lambda: process(weft.pid) and process(weft.pid)["sampled"])
            check(process(stranger.pid) is None, "a process that does not register is not")
            reload('[processes]\nignore = ["weft"]\n', "processes.ignore")
            wait_for("the engine is not sampled any more", lambda: not process(weft.pid)["sampled"])
            check("[processes] ignore" in process(weft.pid)["not_sampled_because"], "and the status says why")
            count = process(weft.pid)["accounting"]["received"]
            name = pathlib.Path(f"/proc/{stranger.pid}/exe").resolve().name
            reload(f'[[processes.sample]]\nexecutable = "{name}"\nuid = {os.getuid()}\nnames = "functions"\n',
                   "processes.ignore, processes.sample")
            wait_for("the engine is sampled again", lambda: process(weft.pid)["sampled"])
            wait_for("its samples go on", lambda: int(process(weft.pid)["accounting"]["received"]) > int(count))
            wait_for("the process that a rule names is sampled",
                     lambda: process(stranger.pid) and int(process(stranger.pid)["accounting"]["received"]) > 0)
            late = subprocess.Popen([sys.executable, "-c", SPIN])
            wait_for("one that began later, too", lambda: process(late.pid) and process(late.pid)["sampled"])
            late.kill()
            late.wait()
            reload("", "changed: processes.sample")
            wait_for("without the rule it is not", lambda: not process(stranger.pid) or not process(stranger.pid)["sampled"])
            reload('[processes]\nignore = ["weft"]\n', "processes.ignore")
            wait_for("the engine is not sampled once more", lambda: not process(weft.pid)["sampled"])
            weft.kill()
            weft.wait()
            reasons = set()

            def is_forgotten():
                """Whether it has left the status. Until then a reason is told."""
                seen = process(weft.pid)
                if seen and not seen["sampled"]:
                    reasons.add(seen["not_sampled_because"])
                return not seen

            wait_for("an engine that has ended leaves the status", is_forgotten)
            check("" not in reasons, f"until then it says why it is not sampled: {sorted(reasons)}")
        finally:
            for each in (weft, stranger):
                each.kill()
                each.wait()
        check(daemon.stop() == 0, "the daemon ends as usual")
