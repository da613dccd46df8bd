"""What tailor_pg costs a PostgreSQL backend, in CPU time of the backend itself.

One backend runs the same statements in turns of shuffled order: not wrapped (tailor.enabled = off), wrapped, and not
wrapped a second time (A/A, the control). Two processes would differ by their layout alone. Without --frequency nobody
samples: a socket that takes the agent's messages stands in for tailord. With it tailord runs, and a fourth turn is
sampled; in the others sampling of the backend is paused.

    export TAILOR_PG_BIN=/usr/lib/postgresql/15/bin TAILOR_PG_LIB=build/lib/postgresql/15
    python3 tests/bench/postgres.py --work steps --rounds 24
    python3 tests/bench/postgres.py --work tpch --sf 1 --rounds 6 --frequency 99 --data /var/tmp/pg-tpch
    python3 tests/bench/postgres.py --work pgbench --rounds 40 --frequency 997

--data keeps the folder of the server, with its tables, for the next run. --short runs so little that it only shows
whether this works.
"""
import argparse
import contextlib
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/postgres"), str(ROOT / "tests/bench")]
import paired  # noqa: E402
import pg_tpch  # noqa: E402
from paired import ratio_interval  # noqa: E402
from pg_server import Listener, PG_LIB, Server, Session, measuring  # noqa: E402
from tailor_env import Daemon  # noqa: E402

STEPS_SETUP = """
create table big as select i as a, i % 100 as b, repeat('x', 20) as c from generate_series(1, 400000) i;
create table small as select i as a, i % 7 as b from generate_series(1, 2000) i;
create unique index on big (a); analyze;
"""
STEPS_SESSION = "set plan_cache_mode = force_generic_plan; prepare point(int) as select c from big where a = $1;"
POINTS = "\n".join(f"execute point({1 + i * 37 % 400000});" for i in range(400))
UPDATES = "begin;\n" + "\n".join(f"update small set b = b + 1 where a = {1 + i * 37 % 2000};" for i in range(60)) + "\nrollback;"
STEPS = {
    "count(*) of 400,000 rows": "select count(*) from big;",
    "aggregate over a filter": "select b, sum(a), count(*) from big where a % 3 > 0 group by b;",
    "join, sort": "select s.b, count(*), max(g.a) from big g join small s on g.a = s.a * 10 where g.b > 3 group by 1 order by 2;",
    "cross join of 1,000,000 pairs": "select count(*) from small a, small b where a.a <= 500;",
    "400 selects by key, prepared": POINTS,
    "60 updates in a transaction": UPDATES,
}

# pgbench's tables at scale 10, and its statements by the simple protocol, one backend's share of them.
ACCOUNTS = 1_000_000
PGBENCH_SETUP = f"""
create table pgbench_branches (bid int primary key, bbalance int, filler char(88));
create table pgbench_tellers (tid int primary key, bid int, tbalance int, filler char(84));
create table pgbench_accounts (aid int primary key, bid int, abalance int, filler char(84)) with (fillfactor = 90);
create table pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
insert into pgbench_branches select i, 0 from generate_series(1, 10) i;
insert into pgbench_tellers select i, (i - 1) / 10 + 1, 0 from generate_series(1, 100) i;
insert into pgbench_accounts select i, (i - 1) / 100000 + 1, 0, '' from generate_series(1, {ACCOUNTS}) i;
vacuum analyze;
"""


def select_only(count=8000):
    return "\n".join(f"select abalance from pgbench_accounts where aid = {1 + i * 7919 % ACCOUNTS};" for i in range(count))


def tpc_b(count=1000):
    return "\n".join(f"""begin;
update pgbench_accounts set abalance = abalance + {i} where aid = {1 + i * 7919 % ACCOUNTS};
select abalance from pgbench_accounts where aid = {1 + i * 7919 % ACCOUNTS};
update pgbench_tellers set tbalance = tbalance + {i} where tid = {1 + i % 100};
update pgbench_branches set bbalance = bbalance + {i} where bid = {1 + i % 10};
insert into pgbench_history (tid, bid, aid, delta, mtime) values ({1 + i % 100}, {1 + i % 10}, {1 + i * 7919 % ACCOUNTS}, {i}, current_timestamp);
end;""" for i in range(count))


class Work:
    """What is measured: tables, what a session says first, and statements by name."""

    def __init__(self, setup, session, statements):
        self.setup, self.session, self.statements = setup, session, statements


def work_of(options):
    if options.work == "steps":
        return Work(lambda server: server.sql(STEPS_SETUP), STEPS_SESSION, STEPS)
    if options.work == "pgbench":
        return Work(lambda server: server.sql(PGBENCH_SETUP), "", {"pgbench -S": select_only(), "pgbench TPC-B": tpc_b()})
    numbers = [int(n) for n in options.queries.split(",")] if options.queries else range(1, 23)
    return Work(lambda server: pg_tpch.load(server, options.sf), "set jit = off;", pg_tpch.queries(numbers))


class KeptServer(Server):
    """A server whose data folder stays for the next run."""

    def __init__(self, data, **options):
        super().__init__(**options)
        self.kept, self.data = pathlib.Path(data), pathlib.Path(data) / "data"

    def __enter__(self):
        self.give_to_user(self.folder)
        if not self.data.exists():
            self.kept.mkdir(parents=True, exist_ok=True)
            self.give_to_user(self.kept)
            self.run("cp", "-a", self.made_once(), self.data)
        self.start()
        return self

    def has_tables(self):
        return self.sql("select count(*) from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'").strip() != "0"


@contextlib.contextmanager
def server_for(options, agent, work, library=PG_LIB):
    settings = {"tailor.rows_every": str(options.rows_every), "tailor.short_run": options.short_run, "shared_buffers": "1GB",
                "work_mem": "64MB", "max_wal_size": "4GB"}
    shared = {"settings": settings, "preload": "tailor_pg", "agent": agent, "functions": "", "library": library}
    with KeptServer(options.data, **shared) if options.data else Server(**shared) as server:
        if not options.data or not server.has_tables():
            print("making the tables", flush=True)
            work.setup(server)
        if not agent:
            Listener(server.agent)
        yield server


class Modes:
    """Switches the backend between what is compared."""

    def __init__(self, session, pid, daemon):
        self.session, self.pid, self.daemon, self.sampled = session, pid, daemon, True
        self.names = ["off", "wrapped", "off again"] + (["sampled"] if daemon else [])

    def enter(self, mode):
        self.session.sql(f"set tailor.enabled = {'off' if mode.startswith('off') else 'on'}")
        if self.daemon and self.sampled != (mode == "sampled"):
            self.sampled = mode == "sampled"
            self.daemon.tailor("resume" if self.sampled else "pause", str(self.pid))


def cpu_ns(pid):
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])


def turn(modes, mode, script):
    """CPU time of the backend for a file of statements. psql reads it by itself and drops the rows, so that nobody else has work."""
    modes.enter(mode)
    before = cpu_ns(modes.pid)
    modes.session.sql(f"\\o /dev/null\n\\i {script}\n\\o\nselect 1")
    return cpu_ns(modes.pid) - before


@contextlib.contextmanager
def on_one_cpu(*pids):
    """A client and its backend that take turns on one CPU need no CPU to wake up, which costs more than what is measured. All
    others, this program and the daemon among them, stay away from that CPU."""
    before = os.sched_getaffinity(0)
    cpu, rest = max(before), before - {max(before)}
    if rest:
        for pid in pids:
            os.sched_setaffinity(pid, {cpu})
        os.sched_setaffinity(0, rest)
    yield
    os.sched_setaffinity(0, before)


@contextlib.contextmanager
def scripts_of(statements):
    """A file for each name's statements."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for number, (name, text_of) in enumerate(statements.items()):
            files[name] = pathlib.Path(folder) / f"{number}.sql"
            files[name].write_text(text_of.rstrip(";\n ") + ";\n")
        yield files


def percent(ratio):
    return f"{(ratio - 1) * 100:+.2f} %"


def text(interval):
    return f"{percent(interval.mean)} [{percent(interval.low)}, {percent(interval.high)}]"


def show(times, modes, rounds):
    """The table, and the geometric mean over all statements with the interval of all pairs."""
    others = [mode for mode in modes.names if mode != "off"]
    print(f"\n{rounds} rounds; CPU time by that of tailor.enabled = off, mean with 95 % interval")
    for name, of_mode in times.items():
        line = f"{name:32} {statistics.median(of_mode['off']) / 1e6:9.2f} ms"
        for mode in others:
            line += f"   {mode} {text(ratio_interval(list(zip(of_mode[mode], of_mode['off']))))}"
        print(line)
    means = {}
    for mode in others:
        pairs = [pair for of_mode in times.values() for pair in zip(of_mode[mode], of_mode["off"])]
        means[mode] = ratio_interval(pairs)
        print(f"geometric mean, {mode}: {text(means[mode])} over {len(pairs)} pairs")
    return means


def measure(options, daemon):
    work = work_of(options)
    with server_for(options, daemon.socket if daemon else None, work) as server, Session(server) as session:
        session.sql("set max_parallel_workers_per_gather = 0;" + work.session)
        modes = Modes(session, int(session.sql("select pg_backend_pid()")[-1]), daemon)
        chosen = {name: statements for name, statements in work.statements.items() if options.only in name}
        times = {name: {mode: [] for mode in modes.names} for name in chosen}
        with scripts_of(chosen) as scripts, on_one_cpu(modes.pid, session.psql.pid):
            for script in scripts.values():
                turn(modes, "wrapped", script)  # caches are filled, plans are told
            begin, done = time.monotonic(), 0
            while done < options.rounds and (options.seconds == 0 or time.monotonic() < begin + options.seconds):
                for name, script in scripts.items():
                    for mode in random.sample(modes.names, len(modes.names)):
                        times[name][mode].append(turn(modes, mode, script))
                done += 1
        means = show(times, modes, done)
        paired.report(f"postgres_{options.work}", f"{options.work}, {options.frequency} Hz, on {paired.machine()}",
                      {"rows": [{"what": f"geometric mean, {mode}", "ratio": value.mean, "low": value.low, "high": value.high, "pairs": value.count}
                                for mode, value in means.items()], "options": vars(options)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", choices=("steps", "tpch", "pgbench"), default="steps")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=0, help="no round begins after this time")
    parser.add_argument("--frequency", type=int, default=0, help="tailord runs and samples so often; 0: nobody samples")
    parser.add_argument("--sf", default="1", help="scale factor of TPC-H")
    parser.add_argument("--queries", default="", help="numbers of TPC-H, as 1,3,6; default: all")
    parser.add_argument("--data", default="", help="a folder for the server's data that stays")
    parser.add_argument("--rows-every", type=int, default=100, help="as tailor.rows_every")
    parser.add_argument("--short-run", default="10ms", help="as tailor.short_run")
    parser.add_argument("--only", default="", help="work whose name has this")
    parser.add_argument("--short", action="store_true", help="one round; of TPC-H two queries on a hundredth of the data")
    options = parser.parse_args()
    if options.short:
        options.rounds, options.sf, options.queries = 1, "0.01", "1,6"
    if options.frequency == 0:
        measure(options, None)
        return
    with Daemon(frequency=options.frequency) as daemon:
        measure(options, measuring(daemon))


if __name__ == "__main__":
    main()
