"""Kill -9 of the engine or of the daemon at any moment leaves a readable profile, and the engine runs on."""
import json
import os
import random
import signal
import subprocess
import time

from tailor_env import BIN, Daemon, check, run, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
draw = random.Random(7)
weft = [str(BIN / "weft"), "--sf", "0.1", "--threads", "2", "--repeat", "40", "--quiet", "--tpch", "1"]
with Daemon(frequency=2000) as daemon:
    for round_number in range(3):
        engine = subprocess.Popen(weft, env={**os.environ, **daemon.env})
        time.sleep(0.3 + draw.random())
        engine.kill()
        engine.wait()
        report = daemon.report("--last", "1")
        check(report["samples"] >= 0, f"the engine was killed, its profile is readable (round {round_number})")
    engine = subprocess.Popen(weft, env={**os.environ, **daemon.env})
    time.sleep(0.3 + draw.random())
    daemon.stop(signal.SIGKILL)
    check(engine.wait(timeout=120) == 0, "the daemon was killed, the engine ends as usual")
    listed = json.loads(daemon.tailor("list", "--json"))
    check(len(listed["executions"]) >= 1, "the killed daemon's store is readable")
    daemon.start()
    daemon.weft("--sf", "0.1", "--threads", "2", "--repeat", "5", "--quiet", "--tpch", "6")
    check(daemon.report("--last", "5")["samples"] > 0, "a new daemon goes on in the same store")
