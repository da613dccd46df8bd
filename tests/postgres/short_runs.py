"""What short statements do is found by their plan and by phase, though a session marks nothing for them.

Two plans take turns, and share an execution each. What burn() used in their scans must be found there, in the execution of
its own plan: 95 to 105 %, and what chance and the host do beside it (Burnt). A function that the planner evaluates must be found in
the planner. Behind each statement comes a long one, which the session reads for a while: that is no plan's time. A build that
does not put back the slot after a run counts it for the plan, and must fail.
"""
import tempfile
import time

from pg_server import Burnt, Server, Session, TWINS, measuring, together
from tailor_env import Daemon, adopt, check, check_live, sampling_denied, skip, undisturbed

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


def settled(read):
    """What read() gives as soon as the daemon has attributed all of it."""
    last = None
    for _ in range(60):
        time.sleep(0.25)
        now = read()
        if now == last:
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
        return settled(lambda: parts(daemon.report("--pid", pid))[1].get("planner", 0)), burnt


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
            by_plan = settled(lambda: {name: parts(daemon.report(execution)) for name, execution in ids.items()})
            _, phases = settled(lambda: parts(daemon.report("--pid", pid)))
        found = {"the planner": planner(daemon, server)}
    print("  components of the session:", {name: f"{ns / 1e6:.1f} ms" for name, ns in phases.items()})
    found |= {name: (by_plan[name][0].get(f"Seq Scan on {name}", 0), burnt[name]) for name in STATEMENTS}
    return found, by_plan["one"][1].get("executor run", 0), phases


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
    if reason := sampling_denied():
        skip(reason)
    adopt()
    with Daemon(frequency=FREQUENCY) as daemon:
        measuring(daemon)
        together(lambda: undisturbed(lambda: as_it_is(daemon), patience=60), lambda: of_twin(daemon))


if __name__ == "__main__":
    main()
