"""An engine that does nothing for a while, and then works: the daemon, which sleeps meanwhile, hears all that it says from the first
moment on. Slowly sampled and fast."""
import json
import os
import subprocess
import time

from attacks import LOSSES
from tailor_env import BIN, Daemon, check, check_live, sampling_denied, skip, undisturbed

QUIET = 2.5  # seconds; the daemon sleeps long after one
BURSTS = 4
REPEAT = 200  # executions in a burst


def accounting(daemon, pid):
    status = json.loads(daemon.tailor("status", "--json"))
    return next(each["accounting"] for each in status["processes"] if each["info"]["process"]["pid"] == pid)


def main(frequency):
    with Daemon(frequency=frequency) as daemon:
        engine = subprocess.Popen([str(BIN / "weft"), "--sf", "0.01", "--threads", "2", "--opt", "2", "--repeat", str(REPEAT), "--quiet", "--timing"],
                                  env={**os.environ, **daemon.env}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            for _ in range(BURSTS):
                time.sleep(QUIET)
                engine.stdin.write("select count(*) from lineitem where l_quantity > 10;\n")
                engine.stdin.flush()
                done = 0
                while done < REPEAT:
                    line = engine.stderr.readline()
                    if not line:
                        check(False, "the engine lives")
                    done += line.startswith("  run ")
            listed = len(json.loads(daemon.tailor("list", "--limit", "10000", "--json"))["executions"])
            account = accounting(daemon, engine.pid)
        finally:
            engine.kill()
            engine.communicate()
    check(listed == BURSTS * REPEAT, f"at {frequency} Hz the daemon knows {listed} of {BURSTS * REPEAT} executions")
    losses = {key: int(account[key]) for key in LOSSES}
    check_live(not any(losses.values()), f"at {frequency} Hz nothing is lost: {losses}")


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    for each in (19, 997):
        undisturbed(lambda: main(each), tries=3)
