"""Processes attack the daemon while an engine beside them, the victim, is sampled. The victim's profile is the one that it has
without them: nothing of it is lost, and its operators have the same shares. The daemon's memory stays bounded, and it ends when
it is asked to.

attacks.py KIND [--full]: a kind of tests/support/hostile_agents.py. With --full the victim works beside the attacks in ten rounds, and each
attack goes on in each of them.
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time

from chance import same
from hostile_agents import Attackers
from raw_agent import ask_control, field
from tailor_env import BIN, ROOT, Daemon, check, check_live, of_count, operators, sampling_denied, skip, undisturbed

MEMORY_MB = 64  # that processes may fill
REPEAT = 40     # executions of the victim's query in a round
ENOUGH = 1000   # samples
PATIENCE = 120  # seconds; on a busy machine the attackers need a while
ENDS_WITHIN = 5  # seconds
LOSSES = ("late", "lost_ring", "lost_hardware", "throttled", "gap_ns", "log_lost", "messages_rejected", "agent_dropped",
          "broken_rings", "executions_unknown")


class Memory(threading.Thread):
    """The most that the daemon had of memory of its own, in MB."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.most, self.over = pid, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.05):
            try:
                with open(f"/proc/{self.pid}/status") as status:
                    kb = next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
            except (OSError, StopIteration):  # it has ended
                return
            self.most = max(self.most, kb / 1024)


class Victim:
    """A shell of weft, which executes a query as often as it is told to."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.executions = 0
        self.process = subprocess.Popen(
            [str(BIN / "weft"), "--sf", "0.1", "--threads", "2", "--opt", "2", "--repeat", str(REPEAT), "--quiet", "--timing"],
            env={**os.environ, **daemon.env}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def execute(self, query):
        """REPEAT times."""
        self.process.stdin.write(query + ";\n")
        self.process.stdin.flush()
        done = 0
        while done < REPEAT:
            line = self.process.stderr.readline()
            if not line:
                check(False, "the victim lives")
            done += line.startswith("  run ")
        self.executions += done

    def profile(self):
        """What the daemon knows of it: its accounting, its executions, samples by operator, and of how much of its CPU time."""
        pid = self.process.pid
        report = json.loads(self.daemon.tailor("report", "-p", pid, "--json"))
        rows = json.loads(self.daemon.tailor("list", "--process", pid, "--limit", "20000", "--json"))["executions"]
        ask_control(self.daemon.control, field(2, b""))  # flush
        used = cpu_ns(pid)
        status = json.loads(self.daemon.tailor("status", "--json"))
        account = next(each["accounting"] for each in status["processes"] if each["info"]["process"]["pid"] == pid)
        samples = {}
        for op in operators(report):
            samples[op["name"]] = samples.get(op["name"], 0) + op["samples"]
        return {"losses": {key: int(account[key]) for key in LOSSES}, "executions": len(rows), "samples": samples,
                "received": int(account["received"]), "sampled": int(account["on_cpu_ns"]) / used}


def cpu_ns(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def differences(a, b):
    """Where the shares of operators differ by more than chance."""
    found = []
    totals = sum(a.values()), sum(b.values())
    for name in a.keys() | b.keys():
        shares = [samples.get(name, 0) / total for samples, total in zip((a, b), totals)]
        if not same(a.get(name, 0), totals[0], b.get(name, 0), totals[1]):
            found.append(f"{name}: {shares[0]:.3f} and {shares[1]:.3f}")
    return found


def exchanged(samples):
    """A profile whose operators have the samples of each other."""
    names = sorted(samples, key=samples.get)
    return dict(zip(names, reversed([samples[name] for name in names])))


def execute_under(attackers, victim, query):
    """Until each attack was seen to go on beside the victim."""
    deadline = time.monotonic() + PATIENCE
    while not all(attackers.taken().values()):
        if time.monotonic() > deadline:
            check(False, f"the attacks have begun: {attackers.taken()}")
        time.sleep(0.1)
    before = attackers.taken()
    while True:
        victim.execute(query)
        after = attackers.taken()
        if all(after[name] > before[name] for name in before):
            print(f"steps of the attacks while the victim ran: { {name: after[name] - before[name] for name in before} }")
            return
        if time.monotonic() > deadline:
            check(False, f"the attacks go on: {before}, {after}")


def profile_of_enough(victim, query):
    """Of so many samples that shares can be compared."""
    deadline = time.monotonic() + PATIENCE
    while True:
        victim.execute(query)
        profile = victim.profile()
        if sum(profile["samples"].values()) >= ENOUGH:
            return profile
        if time.monotonic() > deadline:
            check(False, f"{profile['received']} samples are enough to compare")


def compare(alone, beside):
    check_live(not any(alone["losses"].values()), f"the victim alone lost nothing: {alone['losses']}")
    check_live(alone["losses"] == beside["losses"], f"beside the attacks neither: {beside['losses']}")
    few = min(alone["received"], beside["received"])
    check_live(abs(alone["sampled"] - beside["sampled"]) < 2 * of_count(few) * alone["sampled"],
               f"samples stand for {alone['sampled']:.3f} of its CPU time alone, {beside['sampled']:.3f} beside the attacks")
    found = differences(alone["samples"], beside["samples"])
    check(not found, f"its operators have the same shares of {sum(alone['samples'].values()):.0f} and "
                     f"{sum(beside['samples'].values()):.0f} samples {found or ''}".rstrip())
    check(differences(alone["samples"], exchanged(beside["samples"])), "exchanged operators would be noticed")


def main(kind, rounds):
    query = (ROOT / "compiler/weft/queries/q3.sql").read_text().strip().rstrip(";")
    with Daemon(frequency=997, options=["--max-memory", MEMORY_MB, "--user-processes", 2000]) as daemon:
        with Victim(daemon) as victim:
            alone = profile_of_enough(victim, query)
            check(alone["executions"] == victim.executions, f"the daemon knows {alone['executions']} of {victim.executions} executions")
        memory = Memory(daemon.process.pid)
        memory.start()
        with Attackers(kind, daemon.socket) as attackers, Victim(daemon) as victim:
            for _ in range(rounds):
                execute_under(attackers, victim, query)
            beside = profile_of_enough(victim, query)
            check(beside["executions"] == victim.executions, f"the daemon knows {beside['executions']} of {victim.executions} beside the attacks")
            compare(alone, beside)
            memory.over.set()
            check(memory.most <= 8 * MEMORY_MB,
                  f"the daemon took {memory.most:.0f} MB at most, of which processes may fill {MEMORY_MB}")
            check_end(daemon)


def check_end(daemon):
    """Whatever peers do, SIGTERM ends it in the time that it promises; it does not give up what it has not written yet."""
    asked = time.monotonic()
    code = daemon.stop(signal.SIGTERM)
    took = time.monotonic() - asked
    last = daemon.said().strip().splitlines()[-1:]
    check(code == 0, f"SIGTERM ends it while the attacks go on, exit code {code} {last if code else ''}".rstrip())
    check_live(took <= ENDS_WITHIN, f"in {took:.2f} s")


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    undisturbed(lambda: main(sys.argv[1], 10 if "--full" in sys.argv else 1), tries=2)
