"""CPU time injected at one place of a plan is found in the node that bears it.

burn() uses CPU time in an expression and counts what it used by the thread's own clock. 95 to 105 % of that must be found
in its node, beside what chance and the host do (Burnt): once with wrappers around the nodes, once without, by call stacks.
The twin asks another node, and must fail.
"""
import functools
import time

from pg_server import Burnt, Server, Session, measuring, together
from tailor_env import Daemon, adopt, check, check_live, sampling_denied, skip, undisturbed

TURNS = 2_000_000
FREQUENCY = 3989
SETUP = """
create table work as select i as a, i % 10 as b from generate_series(1, 300) i;
create table other as select i as a, i % 10 as b from generate_series(1, 300) i;
create index on other (a);
analyze;
"""
PLAIN = "set max_parallel_workers_per_gather = 0; set enable_mergejoin = off; set tailor.short_run = 0;"

# Where: settings, statement, and the node as EXPLAIN calls it.
PLACES = {
    "scan filter": ("", "select count(*) from work where burn(a, {n}) >= 0", "Seq Scan on work"),
    "join filter": ("set enable_nestloop = off;", "select count(*) from work w join other o on w.a = o.a and burn(w.b + o.b, {n}) >= 0",
                    "Hash Join"),
    "input of a Hash": ("set enable_nestloop = off;",
                        "select count(*) from work w left join other o on w.a = o.a and burn(o.b, {n}) >= 0", "Seq Scan on other o"),
    "key of a Hash": ("set enable_nestloop = off;",
                      "select count(*) from work w join (select a from other where a <= 200) o on w.a + 1000 = burn(o.a, {n})", "Hash"),
    "aggregate argument": ("", "select sum(burn(a, {n})) from work", "Aggregate"),
    "child of an Append": ("", "select sum(a) from (select a from work union all select burn(a, {n}) from other) x", "Seq Scan on other"),
    "below a Sort": ("", "select a from (select a, burn(b, {n}) as x from work offset 0) s order by x", "Seq Scan on work"),
    "SubPlan": ("", "select a, (select max(burn(o.b, {n})) from other o where o.a = w.a) from work w", "Aggregate"),
    "leader and workers": ("set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0;"
                           "set min_parallel_table_scan_size = 0;", "select count(*) from work where burn(a, {n}) >= 0",
                           "Parallel Seq Scan on work"),
    "index recheck": ("set enable_seqscan = off; set enable_indexscan = off;",
                      "select count(*) from other where a < 301 and burn(b, {n}) >= 0", "Bitmap Heap Scan on other"),
}


# How nodes are told: settings. Without wrappers a node is found by the call stack of each sample.
WAYS = {"by wrappers": "", "by stacks": "set tailor.most_overhead = 0;"}


# Of these the stack may not know the node. A function of a scan that computes the scan's output keeps the node in a register, and
# may use the register for something else meanwhile, as the server was compiled (ExecSeqScanWithProject of 18). What it calls is
# given an expression, not a node. Then the time is the executor's, and no node may have it. Where rows are counted, a function
# above keeps the node too, and it is known.
MAY_BE_UNKNOWN = {("child of an Append", "by stacks"), ("below a Sort", "by stacks")}
OUTSIDE_OF_NODES = "executor run: result rows and all outside of nodes"


def rows_of(report):
    """{node or engine component: (ns, samples)}"""
    operators = [operator for plan in report["plans"] for operator in plan["operators"]]
    return {row["name"]: (row["weight"], row["samples"]) for row in operators + report["component_rows"]}


def measure(daemon, session, statement):
    """(what burn() used, where the time of one execution is), once the daemon has attributed all of it."""
    Burnt.read(session)
    session.sql(statement)
    execution = session.sql("select tailor_last_execution()")[0]
    burnt = Burnt.read(session)
    rows, before = {}, None
    for _ in range(80):
        time.sleep(0.25)
        rows, before = rows_of(daemon.report(execution)), rows
        # Samples come late where the daemon is busy, as it is when it reads a server's code for the first time.
        if rows == before and burnt.found_in(sum(ns for ns, _ in rows.values()), FREQUENCY):
            break
    return burnt, rows


def is_nobodys(burnt, rows, nodes):
    return sum(rows[node][0] for node in nodes) < burnt.slack(FREQUENCY) * burnt.cpu and \
        burnt.found_in(rows.get(OUTSIDE_OF_NODES, (0, 0))[0], FREQUENCY)


def judge(what, burnt, rows, node, may_be_unknown):
    ns, samples = rows.get(node, (0, 0))
    others = {other for other in rows if other not in (node, OUTSIDE_OF_NODES)}
    if may_be_unknown and is_nobodys(burnt, rows, others | ({node} & set(rows))):
        print(f"{what}: the node is not known")
        return
    if not burnt.found_in(ns, FREQUENCY):
        for name, (other_ns, other_samples) in sorted(rows.items(), key=lambda row: -row[1][0]):
            print(f"   {what}: {other_ns / 1e6:.1f} ms in {name}, in {other_samples:.0f} samples")
    check_live(burnt.found_in(ns, FREQUENCY), f"{what}: {burnt.text(ns, FREQUENCY)} in {node}, in {samples:.0f} samples")
    for other in others:
        check(not burnt.found_in(rows[other][0], FREQUENCY), f"{what}: the check fails for {other}")


def backend(session):
    return int(session.sql("select pg_backend_pid()")[0])


def by(daemon, way, way_settings):
    """All places, in a server of its own."""
    with Server(agent=daemon.socket) as server:
        server.sql(SETUP)
        for place, (settings, statement, node) in PLACES.items():
            with Session(server) as session:
                session.sql(PLAIN + way_settings + settings)
                undisturbed(lambda: judge(f"{place}, {way}", *measure(daemon, session, statement.format(n=TURNS)), node,
                                          (place, way) in MAY_BE_UNKNOWN), [backend(session)])


def main():
    if reason := sampling_denied():
        skip(reason)
    adopt()
    with Daemon(frequency=FREQUENCY) as daemon:
        measuring(daemon)
        together(*[functools.partial(by, daemon, *way) for way in WAYS.items()])


if __name__ == "__main__":
    main()
