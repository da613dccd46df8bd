"""The texts and names that a server tells: one statement's each, in UTF-8, and of a long statement its begin.

Each statement has words of its own, by which its text is known. Statements come in one message (psql's \\;), in EXPLAIN, in cursors
and prepared, and without query ids. A literal of 30 MB may not be copied: that is seen by the memory that a session has used at most,
beside one that is not measured. A database with another encoding has names with letters that ASCII does not have.
"""
import os
import re
import subprocess
import time

from pg_server import Server, Session
from tailor_env import check
from told import Told

SETUP = """
create table t as select i as a, i as b from generate_series(1, 300) i;
create table big as select i as a, i as b from generate_series(1, 30000) i; analyze;
"""
# Commands that run a query, often under its id; what comes before and behind them.
WRAPPED = [("", "explain analyze {}", ""), ("begin; ", "declare c cursor for {}", "; fetch 3 from c; commit"),
           ("", "create temp table y as {}", ""), ("", "copy ({}) to stdout", ""), ("", "prepare p as {}", "; execute p")]
PARALLEL = """
set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;
set max_parallel_workers_per_gather = 2; set parallel_leader_participation = off;
"""
LITERAL_MB = 30
TRACE = "/*traceparent='00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'*/"


def telling(server):
    told = Told(server.agent)
    os.chmod(server.agent, 0o777)
    return told


def texts_of(told, session, statements):
    return [execution.plan.sql for execution in told.of(session, lambda: session.sql(statements))]


# ---- Which statement ----

def messages_are_divided(told, session):
    texts = texts_of(told, session, r"select count(*) as first from t \; select max(a) as second from t")
    check(texts == ["select count(*) as first from t", "select max(a) as second from t"], f"two statements in a message: {texts}")
    ran = told.of(session, lambda: session.sql(rf"select count(*) as first from t \; select max(a) as second from t {TRACE}"))
    traced = ["trace_id" in execution.labels for execution in ran]
    check(traced == [False, True], f"a trace is that of the statement with the comment: {traced}")
    inner = "select min(a) as third from t"
    for command in (f"explain analyze {inner}", f"create temp table x as {inner}", f"copy ({inner}) to stdout",
                    rf"begin \; declare c cursor for {inner} \; fetch 3 from c \; commit"):
        texts = texts_of(told, session, rf"select count(b) as first from t \; {command} \; select max(b) as last from t")
        check(len(texts) == 3 and "third" in texts[1], f"three statements in a message: {texts}")
        check("first" not in texts[1] and "last" not in texts[1], f"the second has its own text: {texts[1]}")


def workers_have_their_leaders(told, session):
    session.sql(PARALLEL)
    session.sql(r"select count(*) as first from big \; /* a comment */ select max(a) as of_workers from big where b > 7 \; "
                "select max(b) as last from big")
    worker = told.first(lambda execution: "leader_execution" in execution.labels and "of_workers" in execution.plan.sql, "of a worker")
    check(worker.plan.sql == "select max(a) as of_workers from big where b > ?", f"a worker has its statement's text: {worker.plan.sql}")
    check(re.fullmatch("[0-9a-f]{32}", worker.labels["leader_execution"]), f"and its leader: {worker.labels}")
    session.sql("reset all")


def commands_have_their_own(told, session):
    """What comes behind them is the same query by itself."""
    for (before, command, behind), operator in zip(WRAPPED, "+-*/%"):
        query = f"select sum(a {operator} b) from t"
        first, then = told.of(session, lambda: session.sql(f"{before}{command.format(query)}{behind}; {query}"))
        check(first.plan.sql == command.format(query), f"the text of a command: {first.plan.sql}")
        check({then.began_as, then.plan.sql, then.plan.name} == {query}, f"behind it a query has its own: {then.began_as}; {then.plan.sql}")


def without_query_ids(told, session):
    session.sql("set compute_query_id = off")
    pair = told.of(session, lambda: session.sql("select a as here from t where a = 1; select b as there from t where b = 2; "
                                                "select a as here from t where a = 3"))
    check(all("query_id" not in each.labels for each in pair), "the server computes no query ids")
    check([each.plan.sql for each in pair[:2]] == ["select a as here from t where a = ?", "select b as there from t where b = ?"],
          f"statements are told apart: {[each.plan.sql for each in pair]}")
    check(pair[0].plan is pair[2].plan, "and not by their literals")
    session.sql("set compute_query_id = on")


def pieces_are_one(told, session):
    ran = told.of(session, lambda: session.sql("begin; declare c cursor for select a as piece from t; fetch 9 from c; "
                                               "fetch 9 from c; close c; commit"))
    check(len(ran) == 1 and ran[0].ended, f"a cursor that is fetched in pieces is one execution: {len(ran)}")


# A number in the conditions below. The scanner takes the number of a subplan for one, too.
LITERAL = r"\b\d+\b"


def conditions_of(session, query):
    """Those that EXPLAIN prints, one by one."""
    return sorted(line.strip() for line in session.sql(f"explain (costs off) {query}") if re.match(r" *(Filter|Join Filter|[A-Z]\w+ Cond): ", line))


def conditions_are_an_option(told, session):
    def told_of(query):
        ran = told.of(session, lambda: session.sql(query))
        check(len(ran) == 1, f"{query}: {ran}")
        return sorted(part for each in ran[0].plan.conditions for part in each.split("; "))
    check(told_of("select count(*) from t where a > 17 and b <> 23") == [], "without the setting no condition is told")
    told.of(session, lambda: session.sql("create temp table keyed as select a from big; create index on keyed (a); analyze keyed"))
    session.sql("set tailor.conditions = on; set enable_hashjoin = off; set enable_mergejoin = off; set enable_bitmapscan = off")
    # What a condition takes from above: the other table's column, the recursion's table, and what a subplan is given.
    for query in ("select count(*) from t x join keyed y on y.a = x.b where x.a < 5",
                  "with recursive r as (select 1 as n union all select n + 1 from r where n < 9) select count(*) from r where n > 3",
                  "select count(*) from t x where x.a < (select max(y.a) from keyed y where y.a <= x.b)"):
        expected = conditions_of(session, query)
        said = told_of(query)
        check(len(expected) >= 2 and said == [re.sub(LITERAL, "?", each) for each in expected], f"conditions of several nodes: {said}, {expected}")
    session.sql("reset enable_hashjoin; reset enable_mergejoin; reset enable_bitmapscan")
    for query in ("select sum(b) from t where a > 17 and b <> 23", "select max(x.b) from t x join big y on x.a = y.b where x.b > 31"):
        expected = conditions_of(session, query)
        said = told_of(query)
        check(expected and said == [re.sub(LITERAL, "?", each) for each in expected], f"conditions without literals: {said}, {expected}")
    session.sql("set tailor.query_text = full")
    query = "select min(b) from t where a > 19 and b <> 29"
    said = told_of(query)
    check(said == conditions_of(session, query) and "19" in said[0], f"with the full text they have them: {said}")
    session.sql("set tailor.query_text = off")
    check(told_of("select min(a) from t where a > 19 and b <> 29") == [], "without a text there is none")
    session.sql("reset tailor.query_text; reset tailor.conditions")


T, BIG = ("public", "t", ""), ("public", "big", "")
# Commands that work on a table by themselves, their node, their text without literals, and their relation.
COMMANDS = [("create index on big (a) where a > 17", "CREATE INDEX on big", "create index on big (a) where a > ?", BIG),
            ("vacuum big", "VACUUM on big", "vacuum big", BIG), ("analyze t, big", "ANALYZE on t and others", "analyze t, big", ("", "", "")),
            ("reindex table big", "REINDEX on big", "reindex table big", BIG),
            ("reindex index big_a_idx", "REINDEX on big_a_idx", "reindex index big_a_idx", ("public", "big", "big_a_idx")),
            ("alter table t alter b type bigint using b + 5", "ALTER TABLE on t", "alter table t alter b type bigint using b + ?", T),
            ("copy public.t to '/dev/null'", "COPY from public.t", "copy public.t to ?", T),
            ("copy t from '/dev/null'", "COPY into t", "copy t from ?", T)]


def ran_by(told, session, command, printed=lambda lines: None):
    """Its executions. Telling of commands waits until it is a small part of the session's time. `printed`: is given what it prints."""
    deadline, ran = time.monotonic() + 60, []
    while not ran and time.monotonic() < deadline:
        ran = told.of(session, lambda: printed(session.sql(command)))
    return ran


def commands_on_tables_are_told(told, session):
    for command, node, text, relation in COMMANDS:
        ran = ran_by(told, session, command)
        check(len(ran) == 1 and ran[0].ended and 3 not in ran[0].end, f"a command is an execution: {command}: {ran}")
        check((ran[0].plan.operators, ran[0].plan.sql, ran[0].plan.relations) == ([node], text, [relation]), f"{command}: {ran[0].plan}")
        rows = ran[0].end.get(2, [0])[0]
        check(rows == ({"COPY from public.t": 300, "COPY into t": 0}.get(node, 2**64 - 1)), f"{command}: rows: {rows}")
    ran = ran_by(told, session, "alter table t alter b type bigint using 1 / (b - b)")
    check(len(ran) == 1 and ran[0].end.get(3) == [b"ended by an error"], f"one that fails: {[each.end for each in ran]}")
    after = texts_of(told, session, "select max(a), min(b) as behind_commands from t")
    check(after == ["select max(a), min(b) as behind_commands from t"], f"a statement behind it: {after}")
    session.sql("create procedure makes_index() language plpgsql as $$ begin create index on big (b); end $$")
    ran = ran_by(told, session, "call makes_index()")
    check(len(ran) == 1 and ran[0].plan.operators == ["CREATE INDEX on big"], f"one in a procedure: {ran}")
    check(texts_of(told, session, "create temp table nothing_to_tell (a int)") == [], "a command that works on no rows is none")


def schemas_are_told(told, session):
    """Two tables of one name, one that is temporary, and one that nobody may use."""
    session.sql('create schema "Odd"; create table "Odd".t as select 1 as a; create index t_a on "Odd".t (a); create temp table passing (a int)')
    session.sql("set enable_seqscan = off; set enable_bitmapscan = off")
    ran = told.of(session, lambda: session.sql('select count(*) as two_schemas from t x, "Odd".t y where y.a = 1'))
    check({each for each in ran[0].plan.relations if each[1]} == {T, ('"Odd"', "t", "t_a")}, f"each table has its schema: {ran[0].plan}")
    ran = told.of(session, lambda: session.sql("select count(*) from passing"))
    check(("pg_temp", "passing", "") in ran[0].plan.relations, f"that of temporary tables has no number: {ran[0].plan}")
    session.sql("reset enable_seqscan; reset enable_bitmapscan; create role barred login; create schema closed; create table closed.t (a int)")
    for name, relation in (("closed.t", ("closed", "t", "")), ("nowhere.t", ("", "", "")), ("nothing", ("", "", "")), ("other.public.t", ("", "", ""))):
        said, command = [], f"set role barred; vacuum {name}; reset role"
        ran = ran_by(told, session, command, said.append)
        check([each.plan.relations for each in ran] == [[relation]], f"a command on {name}: {ran}")
        session.sql("set tailor.enabled = off")
        plain = session.sql(command)
        session.sql("set tailor.enabled = on")
        check(said[-1] == plain and "ERROR" in plain[0], f"it says what it says without the extension: {said[-1]} {plain}")


# ---- Long statements ----

def peak_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def peak_of(server, query, enabled):
    """By how much a query with a long literal raises the memory that a session has used at most."""
    with Session(server) as session:
        session.sql(f"set tailor.conditions = on; set tailor.enabled = {enabled}")
        pid = session.sql("select pg_backend_pid()")[0]
        before = peak_kb(pid)
        session.sql(query.format("abcdefghij" * (LITERAL_MB * 100_000)))
        return peak_kb(pid) - before


def long_ones_are_cut(told, session, server):
    texts = texts_of(told, session, f"select length('{'secret' * 100_000}'), a as never_read from t limit 1")
    check(texts == ["select length(? ..."], f"a long text ends before its literal does: {texts}")
    short = f"select a as long_list from t where a in ({', '.join(map(str, range(20000)))}) and b = 7"
    texts = texts_of(told, session, short)
    check(len(texts[0]) > 30000 and texts[0].endswith("and b = ?"), "literals of a statement may be longer than its text")
    columns = ", ".join(f"a as {'name' * 12}_{number}" for number in range(1500))
    texts = texts_of(told, session, f"select {columns} from t limit 1")
    check(len(texts) == 1 and len(texts[0]) <= 65536 + len(" ...") and texts[0].endswith(" ..."), f"a text is cut: {[text[-60:] for text in texts]}")
    literal = "long" * 500_000
    texts = texts_of(told, session, f"begin; declare c cursor for select length('{literal}'), a as never_read from t; fetch 3 from c; commit")
    check(len(texts) == 1 and texts[0].endswith("select length(? ..."), f"a cursor has the begin of its command: {texts}")
    session.sql("set tailor.conditions = on")
    ran = told.of(session, lambda: session.sql(f"select count(*) as long_condition from t where a > 3 and b::text <> '{'long' * 100_000}'"))
    check(len(ran) == 1 and ran[0].plan.conditions == ["Filter: ..."], f"a condition with a long literal is not printed: {ran[0].plan.conditions}")
    session.sql("reset tailor.conditions")
    for query in ("select length('{}')", "select count(*) from pg_class where relname::text <> '{}'"):
        plain, measured = peak_of(server, query, "off"), peak_of(server, query, "on")
        check(measured < plain + LITERAL_MB * 512, f"{query}: a literal of {LITERAL_MB} MB is not copied: {measured} kB at most, {plain} kB without")


def traces_of_long_ones(told, session, server):
    """At the end a trace is found in the first MB only."""
    def is_traced(statement):
        ran = told.of(session, lambda: session.sql(statement))
        check(len(ran) == 1, f"the statement is told: {ran}")
        return "trace_id" in ran[0].labels
    less, more = (f"select length('{'long' * count}'), a from t limit 1" for count in (200_000, 300_000))
    check(is_traced(f"{less} {TRACE}"), "a trace at the end of a statement of less than 1 MB")
    check(not is_traced(f"{more} {TRACE}"), "at the end of one of more than 1 MB it is not looked for")
    if server.major() < 18:  # from 18 on the server says that a statement begins behind the comment
        check(is_traced(f"{TRACE} {more}"), "at its begin it is")


# ---- Encodings ----

LATIN1 = "encoding 'LATIN1' locale 'C' template template0"


def bytes_name(name, encoding):
    """As an argument of a command."""
    return os.fsdecode(name.encode(encoding))


def names_in(told, server, database, encoding):
    """What is told of a statement with names in a database with this encoding."""
    with Session(server, "-d", bytes_name(database, encoding), "-U", "dénoncé") as session:
        session.sql("set client_encoding = 'UTF8'")
        told.of(session, lambda: session.sql('create table "tëbelle" as select 1 as "öre"; analyze'))
        ran = told.of(session, lambda: session.sql('with "søn" as materialized (select * from "tëbelle") select "öre", \'ä\' from "søn"'))
    check(len(ran) == 1, f"the statement is told: {ran}")
    check(ran[0].labels["database"] == database and ran[0].labels["user"] == "dénoncé", f"labels: {ran[0].labels}")
    check('Seq Scan on "tëbelle"' in ran[0].plan.operators and 'CTE Scan on "søn"' in ran[0].plan.operators, f"nodes: {ran[0].plan.operators}")
    check(ran[0].plan.sql == 'with "søn" as materialized (select * from "tëbelle") select "öre", ? from "søn"', f"text: {ran[0].plan.sql}")
    check(ran[0].plan.name.startswith('with "søn"'), f"name: {ran[0].plan.name}")


def names_are_utf8(told, server):
    if not server.sql("select convert('x', 'LATIN1', 'UTF8')", fails=True):
        print("not looked at: names in other encodings, as this server was installed without its conversions")
        return
    server.sql(f'create role "dénoncé" superuser login; create database "bële" {LATIN1}; create database plain {LATIN1}')
    names_in(told, server, "bële", "utf-8")
    made = subprocess.run(server.psql("-d", "plain", "-v", "ON_ERROR_STOP=1"), text=True, check=False,
                          input=f"set client_encoding = 'UTF8'; create database \"bèle\" {LATIN1}")
    check(made.returncode == 0, "a database has a name in LATIN1")
    names_in(told, server, "bèle", "latin-1")


def main():
    with Server(settings={"tailor.short_run": "0", "tailor.rows_every": "0"}) as server:
        told = telling(server)
        server.sql(SETUP)
        with Session(server) as session:
            messages_are_divided(told, session)
            workers_have_their_leaders(told, session)
            commands_have_their_own(told, session)
            without_query_ids(told, session)
            pieces_are_one(told, session)
            conditions_are_an_option(told, session)
            commands_on_tables_are_told(told, session)
            schemas_are_told(told, session)
            long_ones_are_cut(told, session, server)
            traces_of_long_ones(told, session, server)
        names_are_utf8(told, server)


if __name__ == "__main__":
    main()
