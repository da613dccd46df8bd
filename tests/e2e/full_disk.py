"""The disk of the store fills up and becomes free again: the daemon's memory stays flat, the log says when it began and when it
ended, `tailor status` forgets it, and what was lost meanwhile is counted."""
import ctypes
import json
import os
import pathlib
import subprocess
import time

from raw_agent import RawAgent
from tailor_env import BIN, Daemon, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
CLONE_NEWNS = 0x20000
if os.geteuid() != 0 or ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
    skip("only root can mount a small disk")
if subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True).returncode != 0:
    skip("mounts cannot be made private here")
DISK_MB = 16
# What the daemon may keep: the data of processes (--max-memory), what the catalogue and the metrics are to learn (16 MB each),
# and what allocators make of it.
DATA_MB, OWED_MB = 64, 64
LABELS_MB = 400  # what another process says meanwhile, several times what may be kept


def fill(path):
    """A file that takes all the room there is."""
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass


def wait(what, condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < deadline, what)
        time.sleep(0.1)
    print(f"ok: {what}")


def status(daemon):
    return json.loads(daemon.tailor("status", "--json"))


def log(daemon):
    return pathlib.Path(daemon.log.name).read_text()


def memory_mb(daemon):
    lines = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def executions(daemon, engine):
    listed = json.loads(daemon.tailor("list", "--limit", "1000000", "--json"))["executions"]
    return [e for e in listed if e["pid"] == engine.pid]


def samples(daemon, engine):
    return sum(e["samples"] for e in executions(daemon, engine))


def talk(daemon):
    """Executions with long labels, one after the other: they end, so that nothing of them has to be known for long."""
    agent = RawAgent(daemon.socket)
    most = 0
    for number in range(LABELS_MB * 20):
        agent.begin(1, os.urandom(16), [("query", f"{number} " + "q" * 50_000)])
        agent.end(1)
        if number % 100 == 0:
            most = max(most, memory_mb(daemon))
    agent.close()
    return most


daemon = Daemon(frequency=997, options=("--max-memory", str(DATA_MB)))
daemon.store.mkdir(mode=0o750)
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0750", "none", daemon.store], check=True)
filler = daemon.store / "filler"
with daemon:
    try:
        engine = subprocess.Popen([BIN / "weft", "--sf", "0.1", "--threads", "2", "--repeat", "1000000", "--quiet", "--tpch", "1"],
                                  env={**os.environ, **daemon.env}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            wait("the engine is sampled", lambda: samples(daemon, engine) > 1000)
            before = memory_mb(daemon)
            fill(filler)
            wait("the status says that the disk is full", lambda: "full" in status(daemon)["store_problem"])
            most = talk(daemon)
            check(most <= before + DATA_MB + OWED_MB, f"memory stays flat: {before:.0f} MB before, {most:.0f} MB at most with a full disk")
            check(samples(daemon, engine) > 1000, "what was stored before is still there")
            lost = int(status(daemon)["store_loss"]["samples"])
            check(lost > 0, f"{lost} samples are lost, and counted")
            filler.unlink()
            wait("the status forgets it", lambda: not status(daemon)["store_problem"])
            kept = samples(daemon, engine)
            wait("samples are stored again", lambda: samples(daemon, engine) > kept + 1000)
        finally:
            engine.kill()
            engine.wait()
        text = log(daemon)
        began, ended = text.count("samples are lost"), text.count("everything can be written again")
        check(began == ended == 1, f"the log says once when it began and once when it ended ({began}, {ended})")
    finally:
        daemon.stop()
        subprocess.run(["umount", daemon.store], check=False)
