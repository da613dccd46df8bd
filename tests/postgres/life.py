"""Servers, backends and daemons come and go: nothing waits for Tailor, fails by it, or grows."""
import os
import pathlib
import re
import signal
import subprocess
import time

from pg_server import Server, Session, measuring
from tailor_env import Daemon, check, sampling_denied, skip

BURN = "select sum(burn(g, 20000)) from generate_series(1, 5000) g"


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_kb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.split("VmRSS:")[1].split()[0])


def churn(server, times):
    for _ in range(times):
        server.sql("select count(*) from pg_class")


def operators_of(daemon, execution):
    """Samples in the plan of an execution, 0 where none were written yet."""
    done = subprocess.run([str(daemon.command[0]).replace("tailord", "tailor"), "report", execution, "--json"],
                          env={**os.environ, **daemon.env}, capture_output=True, text=True, check=False)
    return done.returncode == 0


def is_measured(daemon, session, statement=BURN):
    """Whether a statement of this session is found in a report, sooner or later."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        session.sql(statement)
        execution = session.sql("select tailor_last_execution()")[0]
        time.sleep(0.5)
        if operators_of(daemon, execution):
            return True
    return False


def statements_in_one_session(server):
    """New statements again and again: the backend keeps a bounded number of plans."""
    with Session(server) as session:
        pid = int(session.sql("select pg_backend_pid()")[0])
        def many(first):
            for i in range(first, first + 300):
                session.sql("select " + ", ".join(f"count(*) c{n}" for n in range(i % 300 + 1)) + f" from pg_class where relpages > {i}")
        many(0)
        before = resident_kb(pid)
        many(300)
        many(600)
        check(resident_kb(pid) - before < 8 * 1024, f"900 statements, 300 plans: the backend grew by {resident_kb(pid) - before} kB")


def a_killed_backend(daemon, server):
    with Session(server) as session:
        pid = int(session.sql("select pg_backend_pid()")[0])
        session.psql.stdin.write("select sum(burn(g, 2000000)) from generate_series(1, 100000) g;\n")
        session.psql.stdin.flush()
        time.sleep(1)
        server.kill(pid)
        session.psql.wait(timeout=60)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:  # the server starts anew after the crash of a backend
        if subprocess.run(server.psql("-c", "select 1"), capture_output=True, check=False).returncode == 0:
            break
        time.sleep(0.2)
    with Session(server) as session:
        check(is_measured(daemon, session), "after kill -9 of a backend the server goes on, and is measured")


def an_autovacuum_worker(daemon, server):
    """Its time is its own and no session's."""
    for setting in ("autovacuum = on", "autovacuum_naptime = 1", "log_autovacuum_min_duration = 0"):
        server.sql(f"alter system set {setting}")
    server.sql("select pg_reload_conf()")
    said, deadline = "", time.monotonic() + 150
    while "autovacuum worker" not in said and time.monotonic() < deadline:
        server.sql("create table if not exists grown (a int, b text); insert into grown select i, repeat('x', 50) from generate_series(1, 100000) i")
        time.sleep(2)
        pids = set(re.findall(r"\[(\d+)\] LOG:  automatic", server.log()))
        said = "".join(daemon.tailor("report", "--pid", pid, expect=None) for pid in pids)
    check("autovacuum worker: all" in said, "the time of an autovacuum worker has its name")
    check("session: protocol" not in said, "and is no session's")


def main():
    if reason := sampling_denied():
        skip(reason)
    with Daemon(frequency=997) as daemon, Server(agent=measuring(daemon).socket,
                                                 settings={"tailor.short_run": "0"}) as server:
        statements_in_one_session(server)
        a_killed_backend(daemon, server)
        server.stop("immediate")
        server.start()
        with Session(server) as session:
            check(is_measured(daemon, session), "after an immediate stop and a start the server is measured")
            daemon.process.send_signal(signal.SIGSTOP)
            check(len(session.sql(BURN)) == 1, "a session goes on while tailord hangs")
            churn(server, 30)
            check(True, "so do 30 new ones")
            daemon.process.send_signal(signal.SIGCONT)
            daemon.stop(signal.SIGKILL)
            check(len(session.sql(BURN)) == 1, "a session goes on without tailord")
            churn(server, 10)
            os.unlink(daemon.socket)
            check(len(session.sql(BURN)) == 1, "a session goes on without its socket")
            daemon.start()
            measuring(daemon)
            check(is_measured(daemon, session), "a session is measured by a daemon that came later")
        an_autovacuum_worker(daemon, server)
        check("PANIC" not in server.log(), "the server's log has no PANIC")


if __name__ == "__main__":
    main()
