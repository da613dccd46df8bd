"""CPU time injected at one place of a plan is found in the node that bears it.

burn() uses CPU time in an expression and counts what it used by the thread's own clock. 95 to 105 % of that must be found
in its node, and beside it what chance allows for so many samples. The twin asks another node, and must fail.
"""
import math
import time

from pg_server import Server, Session, measuring
from tailor_env import Daemon, check, sampling_denied, skip

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


def measure(daemon, session, statement):
    """(CPU time in burn(), {node: (ns, samples)}) of one execution."""
    session.sql("select burnt_ns()")
    session.sql(statement)
    execution = session.sql("select tailor_last_execution()")[0]
    burnt = int(session.sql("select burnt_ns()")[0])
    nodes = {}
    for _ in range(40):  # until the daemon has attributed all of it
        time.sleep(0.25)
        plan = daemon.report(execution)["plans"][0]
        now = {op["name"]: (op["weight"], op["samples"]) for op in plan["operators"]}
        if now == nodes:
            return burnt, nodes
        nodes = now
    return burnt, nodes


def found(burnt, nodes, node):
    """(part of the time that was found in the node, whether that is right, what is allowed)"""
    share, slack = nodes.get(node, (0, 0))[0] / burnt, 0.05 + 3 / math.sqrt(burnt / 1e9 * FREQUENCY)
    return share, abs(share - 1) <= slack, slack


def main():
    if reason := sampling_denied():
        skip(reason)
    with Daemon(frequency=FREQUENCY) as daemon, Server(agent=measuring(daemon).socket) as server:
        server.sql(SETUP)
        for place, (settings, statement, node) in PLACES.items():
            with Session(server) as session:
                session.sql(PLAIN + settings)
                burnt, nodes = measure(daemon, session, statement.format(n=TURNS))
            share, right, slack = found(burnt, nodes, node)
            check(right, f"{place}: {share:.1%} of {burnt / 1e6:.0f} ms found in {node}, in {nodes.get(node, (0, 0))[1]:.0f} samples "
                         f"(allowed: {1 - slack:.1%} to {1 + slack:.1%})")
            for other in set(nodes) - {node}:
                check(not found(burnt, nodes, other)[1], f"{place}: the check fails for {other}")


if __name__ == "__main__":
    main()
