"""Whose statement tailor_last_execution() and tailor_last_plan() show, and which one.

A procedure with SECURITY DEFINER reads a table that its caller may not read. The caller is shown nothing of it, also through a cursor
that it left open, and when the caller then runs the same statement under other rules for rows. Superusers and members of
pg_read_all_stats are shown it. A command that ran nothing, and a statement that was not measured, have no execution: what ran before
them is not theirs.
"""
import os
import re
import time

from pg_server import Listener, Server, Session
from tailor_env import check

SETUP = """
create role keeper; create role asker login; create role watcher login in role pg_read_all_stats;
create table secret as select i as a from generate_series(1, 4321) i; alter table secret owner to keeper;
create table shared as select i as a from generate_series(1, 1234) i; alter table shared owner to keeper;
grant select on shared to asker; alter table shared enable row level security; create policy few on shared using (a < 10);
create procedure peek() language plpgsql security definer as $$ begin perform count(*) from secret; end $$;
create procedure leave_open() language plpgsql security definer as
  $$ declare c refcursor := 'c'; begin open c for select a from secret; end $$;
create procedure as_keeper() language plpgsql security definer as $$ begin perform count(*) from shared; end $$;
create procedure as_caller() language plpgsql as $$ begin perform count(*) from shared; end $$;
alter procedure peek owner to keeper; alter procedure leave_open owner to keeper; alter procedure as_keeper owner to keeper;
create table t as select i as a from generate_series(1, 300) i; grant select on t to public; analyze;
"""
EXECUTION = "select tailor_last_execution()"
PLAN = "select tailor_last_plan()"
ID = re.compile(r"[0-9a-f]{32}")


def said_of(session, statement, question):
    """The answer, and all that psql prints beside it."""
    session.sql(statement)
    lines = session.sql(question)
    return [line for line in lines if line and not line.startswith(("NOTICE", "DETAIL"))], "\n".join(lines)


def is_hidden(session, statement, whose):
    for question in (EXECUTION, PLAN):
        answer, said = said_of(session, statement, question)
        check(not answer and "ran as another user" in said, f"{whose}: nothing is shown, and why: {said}")


def is_shown(session, statement, node, whose):
    answer, said = said_of(session, statement, EXECUTION)
    check(len(answer) == 1 and ID.fullmatch(answer[0]), f"{whose}: the execution is shown: {said}")
    answer, said = said_of(session, statement, PLAN)
    check(any(node in line for line in answer), f"{whose}: the plan is shown: {said}")


def belongs_to_its_user(server):
    with Session(server, "-U", "asker") as session:
        is_shown(session, "select count(*) from t", "Seq Scan on t", "what a user ran")
        is_hidden(session, "call peek()", "what ran as another user")
        session.sql("begin; call leave_open()")
        is_hidden(session, "fetch 1 from c", "a cursor of another user")
        session.sql("commit")
        is_shown(session, "select count(*) from t", "Seq Scan on t", "what a user ran behind it")
    for role in ("tester", "watcher"):
        with Session(server, "-U", role) as session:
            is_shown(session, "call peek()", "Seq Scan on secret", f"to {role}, what ran as another user")


def counts_of(session):
    return re.findall(r"counted: (\d+) rows", "\n".join(session.sql(PLAN)))


def rows_are_not_another_users(session):
    """Both run one statement, with one query id and one shape of plan. The second run counts no rows."""
    session.sql("set tailor.rows_every = 1; set tailor.most_overhead = 100; call as_keeper()")
    check("1234" in counts_of(session), "the rows of a user are counted")
    session.sql("set tailor.rows_every = 0; set role asker; call as_caller()")
    check(counts_of(session) == [], "they are not in the plan of another user")
    session.sql("reset role; reset tailor.rows_every")


def is_the_statement_before(session):
    def execution_after(statement):
        answer, _ = said_of(session, statement, EXECUTION)
        return answer[0] if answer else None
    query = "select count(*) from t"
    check(execution_after(query), "a query has an execution")
    for command in ("create temp table nothing_ran (a int)", f"explain {query}", f"prepare p as {query}", "set work_mem = '4MB'"):
        check(execution_after(f"{query}; {command}") is None, f"a command that runs no query has none: {command}")
    for command in (f"explain analyze {query}", f"create temp table ran as {query}", "do $$ begin perform count(*) from t; end $$",
                    f"copy ({query}) to stdout", "execute p"):
        before = execution_after(query)
        check(execution_after(f"{query}; {command}") not in (before, None), f"one that runs a query has the query's: {command}")
    # Telling of commands waits until it is a small part of the session's time.
    deadline, analyzed = time.monotonic() + 60, None
    while not analyzed and time.monotonic() < deadline:
        analyzed = execution_after("analyze t")
    check(analyzed not in (None, execution_after(query)), "a command that works on a table has its own")
    check(session.sql("analyze t; select tailor_last_plan()") == [""], "and no plan to show")
    check(execution_after(f"begin; {query}; commit"), "the end of a transaction is no statement")
    session.sql(f"begin; declare c cursor for {query}")
    check(execution_after("select 1; fetch 1 from c") != execution_after("select 1"), "FETCH has that of its cursor")
    check(execution_after("select 1; close c") is None, "CLOSE has none")
    session.sql("commit")


def unmeasured_ones_have_none(session):
    turned_off = session.sql(f"select set_config('tailor.enabled', 'off', false); {EXECUTION}; {EXECUTION}")
    check(turned_off[0] == "off" and ID.fullmatch(turned_off[1]), f"behind a statement that is measured: {turned_off}")
    check(turned_off[2:] == [""], f"behind one that is not: {turned_off}")
    session.sql("set tailor.enabled = on")


def main():
    with Server(settings={"tailor.short_run": "0", "tailor.rows_every": "1", "tailor.most_overhead": "100"}) as server:
        Listener(server.agent)
        os.chmod(server.agent, 0o777)
        server.sql(SETUP)
        belongs_to_its_user(server)
        with Session(server) as session:
            rows_are_not_another_users(session)
            is_the_statement_before(session)
            unmeasured_ones_have_none(session)


if __name__ == "__main__":
    main()
