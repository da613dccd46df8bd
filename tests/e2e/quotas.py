"""Each quota of a user, and each limit on processes: whoever goes beyond is told which one it was, is counted, and a neighbour of
another user notices nothing. And a thousand processes register beside each other."""
import json
import os
import struct
import sys
import time

from live_daemon import wait_for
from raw_agent import HEADER, RawAgent, field, fields, put_record, set_head
from tailor_env import Daemon, check

THOUSAND, NEIGHBOUR_UID = 1000, 65534
BARRIER_ACK, REFUSAL, LIMIT_REACHED = 2, 3, 4


def said(agent):
    """The next message of the daemon: its kind and fields. The kind is 0 where the connection is over."""
    packet = agent.answer(60)
    return next(iter(fields(packet)), (0, b"")) if packet else (0, b"")


def is_known(agent, number):
    """Waits until the daemon has processed all that was said; returns the limits that it told of meanwhile."""
    agent.say(23, field(1, number))
    limits = {}
    while True:
        kind, content = said(agent)
        if kind == LIMIT_REACHED:
            limit = dict(fields(content))
            limits[limit[1].decode()] = (limit[2].decode(), limit.get(3, 0))
        if kind == BARRIER_ACK and dict(fields(content)).get(1) == number:
            return limits
        if kind == 0:
            raise ConnectionError("the daemon ended the connection")


def until_limit(agent):
    """A limit is told once a second at most."""
    limits, number = {}, 0
    deadline = time.monotonic() + 60
    while not limits and time.monotonic() < deadline:
        number += 1
        limits = is_known(agent, number)
        time.sleep(0.1)
    return limits


def plans(agent):
    for plan in range(1, 7):
        agent.plan(plan, levels=[2], slot=plan)


def code(agent):
    for number in range(1, 4):
        agent.code(number, plan=0, base=0x10000000 * number, size=600_000)


def regions(agent):
    records = 64
    memory = agent.arena(0, 1, records)
    memory[HEADER + 8:HEADER + 20] = struct.pack("<III", 1, os.getpid(), 1)
    agent.say(22, field(1, 1) + field(2, "buffer"))  # RegionKind
    put_record(memory, 0, records, 0, 1, 12, identity=os.getpid(), a=1)
    for number in range(1, 13):
        put_record(memory, 0, records, number, 1 + number, 9, identity=1, a=0x1000 * number, b=0x100)
    set_head(memory, 0, records, 13)
    agent.say(12, field(1, os.getpid()) + field(4, 1))


def labels(agent):
    for handle in range(1, 200):
        agent.begin(handle, os.urandom(16), [("query", "q" * 50_000)])


class Children:
    """Processes that wait for each other."""

    def __init__(self):
        self.go_read, self.go_write = os.pipe()
        self.pids = []

    def start(self, work, uid=None):
        """Runs work(wait) in a child of that user, until it calls wait(): that returns when the parent finishes."""
        ready_read, ready_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(self.go_write)

            def wait():
                os.write(ready_write, b"r")
                os.read(self.go_read, 1)

            code = 1
            try:
                if uid is not None:
                    os.setgid(uid)
                    os.setuid(uid)
                code = work(wait)
            except OSError as error:
                print(f"a child: {error}", flush=True)
            finally:
                os._exit(code)
        self.pids.append(pid)
        os.close(ready_write)
        if os.read(ready_read, 1) != b"r":
            raise ChildProcessError("a child did not begin")
        os.close(ready_read)

    def finish(self):
        """Their exit codes."""
        os.close(self.go_write)
        os.close(self.go_read)
        return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in self.pids]


def neighbour(daemon):
    """Registers, and says something while somebody else is at a limit. 0: all was taken, and it heard of no limit."""
    def work(wait):
        agent = RawAgent(daemon.socket)
        wait()
        agent.plan(1, levels=[3], slot=1)
        agent.code(1, plan=1, base=0x7000000)
        agent.begin(1, bytes(16))
        return 1 if is_known(agent, 99) else 0
    children = Children()
    children.start(work, NEIGHBOUR_UID)
    return children


def status(daemon):
    return json.loads(daemon.tailor("status", "--json"))


def limits_of_users(daemon):
    """{key: count}. Where a stack ends is no limit of a user, nor that a file was not read in time: a busy host does that."""
    counted = {row["reason"]: int(row["count"]) for row in status(daemon)["limits"]}
    return {key: count for key, count in counted.items() if not key.startswith("unwind-") and key != "mapped-file"}


def quota(key, attack, *options):
    with Daemon(options=options) as daemon:
        os.chmod(daemon.socket.parent, 0o755)
        os.chmod(daemon.socket, 0o666)
        other = neighbour(daemon)
        agent = RawAgent(daemon.socket)
        attack(agent)
        limits = until_limit(agent)
        check(set(limits) == {key} and key in limits[key][0] and limits[key][1] > 0, f"{key}: told \"{limits.get(key, limits)}\"")
        counted = limits_of_users(daemon)
        check(set(counted) == {key} and counted[key] > 0, f"{key}: counted {counted}")
        check(other.finish() == [0], f"{key}: a neighbour of another user notices nothing")
        agent.close()


def too_many(key, *options):
    """Three processes of one user where two may be."""
    with Daemon(options=options) as daemon:
        def work(wait):
            agent = RawAgent(daemon.socket)
            kind, _ = said(agent)
            wait()
            return 0 if kind == 1 else 1
        children = Children()
        for _ in range(2):
            children.start(work)
        agent = RawAgent(daemon.socket, hello=False)
        kind, content = said(agent)
        reason = dict(fields(content))[1].decode() if kind == REFUSAL else ""
        check(key in reason, f"{key}: refused \"{reason}\"")
        wait_for(f"{key}: counted", lambda: {row["reason"]: int(row["count"]) for row in status(daemon)["refusals"]} == {key: 1})
        check(children.finish() == [0, 0], f"{key}: those that came before stay")


def a_thousand():
    with Daemon(frequency=19) as daemon:
        def work(wait):
            agent = RawAgent(daemon.socket)
            agent.plan(1, levels=[3], slot=1)
            agent.begin(1, os.urandom(16), [("user", "many")])
            limits = is_known(agent, 1)
            wait()
            agent.end(1)
            return 1 if limits or is_known(agent, 2) else 0
        children = Children()
        for _ in range(THOUSAND):
            children.start(work)
        def registered():
            return [p for p in status(daemon)["processes"] if p["info"].get("engine_name") == "raw"]
        wait_for(f"{THOUSAND} processes are registered", lambda: len(registered()) == THOUSAND)
        there = registered()
        sampled = sum(bool(p.get("sampled")) for p in there)
        reasons = {p.get("not_sampled_because") for p in there if not p.get("sampled")}
        check(sampled == THOUSAND, f"{sampled} of them are sampled; others: {sorted(map(str, reasons))[:3]}")
        check(children.finish() == [0] * THOUSAND, "each was heard, and none is at a limit")
        listed = json.loads(daemon.tailor("list", "-n", str(2 * THOUSAND), "--json"))["executions"]
        check(len(listed) == THOUSAND and not any(row["running"] for row in listed), f"{len(listed)} executions began and ended")
        limits = limits_of_users(daemon)
        check(not limits, f"no limit was reached: {limits}")


if os.geteuid() != 0:
    print("SKIP: it takes root to be two users")
    sys.exit(77)
quota("user-plans", plans, "--user-plans", 4)
quota("user-code", code, "--user-code", 1)
quota("user-regions", regions, "--user-regions", 8)
quota("max-memory", labels, "--max-memory", 16)
too_many("user-processes", "--user-processes", 2)
too_many("max-processes", "--max-processes", 2)
a_thousand()
