"""What a session is told of its last statement, and what a statement may cost.

tailor_last_plan() shows the plan: its numbers of rows are compared with those of EXPLAIN ANALYZE. A plan whose wrappers cost
too much runs without them most of the time, and says so: whether nodes are wrapped is asked of the slot, from inside. Short runs share an execution,
but for those of a trace that is kept.
"""
import os
import re
import time

from pg_server import Listener, Server, Session
from tailor_env import check

SETUP = """
create table t as select i as a, i % 10 as b from generate_series(1, 5000) i; create index on t (a);
create table s as select i as a from generate_series(1, 700) i; create table "Odd 2024" as select i as "B" from generate_series(1, 9) i;
create index "odd-index" on "Odd 2024" ("B"); analyze;
"""
STATEMENT = "select count(*), (select max(a) from s) from t where b < 4 and a in (select a from s)"
CROSS = "select count(*) from s x, s y where x.a + y.a <> 7"
PROBED = "select count(*) from s x, s y where probe(1, x.a) + y.a <> 7"
LINE = re.compile(r"^ *(\d+)  ( *)(.*?)  \(estimated: cost [\d.]+, (\d+) rows; counted: (\d+) rows in (\d+) loops, (\d+) pages hit, (\d+) read\)$")


def last_plan(session, statement):
    session.sql(statement)
    return session.sql("select tailor_last_plan()")


def shows_the_plan(session):
    explained = session.sql(f"explain (analyze, timing off, summary off, buffers off, costs off) {STATEMENT}")
    loops = [(int(float(found[1])), int(found[2])) for found in (re.search(r"rows=([\d.]+) loops=(\d+)\)", line) for line in explained) if found]
    session.sql(STATEMENT)
    execution = session.sql("select tailor_last_execution()")[0]
    session.sql(STATEMENT)
    lines = session.sql("select tailor_last_plan()")
    check(re.fullmatch(r"tailor report [0-9a-f]{32}", lines[0]), f"the first line is a command: {lines[0]}")
    check(lines[0] != f"tailor report {execution}", "each run has an execution of its own")
    nodes = [LINE.match(line) for line in lines[1:-1]]
    check(all(nodes), f"{len(nodes)} lines of nodes:\n" + "\n".join(lines))
    check(sorted((int(n[5]) // max(1, int(n[6])), int(n[6])) for n in nodes) == sorted(loops), "rows and loops are those of EXPLAIN ANALYZE")
    check(len({n[1] for n in nodes}) == len(nodes), "each node has a number of its own")
    check(any("InitPlan" in n[3] for n in nodes) and any("Scan" in n[3] for n in nodes), "names are EXPLAIN's")
    check(sum(int(n[7]) + int(n[8]) for n in nodes) > 0, "pages are counted")


def names_are_quoted(session):
    """Names that are no plain words stand as EXPLAIN has them: with quotes, tables, aliases and indexes."""
    for settings in ("set enable_seqscan = on", "set enable_seqscan = off"):
        session.sql(settings)
        statement = 'select "B" from "Odd 2024" "x-1" where "B" = 7'
        expected = session.sql(f"explain (costs off) {statement}")[0].strip()
        shown = last_plan(session, statement)
        check('"Odd 2024" "x-1"' in expected and any(f"  {expected}  (" in line for line in shown), f"{expected}:\n" + "\n".join(shown))
    session.sql("set enable_seqscan = on")


def workers_are_told_no_longer(session):
    """What workers of a later statement, that nobody measures, would be told."""
    session.sql("set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;"
                "set max_parallel_workers_per_gather = 2")
    plan = session.sql("explain (costs off) select sum(b) from t where b < 4")
    check(any("Gather" in line for line in plan), "the statement has workers")
    session.sql("select sum(b) from t where b < 4")
    told = "".join(session.sql("show tailor.leader"))
    check(told == "", f"after a parallel statement workers would still be told: {told}")


def wrappers_have_a_price(session):
    def untagged():
        seen = dict(pair.split("=") for pair in session.sql("select probe_counts()")[0].split())
        return int(seen["untagged"]), int(seen["right"])
    wrappers = last_plan(session, CROSS)[-1]
    cost = re.fullmatch(r"wrappers: ([\d.e+-]+) % of its time", wrappers)
    check(cost and 0 < float(cost[1]) < 60, f"a join of 490,000 pairs: {wrappers}")
    untagged()
    session.sql(PROBED)
    wrong, right = untagged()
    check(wrong == 0 and right > 0, f"the nodes of a plan are wrapped at {right} probes")
    session.sql("set tailor.most_overhead = 0.00001")
    wrappers = last_plan(session, PROBED)[-1]
    check("one execution in" in wrappers, f"at a limit of 0.00001 %: {wrappers}")
    untagged()
    session.sql(PROBED)
    wrong, right = untagged()
    check(right == 0 and wrong > 0, f"then they are not, at {wrong} probes")
    session.sql("set tailor.most_overhead = 100")
    session.sql(PROBED)
    check(untagged()[0] == 0, "without a limit they are again")


def judged_without_rows(session):
    """Where no execution is drawn to count rows, the second one of a plan counts its calls all the same."""
    def wrapped_probes():
        seen = dict(pair.split("=") for pair in session.sql("select probe_counts()")[0].split())
        return int(seen["right"])
    session.sql("set tailor.rows_every = 0; set tailor.most_overhead = 0.00001")
    wrapped_probes()
    seen = []
    # Telling counts waits until it is a thousandth of the time. A host that takes the CPU from it meanwhile makes that seconds.
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        session.sql(PROBED.replace("+", "-"))
        seen.append(wrapped_probes())
        if seen[-1] == 0:
            break
        time.sleep(0.2)
    check(seen[0] > 0, f"a new plan is wrapped: {seen}")
    check(seen[-1] == 0, f"tailor.most_overhead holds although tailor.rows_every is 0: {seen}")
    session.sql("set tailor.rows_every = 1; set tailor.most_overhead = 100")


def kept_traces_have_their_own(session):
    def execution_of(flags):
        comment = f"/*traceparent='00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}'*/" if flags else ""
        session.sql(f"select max(a) from s {comment}")
        return session.sql("select tailor_last_execution()")[0]
    session.sql("set tailor.short_run = '1h'")
    execution_of("")
    shared = execution_of("")
    check(execution_of("") == shared, "short runs of a plan share one execution")
    check(execution_of("00") == shared, "those of a trace that is not kept too")
    check(len({execution_of("01"), execution_of("03"), shared}) == 3, "those of a trace that is kept have their own")


def computes_ids(session):
    return "Query Identifier" in "\n".join(session.sql("explain (verbose) select 1"))


def ids_cost_nothing_while_it_is_off():
    """The server computes query ids for whoever asks for them. A session that is not measured does not."""
    with Server(settings={"tailor.enabled": "off"}, functions="") as server:
        with Session(server) as session:
            check(not computes_ids(session), "while tailor.enabled is off, no query ids are computed")
            session.sql("set tailor.enabled = on")
            check(computes_ids(session), "once it is on, they are")
    with Server(functions="") as server, Session(server) as session:
        check(computes_ids(session), "and where it is on from the begin")


def main():
    ids_cost_nothing_while_it_is_off()
    with Server(settings={"tailor.rows_every": "1", "tailor.most_overhead": "100", "tailor.short_run": "0"}) as server:
        Listener(server.agent)
        os.chmod(server.agent, 0o777)
        server.sql(SETUP)
        with Session(server) as session:
            session.sql("set max_parallel_workers_per_gather = 0")
            shows_the_plan(session)
            names_are_quoted(session)
            wrappers_have_a_price(session)
            judged_without_rows(session)
            kept_traces_have_their_own(session)
            workers_are_told_no_longer(session)


if __name__ == "__main__":
    main()
