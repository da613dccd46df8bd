"""What a session is told of all sessions: the dearest statements, executions, and the CPU time of each node of a plan.

What statements used is known by the clock of their thread. It must be found in tailor_top(), and in the node that used it. The other
figures are compared with those of the command line, which reads the same store.
"""
import json
import os
import time

from life import is_measured
from pg_server import Burnt, Server, Session, history_functions, measuring
from tailor_env import Daemon, check, operators, sampling_denied, skip

FREQUENCY = 3989
SETUP = """
create table t as select i as a from generate_series(1, 300) i; create table u as select i as a from generate_series(1, 300) i;
create index u_a on u (a); create table changed as select * from t; create table v as select * from t;
create schema other; create table other.v as select * from t;
analyze;
"""
MUCH = "select count(burn(a, 2500000)) from t where a > 0"
COMMAND = "alter table changed alter a type bigint using burn(a, 1200000)"
SCAN = "select count(*) from v where burn(a, 900000) > 0"
OTHER = "select count(*) from other.v where burn(a, 300000) > 0"
LAST = "select max(burn(a, 700000)) from t"
LITTLE = "select sum(burn(a, 600000)) from t where a > 0"


def settled(daemon, executions, is_all=lambda row: True):
    """All that are listed, once these are, have ended, and change no more. A daemon that reads a server's
    code for the first time is late. `is_all`: whether a row has all of its samples; where it never does, the test judges that."""
    last, deadline = None, time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now = {row["id"]: row for row in json.loads(daemon.tailor("list", "--json", "--limit", "1000"))["executions"]}
        ended = all(each in now and not now[each]["running"] for each in executions)
        if now == last and ended and all(is_all(now[each]) for each in executions):
            return now
        last = now
    return last


def rows_of(session, columns, source):
    return [dict(zip(columns.split(", "), line.split("|"))) for line in session.sql(f"select {columns} from {source}")]


def run_measured(session, statement):
    """What it used, and the name of its execution."""
    Burnt.read(session)
    session.sql(statement)
    execution = session.sql("select tailor_last_execution()")[0]
    return Burnt.read(session), execution


def is_found(session, burnt, other, execution, listed):
    """Returns the statement's row in tailor_top()."""
    top = [row for row in rows_of(session, "query_id, executions, cpu_ms, samples, last_execution", "tailor_top('1 hour', 100)")
           if row["last_execution"] == execution]
    check(len(top) == 1, f"{execution} is the last execution of one statement: {top}")
    ns = float(top[0]["cpu_ms"]) * 1e6
    check(burnt.found_in(ns, FREQUENCY), f"tailor_top: {burnt.text(ns, FREQUENCY)}")
    check(not other.found_in(ns, FREQUENCY), "and not what another statement used")
    row = listed[execution]
    check((int(top[0]["samples"]), top[0]["query_id"]) == (row["samples"], row["labels"]["query_id"]), f"as the command line: {top} {row}")
    check(abs(ns - row["cpu_ns"]) < 1000, f"as the command line: {ns} {row['cpu_ns']}")
    return top[0]


def nodes_have_it(session, daemon, burnt, top, execution):
    expected = {each["name"]: each["samples"] for each in operators(daemon.report(execution))}
    columns = "plan, samples, cpu_ms, share, share_low, share_high, estimated_rows, actual_rows, loops"
    for source in (f"tailor_execution('{execution}')", f"tailor_plan({top['query_id']})"):
        nodes = {row["plan"].strip(): row for row in rows_of(session, columns, source)}
        check({name: float(row["samples"]) for name, row in nodes.items()} == expected, f"{source}: {nodes} {expected}")
        node = nodes["Aggregate"]
        ns = float(node["cpu_ms"]) * 1e6
        check(burnt.found_in(ns, FREQUENCY), f"{source}: in the node {burnt.text(ns, FREQUENCY)}")
        # With all samples in the node both are 1, but for the last digit.
        check(float(node["share_low"]) <= float(node["share"]) <= float(node["share_high"]) + 1e-9 <= 1 + 1e-9, f"{source}: an interval: {node}")
        scan = nodes["Seq Scan on t"]
        check((scan["estimated_rows"], scan["actual_rows"], scan["loops"]) == ("300", "300", "1"), f"{source}: rows: {scan}")


def command_has_it(daemon, burnt, other, execution):
    """A command that works on a table is a node, and an execution."""
    found = {each["name"]: each["weight"] for each in operators(daemon.report(execution))}
    ns = found.get("ALTER TABLE on changed", 0)
    check(burnt.found_in(ns, FREQUENCY), f"a command: {burnt.text(ns, FREQUENCY)} in {found}")
    check(not other.found_in(ns, FREQUENCY), "and not what another statement used")


def table_has_it(session, burnt, other):
    """The nodes that read it, over all statements, and commands. `burnt`: by table. Two tables of one name are two rows."""
    rows = rows_of(session, "schemaname, relname, indexrelname, cpu_ms, samples", "tailor_tables('1 hour')")
    tables = {(row["schemaname"], row["relname"]): row for row in rows if not row["indexrelname"]}
    for table, used in burnt.items():
        ns = float(tables[table]["cpu_ms"]) * 1e6
        check(used.found_in(ns, FREQUENCY), f"tailor_tables: {used.text(ns, FREQUENCY)} in {table}: {tables}")
        check(not other.found_in(ns, FREQUENCY), "and not what another statement used")


def the_last_one_has_its_cost(session):
    """At once: the daemon is waited for."""
    Burnt.read(session)
    session.sql(LAST)
    nodes = {row["plan"].strip(): float(row["cpu_ms"]) * 1e6 for row in rows_of(session, "plan, cpu_ms", "tailor_last_cost()")}
    burnt = Burnt.read(session)
    check(burnt.found_in(nodes.get("Aggregate", 0), FREQUENCY), f"tailor_last_cost: {burnt.text(nodes.get('Aggregate', 0), FREQUENCY)} in {nodes}")


def plans_change(session, executions):
    """Of one statement that ran by two plans, and of no other."""
    found = rows_of(session, "before_execution, after_execution, datname, usename", "tailor_changes('1 hour')")
    check([list(row.values()) for row in found] == [[*executions, "postgres", "tester"]], f"tailor_changes: {found}, and not {executions}")


def main():
    if reason := sampling_denied():
        skip(reason)
    with Daemon(frequency=FREQUENCY) as daemon:
        web = daemon.control.parent / "http.sock"
        settings = {"tailor.short_run": "0", "tailor.rows_every": "1", "tailor.most_overhead": "100", "tailor.http_socket": web,
                    "max_parallel_workers_per_gather": "0"}
        with Server(agent=measuring(daemon).socket, settings=settings) as server:
            os.chmod(web, 0o777)
            server.sql(SETUP + history_functions())
            with Session(server) as session:
                check(is_measured(daemon, session, "select burn(1, 5000000)"), "the daemon has begun to sample the session")
                much, first = run_measured(session, MUCH)
                little, second = run_measured(session, LITTLE)
                of_command, third = run_measured(session, COMMAND)
                of_scan, fourth = run_measured(session, SCAN)
                of_other, fifth = run_measured(session, OTHER)
                by_plan = [run_measured(session, f"set enable_seqscan = {scan}; set enable_bitmapscan = off; select a from u where a = 7")[1]
                           for scan in ("on", "off")]
                used = {first: much, second: little, third: of_command, fourth: of_scan, fifth: of_other}
                listed = settled(daemon, [*used, *by_plan], lambda row: row["id"] not in used or used[row["id"]].found_in(row["cpu_ns"], FREQUENCY))
                top = is_found(session, much, little, first, listed)
                is_found(session, little, much, second, listed)
                nodes_have_it(session, daemon, much, top, first)
                # MUCH used so much more than these that no host can make it look alike by what it takes from them.
                command_has_it(daemon, of_command, much, third)
                table_has_it(session, {("public", "v"): of_scan, ("other", "v"): of_other, ("public", "changed"): of_command}, much)
                order = [row["last_execution"] for row in rows_of(session, "last_execution, cpu_ms", "tailor_top('1 hour', 2)")]
                check(order == [first, third], f"the dearest come first: {order}")
                of = {row["execution"]: row for row in rows_of(session, "execution, pid, datname, usename, samples, rows, running", "tailor_executions()")}
                said = [str(listed[first][key]) for key in ("pid", "samples")]
                check([of[first]["pid"], of[first]["samples"]] == said, f"tailor_executions: {of[first]}")
                check((of[first]["datname"], of[first]["usename"], of[first]["rows"], of[first]["running"]) == ("postgres", "tester", "1", "f"),
                      f"tailor_executions: {of[first]}")
                plans_change(session, by_plan)
                the_last_one_has_its_cost(session)
                check(session.sql("select * from tailor_plan(1)") == [], "of a statement that nobody ran there are no rows")


if __name__ == "__main__":
    main()
