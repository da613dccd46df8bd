"""A build for measurements turns off what tests/bench/postgres_parts.py asks for, and nothing else.

A function in a node's expression says whether the slot names the node. It does while all parts are on. It does not where nodes are
not stored, nor where nobody has walked the plan. Where hooks catch no errors, nothing is measured behind the first one. The
extension as it is has no such settings.
"""
import contextlib

from pg_server import Listener, Server, Session, TWINS
from slot import ALWAYS, counts
from tailor_env import check

SETUP = "create table s as select i as a from generate_series(1, 60) i; analyze;"
PROBED = "select count(*) from s where probe(1, a) > 0"
# In the topmost node. The probe is in the one below, so that a slot that nobody put back is wrong there.
FAILS = "select 1 / (count(*) - 60) from s"


@contextlib.contextmanager
def session_of(server):
    with Session(server) as session:
        session.sql("set tailor.rows_every = 0")
        session.sql(PROBED)  # the plan is told
        session.sql("select probe_counts()")
        yield session


def seen(session):
    """How many probes of a statement the slot was right for, and how many saw another node or none."""
    session.sql(PROBED)
    probes = counts("\n".join(session.sql("select probe_counts()")))
    return probes["right"], probes["wrong"] + probes["untagged"] + probes["unknown"]


def all_right(session):
    right, other = seen(session)
    return right > 0 and other == 0


def none_right(session):
    right, other = seen(session)
    return right == 0 and other > 0


def turned_off(server, part):
    with session_of(server) as session:
        check(all_right(session), f"{part}: the slot is right while all parts are on")
        session.sql(f"set {part} = off")
        check(none_right(session), f"{part}: off, and no probe sees its node")
        session.sql(f"reset {part}")
        check(all_right(session), f"{part}: on again, and the slot is right")


def errors(server):
    with session_of(server) as session:
        session.sql(FAILS)
        session.sql("select probe_counts()")
        check(all_right(session), "the slot is right behind an error that hooks catch")
        session.sql("set tailor.part_try = off")
        check(all_right(session), "without catching the slot is right until there is an error")
        session.sql(FAILS)
        session.sql("select probe_counts()")
        check(none_right(session), "behind an error that they do not catch nothing is measured")


def main():
    with Server(library=TWINS / "parts", settings=ALWAYS) as server:
        Listener(server.agent)
        server.sql(SETUP)
        turned_off(server, "tailor.part_stores")
        turned_off(server, "tailor.part_walk")
        errors(server)
    with Server() as server:
        known = server.sql("select count(*) from pg_settings where name like 'tailor.part%'").strip()
        check(known == "0", f"the extension as it is has {known} such settings")


if __name__ == "__main__":
    main()
