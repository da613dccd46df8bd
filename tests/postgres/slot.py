"""The slot names the node that runs, in every kind of node, and also after errors.

Each statement calls probe(k, x) in expressions of its nodes. probe compares the slot with the nodes in whose plan the
call stands. All statements run plainly, with forced parallel plans, with JIT, counted as by EXPLAIN ANALYZE, and through
cursors. Two broken twins of the extension must fail: one that does not put back the slot after an error, one that does
not wrap again what the server unwraps.
"""
import os
import re

from pg_server import Listener, PG_LIB, Server, TWINS, together
from statements import SETUP, STATEMENTS, TABLE_FUNCTION, WITH_ERRORS
from tailor_env import check

ALWAYS = {"tailor.most_overhead": "100"}  # no plan is left out because its wrappers cost much


def counts(text):
    """The last probe_counts() in what a session printed, as a dict."""
    line = [l for l in text.splitlines() if l.startswith("right=")][-1]
    return {key: int(value) for key, value in re.findall(r"(\w+)=(-?\d+)", line)}


def forced(server):
    """The setting that forces parallel plans has two names."""
    name = server.sql("select name from pg_settings where name in ('force_parallel_mode', 'debug_parallel_query')").strip()
    return f"set {name} = regress;"


PARALLEL = """set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;
set min_parallel_index_scan_size = 0; set max_parallel_workers_per_gather = 2;"""
JIT = "set jit = on; set jit_above_cost = 0; set jit_inline_above_cost = -1; set jit_optimize_above_cost = -1;"


def modes(server):
    """Settings, and which part of the statements runs under them: starting workers and compiling takes its time."""
    return {
        "plain": ("set max_parallel_workers_per_gather = 0; set tailor.rows_every = 0;", STATEMENTS),
        "rows counted": ("set tailor.rows_every = 1;", STATEMENTS),
        "forced parallel": (forced(server), STATEMENTS[::2]),
        "parallel": (PARALLEL, STATEMENTS[::3]),
        "parallel without the leader": (PARALLEL + "set parallel_leader_participation = off;", STATEMENTS[1::6]),
        "parallel, rows counted": (PARALLEL + "set tailor.rows_every = 1;", STATEMENTS[2::6]),
        "JIT": (JIT + "set jit_optimize_above_cost = 1000;", STATEMENTS[1:-2:10]),
    }


def table_functions(server):
    """Servers before 17 have no json_table, and not all of them are built with XML."""
    if server.major() >= 17:
        return [TABLE_FUNCTION["json_table"]]
    return [TABLE_FUNCTION["xmltable"]] if "<a/>" in server.sql("select xml '<a/>'", fails=True) else []


def run_all(server, mode, settings, statements):
    """Each in a transaction that is undone, in one session. Returns those whose probes did not all agree."""
    script = [settings, "select probe_counts();"]
    for number, statement in enumerate(statements):
        script.append(f"begin; {statement.rstrip(';')}; rollback; select 'statement {number} ' || probe_counts();")
    bad, right, worker = [], 0, 0
    for line in server.sql("\n".join(script)).splitlines():
        found = re.match(r"statement (\d+) (.*)", line)
        if not found:
            continue
        seen = {key: int(value) for key, value in re.findall(r"(\w+)=(-?\d+)", found[2])}
        right, worker = right + seen["right"], worker + seen["worker"]
        if seen["wrong"] or seen["untagged"] or seen["unknown"] or not seen["right"]:
            bad.append((statements[int(found[1])], found[2]))
    for statement, seen in bad:
        print(f"  {mode}: {' '.join(statement.split())[:200]}\n    {seen}")
    return bad, right, worker


def with_errors(server):
    """Probes after errors that a block caught, and in sessions in which statements failed."""
    text = server.sql("set tailor.nested_statements = on; select probe_counts();\n" + WITH_ERRORS + "\nselect probe_counts();",
                      fails=True)
    seen = counts(text)
    print("  after errors:", seen)
    return seen["wrong"] == 0 and seen["untagged"] == 0 and seen["unknown"] == 0 and seen["right"] > 20


def joins_in_parallel(server):
    """A Parallel Hash Join, whose function the server sets anew after the query has started, with many matches a tuple."""
    join = """select count(*) from (select probe(1, t.a) + probe(2, u.a) as s from t join u on t.b = u.b
              and probe(3, t.a) + u.a >= 0 offset 0) x"""
    settings = PARALLEL + "set enable_mergejoin = off; set enable_nestloop = off;"
    check("Parallel Hash Join" in server.sql(f"{settings} explain {join}"), "there is a Parallel Hash Join")
    return not run_all(server, "Parallel Hash Join", settings, [join] * 2)[0]


def as_it_is():
    with Server(settings=ALWAYS) as server:
        Listener(server.agent)
        if server.user:
            os.chmod(server.agent, 0o777)
        server.sql(SETUP)
        STATEMENTS.extend(table_functions(server))
        check(len(STATEMENTS) >= 100, f"{len(STATEMENTS)} statements")
        for mode, (settings, statements) in modes(server).items():
            bad, right, worker = run_all(server, mode, settings, statements)
            check(not bad, f"{mode}: the slot was right at all of {right} probes, {worker} of them in workers")
            if mode in ("forced parallel", "parallel without the leader"):
                check(worker > 0, f"{mode}: workers were probed")
        check(with_errors(server), "the slot is right after errors, subtransactions and in nested statements")
        check(joins_in_parallel(server), "the slot is right in the leader of a Parallel Hash Join")


def of_twins():
    for twin, fails in (("no_restore", with_errors), ("no_rewrap", joins_in_parallel)):
        with Server(library=TWINS / twin, settings=ALWAYS) as server:
            Listener(server.agent)
            server.sql(SETUP)
            check(not fails(server), f"the twin {twin} fails")


def main():
    together(as_it_is, of_twins)


if __name__ == "__main__":
    main()
