"""What tests of a daemon that runs ask of it and of the processes that it samples."""
import os
import pathlib
import subprocess
import time

from tailor_env import BIN, check


def cpu_ns(pid):
    """CPU time of a process since it began, in the steps in which the kernel tells it."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 10**9 // os.sysconf("SC_CLK_TCK")


def refused(daemon, *arguments, code=1):
    """What `tailor` says when it ends with that code."""
    done = subprocess.run([BIN / "tailor", *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **daemon.env})
    check(done.returncode == code, f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done.stderr


def wait_for(what, condition):
    """Fails if it does not hold within three minutes: what it waits for comes, and a busy host is slow."""
    deadline = time.monotonic() + 180
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    check(condition(), what)
