"""What short statements do is found by their plan and by phase, though a session marks nothing for them.

Two plans take turns, and share an execution each. What burn() used in their scans must be found there, in the execution of
its own plan: 95 to 105 %, and what chance and the host do beside it (Burnt). A function that the planner evaluates must be found in
the planner. Behind each statement comes a long one, which the session reads for a while: that is no plan's time. A build that
does not put back the slot after a run counts it for the plan, and must fail.

Each run counts, though many share an execution: its end says how many there were, how many failed, and how long they took.
"""
import json
import os
import tempfile
import time

from live_daemon import wait_for
from pg_server import Burnt, Server, Session, TWINS, measuring, together
from tailor_env import Daemon, adopt, check, check_live, sampling_denied, skip, undisturbed
from told import Told

FREQUENCY = 3989
TURNS = 2000
SETUP = """
create table one as select 1 as a, 7 as b; create table two as select 1 as a, 7 as b; analyze;
create function burn_when_planned(int, int) returns int as 'tailor_pg_probe', 'pg_burn' language c immutable cost 1;
"""
STATEMENTS = {"one": "select a from one where burn(b, 100000) >= 0",
              "two": "select a from two where burn(b, 150000) >= 0"}
LONG = "/* " + "read by the session, planned by nobody; " * 500 + "*/"
PLANNED = "select burn_when_planned(7, 1000000)"
PLANS = 300
# One statement with one plan: it sleeps for a while, and then fails where the divisor is 0.
COUNTED = "select a as counted, pg_sleep({seconds}), 10 / (a - {number}) from one"
RUNS, FAILED = 60, 7
SHORT_NS, LONG_NS = 2_000_000, 200_000_000
# The rate of the TSC is measured, over some ms at least.
NEARLY = 0.98


def run_file(session, text):
    """What psql prints for statements that it reads by itself: it writes while it reads."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(text)
        file.flush()
        return session.sql(f"\\i {file.name}\nselect 1")


def burnt_in_turns(session):
    """CPU time in burn() by statement, as the database itself says after each."""
    turn = "".join(f"{statement};\nselect 'burnt', '{name}', burnt_ns(), stolen_ns() {LONG};\n"
                   for name, statement in STATEMENTS.items())
    burnt = {name: Burnt() for name in STATEMENTS}
    for line in run_file(session, turn * TURNS):
        if line.startswith("burnt|"):
            _, name, cpu, stolen = line.split("|")
            burnt[name] += Burnt(int(cpu), int(stolen))
    return burnt


def execution_of(session, statement):
    session.sql(statement)
    return session.sql("select tailor_last_execution()")[0]


def settled(read, is_all=lambda now: True):
    """What read() gives as soon as the daemon has attributed all of it. One that is busy is late: `is_all` says whether it can be all.
    Where it never is, the test judges that."""
    last = None
    for _ in range(60):
        time.sleep(0.25)
        now = read()
        if now == last and is_all(now):
            break
        last = now
    return last


def parts(report):
    """CPU time by node and by engine component."""
    nodes = {op["name"]: op["weight"] for plan in report["plans"] for op in plan["operators"]}
    return nodes, {row["name"].split(":")[0]: row["weight"] for row in report["component_rows"]}


def planner(daemon, server):
    """(CPU time found in the planner of a session, what a function used there)"""
    with Session(server) as session:
        pid = session.sql("select pg_backend_pid()")[0]
        session.sql("select count(*) from one")
        time.sleep(1)
        Burnt.read(session)
        run_file(session, (PLANNED + ";\n") * PLANS)
        burnt = Burnt.read(session)
        return settled(lambda: parts(daemon.report("--pid", pid))[1].get("planner", 0), lambda ns: burnt.found_in(ns, FREQUENCY)), burnt


def measure(daemon, library=None):
    """{what: found, burnt}, and what the executor of the first plan has outside of its node."""
    options = {"library": library} if library else {}
    with Server(agent=daemon.socket, settings={"tailor.rows_every": "0"}, **options) as server:
        server.sql(SETUP)
        with Session(server) as session:
            pid = session.sql("select pg_backend_pid()")[0]
            for statement in [*STATEMENTS.values()] * 3:
                session.sql(statement)
            ids = {name: execution_of(session, statement) for name, statement in STATEMENTS.items()}
            time.sleep(1)
            Burnt.read(session)
            burnt = burnt_in_turns(session)
            check(ids == {name: execution_of(session, statement) for name, statement in STATEMENTS.items()}, "all runs of a plan have one execution")
            by_plan = settled(lambda: {name: parts(daemon.report(execution)) for name, execution in ids.items()},
                              lambda now: all(burnt[name].found_in(now[name][0].get(f"Seq Scan on {name}", 0), FREQUENCY) for name in ids))
            _, phases = settled(lambda: parts(daemon.report("--pid", pid)))
        counted = counted_by_daemon(daemon, ids)
        check(all(count >= TURNS for count in counted.values()), f"tailor list counts the runs: {counted}")
        found = {"the planner": planner(daemon, server)}
    print("  components of the session:", {name: f"{ns / 1e6:.1f} ms" for name, ns in phases.items()})
    found |= {name: (by_plan[name][0].get(f"Seq Scan on {name}", 0), burnt[name]) for name in STATEMENTS}
    return found, by_plan["one"][1].get("executor run", 0), phases


def run_counted(session, runs, number=2, seconds=SHORT_NS / 1e9):
    run_file(session, (COUNTED.format(seconds=seconds, number=number) + ";\n") * runs)


def sum_of(told, application):
    """What the sum of the short runs said at its end."""
    shared = told.first(lambda each: each.labels.get("application") == application and "runs" in each.labels
                        and "counted" in each.began_as and each.ended, f"of {application}, that runs share")
    return shared.added_runs()


def each_run_counts():
    with Server(settings={"tailor.rows_every": "0", "tailor.short_run": "1h"}) as server:
        told = Told(server.agent)
        os.chmod(server.agent, 0o777)
        server.sql(SETUP)
        with Session(server) as session:
            session.sql("set application_name = 'counting'")
            run_counted(session, 1)  # it has its own execution, as nothing is known of its plan
            begin = time.monotonic_ns()
            run_counted(session, RUNS)
            run_counted(session, FAILED, number=1)
            run_counted(session, 1, seconds=LONG_NS / 1e9)
            took = time.monotonic_ns() - begin
            session.sql("set application_name = 'at its end'")
            run_counted(session, 1)  # other labels end the sum
            said = sum_of(told, "counting")
            run_counted(session, 4)
        check(said is not None, "the end of an execution that runs share says how many they were")
        check(said.runs == RUNS + FAILED + 1, f"all of {RUNS + FAILED + 1} runs count: {said}")
        check(said.in_buckets == said.runs, "each of them is in a bucket of elapsed times")
        check(said.failed == FAILED, f"{said.failed} of them failed")
        check(said.rows == RUNS + 1, f"they returned {said.rows} rows")
        check(said.shortest >= NEARLY * SHORT_NS, f"the shortest took {said.shortest / 1e6:.1f} ms")
        check(said.longest >= NEARLY * LONG_NS, f"the longest took {said.longest / 1e6:.1f} ms")
        check(said.elapsed * NEARLY <= took, f"together they took {said.elapsed / 1e6:.0f} ms, of {took / 1e6:.0f}")
        check(said.elapsed >= NEARLY * ((RUNS + FAILED) * SHORT_NS + LONG_NS), "which is no less than they slept")
        left = sum_of(told, "at its end")
        check(left.runs == 5, f"the end of the session says what its last sums came to: {left}")


def counted_by_daemon(daemon, ids):
    """How many runs the daemon has of each of these executions, once they have ended."""
    def count():
        rows = {row["id"]: row for row in json.loads(daemon.tailor("list", "--json", "--limit", "1000"))["executions"]}
        return {name: rows.get(execution, {}).get("added_runs", {}).get("runs", 0) for name, execution in ids.items()}

    wait_for("the daemon has the sum of each plan", lambda: all(count().values()))
    return count()


def as_it_is(daemon):
    found, outside, phases = measure(daemon)
    for what, (ns, burnt) in found.items():
        check_live(burnt.found_in(ns, FREQUENCY), f"{what}: {burnt.text(ns, FREQUENCY)}")
    check(not found["two"][1].found_in(found["one"][0], FREQUENCY), "the check fails for the other plan")
    check(outside < 0.2 * found["one"][0], f"{outside / found['one'][0]:.1%} as much as in its node is in the first plan's executor")
    for phase in ("session", "planner", "executor start"):
        check(phases.get(phase, 0) > 0, f"the session has time in: {phase}")


def of_twin(daemon):
    found, outside, _ = measure(daemon, TWINS / "no_restore")
    check(outside > 0.2 * found["one"][0], f"the twin no_restore fails: {outside / max(1, found['one'][0]):.1%}")


def main():
    each_run_counts()
    if reason := sampling_denied():
        skip(reason)
    adopt()
    with Daemon(frequency=FREQUENCY) as daemon:
        measuring(daemon)
        together(lambda: undisturbed(lambda: as_it_is(daemon), patience=60), lambda: of_twin(daemon))


if __name__ == "__main__":
    main()
