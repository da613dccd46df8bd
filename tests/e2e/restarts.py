"""tailord is killed again and again under a running engine: each time at most the last second is lost, nothing is counted
twice, and what ran then has ended. A second process has an execution open over each kill: those of the engine may be so short that
the store knows of none that ran."""
import ctypes
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from live_daemon import wait_for
from tailor_env import BIN, BUILD, Daemon, check, check_live, of_count, sampling_denied, skip, undisturbed

if reason := sampling_denied():
    skip(reason)
RESTARTS = 50 if "--full" in sys.argv else 5
FREQUENCY = 997
THREADS = 2
LOST = 1.0  # seconds, at most, each time
OUTSIDE = 0.03  # share of the engine's time between its executions, which is in none of them
draw = random.Random(11)


def cpu_of(pid):
    """Seconds of CPU time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_sampled(daemon, pid):
    status = json.loads(daemon.tailor("status", "--json"))
    return any(int(p["info"]["process"]["pid"]) == pid and p["sampled"] for p in status["processes"])


def chance(seconds):
    """By how much what samples say of so many seconds can be off by chance."""
    return seconds * of_count(seconds * FREQUENCY)


def more_than_it_can(execution):
    """Whether an execution has more CPU time than its threads had in its time."""
    had = THREADS * execution["elapsed_ns"] / 1e9
    return execution["cpu_ns"] / 1e9 > had * 1.02 + chance(had + 1 / FREQUENCY)


class Options(ctypes.Structure):
    """struct tailor_agent_options."""
    _fields_ = [("size", ctypes.c_size_t), ("engine_name", ctypes.c_char_p), ("engine_version", ctypes.c_char_p),
                ("tag_strategy", ctypes.c_uint32), ("socket_path", ctypes.c_char_p), ("queue_bytes", ctypes.c_size_t),
                ("log_records", ctypes.c_uint32), ("flags", ctypes.c_uint32)]


def hold():
    """The second process: says the identity of its execution, and waits until it is killed."""
    agent = ctypes.CDLL(str(BUILD / "lib/libtailor_agent.so"))
    agent.tailor_execution_begin.restype = ctypes.c_uint64
    started = agent.tailor_agent_start(ctypes.byref(Options(ctypes.sizeof(Options), b"holder")))
    if started != 0:
        sys.exit(f"no agent: {started}")
    identity = ctypes.create_string_buffer(16)
    execution = ctypes.c_uint64(agent.tailor_execution_begin(ctypes.c_uint64(0), None, ctypes.c_size_t(0)))
    agent.tailor_execution_id(execution, identity)
    print(identity.raw.hex(), flush=True)
    sys.stdin.read()


def opened(daemon):
    """A process, and the identity of its execution, which the store knows: it is listed, and it does not end."""
    holder = subprocess.Popen([sys.executable, __file__, "--hold"], env={**os.environ, **daemon.env}, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    identity = holder.stdout.readline().strip()
    check(len(identity) == 32, f"a second process has an execution: {identity}")
    wait_for("an execution that is open is listed", lambda: any(row["id"] == identity and row["running"] for row in json.loads(
        daemon.tailor("list", "--process", holder.pid, "--json"))["executions"]))
    return holder, identity


def one_life(daemon, engine):
    """How much CPU time the engine used while it was sampled, without what may be lost, until the daemon is killed; and the execution
    that was open then."""
    while not is_sampled(daemon, engine.pid):
        check(engine.poll() is None, "the engine runs")
        time.sleep(0.02)
    begin = cpu_of(engine.pid)
    holder, open_one = opened(daemon)
    used = []
    kill_at = time.monotonic() + LOST + 0.5 + draw.random() * 1.5
    while time.monotonic() < kill_at:
        used.append((time.monotonic(), cpu_of(engine.pid)))
        time.sleep(0.01)
    daemon.stop(signal.SIGKILL)
    killed = time.monotonic()
    holder.kill()
    holder.wait()
    return max([cpu - begin for when, cpu in used if when <= killed - LOST], default=0), open_one


def attempt():
    with Daemon(frequency=FREQUENCY) as daemon:
        engine = subprocess.Popen([BIN / "weft", "--sf", "0.5", "--threads", str(THREADS), "--repeat", "1000000", "--quiet", "--tpch", "1"],
                                  env={**os.environ, **daemon.env}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            must, held = 0, []
            for _ in range(RESTARTS):
                used, open_one = one_life(daemon, engine)
                must += used
                held.append(open_one)
                daemon.start()
            check(engine.poll() is None, f"the engine runs on after {RESTARTS} restarts of the daemon")
            used = cpu_of(engine.pid)
        finally:
            engine.kill()
            engine.wait()
        # The last execution has a second of samples at most after `used` was looked at.
        daemon.stop()
        daemon.start()
        listed = json.loads(daemon.tailor("list", "--limit", "1000000", "--json"))["executions"]
        check(len({e["id"] for e in listed}) == len(listed), f"each of {len(listed)} executions is listed once")
        check(not any(e["running"] for e in listed), "none of them runs any more")
        lost = {e["id"] for e in listed if e["error"] == "daemon ended"}
        check(lost.issuperset(held), f"the {len(held)} that were open over a kill ended with their daemon")
        ended = len(lost.difference(held))
        check(ended <= RESTARTS + 1, f"{ended} of the engine's did so, at most one with each")
        listed = [e for e in listed if e["id"] not in held]
        kept = sum(e["cpu_ns"] for e in listed) / 1e9
        most = used * 1.02 + THREADS + chance(used)
        check_live(kept <= most, f"nothing is counted twice: {kept:.2f} of the {used:.2f} s that the engine used")
        too_long = [e for e in listed if more_than_it_can(e)]
        check_live(not too_long, f"and in no execution {too_long[:3]}")
        least = must * (1 - OUTSIDE) - chance(must)
        check_live(kept >= least, f"at most a second is lost each time: {kept:.2f} s are there, {must:.2f} s had to be")


hold() if "--hold" in sys.argv else undisturbed(attempt)
