"""Logical replication between two servers that have the extension and are sampled: both end with the same rows, and the time of the
worker that applies them has the worker's name.

Triggers that always fire run statements in that worker, and count what was applied. One part of each change is rolled back. Before the
subscription the rows differ.
"""
import time

from pg_server import Server, measuring
from same_answers import brings
from tailor_env import Daemon, check, sampling_denied, skip

SETUP = """
create table t (a int primary key, b int, c text);
create table noted (was text);
create function note() returns trigger language plpgsql as 'begin insert into noted values (tg_op); return null; end';
create trigger notes after insert or update or delete on t for each row execute function note();
alter table t enable always trigger notes;
"""
# What was copied at the begin is noted on both sides, too.
FILL = "insert into t select i, i % 10, repeat('x', 50) from generate_series(1, 2000) i; create publication published for table t;"
CHANGE = """
begin;
insert into t select m.a + i, i % 10, repeat('y', 50) from generate_series(1, 1000) i, (select max(a) as a from t) m;
update t set b = b + 1 where a % 3 = 0;
savepoint before; delete from t where a % 2 = 0; rollback to before;
delete from t where a % 7 = 0;
commit;
"""
ROWS = """
select count(*), sum(b), md5(string_agg(a || ' ' || b || c, ';' order by a)) from t;
select was, count(*) from noted group by was order by was;
"""
SUBSCRIPTION = "from pg_stat_subscription where subname = 'subscribed' and relid is null and pid is not null"
NAMES = ("logical replication worker: all", "logical replication apply worker: all")
MOST_S = 150


def by(deadline, is_so):
    while not (said := is_so()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return said


def same_rows(publisher, subscriber):
    wanted = publisher.sql(ROWS)
    return by(time.monotonic() + MOST_S, lambda: subscriber.sql(ROWS) == wanted)


def worker_has_its_name(daemon, publisher, subscriber):
    said, deadline, changes = "", time.monotonic() + MOST_S, 0
    while not any(name in said for name in NAMES) and time.monotonic() < deadline:
        publisher.sql(CHANGE)
        changes += 1
        check(same_rows(publisher, subscriber), f"after {changes} changes both have the same rows")
        pid = subscriber.sql(f"select pid {SUBSCRIPTION}").strip()
        said = daemon.tailor("report", "--pid", pid, "--json", expect=None) if pid else ""
    check(any(name in said for name in NAMES), "the time of the worker that applies changes has its name")
    check("session: protocol" not in said, "and is no session's")


def main():
    if reason := sampling_denied():
        skip(reason)
    if not all(map(brings, ("libpqwalreceiver", "pgoutput"))):
        skip("this server brings no logical replication")
    with Daemon(frequency=997) as daemon:
        common = {"agent": measuring(daemon).socket, "preload": "tailor_pg", "functions": ""}
        with Server(settings={"wal_level": "logical"}, **common) as publisher, Server(**common) as subscriber:
            for server in (publisher, subscriber):
                server.sql(SETUP)
            publisher.sql(FILL)
            check(subscriber.sql(ROWS) != publisher.sql(ROWS), "before the subscription the rows differ")
            subscriber.sql(f"create subscription subscribed connection 'host={publisher.folder} user=tester dbname=postgres' "
                           "publication published")
            check(same_rows(publisher, subscriber), "what was there is copied")
            worker_has_its_name(daemon, publisher, subscriber)
            subscriber.sql("drop subscription subscribed")
            for server in (publisher, subscriber):
                check("terminated by signal" not in server.log() and "PANIC" not in server.log(), "no process of a server ended by a signal")


if __name__ == "__main__":
    main()
