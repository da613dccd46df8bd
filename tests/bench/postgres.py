"""What tailor_pg costs a PostgreSQL backend, in CPU time of the backend itself.

One backend runs the same statements in turns of shuffled order: not wrapped (tailor.enabled = off), wrapped, and not
wrapped a second time (A/A, the control). Two processes would differ by their layout alone. Nobody samples: a socket
that takes the agent's messages stands in for tailord.

    TAILOR_PG_BIN=/usr/lib/postgresql/15/bin TAILOR_PG_LIB=build/lib/postgresql/15 python3 tests/bench/postgres.py --rounds 24
"""
import argparse
import pathlib
import random
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/postgres"), str(ROOT / "tests/bench")]
from paired import ratio_interval  # noqa: E402
from pg_server import Listener, Server, Session  # noqa: E402

SETUP = """
create table big as select i as a, i % 100 as b, repeat('x', 20) as c from generate_series(1, 400000) i;
create table small as select i as a, i % 7 as b from generate_series(1, 2000) i;
create unique index on big (a); analyze;
prepare point(int) as select c from big where a = $1;
"""
POINTS = "\n".join(f"execute point({1 + i * 37 % 400000});" for i in range(400))
UPDATES = "begin;\n" + "\n".join(f"update small set b = b + 1 where a = {1 + i * 37 % 2000};" for i in range(60)) + "\nrollback;"
WORK = {
    "count(*) of 400,000 rows": "select count(*) from big;",
    "aggregate over a filter": "select b, sum(a), count(*) from big where a % 3 > 0 group by b;",
    "join, sort": "select s.b, count(*), max(g.a) from big g join small s on g.a = s.a * 10 where g.b > 3 group by 1 order by 2;",
    "cross join of 1,000,000 pairs": "select count(*) from small a, small b where a.a <= 500;",
    "400 selects by key, prepared": POINTS,
    "60 updates in a transaction": UPDATES,
}
MODES = {"off": "off", "wrapped": "on", "off again": "off"}


def cpu_ns(pid):
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])


def turn(session, pid, mode, statements):
    session.sql(f"set tailor.enabled = {MODES[mode]}")
    before = cpu_ns(pid)
    session.sql(statements)
    return cpu_ns(pid) - before


def measure(session, pid, statements, rounds):
    times = {mode: [] for mode in MODES}
    for mode in MODES:
        turn(session, pid, mode, statements)
    for _ in range(rounds):
        for mode in random.sample(list(MODES), len(MODES)):
            times[mode].append(turn(session, pid, mode, statements))
    return times


def text(interval):
    return f"{(interval.mean - 1) * 100:+.2f} % [{(interval.low - 1) * 100:+.2f}, {(interval.high - 1) * 100:+.2f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--rows-every", type=int, default=100, help="as tailor.rows_every")
    parser.add_argument("--short-run", default="10ms", help="as tailor.short_run")
    parser.add_argument("--only", default="", help="work whose name has this")
    rounds = parser.parse_args()
    with Server(settings={"tailor.rows_every": str(rounds.rows_every), "tailor.short_run": rounds.short_run}, preload="tailor_pg,tailor_pg_probe") as server:
        Listener(server.agent)
        with Session(server) as session:
            session.sql("set max_parallel_workers_per_gather = 0; set plan_cache_mode = force_generic_plan;" + SETUP)
            pid = int(session.sql("select pg_backend_pid()")[-1])
            print(f"{rounds.rounds} rounds; ratio of CPU time to tailor.enabled = off, mean with 95 % interval")
            ratios = {"wrapped": [], "off again": []}
            for name, statements in WORK.items():
                if rounds.only not in name:
                    continue
                times = measure(session, pid, statements, rounds.rounds)
                line = f"{name:32} {statistics.median(times['off']) / 1e6:8.2f} ms"
                for mode, of_all in ratios.items():
                    ratio = ratio_interval(list(zip(times[mode], times["off"])))
                    of_all.append(ratio.mean)
                    least = min(times[mode]) / min(times['off'])
                    line += f"   {mode} {text(ratio)}, of the least {(least - 1) * 100:+.2f} %"
                print(line)
            for mode, of_all in ratios.items():
                print(f"geometric mean, {mode}: {(statistics.geometric_mean(of_all) - 1) * 100:+.2f} %")


if __name__ == "__main__":
    main()
