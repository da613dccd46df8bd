"""Kill -9 of the engine, of the daemon or of `tailor record` at any moment leaves a readable profile that lacks at most the
last second, and the engine runs on."""
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

from tailor_env import BIN, Daemon, adopt, check, check_live, of_count, run, sampling_denied, skip, undisturbed

if reason := sampling_denied():
    skip(reason)
FREQUENCY = 2000
THREADS = 2
OUTSIDE = 0.5  # seconds: before its first query, and between queries, an engine works for no execution
draw = random.Random(7)
weft = [str(BIN / "weft"), "--sf", "0.1", "--threads", str(THREADS), "--repeat", "100000", "--quiet", "--tpch", "1"]


def cpu_of(pid):
    """Seconds of CPU time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def executions(daemon, engine):
    """Those of the engine, all."""
    listed = json.loads(daemon.tailor("list", "--limit", "100000", "--json"))["executions"]
    return [e for e in listed if e["pid"] == engine.pid]


def seconds_of(listed):
    """Seconds of CPU time that samples found in executions."""
    return sum(e["cpu_ns"] for e in listed) / 1e9


def lost(kept, used):
    """Whether `kept` of `used` seconds is too little: more than a second of each thread is missing, beyond chance."""
    return kept < used - THREADS * 1.0 - 0.02 * used - used * of_count(used * FREQUENCY)


def start(environment, *around):
    """An engine, or what runs it."""
    return subprocess.Popen([*map(str, around), *weft], env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def compute(pid):
    """Waits until the process has used some seconds of CPU time; how many."""
    wanted = 5 + draw.random()
    while cpu_of(pid) < wanted:
        time.sleep(0.05)
    return cpu_of(pid)


def engine_and_daemon():
    with Daemon(frequency=FREQUENCY) as daemon:
        environment = {**os.environ, **daemon.env}
        engine = start(environment)
        used = compute(engine.pid)
        engine.kill()
        engine.wait()
        kept = seconds_of(executions(daemon, engine))
        check_live(not lost(kept + OUTSIDE, used), f"the engine was killed, its executions have {kept:.2f} of the {used:.2f} s it used at least")

        engine = start(environment)
        used = compute(engine.pid)
        daemon.stop(signal.SIGKILL)
        check(engine.poll() is None, "the daemon was killed, the engine runs on")
        listed = executions(daemon, engine)
        kept = seconds_of(listed)
        check_live(not lost(kept + OUTSIDE, used), f"the killed daemon's store has {kept:.2f} of the {used:.2f} s that the engine had used")
        daemon.start()
        time.sleep(2)
        check(engine.poll() is None, "a new daemon comes, the engine runs on")
        again = executions(daemon, engine)
        used_at_end = cpu_of(engine.pid)
        engine.kill()
        engine.wait()
        check(len({e["id"] for e in again}) == len(again), "no execution is listed twice")
        later = {e["id"]: e for e in again}
        fewer = [e for e in listed if later[e["id"]]["samples"] < e["samples"]]
        check(not fewer, "what the killed daemon had stored is still there")
        total = seconds_of(again)
        most = used_at_end * (1.02 + of_count(used_at_end * FREQUENCY))
        check_live(total <= most, f"nothing is counted twice: {total:.2f} of the {used_at_end:.2f} s that the engine used")
        ran = [later[e["id"]] for e in listed if e["running"]]
        # The store may have kept the end of one that was still listed as running.
        check(all(not e["running"] and (e["error"] == "daemon ended" or e["rows"] > 0) for e in ran),
              f"executions that ran when it was killed have ended: {[e['error'] or 'with its rows' for e in ran]}")
        daemon.weft("--sf", "0.1", "--threads", "2", "--repeat", "5", "--quiet", "--tpch", "1")
        check(daemon.report("--last", "5")["samples"] > 0, "the new daemon goes on in the same store")


def recorder_alone():
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "killed.tailor"
        recorder = start(os.environ, BIN / "tailor", "record", "-F", FREQUENCY, "-o", profile, "--")
        children, end = [], time.monotonic() + 60
        while not children and time.monotonic() < end:
            time.sleep(0.05)
            children = pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()
        check(len(children) == 1, "tailor record runs the engine")
        engine_pid = int(children[0])
        used = compute(engine_pid)
        recorder.kill()
        recorder.wait()
        time.sleep(0.3)
        try:
            state = pathlib.Path(f"/proc/{engine_pid}/stat").read_text().rpartition(")")[2].split()[0]
            check(state in "RSD", "tailor record was killed, the engine runs on")
        finally:
            os.kill(engine_pid, signal.SIGKILL)
            os.waitpid(engine_pid, 0)
        report = json.loads(run(BIN / "tailor", "report", profile, "--json"))
        kept = report["weight"] / 1e9
        check_live(not lost(kept, used), f"its file is readable and has {kept:.2f} of the {used:.2f} s that the engine had used")


undisturbed(engine_and_daemon)
adopt()  # the engine of a recorder that was killed
undisturbed(recorder_alone)
