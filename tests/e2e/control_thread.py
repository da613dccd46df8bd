"""A clock on the thread that reads the rings, logs and messages of everybody: these attacks make none of its steps take more than
20 ms, and an engine beside them, the victim, loses nothing.

A step is what that thread does between two waits. Time in the run queue does not count (`long_steps` and `longest_step_ns` of
`tailor status --json`). The store lies in memory: how fast a disk is, is nobody's attack. The broken twin stops the daemon in the
middle of its steps, which must be noticed.

What the daemon counts shows that the attack has reached it. With --full each attack lasts longer, and files of strangers attack too:
perf maps, jitdumps and libraries with large unwind tables. Files of FUSE attack where the host lets them be mounted.

control_thread.py [--full] [ATTACK ...]: these alone.
"""
import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import sys
import tempfile
import threading
import time

from attacks import LOSSES, PATIENCE, Victim
from hostile_agents import Attackers
from hostile_files import growing_map, many_functions, sparse_map, strangers, wait_until_sampled
from raw_agent import ask_control, field
from slow_files import can_be_slow
from tailor_env import ROOT, Daemon, check, check_live, sampling_denied, skip, undisturbed

ROUNDS = 2  # of the victim's executions beside each attack; with --full ten times as many
TIMES = 3
STRANGER = 65534
ON_DISK = tempfile.gettempdir()  # programs can be executed from there
QUERY = (ROOT / "compiler/weft/queries/q3.sql").read_text().strip().rstrip(";")


@contextlib.contextmanager
def agents(kind, daemon, _):
    """Until each of the attacks was seen to go on."""
    uid = STRANGER if kind in OF_A_STRANGER and os.geteuid() == 0 else None
    if uid is not None:
        os.chmod(daemon.socket.parent, 0o755)
        os.chmod(daemon.socket, 0o666)
    with Attackers(kind, daemon.socket, uid) as attackers:
        deadline = time.monotonic() + PATIENCE
        while not all(attackers.taken().values()) and time.monotonic() < deadline:
            time.sleep(0.1)
        before = attackers.taken()
        check(all(before.values()), f"the attack has begun: {before}")
        yield lambda: min(attackers.taken().values())
        print(f"steps of the attack: {attackers.taken()}")


@contextlib.contextmanager
def files(attack, daemon, folder):
    with strangers(folder, 1, [attack]) as running:
        wait_until_sampled(daemon, running)
        yield lambda: 0


@contextlib.contextmanager
def reader(_, daemon, __):
    """Somebody who reads the catalogue and never ends it."""
    catalogue = next(daemon.store.rglob("catalogue.sqlite"))
    with contextlib.closing(sqlite3.connect(f"file:{catalogue}?mode=ro", uri=True, isolation_level=None)) as held:
        held.execute("BEGIN")
        tables = [name for name, in held.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        check(tables and all(held.execute(f'SELECT count(*) FROM "{name}"').fetchone() for name in tables), "a reader holds the catalogue")
        yield lambda: 0


def limits(*keys):
    """How often these limits were exceeded."""
    return lambda status: sum(int(each["count"]) for each in status.get("limits", []) if each["reason"] in keys)


def raw_processes(status):
    """How many of the attack's processes the daemon knows."""
    return sum(each["info"].get("engine_name") == "raw" for each in status["processes"])


def taken_messages(status):
    """Of agents that say what nobody else says, those that were not rejected."""
    said = [each["accounting"] for each in status["processes"] if each["info"].get("engine_name") == "raw"]
    return sum(int(each["messages"]) - int(each["messages_rejected"]) for each in said)


ATTACKS = {
    "descriptors": (agents, "descriptors"),
    "connections": (agents, "connections"),
    "newcomers": (agents, "newcomers"),
    "mapped": (agents, "mapped"),
    "rows": (agents, "rows"),
    "late": (agents, "late"),
    "tables": (agents, "tables"),
    "message": (agents, "message"),
    "catalogue": (reader, None),
    "sleepers": (agents, "sleepers"),
    "arenas": (agents, "arenas"),
    "programs": (agents, "programs"),
    "slow files": (agents, "slow files"),
    "requests": (agents, "requests"),
    "sparse": (files, sparse_map),
    "map": (files, growing_map),
    "jitdump": (files, many_functions),
}
LONG = ("map", "sparse", "jitdump", "tables", "programs")  # with --full
LEAST = {"message": 3}  # steps of the attack in each try: one of each kind of message
LEAST_OF_A_ROUND = {  # and for each round: processes that come, libraries, files, answers
    "sleepers": 50, "arenas": 4, "programs": 1, "slow files": 1, "requests": 2,
}
OF_A_STRANGER = ("sleepers", "arenas")  # processes of a user share what the user may have: these leave the victim little of it
# What the daemon counts of an attack. It must become more.
REACHED = {
    "tables": limits("unwind-file", "unwind-work"),
    "message": taken_messages,
    "sleepers": raw_processes,
    "arenas": raw_processes,
    "programs": limits("unwind-file", "unwind-work"),
}


def status(daemon):
    return json.loads(daemon.tailor("status", "--json"))


def check_victim(daemon, victim):
    pid = victim.process.pid
    rows = json.loads(daemon.tailor("list", "--process", pid, "--limit", victim.executions + 1, "--json"))["executions"]
    check(len(rows) == victim.executions, f"the victim has {len(rows)} of {victim.executions} executions")
    account = next(each["accounting"] for each in status(daemon)["processes"] if each["info"]["process"]["pid"] == pid)
    losses = {key: int(account[key]) for key in LOSSES}
    check_live(int(account["received"]) > 0 and not any(losses.values()), f"of {account['received']} samples and all marks it lost none: {losses}")


def judge_steps(attack, counts, after):
    longest = int(after["longest_step_ns"]) / 1e6
    check_live(0 in counts, f"{attack}: {counts} steps took more than 20 ms, the longest of the last minute {longest:.1f} ms")


def wait_until_reached(attack, daemon, before):
    """What the daemon counts of the attack is more than it was."""
    if attack not in REACHED:
        return
    deadline = time.monotonic() + PATIENCE
    while REACHED[attack](status(daemon)) <= before and time.monotonic() < deadline:
        time.sleep(0.1)
    reached = REACHED[attack](status(daemon))
    check(reached > before, f"the attack {attack} has reached the daemon: it counted {before}, and then {reached}")


def begin_to_sample(daemon, rounds):
    """The victim is the first process that is sampled, again and again: the BPF program is loaded each time."""
    counts = []
    while 0 not in counts and len(counts) < TIMES:
        before = int(status(daemon)["long_steps"])
        for _ in range(rounds):
            with Victim(daemon) as victim:
                victim.execute(QUERY)
                check_victim(daemon, victim)
            deadline = time.monotonic() + PATIENCE
            while any(each["sampled"] for each in status(daemon)["processes"]) and time.monotonic() < deadline:
                time.sleep(0.1)
        counts.append(int(status(daemon)["long_steps"]) - before)
    judge_steps("first", counts, status(daemon))


def under(attack, daemon, folder, rounds):
    """What one attack does to the steps, and to the victim. What the attack does it does each time; what a host does, that may stop a
    CPU without a word, it does now and then. So one time without a long step is enough."""
    begin, what = ATTACKS[attack]
    with Victim(daemon) as victim:
        victim.execute(QUERY)
        counts = []
        reached = REACHED.get(attack, lambda _: 0)(status(daemon))
        with begin(what, daemon, folder) as steps:
            wait_until_reached(attack, daemon, reached)
            while 0 not in counts and len(counts) < TIMES:
                before = int(status(daemon)["long_steps"])
                enough = steps() + LEAST.get(attack, 0) + rounds * LEAST_OF_A_ROUND.get(attack, 0)
                deadline = time.monotonic() + PATIENCE
                for _ in range(rounds):
                    victim.execute(QUERY)
                while steps() < enough and time.monotonic() < deadline:
                    victim.execute(QUERY)
                while steps() < enough and time.monotonic() < deadline + PATIENCE:  # the victim left the attack too little CPU time
                    time.sleep(0.1)
                check(steps() >= enough, f"the attack goes on: it took {steps()} steps, of at least {enough}")
                counts.append(int(status(daemon)["long_steps"]) - before)
            judge_steps(attack, counts, status(daemon))
        check_victim(daemon, victim)


def main(attacks, rounds):
    with tempfile.TemporaryDirectory(prefix="tailor-steps-", dir=ON_DISK) as folder:
        folder = pathlib.Path(folder)
        rules = folder / "tailord.toml"
        rules.write_text(f'[[processes.sample]]\nexecutable = "{folder}/stranger"\n')
        options = ["--config", rules, "--max-memory", 64, "--user-processes", 2000, "--http-connections", 256]
        for attack in attacks:
            if attack == "slow files" and not can_be_slow():
                print("not tried: slow files, because the host lets no file system of FUSE be mounted")
                continue
            with Daemon(frequency=997, options=options) as daemon:
                begin_to_sample(daemon, rounds) if attack == "first" else under(attack, daemon, folder, rounds)
    broken_twin()


class ControlThread:
    """The thread of the daemon whose steps are timed."""

    def __init__(self, pid):
        tasks = [each for each in pathlib.Path(f"/proc/{pid}/task").iterdir() if comm_of(each) == "tailor-control"]
        check(tasks, "a thread of the daemon is its control thread")
        tasks.sort(key=lambda task: int(task.name))  # one that it makes just now has its name for a moment
        self.stat, self.schedstat = ((tasks[0] / name).open("rb", buffering=0) for name in ("stat", "schedstat"))
        self.slices = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stat.close()
        self.schedstat.close()

    def wait_until_it_works(self, deadline):
        """Until it does not sleep, and has had the CPU since the last call: so it works at a step, unless it has just ended one."""
        while time.monotonic() < deadline:
            slices = int(os.pread(self.schedstat.fileno(), 256, 0).split()[2])  # 0: this kernel does not count them
            state = os.pread(self.stat.fileno(), 4096, 0).rsplit(b")", 1)[1].split()[0]
            if state == b"R" and (slices == 0 or slices != self.slices):
                self.slices = slices
                return


def comm_of(task):
    try:
        return (task / "comm").read_text().strip()
    except OSError:  # it has ended
        return ""


@contextlib.contextmanager
def asked(daemon):
    """Somebody asks for the status again and again, which is a step each time."""
    over = threading.Event()

    def ask():
        while not over.is_set():
            ask_control(daemon.control, field(1, b""))

    asker = threading.Thread(target=ask, daemon=True)
    asker.start()
    try:
        yield
    finally:
        over.set()
        asker.join()


def broken_twin():
    """A step that is held up is counted: here the whole daemon stands still in the middle of one."""
    with Daemon(frequency=997) as daemon, Victim(daemon) as victim:
        victim.execute(QUERY)
        before = int(status(daemon)["long_steps"])
        deadline = time.monotonic() + PATIENCE
        with ControlThread(daemon.process.pid) as thread:
            while int(status(daemon)["long_steps"]) == before and time.monotonic() < deadline:
                victim.process.stdin.write(QUERY + ";\n")
                victim.process.stdin.flush()
                with asked(daemon):
                    for _ in range(20):
                        thread.wait_until_it_works(deadline)
                        daemon.process.send_signal(signal.SIGSTOP)
                        time.sleep(0.03)
                        daemon.process.send_signal(signal.SIGCONT)
        check(int(status(daemon)["long_steps"]) > before, "the broken twin, a daemon that is stopped in the middle of a step, is noticed")


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    if os.access("/dev/shm", os.W_OK):
        tempfile.tempdir = "/dev/shm"
    FULL = "--full" in sys.argv
    CHOSEN = [name for name in sys.argv[1:] if name != "--full"] or [name for name in ("first", *ATTACKS) if FULL or name not in LONG]
    undisturbed(lambda: main(CHOSEN, 10 * ROUNDS if FULL else ROUNDS), tries=2)
