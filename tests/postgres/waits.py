"""The time that a plan waits is found in the node that waits: for a lock of a row, and asleep in a function.

How long a wait lasted is known from outside: at least from when the server says that the session waits until the lock is
given back, and at most from the statement's begin to its answer. Any other node must fail.
"""
import time

from pg_server import Server, Session, measuring
from tailor_env import Daemon, check, sampling_denied, skip

HELD = 2.5  # s; deadlock_timeout wakes the waiting session meanwhile


def off_cpu(daemon, execution):
    """{node: ns} of an execution, once all of its waits were written."""
    nodes = None
    for _ in range(40):
        time.sleep(0.25)
        lane = daemon.report(execution, "--source", "off-cpu")
        now = {op["name"]: op["weight"] for plan in lane["plans"] for op in plan["operators"]}
        if now and now == nodes:
            break
        nodes = now
    return nodes


def found(nodes, node, least, most):
    return least <= nodes.get(node, 0) / 1e9 <= most


def judge(what, nodes, node, least, most):
    check(found(nodes, node, least, most), f"{what}: {nodes.get(node, 0) / 1e9:.3f} s off the CPU in {node}, of {least:.3f} to {most:.3f} s")
    for other in set(nodes) - {node}:
        check(not found(nodes, other, least, most), f"{what}: the check fails for {other}")


def waits(server):
    return server.sql("select count(*) from pg_stat_activity where wait_event_type = 'Lock'").strip() == "1"


def for_a_lock(daemon, server, session):
    with Session(server) as holder:
        holder.sql("begin; update t set b = b where a = 5")
        begin = time.monotonic()
        session.psql.stdin.write("select a from t where b > 2 for update;\n")
        session.psql.stdin.flush()
        while not waits(server) and time.monotonic() < begin + 30:
            time.sleep(0.01)
        seen = time.monotonic()
        time.sleep(HELD)
        released = time.monotonic()
        holder.sql("commit")
    execution = session.sql("select tailor_last_execution()")[-1]
    judge("a row's lock", off_cpu(daemon, execution), "LockRows", released - seen, time.monotonic() - begin)


def asleep(daemon, session):
    begin = time.monotonic()
    session.sql("select a, pg_sleep(0.2) from (select a from t where b < 6 order by a desc offset 0) x")
    most = time.monotonic() - begin
    execution = session.sql("select tailor_last_execution()")[-1]
    judge("pg_sleep", off_cpu(daemon, execution), "Subquery Scan on x", 0.99, most)


def main():
    if reason := sampling_denied():
        skip(reason)
    with Daemon(options=("--event", "auto,off-cpu")) as daemon, Server(agent=measuring(daemon).socket,
                                                                      settings={"tailor.short_run": "0"}) as server:
        server.sql("create table t as select i as a, i as b from generate_series(1, 20) i; analyze")
        with Session(server) as session:
            session.sql("select count(*) from t")
            time.sleep(2)  # a wait is seen from its begin, so tailord must know the session before
            for_a_lock(daemon, server, session)
            asleep(daemon, session)


if __name__ == "__main__":
    main()
