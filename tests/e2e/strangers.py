"""A local user without rights on the agent socket: what it says and holds spoils nothing of another user's engine.

One attack says what compresses well and takes much memory to read: plans, names, labels. Reports of the other engine are whole.
They say what of the attacker's is left out. Another one takes arenas without end: it is refused at its share, and root's engine
registers.

strangers.py [--full]: three times as much is said, and one stranger comes after another.
"""
import json
import os
import sys
import time

from live_daemon import wait_for
from raw_agent import RawAgent, field
from tailor_env import Daemon, check

STRANGER = 65534
TIMES = 3 if "--full" in sys.argv else 1
PLANS, COMPONENTS, NAME = 40 * TIMES, 300, 4_000
TEXT = 2 << 20  # bytes of a label
SHARE, ARENAS = 16_384, 256
BARRIER_ACK = 2


def processed(agent):
    """Waits until the daemon has processed all that was said."""
    agent.say(23, field(1, 7))
    while packet := agent.answer(120):
        if packet[0] >> 3 == BARRIER_ACK:
            return True
    return False


def large_plans(agent):
    described = b"".join(field(3, field(1, number) + field(2, "x" * NAME)) for number in range(1, COMPONENTS + 1))
    for plan in range(1, PLANS + 1):
        agent.say(14, field(1, plan) + field(2, plan) + field(5, field(1, "operator") + field(2, COMPONENTS) + described))


def names(agent):
    for number in range(1, 4_000 * TIMES):
        agent.say(22, field(1, number) + field(2, "r" * NAME))


def labels(agent):
    for handle in range(1, 40 * TIMES + 1):
        agent.begin(handle, os.urandom(16), [("query", "q" * (TEXT - 100 - handle))])
        agent.end(handle)


def arenas(agent):
    for index in range(ARENAS):
        agent.arena(index, 1, 16).close()


class Stranger:
    """Attacks as another user, and stays connected until the end."""

    def __init__(self, daemon, *attacks):
        ready, tell = os.pipe()
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.setgid(STRANGER)
                os.setuid(STRANGER)
                agent = RawAgent(daemon.socket)
                for attack in attacks:
                    attack(agent)
                    processed(agent)
                os.write(tell, b"r")
                os.close(tell)
                while os.getppid() == parent:  # a check that fails ends the test
                    time.sleep(0.2)
            except OSError as error:
                print(f"a stranger is turned away: {error}", flush=True)
            finally:
                os._exit(code)
        os.close(tell)
        self.done = os.read(ready, 1) == b"r"
        os.close(ready)

    def end(self):
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


def open_to_all(daemon):
    os.chmod(daemon.socket.parent, 0o755)
    os.chmod(daemon.socket, 0o666)


def status(daemon):
    return json.loads(daemon.tailor("status", "--json"))


def reports_stay_whole():
    with Daemon(frequency=1000) as daemon:
        open_to_all(daemon)
        stranger = Stranger(daemon, large_plans, names, labels)
        check(stranger.done, "a stranger said what takes much memory to read")
        daemon.weft("--sf", "0.05", "--threads", "1", "--repeat", "40", "--quiet", "--tpch", "1")
        mine = [row for row in json.loads(daemon.tailor("list", "--limit", "1000", "--json"))["executions"]
                if row["pid"] != stranger.pid]
        check(len(mine) == 40, f"{len(mine)} executions of the other engine are listed")
        report = json.loads(daemon.tailor("report", "-p", mine[0]["pid"], "--json"))
        check(report["plans"] and all(op["name"] for op in report["plans"][0]["operators"]),
              "its report has its plan and the names of its operators")
        said = report["file"]["text"]
        check(f"Of process {stranger.pid}" in said and "left out" in said,
              f"what of the stranger's is left out is said: \"{said}\"")
        check(f"Of process {mine[0]['pid']}" not in said, "nothing of the other engine is left out")
        stranger.end()


def descriptors_have_shares():
    with Daemon(frequency=100) as daemon:
        open_to_all(daemon)
        for _ in range(TIMES):
            fill_descriptors(daemon)


def fill_descriptors(daemon):
    strangers = [Stranger(daemon, arenas) for _ in range(SHARE // ARENAS + 2)]
    limits = {row["reason"]: int(row["count"]) for row in status(daemon)["limits"]}
    turned_away = {row["reason"]: int(row["count"]) for row in status(daemon)["refusals"]}
    check(set(turned_away) == {"user-open-descriptors"}, f"its last processes are turned away: {turned_away}")
    check(limits.get("user-open-descriptors", 0) > 0, f"the stranger is at the limit: {limits}")
    held = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
    check(held < SHARE + 1000, f"the daemon has {held} descriptors open, of which the stranger may have {SHARE} at most")
    agent = RawAgent(daemon.socket)
    agent.arena(0, 1, 16)
    agent.plan(1, levels=[3], slot=1)
    check(processed(agent), "an engine of root's registers beside it")
    there = [p for p in status(daemon)["processes"] if p["info"]["process"]["pid"] == os.getpid()]
    check(there and int(there[0]["accounting"].get("messages_rejected", 0)) == 0, "and nothing of what it says is refused")
    agent.close()
    for stranger in strangers:
        stranger.end()
    wait_for("what the stranger held is closed when it ends",
             lambda: len(os.listdir(f"/proc/{daemon.process.pid}/fd")) < held / 2)


if os.geteuid() != 0:
    print("SKIP: it takes root to be two users")
    sys.exit(77)
reports_stay_whole()
descriptors_have_shares()
