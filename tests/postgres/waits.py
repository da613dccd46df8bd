"""The time that a plan waits is found in the node that waits, by the name that PostgreSQL itself has for what it waits for.

Locks of rows and relations, sleeps, reads of a file, and a leader that waits for its workers. How long a wait lasted is known
from outside: at least from when the server says that the session waits until the lock is given back, and at most from the
statement's begin to its answer. What the kernel calls waiting for storage must be what the server calls I/O. Any other node, and
any other name, must fail; and so must a build of the extension that gives each number the name of its neighbour.
"""
import os
import time

from pg_server import Server, Session, TWINS, measuring, together
from tailor_env import Daemon, adopt, check, check_live, sampling_denied, skip, undisturbed

HELD = 2.5  # s; deadlock_timeout wakes the waiting session meanwhile
SETTINGS = {"tailor.short_run": "0", "shared_buffers": "2MB"}
SETUP = """
create table t as select i as a, i as b from generate_series(1, 20) i;
create table held (a int);
create function lock_held() returns int language plpgsql volatile as 'begin lock table held in share mode; return 1; end';
create function wait_for(int, int) returns int as 'tailor_pg_probe', 'pg_wait_for' language c volatile;
create table big as select i as a, repeat('x', 100) as b from generate_series(1, 300000) i;
alter table big set (parallel_workers = 2);
analyze;
"""
PARALLEL = """
set parallel_leader_participation = off; set parallel_setup_cost = 0; set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0; set max_parallel_workers_per_gather = 2;
"""


class Waits:
    """The off-CPU lane of an execution: {node: {event: s}}, and {node: {the kernel's word: s}}."""

    def __init__(self, lane):
        self.events, self.kernel = {}, {}
        for row in lane["rows"]:
            for sums, key in ((self.events, "by_event"), (self.kernel, "by_wait")):
                node = sums.setdefault(row["name"], {})
                for name, ns in row[key].items():
                    node[name] = node.get(name, 0) + ns / 1e9

    def found(self, node, event, least, most):
        return least <= self.events.get(node, {}).get(event, 0) <= most


def waits_of(daemon, execution):
    """Once all waits were written."""
    lane = None
    for _ in range(40):
        time.sleep(0.25)
        now = daemon.report(execution).get("off_cpu")
        if now and now == lane:
            break
        lane = now
    check(lane is not None, "the execution has waits")
    return Waits(lane)


def judge(what, waits, node, event, least, most):
    seconds = waits.events.get(node, {}).get(event, 0)
    check_live(waits.found(node, event, least, most), f"{what}: {seconds:.3f} s for {event} in {node}, of {least:.3f} to {most:.3f} s; all: {waits.events}")
    others = [(n, e) for n, events in waits.events.items() for e in events if (n, e) != (node, event)]
    for other in others:
        check(not waits.found(*other, least, most), f"{what}: the check fails for {other}")


def blocked(server):
    return server.sql("select count(*) from pg_stat_activity where wait_event_type = 'Lock'").strip() == "1"


def last(session):
    return session.sql("select tailor_last_execution()")[-1]


def for_a_lock(daemon, server, session, what, hold, statement, node, event):
    with Session(server) as holder:
        holder.sql(f"begin; {hold}")
        begin = time.monotonic()
        session.psql.stdin.write(f"{statement};\n")
        session.psql.stdin.flush()
        while not blocked(server) and time.monotonic() < begin + 120:
            time.sleep(0.01)
        seen = time.monotonic()
        time.sleep(HELD)
        released = time.monotonic()
        holder.sql("commit")
    execution = last(session)
    judge(what, waits_of(daemon, execution), node, event, released - seen, time.monotonic() - begin)


def timed(session, statement):
    begin = time.monotonic()
    session.sql(statement)
    most = time.monotonic() - begin
    return last(session), most


SLEEP = "select a, pg_sleep(0.2) from (select a from t where b < 6 order by a desc offset 0) x"


def asleep(daemon, session):
    execution, most = timed(session, SLEEP)
    judge("pg_sleep", waits_of(daemon, execution), "Subquery Scan on x", "Timeout:PgSleep", 0.99, most)


def of_another_extension(daemon, session):
    """A wait event that somebody made is a number: its name is in no table."""
    execution, most = timed(session, f"select wait_for({0x07000005}, 500)")
    judge("an unknown wait event", waits_of(daemon, execution), "Result", "0x07000005", 0.49, most)


def for_workers(daemon, session):
    session.sql(PARALLEL)
    execution, most = timed(session, "select count(*) from (select a, pg_sleep(0.05) from big where a <= 20 offset 0) x where a > 0")
    session.sql("reset all")
    waits = waits_of(daemon, execution)
    check_live(waits.found("Gather", "IPC:ExecuteGather", 0.8, most), f"a leader waits for its workers in Gather: {waits.events}")
    for node, event in (("Gather", "Timeout:PgSleep"), ("Parallel Seq Scan on big", "IPC:ExecuteGather")):
        check(event not in waits.events.get(node, {}), f"{node} has nothing of {event}, which is another process's")
    slept = sum(events.get("Timeout:PgSleep", 0) for events in waits.events.values())
    # The kernel may let it wait for a CPU after each sleep; and tailord may hear of a worker during its first sleep.
    check_live(0.9 <= slept <= most, f"a worker sleeps: {slept:.3f} s")


def forget_pages(server):
    """Takes the files of the tables out of the kernel's memory."""
    server.sql("checkpoint")
    for path in (server.data / "base").rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def for_storage(daemon, server, session):
    node, kernel, named = "Seq Scan on big", 0, 0
    session.sql("set max_parallel_workers_per_gather = 0")
    if server.major() >= 18:
        check("sync" in session.sql("show io_method"), "the session itself reads")
    for _ in range(5):
        forget_pages(server)
        waits = waits_of(daemon, timed(session, "select count(*) from big")[0])
        kernel += waits.kernel.get(node, {}).get("io_ns", 0)
        named += waits.events.get(node, {}).get("IO:DataFileRead", 0)
        if kernel > 0.005:
            break
    if kernel < 0.001:
        print(f"SKIP (this part): the kernel never waited for storage ({kernel * 1000:.3f} ms)", flush=True)
        return
    check_live(0.9 * kernel <= named, f"reads: the kernel waited {kernel * 1000:.1f} ms for storage, IO:DataFileRead has {named * 1000:.1f} ms")


def known(server):
    """A session that tailord has heard of: a wait is seen from its begin."""
    session = Session(server)
    session.sql("select count(*) from t")
    time.sleep(2)
    return session


def as_it_is(daemon):
    with Server(agent=daemon.socket, settings=SETTINGS) as server:
        if server.major() >= 18:
            server.settings["io_method"] = "sync"
            server.stop()
            server.start()
        server.sql(SETUP)
        with known(server) as session:
            pids = [int(session.sql("select pg_backend_pid()")[0])]

            def live(judge_one, *arguments):
                undisturbed(lambda: judge_one(*arguments), pids)

            live(for_a_lock, daemon, server, session, "a row's lock", "update t set b = b where a = 5",
                 "select a from t where b > 2 for update", "LockRows", "Lock:transactionid")
            live(for_a_lock, daemon, server, session, "a table's lock", "lock table held", "select lock_held()", "Result", "Lock:relation")
            live(asleep, daemon, session)
            live(of_another_extension, daemon, session)
            live(for_workers, daemon, session)
            live(for_storage, daemon, server, session)


def of_twin(daemon):
    with Server(agent=daemon.socket, settings=SETTINGS, library=TWINS / "wrong_waits") as server:
        server.sql(SETUP)
        with known(server) as session:
            execution, most = timed(session, SLEEP)
            waits = waits_of(daemon, execution)
            check(not waits.found("Subquery Scan on x", "Timeout:PgSleep", 0.99, most), f"the twin wrong_waits fails: {waits.events}")


def main():
    if reason := sampling_denied():
        skip(reason)
    adopt()
    with Daemon(options=("--event", "auto,off-cpu")) as daemon:
        measuring(daemon)
        together(lambda: as_it_is(daemon), lambda: of_twin(daemon))


if __name__ == "__main__":
    main()
