"""Many connections, connections that come and go, and crashes under load: nothing fails, and nothing grows.

pgbench makes the load. Backends and the server itself are killed while it runs; the server recovers, and tailord goes on.
"""
import os
import pathlib
import signal
import subprocess
import time

from life import descriptors, is_measured, resident_kb
from pg_server import PG_BIN, Server, Session, measuring
from tailor_env import Daemon, check, sampling_denied, skip

CONNECTIONS = 500
CRASHES = ("backend", "server", "backend")
SETUP = """
create table account (id int primary key, branch int, balance int);
create table branch (id int primary key, balance int);
insert into account select i, i % 10, 0 from generate_series(1, 20000) i;
insert into branch select i, 0 from generate_series(0, 9) i;
create function failing(x int) returns int language plpgsql as
  'begin return 1 / (x % 3); exception when division_by_zero then return 0; end';
analyze;
"""
# Each is a transaction of pgbench: short ones, a change in both tables, one with workers, one with errors inside.
LOAD = {
    "read": "\\set id random(1, 20000)\nselect a.balance, b.balance from account a join branch b on b.id = a.branch where a.id = :id;",
    "write": "\\set id random(1, 20000)\nbegin;\nupdate account set balance = balance + 1 where id = :id;\n"
             "update branch set balance = balance + 1 where id = (select branch from account where id = :id);\nend;",
    "scan": "set parallel_setup_cost = 0; set min_parallel_table_scan_size = 0;\n"
            "select branch, count(*), sum(balance) from account group by branch order by branch;",
    "errors": "select sum(failing(id)) from account where id < 200;",
}


def pgbench(server, *options, scripts=tuple(LOAD), wait=True):
    """pgbench with the scripts; its output, or, without waiting, its process."""
    files = []
    for name in scripts:
        file = server.folder / f"{name}.bench"
        file.write_text(LOAD[name], encoding="utf-8")
        files += ["-f", file]
    command = [PG_BIN / "pgbench", "-n", "-h", server.folder, "-U", "tester", *options, *files, "postgres"]
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not wait:
        return process
    said, _ = process.communicate(timeout=200)
    check(process.returncode == 0, f"pgbench {' '.join(map(str, options))} ran to its end" + said[-1500:] * (process.returncode != 0))
    return said


def backends(server):
    """The processes of the clients."""
    found = server.sql("select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()")
    return [int(pid) for pid in found.split()]


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return held


def is_up(server):
    return subprocess.run(server.psql("-c", "select 1"), capture_output=True, check=False).returncode == 0


def sums_agree(server):
    """Each change is in both tables, or in none."""
    return server.sql("select (select sum(balance) from account) = (select sum(balance) from branch)").strip() == "t"


def many_connections(daemon, server):
    before = descriptors(daemon.process.pid)
    done = pgbench(server, "-c", CONNECTIONS, "-j", 2, "-t", 6)
    check(f"{CONNECTIONS * 6}/{CONNECTIONS * 6}" in done, f"{CONNECTIONS} connections at a time: all transactions were made")
    check(until(lambda: descriptors(daemon.process.pid) <= before + 8), f"{before} descriptors of tailord before, "
          f"{descriptors(daemon.process.pid)} after")


def churn(daemon, server):
    """Connections that make one transaction each."""
    def turn():
        pgbench(server, "-C", "-c", 4, "-j", 2, "-t", 150, scripts=("read",))
        until(lambda: not backends(server))
        time.sleep(1)
        pids = daemon.process.pid, server.postmaster()
        return [descriptors(pid) for pid in pids], [resident_kb(pid) for pid in pids]
    (daemon_before, server_before), memory = turn()
    turn()
    (_, server_after), later = turn()
    until(lambda: descriptors(daemon.process.pid) <= daemon_before + 8)
    daemon_after = descriptors(daemon.process.pid)
    check(daemon_after <= daemon_before + 8, f"1,200 more connections: {daemon_before} descriptors of tailord before, {daemon_after} after")
    check(server_after <= server_before, f"the server had {server_before} before, and has {server_after}")
    grown = [after - before for after, before in zip(later, memory)]
    check(grown[0] < 32 * 1024, f"tailord grew by {grown[0]} kB")
    check(grown[1] < 2 * 1024, f"the server's first process grew by {grown[1]} kB")


def crash(server, what):
    """Kills a backend or the server while pgbench runs. Returns when the server is there again."""
    load, first = pgbench(server, "-c", 8, "-j", 2, "-T", 120, wait=False), server.postmaster()
    check(until(lambda: len(backends(server)) >= 8), "pgbench runs")
    time.sleep(1)
    if what == "server":
        server.kill(first)
    else:
        server.kill(backends(server)[0])
    load.communicate(timeout=120)
    if what == "server":
        # Its backends end as soon as they notice; until then their shared memory is in use.
        until(lambda: not os.path.exists(f"/proc/{first}"))
        until(lambda: not any(str(server.data) in open_directory(pid) for pid in os.listdir("/proc") if pid.isdigit()))
        server.start()
    check(until(lambda: is_up(server)), f"a {what} was killed under load: the server is there again")
    check(sums_agree(server), "and nothing was lost in one table alone")


def open_directory(pid):
    """Where a process works: a server's processes work in its data folder."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def main():
    if reason := sampling_denied():
        skip(reason)
    with Daemon(frequency=997) as daemon, Server(agent=measuring(daemon).socket, settings={
            "max_connections": CONNECTIONS + 20, "max_worker_processes": "8", "restart_after_crash": "on"}) as server:
        server.sql(SETUP)
        many_connections(daemon, server)
        churn(daemon, server)
        for what in CRASHES:
            crash(server, what)
        check(daemon.process.poll() is None, "tailord goes on")
        with Session(server) as session:
            session.sql("set tailor.short_run = 0")
            check(is_measured(daemon, session), "and measures the server's sessions")
        check("PANIC" not in server.log(), "the server's log has no PANIC")
        ended = [line for line in server.log().splitlines() if "terminated by signal" in line and "signal 9" not in line]
        check(not ended, f"no process of the server ended by another signal than ours: {ended[:3]}")


if __name__ == "__main__":
    main()
