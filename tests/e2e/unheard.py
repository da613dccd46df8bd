"""What an agent had in its queue when its connection ended is counted, and no longer once it connects again. Short executions that no
sample names share rows of a store, if that is wanted, and each of them counts. Neither needs a sample.
"""
import json
import os
import struct
import time

from raw_agent import RawAgent, field
from tailor_env import Daemon, check

QUEUED, SETTLED, DROPPED, TAKEN = 24, 32, 40, 48  # proto/include/tailor/thread_area.h
EXECUTION_END = 19  # proto/tailor/v1/registration.proto
RUNS = 200
PATIENCE_S = 60


def put(memory, **counts):
    for name, value in counts.items():
        at = {"queued": QUEUED, "settled": SETTLED, "dropped": DROPPED, "taken": TAKEN}[name]
        memory[at:at + 8] = struct.pack("<Q", value)


def until(found, right):
    """found() once right() says that it is, or the last one."""
    deadline = time.monotonic() + PATIENCE_S
    while not right(value := found()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return value


def totals(daemon):
    total = json.loads(daemon.tailor("status", "--json"))["total"]
    return {key: int(total.get(key, 0)) for key in ("agent_unsent", "agent_dropped")}


def unsent():
    with Daemon(frequency=19) as daemon:
        instance = os.urandom(16)
        agent = RawAgent(daemon.socket, instance)
        memory = agent.arena(0, 1, 64)
        put(memory, queued=50, settled=42, taken=42, dropped=3)
        agent.barrier(1)
        check(totals(daemon)["agent_unsent"] == 0, "what an agent may send yet is not counted")
        agent.close()
        wanted = {"agent_unsent": 8, "agent_dropped": 3}
        found = until(lambda: totals(daemon), lambda total: total == wanted)
        check(found == wanted, f"8 messages were never sent, and 3 dropped: {found}")
        said = " ".join(daemon.tailor("status").split())
        check("8 messages of agents were not sent" in said, "tailor status says so")

        again = RawAgent(daemon.socket, instance)
        memory = again.arena(0, 1, 64)
        put(memory, queued=50, settled=50, taken=50, dropped=3)
        again.barrier(1)
        wanted = {"agent_unsent": 0, "agent_dropped": 3}
        found = until(lambda: totals(daemon), lambda total: total == wanted)
        check(found == wanted, f"an agent that connects again sends them: {found}")
        again.close()


def executions(options):
    """The rows of a store after short executions, one of which failed."""
    with Daemon(frequency=19, options=options) as daemon:
        agent = RawAgent(daemon.socket)
        for handle in range(1, RUNS + 1):
            agent.begin(handle, os.urandom(16), [("query", "select 1"), ("trace_id", f"{handle:032x}")])
            agent.end(handle)
        failed = RUNS + 1
        agent.begin(failed, os.urandom(16), [("query", "select 1")])
        agent.say(EXECUTION_END, end_of(failed, "broken"))
        agent.barrier(1)
        rows = until(lambda: json.loads(daemon.tailor("list", "--limit", str(2 * RUNS), "--json"))["executions"],
                     lambda found: sum(map(runs_of, found)) == RUNS + 1)
        agent.close()
        return rows


def end_of(handle, error):
    return field(1, handle) + field(3, error)


def runs_of(row):
    return row["added_runs"]["runs"] if "added_runs" in row else 1


def sums():
    rows = executions(["--sum-unsampled"])
    check(sum(map(runs_of, rows)) == RUNS + 1, f"{RUNS + 1} executions count, in {len(rows)} rows")
    check(len(rows) < RUNS / 4, "and they share rows")
    check([row["error"] for row in rows if runs_of(row) == 1 and row["error"]] == ["broken"], "but the one that failed has its own")
    shared = [row for row in rows if runs_of(row) > 1]
    check(all("query" in row["labels"] and "trace_id" not in row["labels"] for row in shared), "labels of a trace are in no sum")
    rows = executions([])
    check(len(rows) == RUNS + 1 and all(runs_of(row) == 1 for row in rows), "without the option each has its own row")


unsent()
sums()
