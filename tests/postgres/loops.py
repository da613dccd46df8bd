"""Blocks and functions that run thousands of short statements: hardly any of their time is unattributed, and no mark is lost.

Each of these statements changes what the session does some ten times. A session without the extension is the twin: its time is nobody's.
"""
import json
import pathlib
import tempfile
import time

from background import CONFIG
from pg_server import Server, Session, measuring
from tailor_env import Daemon, at_most, check, sampling_denied, skip

SETUP = """
create table t (a int primary key, b int);
insert into t select i, i % 10 from generate_series(1, 5000) i;
create function inner_one(x int) returns int language plpgsql as 'declare y int; begin select b into y from t where a = x; return y; end';
create function outer_one(x int) returns int language plpgsql as 'begin return inner_one(x) + inner_one(x + 1); end';
analyze;
"""
WORK = {
    "5,000 queries in a loop": "do $$ declare x int; begin for i in 1..5000 loop select b into x from t where a = i; end loop; end $$",
    "4,000 updates in a loop": "do $$ begin for i in 1..4000 loop update t set b = b + 1 where a = i; end loop; end $$",
    "a loop over a million rows": "do $$ declare r record; n bigint := 0; begin for r in select g from generate_series(1, 1000000) g loop n := n + r.g; "
                                  "end loop; end $$",
    "functions in functions": "select sum(outer_one(a)) from t where a < 2000",
    "exceptions": "do $$ begin for i in 1..3000 loop begin perform 1 / (b % 2) from t where a = i; exception when division_by_zero then null; end; "
                  "end loop; end $$",
}
MOST_UNATTRIBUTED, ENOUGH, MOST_S = 0.005, 4000, 120


def sampled(daemon, server, work):
    """The report of a session that did it again and again, with enough samples to judge."""
    deadline, report, times = time.monotonic() + MOST_S, {}, 1
    with Session(server) as session:
        pid = session.sql("select pg_backend_pid()")[0]
        while report.get("samples", 0) < ENOUGH and time.monotonic() < deadline:
            for _ in range(times):
                session.sql(work)
            times = min(2 * times, 64)
            time.sleep(0.5)  # what was sampled is written down
            # A process without a sample has no report.
            report = json.loads(daemon.tailor("report", "--pid", pid, "--json", expect=None) or "{}")
    check(report.get("samples", 0) >= ENOUGH, f"the session has {report.get('samples', 0)} samples")
    return report


def is_attributed(report):
    return at_most(report["unattributed"]["samples"], report["samples"], MOST_UNATTRIBUTED)


def text(report):
    return f"{report['unattributed']['samples']:.0f} of {report['samples']} samples are unattributed: {report['unattributed_rows'][:3]}"


def with_extension():
    with Daemon(frequency=3989) as daemon, Server(agent=measuring(daemon).socket, preload="tailor_pg", functions="") as server:
        server.sql(SETUP)
        for name, work in WORK.items():
            report = sampled(daemon, server, work)
            check(is_attributed(report), f"{name}: {text(report)}")
            check(report["marks_lost"]["records"] == 0, f"{name}: {report['marks_lost']['records']} marks are lost")


def without_extension():
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "tailord.toml"
        config.write_text(CONFIG, encoding="utf-8")
        with Daemon(frequency=3989, options=["--config", config]) as daemon, \
                Server(agent=measuring(daemon).socket, preload="", functions="") as server:
            server.sql(SETUP)
            report = sampled(daemon, server, WORK["functions in functions"])
            check(not is_attributed(report), f"without the extension they are: {text(report)}")


def main():
    if reason := sampling_denied():
        skip(reason)
    with_extension()
    without_extension()


if __name__ == "__main__":
    main()
