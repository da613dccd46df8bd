"""A session with thousands of open cursors: what FETCH and CLOSE cost does not grow with their number.

The CPU time of the session is compared with that of one that is not measured, which has as many cursors. A list of all open queries
that is walked for each FETCH costs several times as much. Hash Joins look for their query too.
"""
import os

from pg_server import Listener, Server, Session
from tailor_env import check

CURSORS = 4000
# More where others on this host make both dearer. What they take only adds to a cost, so the least of the rounds counts.
ROUNDS, MOST_ROUNDS = 5, 30
MOST = 2.5  # times as much as without
SETUP = """
create table t as select i as a from generate_series(1, 20) i;
create table s as select i % 5 + 1 as a from generate_series(1, 20) i; analyze;
"""
QUERIES = {"scan": "select a from t", "join": "select t.a from t join s on t.a = s.a"}


def block(statement):
    return f"do $$ declare c refcursor; x int; begin for i in 1..{CURSORS} loop c := 'c' || i; {statement}; end loop; end $$"


def cpu_ns(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


def cost_of(session, query):
    """CPU time of FETCH and CLOSE."""
    pid = session.sql("select pg_backend_pid()")[0]
    session.sql(f"begin; {block(f'open c for {query}')}")
    before = cpu_ns(pid)
    session.sql(f"{block('fetch c into x')}; {block('fetch c into x')}; {block('close c')}")
    cost = cpu_ns(pid) - before
    session.sql("commit")
    return cost


def least_costs(plain, measured, query):
    """Of both sessions, which take turns: what the host does, it does to both. Since the first round, the plan has short runs, which
    send nothing."""
    costs = []
    while len(costs) < ROUNDS or (len(costs) < MOST_ROUNDS and least[1] >= MOST * least[0]):
        costs.append([cost_of(session, query) for session in (plain, measured)])
        least = [min(of_session) for of_session in zip(*costs)]
    return least


def prepare(session, enabled):
    session.sql(f"set tailor.enabled = {enabled}; set enable_mergejoin = off; set enable_nestloop = off")
    check(any("Hash Join" in line for line in session.sql(f"explain {QUERIES['join']}")), "the join is a Hash Join")


def main():
    with Server(settings={"tailor.rows_every": "0", "tailor.most_overhead": "100", "tailor.short_run": "1h"}) as server:
        Listener(server.agent)
        os.chmod(server.agent, 0o777)
        server.sql(SETUP)
        with Session(server) as plain, Session(server) as measured:
            prepare(plain, "off")
            prepare(measured, "on")
            for name, query in QUERIES.items():
                without, cost = least_costs(plain, measured, query)
                check(cost < MOST * without, f"{CURSORS} cursors of a {name}: {cost / 1e6:.0f} ms with the extension, "
                      f"{without / 1e6:.0f} ms without")


if __name__ == "__main__":
    main()
