"""Processes that attack the daemon while an engine is sampled: the engine's profile is the one it has without them, the
daemon's memory stays bounded, and it ends when it is asked to."""
import json
import math
import multiprocessing
import os
import signal
import socket
import threading
import time

from raw_agent import RawAgent, ask_control, field, fields, put_record, set_head
from tailor_env import Daemon, check, operators, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)

MEMORY_MB = 64  # that processes may fill
REFUSALS, LIMITS = 20, 21  # fields of DaemonStatus
FUTURE = 1 << 62


def labels(path):
    """Executions that never end, with all the labels they may have."""
    agent = RawAgent(path)
    for handle in range(1, 4000):
        agent.begin(handle, os.urandom(16), [("query", "q" * 50_000)])


def refused_code(path):
    """Unwind tables of code that cannot be taken."""
    agent = RawAgent(path)
    for code in range(1, 100):
        agent.code(code, plan=99, base=0x10000 * code, eh_frame=b"\x17" * 20_000_000)


def huge_claims(path):
    """Plans of a few bytes that claim millions of components."""
    agent = RawAgent(path)
    for plan in range(1, 3000):
        agent.plan(plan, levels=[1 << 22], slot=plan)
        agent.plan(plan, levels=[65536], slot=plan)


def code_churn(path):
    """Many small code objects, then one over all of them; and unloads of the last ones."""
    agent = RawAgent(path)
    while True:
        for code in range(1, 8000):
            agent.code(code, plan=0, base=0x100000 + 16 * code)
        agent.code(9000, plan=0, base=0x100000, size=200_000)
        for code in range(8000, 1, -1):
            agent.unload_code(code)


def large_nonsense(path):
    """Memory files full of what is no message."""
    for _ in range(1000):
        agent = RawAgent(path)
        try:
            for _ in range(50):
                agent.say(99, b"\xff" * 30_000_000)
        except OSError:
            pass
        agent.close()


def lying_logs(path):
    """Heads that nobody can have reached, and marks from the future."""
    agent = RawAgent(path)
    records = 1024
    memory = agent.arena(0, 64, records)
    number = 0
    while True:
        number += records
        for area in range(64):
            for i in range(0, records, 64):
                put_record(memory, area, records, i, FUTURE + number + i, 7 + (i >> 6) % 2, identity=1 + i % 7)
            put_record(memory, area, records, number, FUTURE, 12, identity=1_000_000 + number % 50_000, a=number)
            set_head(memory, area, records, number if number % 5 else 1 << 63)


def many_areas(path):
    """A million logs."""
    for _ in range(200):
        agent = RawAgent(path)
        try:
            for index in range(256):
                agent.arena(index, 4096, 16)
        except OSError:
            pass
        agent.close()


def reconnects(path):
    """A new agent, over and over again."""
    while True:
        RawAgent(path).close()


def many_connections(path):
    """As many connections as there are descriptors."""
    while True:
        agents = []
        try:
            for _ in range(900):
                agents.append(RawAgent(path, hello=False))
        except OSError:
            pass
        time.sleep(0.2)
        for agent in agents:
            agent.close()


def garbage(path):
    """Bytes that are no messages, before hello and after it."""
    while True:
        for hello in (False, True):
            agent = RawAgent(path, hello=hello)
            try:
                for size in (1, 100, 50_000):
                    agent.send(os.urandom(size))
            except OSError:
                pass
            agent.close()


def control_socket(path):
    """Who asks and never reads, and who asks nonsense."""
    control = os.path.join(os.path.dirname(path), "control.sock")
    while True:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asker:
            asker.connect(control)
            try:
                for _ in range(200):
                    asker.send(field(1, b""))
                asker.send(b"\xff\xff\xff")
            except OSError:
                pass


ATTACKS = [labels, refused_code, huge_claims, code_churn, large_nonsense, lying_logs, many_areas, reconnects,
           many_connections, garbage, control_socket]


def forever(attack, path):
    """Again whenever the daemon has thrown it out."""
    while True:
        try:
            attack(path)
        except OSError:
            time.sleep(0.05)


class Attackers:
    """All attacks at once, one process each; they only get the time that nobody else wants."""

    def __init__(self, path):
        self.processes = [multiprocessing.Process(target=self.attack, args=(attack, str(path)), daemon=True)
                          for attack in ATTACKS]

    @staticmethod
    def attack(attack, path):
        os.nice(19)
        forever(attack, path)

    def __enter__(self):
        for process in self.processes:
            process.start()
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.join()


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


REPEAT = 30


def engine(daemon):
    """The same query, many times over: how many executions the daemon knows, their samples, and the operators' shares."""
    before = {row["id"] for row in executions(daemon)}
    daemon.weft("--sf", "0.1", "--threads", "2", "--repeat", str(REPEAT), "--quiet", "--tpch", "3", timeout=600)
    new = [row["id"] for row in executions(daemon) if row["id"] not in before]
    request = field(5, b"".join(field(1, bytes.fromhex(each)) for each in new))
    reply = ask_control(daemon.control, request)
    if 6 not in reply:
        check(False, f"a report of {len(new)} executions: {reply.get(1)}")
    report = json.loads(dict(fields(reply[6]))[3])
    found = operators(report)
    total = sum(op["samples"] for op in found)
    shares = {}
    for op in found:
        shares[op["name"]] = shares.get(op["name"], 0) + op["samples"] / max(total, 1)
    return len(new), total, shares


def executions(daemon):
    """Those of the engine, not those that attackers declare."""
    rows = json.loads(daemon.tailor("list", "--json", "--limit", "20000"))["executions"]
    return [row for row in rows if row["plan_name"].startswith("tpch")]


def felt(daemon):
    """What was refused by reason, and what went beyond limits."""
    status = list(fields(ask_control(daemon.control, field(1, b""))[2]))
    counts = [dict(fields(value)) for number, value in status if number == REFUSALS], \
             [dict(fields(value)) for number, value in status if number == LIMITS]
    return tuple({each[1].decode(): each.get(2, 0) for each in found} for found in counts)


def wait_until_felt(daemon):
    """On a busy machine the attackers need a while."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        reasons, limits = felt(daemon)
        if reasons.get("protocol") and limits.get("max-memory"):
            return
        time.sleep(0.2)
    check(False, f"the attacks are felt: {reasons}, {limits}")


with Daemon(frequency=997, options=["--max-memory", MEMORY_MB, "--user-processes", 2000]) as daemon:
    _, alone_samples, alone_shares = engine(daemon)
    memory = Memory(daemon.process.pid)
    memory.start()
    with Attackers(daemon.socket):
        wait_until_felt(daemon)
        known, beside_samples, beside_shares = engine(daemon)
        reasons, limits = felt(daemon)
        memory.over.set()
        check(known == REPEAT, f"the daemon knows all {known} executions of the engine")
        for name, share in alone_shares.items():
            # Two binomials: five standard deviations, and the host's own noise.
            noise = math.sqrt(share * (1 - share) * (1 / alone_samples + 1 / max(beside_samples, 1)))
            other = beside_shares.get(name, 0)
            check(abs(other - share) <= 5 * noise + 0.03, f"{name}: {share:.3f} alone, {other:.3f} beside the attacks")
        check(memory.most <= 8 * MEMORY_MB,
              f"the daemon took {memory.most:.0f} MB at most, of which processes may fill {MEMORY_MB}")
        print(f"refused: {reasons}; beyond limits: {limits}")
        check(daemon.stop(signal.SIGTERM) is not None, "SIGTERM ends it while the attacks go on")
