"""Clients that share one connection of the server, behind pgbouncer with transaction pooling.

They run one statement in turns, and each has set its application_name once. All runs are of one plan in one backend. Short runs share an
execution, but never with those of another client. pgbouncer sets the name in the server's session before each of its turns.
"""
import collections
import os
import shutil
import subprocess
import time

from pg_server import Server, Session
from tailor_env import check, skip
from told import Told

PORT, TURNS, MOST_S = "6432", 20, 120
STATEMENT, NORMALIZED = "select count(*) from pooled where a > 7", "select count(*) from pooled where a > ?"


class Pool:
    """pgbouncer in front of a server. Use as a context manager."""

    def __init__(self, program, server):
        self.program, self.server, self.folder = program, server, server.folder / "pool"

    def __enter__(self):
        self.folder.mkdir()
        (self.folder / "users").write_text('"tester" ""\n', encoding="utf-8")
        (self.folder / "pool.ini").write_text(f"""[databases]
postgres = host={self.server.folder} port=5432 dbname=postgres
[pgbouncer]
unix_socket_dir = {self.folder}
listen_port = {PORT}
auth_type = trust
auth_file = {self.folder}/users
pool_mode = transaction
default_pool_size = 1
logfile = {self.folder}/log
""", encoding="utf-8")
        for file in ("users", "pool.ini"):
            (self.folder / file).chmod(0o644)
        self.server.give_to_user(self.folder)
        self.process = subprocess.Popen([self.program, "-q", str(self.folder / "pool.ini")], cwd=self.folder, stdin=subprocess.DEVNULL,
                                        **self.server.as_user())
        deadline = time.monotonic() + MOST_S
        while not self.answers():
            check(self.process.poll() is None and time.monotonic() < deadline, "pgbouncer answers")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=MOST_S)

    def answers(self):
        return subprocess.run([*self.server.psql("-h", self.folder, "-p", PORT), "-c", "select 1"], capture_output=True, check=False).returncode == 0

    def client(self, name):
        session = Session(self.server, "-h", self.folder, "-p", PORT)
        session.sql(f"set application_name = '{name}'")
        return session


def work(pool):
    """How often each client runs the statement."""
    with pool.client("first") as first, pool.client("second") as second:
        backends = [session.sql("select pg_backend_pid()") for session in (first, second, first)]
        check(backends[0] == backends[1] == backends[2], f"the clients share a connection: {backends}")
        for _ in range(TURNS):
            for session in (first, second):
                check(session.sql(STATEMENT) == ["93"], "a client has its answer")
        check(first.sql(f"begin; {STATEMENT}; {STATEMENT}; commit") == ["93", "93"], "so it has in a transaction")
    return {"first": TURNS + 2, "second": TURNS}


def runs_of(told):
    """The runs that are told, by client; and the backends that ran them."""
    runs, backends = collections.Counter(), set()
    with told.lock:
        for each in told.executions:
            if each.began_as == NORMALIZED and each.ended:
                added = each.added_runs()
                runs[each.labels.get("application", "")] += added.runs if added else 1
                backends.add(each.backend)
    return dict(runs), backends


def main():
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if not program:
        skip("pgbouncer is not installed")
    settings = {"tailor.rows_every": "0", "tailor.short_run": "1h"}
    with Server(settings=settings, preload="tailor_pg", functions="") as server:
        told = Told(server.agent)
        server.sql("create table pooled as select i as a from generate_series(1, 100) i; analyze")
        with Pool(program, server) as pool:
            expected = work(pool)
        deadline = time.monotonic() + MOST_S
        while sum(runs_of(told)[0].values()) < sum(expected.values()) and time.monotonic() < deadline:
            time.sleep(0.05)
        runs, backends = runs_of(told)
        check(runs == expected, f"each run counts for its client: {runs}")
        check(len(backends) == 1, "all of them ran in one backend")


if __name__ == "__main__":
    main()
