"""Who held the lock that a statement waited for is known where the server's lock watch runs.

A session keeps a row, a second one keeps another row and waits for the first, a third one waits for the second. The second one's execution
must name the first session, which runs no statement meanwhile, and no other. The third one's must name the second one and its execution.
While they wait, `tailor top` must show them as a tree. No time may lie outside of the execution. A build that names another process must fail. Without the watch nothing is said.
"""
import json
import threading

from live_daemon import wait_for
from pg_server import Server, Session, TWINS, measuring
from tailor_env import Daemon, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)

SETTINGS = {"tailor.short_run": "0", "tailor.watch_locks": "on"}
# In this order in the table: a session that changes both has the first row before it waits for the second.
SETUP = "create table t (a int, b int); insert into t values (2, 0), (1, 0);"


class Blocked:
    """A statement that another session holds up. Runs in a thread until it is let go."""

    def __init__(self, session, statement):
        self.session = session
        self.pid = int(session.sql("select pg_backend_pid()")[0])
        self.thread = threading.Thread(target=session.sql, args=(statement,))
        self.thread.start()

    def execution(self):
        """After its end, by the server's own word."""
        self.thread.join()
        return self.session.sql("select tailor_last_execution()")[0]


def waits(server, pid):
    return server.sql(f"select count(*) from pg_stat_activity where pid = {pid} and wait_event_type = 'Lock'").strip() == "1"


def listed(daemon, execution):
    """Its row, once it has ended; None before."""
    rows = json.loads(daemon.tailor("list", "--limit", 1000, "--json", expect=None) or '{"executions": []}')["executions"]
    return next((row for row in rows if row["id"] == execution and not row["running"]), None)


def live(daemon):
    """The lines of `tailor top` below "waiting for locks"."""
    lines = daemon.tailor("top", "--once", expect=None).splitlines()
    return lines[lines.index("waiting for locks") + 1:] if "waiting for locks" in lines else []


def is_tree(lines, holder):
    """Whether the holder is there, below it a statement that waits for it, and below that the one that waits for this one."""
    depths = [len(line) - len(line.lstrip()) for line in lines]
    return depths == [2, 4, 6] and lines[0].startswith(f"  process {holder}, which runs no execution")


def held_up(daemon, server, while_they_wait):
    """(pid that holds, pid in the middle, its row in the list, the row of the last one)"""
    with Session(server) as first, Session(server) as second, Session(server) as third:
        holder = int(first.sql("select pg_backend_pid()")[0])
        first.sql("begin")
        first.sql("update t set b = b + 1 where a = 1")
        second.sql("begin")
        middle = Blocked(second, "update t set b = b + 1")
        wait_for("the second session waits", lambda: waits(server, middle.pid))
        last = Blocked(third, "update t set b = b + 1 where a = 2")
        wait_for("the third session waits", lambda: waits(server, last.pid))
        while_they_wait(holder)
        first.sql("commit")
        middle_execution = middle.execution()
        second.sql("commit")
        last_execution = last.execution()
    for execution in (middle_execution, last_execution):
        wait_for("the execution is listed", lambda: listed(daemon, execution))
    return holder, middle.pid, listed(daemon, middle_execution), listed(daemon, last_execution)


def names_right(seen):
    """Whether both executions name who held them up, and nobody else."""
    holder, middle, of_middle, of_last = seen
    first = [(each["pid"], each["execution"]) for each in of_middle.get("blockers", [])]
    second = [(each["pid"], each["execution"]) for each in of_last.get("blockers", [])]
    return set(first) == {(holder, None)} and set(second) == {(middle, of_middle["id"])}


with Daemon(frequency=99) as daemon:
    measuring(daemon)
    with Server(agent=daemon.socket, settings=SETTINGS) as server:
        server.sql(SETUP)
        seen = held_up(daemon, server, lambda holder: wait_for("tailor top shows the tree", lambda: is_tree(live(daemon), holder)))
        check(names_right(seen), f"who held whom: {seen[0]} holds {seen[1]}: {[row.get('blockers') for row in seen[2:]]}")
        for row in seen[2:]:
            check(all(0 <= each["from_ns"] <= each["to_ns"] <= row["elapsed_ns"] for each in row["blockers"]), "while it waited")
            check(row["blockers_left_out"] == 0, "and nobody is left out")
        text = daemon.tailor("report", seen[3]["id"], expect=None)  # it may have no sample
        check("It waited for locks that others held" in text, f"the report says it: {text}")
        check(f"\n  process {seen[1]} " in text and f"\n    process {seen[0]} " in text, f"as a tree, with what the holder waited for: {text}")
    with Server(agent=daemon.socket, settings={**SETTINGS, "tailor.watch_locks": "off"}) as server:
        server.sql(SETUP)
        check(not any(row.get("blockers") for row in held_up(daemon, server, lambda _: threading.Event().wait(1))[2:]), "without the watch nothing is said")
    with Server(agent=daemon.socket, settings=SETTINGS, library=TWINS / "wrong_holders") as server:
        server.sql(SETUP)
        seen = held_up(daemon, server, lambda _: wait_for("tailor top shows waits", lambda: len(live(daemon)) >= 3))
        check(all(row.get("blockers") for row in seen[2:]) and not names_right(seen), "the twin names a process, and is found out")
