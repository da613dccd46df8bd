"""Executions that tailord asks to run without tags have no wrappers, and all others have them.

Whether nodes are wrapped is asked of the slot, from inside, in each execution. `tailor list` says of the same execution what the
agent told the daemon. `tailor ab` would compare nothing where both differ. Short runs share an execution, so all of them have tags or none has.
A build that keeps its wrappers must fail.
"""
import json

from live_daemon import wait_for
from pg_server import Server, Session, TWINS, measuring
from tailor_env import Daemon, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)

SETUP = "create table s as select i as a from generate_series(1, 60) i; analyze;"
PROBED = "select count(*) from s x, s y where probe(1, x.a) + y.a <> 7"
SETTINGS = "set tailor.most_overhead = 100; set tailor.rows_every = 0;"
# Each is drawn for itself: that all of them fall on one side happens once in 2^39.
RUNS = 40


def wrapped(session):
    """Whether the nodes of the probed statements since the last call were; None: some were and some were not."""
    seen = dict(pair.split("=") for pair in session.sql("select probe_counts()")[0].split())
    right, untagged = int(seen["right"]), int(seen["untagged"])
    return None if right > 0 and untagged > 0 else right > 0


def probed(server):
    """{execution: whether its nodes were wrapped}, each with an execution of its own."""
    seen = {}
    with Session(server) as session:
        session.sql(SETTINGS + "set tailor.short_run = 0")
        wrapped(session)
        for _ in range(RUNS):
            session.sql(PROBED)
            execution = session.sql("select tailor_last_execution()")[0]
            seen[execution] = wrapped(session)
    return seen


def listed(daemon, executions):
    """Whether each of them had tags, by what its agent said; {} until all have ended."""
    rows = json.loads(daemon.tailor("list", "--limit", 100000, "--json", expect=None) or '{"executions": []}')["executions"]
    said = {row["id"]: row["tags"] for row in rows if row["id"] in executions and not row["running"]}
    return said if len(said) == len(executions) else {}


def compared(daemon, server):
    """(what was seen from inside, what the daemon was told), by execution"""
    seen = probed(server)
    wait_for("all executions are listed", lambda: listed(daemon, seen))
    return seen, listed(daemon, seen)


with Daemon(frequency=99, options=["--untagged-executions", "50%"]) as daemon:
    measuring(daemon)
    with Server(agent=daemon.socket) as server:
        server.sql(SETUP)
        seen, said = compared(daemon, server)
        without = sum(not tags for tags in said.values())
        check(0 < without < RUNS, f"{without} of {RUNS} executions have no tags")
        check(seen == said, "their nodes are not wrapped, and those of all others are: "
              f"{[(each, seen[each], said[each]) for each in seen if seen[each] != said[each]]}")
        with Session(server) as session:
            session.sql(SETTINGS + "set tailor.short_run = '1h'")
            session.sql(PROBED)
            # The second one knows how long the first took, and begins the execution that is shared.
            session.sql(PROBED)
            wrapped(session)
            for _ in range(10):
                session.sql(PROBED)
            check(wrapped(session) is not None, "runs that share an execution all have tags, or none has")
    with Server(agent=daemon.socket, library=TWINS / "keeps_tags") as server:
        server.sql(SETUP)
        seen, said = compared(daemon, server)
        check(all(seen.values()), "the twin wraps all executions")
        check(seen != said, "and is found out")
