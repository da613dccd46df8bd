"""A daemon that is killed and begins anew under a running JVM: the code compiled before is known to the second one too."""
import json
import os
import signal
import subprocess
import time

from jvm_env import java, samples_of
from tailor_env import Daemon, at_least, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)


def wait_for(daemon, wanted, what):
    """Reports until the methods have so many samples."""
    deadline = time.monotonic() + 150
    while time.monotonic() < deadline:
        done = subprocess.run([str(daemon.command[0]).replace("tailord", "tailor"), "report", "--json"], capture_output=True, text=True,
                              env={**os.environ, **daemon.env})
        if done.returncode == 0:
            found = json.loads(done.stdout)
            heavy, light = (samples_of(found, f"JvmShares.{name}") for name in ("heavy", "light"))
            if heavy + light >= wanted:
                check(at_least(heavy, heavy + light, 0.6), f"{what}: {heavy:.0f} samples of the heavy method, {light:.0f} of the light one")
                return
        time.sleep(0.3)
    check(False, f"{what}: the methods have samples")


with Daemon() as daemon:
    jvm = subprocess.Popen(java("JvmShares", 10_000_000), env={**os.environ, **daemon.env}, stdout=subprocess.DEVNULL)
    try:
        wait_for(daemon, 300, "before")
        daemon.stop(signal.SIGKILL)
        time.sleep(0.5)
        check(jvm.poll() is None, "the JVM runs on without a daemon")
        daemon.start()
        wait_for(daemon, 300, "after the daemon was killed and started again")
        check(jvm.poll() is None, "and still runs")
    finally:
        jvm.kill()
        jvm.wait()
