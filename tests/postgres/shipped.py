"""What leaves the server: no literal of a statement, unless tailor.query_text is "full", and the labels that the docs name.

Each way to write a literal has a word of its own, which is looked for in every file of the store, in the journal and in all
answers. tailord keeps literals here, so that what is looked at is the extension alone. The twin tells the full text: there each
word must be found, or the search could not fail.
"""
import pathlib
import socket
import tempfile

from history import settled
from life import is_measured
from pg_server import Server, Session, measuring
from tailor_env import Daemon, check, operators, sampling_denied, skip

FREQUENCY = 3989
SETUP = """
create table t as select i as a, 'row ' || i as c from generate_series(1, 300) i;
alter table t set (parallel_workers = 2); create index on t (a);
create procedure called(x text) language plpgsql as
  $$ begin perform count(burn(a, 20000)) from t where c <> x or c = 'canary_in_procedure'; end $$;
analyze;
"""
BUSY = "select count(burn(a, 20000)) from t where "

# The word, and a statement that has it as a literal or in a comment. What has {busy} uses CPU time.
CANARIES = {
    "canary_quoted": "{busy} c <> 'canary_quoted'",
    "canary_escaped": "{busy} c <> E'canary_escaped\\n'",
    "canary_unicode": "{busy} c <> U&'canary_unicode\\0041'",
    "canary_dollar": "{busy} c <> $tag$canary_dollar$tag$",
    "ca11ab1e": "{busy} X'ca11ab1e' <> B'1'",
    "7700112233": "{busy} a <> 7700112233",
    "2019-03-17": "{busy} current_date <> date '2019-03-17'",
    "2018-04-16": "{busy} 2018-04-16 <> a",
    "canary_in_comment": "{busy} /* canary_in_comment */ a > 0",
    "canary_in_last_comment": "{busy} a > 0 -- canary_in_last_comment\n",
    "canary_prepared": "prepare p(text) as {busy} c <> $1 and c <> 'canary_prepared'; execute p('x'); deallocate p",
    "canary_executed": "prepare p(text) as {busy} c <> $1; execute p('canary_executed'); deallocate p",
    "canary_in_do": "do $$ begin perform count(burn(a, 20000)) from t where c <> 'canary_in_do'; end $$",
    "canary_in_call": "call called('canary_in_call')",
    "canary_in_procedure": "call called('x')",
    "canary_in_cursor": "begin; declare c cursor for {busy} c <> 'canary_in_cursor'; fetch all from c; commit",
    "canary_copied": "copy ({busy} c <> 'canary_copied') to stdout",
    "canary_in_list": "{busy} c not in ('canary_in_list', 'x')",
    "canary_in_values": "select count(burn(x, 2000000)) from (values (1, 'canary_in_values'), (2, 'y')) v (x, y) where y <> 'y'",
    "canary_explained": "explain analyze {busy} c <> 'canary_explained'",
    "canary_failed": "{busy} c <> 'canary_failed' and 1 / (a - 300) > 2",
}
# Since 16 this is a number; 15 reads it as 0 with a name behind it.
HEXADECIMAL = {"0xca11ab1f": "{busy} a <> 0xca11ab1f"}

# What a call or EXECUTE gives is a parameter's value. It is in no text that an executor knows, not even in the full one.
VALUES = {"canary_executed", "canary_in_call"}

QUESTIONS = [("list", "--json", "--limit", "1000"), ("report", "--last", "1000", "--json"), ("report", "--last", "1000"),
             ("flame", "--last", "1000", "--json"),
             ("sql", "--last", "1000", "--csv", "-q", "select * from plans"),
             ("sql", "--last", "1000", "--csv", "-q", "select * from components"),
             ("sql", "--last", "1000", "--csv", "-q", "select * from executions"), ("status", "--json")]


def statements(major):
    canaries = CANARIES | (HEXADECIMAL if major >= 16 else {})
    return {word: text.replace("{busy}", BUSY) for word, text in canaries.items()}


def places_of(words, daemon, folder):
    """{word: where it is found}"""
    texts = {f"answer {' '.join(question[:1])} {question[-1]}": daemon.tailor(*(part.format(folder=folder) for part in question)).encode()
             for question in QUESTIONS}
    daemon.stop()
    texts["log"] = daemon.said().encode()
    for root in (daemon.store, folder):
        texts |= {str(path.relative_to(root)): path.read_bytes() for path in pathlib.Path(root).rglob("*") if path.is_file()}
    lower = {name: text.lower() for name, text in texts.items()}
    return {word: [name for name, text in lower.items() if word.encode() in text] for word in words}, texts


def shipped(setting):
    with tempfile.TemporaryDirectory() as folder, \
            Daemon(frequency=FREQUENCY, options=["--keep-literals", "--journal", f"{folder}/journal"]) as daemon, \
            Server(agent=measuring(daemon).socket, settings={"tailor.query_text": setting, "tailor.nested_statements": "on",
                                                             "tailor.rows_every": "1"}) as server:
        server.sql(SETUP)
        said = statements(server.major())
        with Session(server) as session:
            for text in said.values():
                session.sql(text)
            last = execution_of(session, "select max(a) as after_all from t")
        settled(daemon, [last])
        found, texts = places_of(said, daemon, folder)
        check(len(texts["journal"]) > 0 and any(name.startswith("answer") and b"Seq Scan" in text for name, text in texts.items()),
              f"{setting}: there are a journal and answers")
        return found


def literals():
    for setting in ("normalized", "off"):
        leaks = {word: places for word, places in shipped(setting).items() if places}
        check(not leaks, f"{setting}: no literal leaves the server: {leaks}")
    found = shipped("full")
    missed = {word for word, places in found.items() if not places} - VALUES
    check(not missed, f"with the full text, the search finds each word: not {missed}")
    for what in ("journal", "answer"):
        check(any(name.startswith(what) for places in found.values() for name in places), f"some of them in: {what}")


# ---- Labels ----

class TcpServer(Server):
    """Its clients have an address."""

    def __init__(self, **options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        super().__init__(**options)
        self.settings |= {"listen_addresses": "127.0.0.1", "port": self.port}
        self.who = []

    def psql(self, *options):
        return super().psql("-p", self.port, *self.who, *options)


TRACE = "/*traceparent='00-{id}-b7ad6b7169203331-{flags}'*/"
KEPT, LOST = "0af7651916cd43dd8448eb211c80319c", "1bf7651916cd43dd8448eb211c80319d"
COLUMNS = ", ".join(f"sum(a + {i})" for i in range(30))
PAIR = [f"select {COLUMNS}, count(burn(a, 2000)) from t where {where}" for where in ("a > 0", "c > ''")]
PARALLEL = """
set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;
set max_parallel_workers_per_gather = 2; set parallel_leader_participation = off;
"""


def execution_of(session, statement):
    session.sql(statement)
    return session.sql("select tailor_last_execution()")[0]


def query_id_of(session, pattern):
    return session.sql(f"select queryid from pg_stat_statements where query like '{pattern}' order by calls desc limit 1")[0]


def labels():
    settings = {"tailor.short_run": "0", "pg_stat_statements.track": "all"}
    with Daemon(frequency=FREQUENCY) as daemon, \
            TcpServer(agent=measuring(daemon).socket, settings=settings, preload="pg_stat_statements,tailor_pg,tailor_pg_probe") as server:
        server.sql(SETUP + "create extension pg_stat_statements; create role teller superuser login; create database bank template postgres;")
        server.who = ["-h", "127.0.0.1", "-U", "teller", "-d", "bank"]
        with Session(server) as session:
            session.sql("set application_name = 'night run'; set max_parallel_workers_per_gather = 0")
            check(is_measured(daemon, session, f"{BUSY} true"), "the daemon has begun to sample the session")
            plain = execution_of(session, "select max(a) as biggest from t")
            query_id = query_id_of(session, "select max(a) as biggest%")
            traces = {flags: execution_of(session, f"select max(a) as biggest from t {TRACE.format(id=trace, flags=flags)}")
                      for trace, flags in ((KEPT, "01"), (LOST, "00"))}
            pair = [execution_of(session, statement) for statement in PAIR]
            keyed = execution_of(session, "set enable_seqscan = off; select burn(a, 4000000) from t order by a desc limit 5")
            session.sql(PARALLEL)
            leader = execution_of(session, "select sum(burn(a, 1000000)) from t")
        rows = settled(daemon, [plain, *traces.values(), *pair, keyed, leader], lambda row: row["id"] != keyed or row["samples"] > 0)
        kinds = {each["name"]: each["kind"] for each in operators(daemon.report(keyed))}
        of_workers = {each["name"]: each["samples"] for each in operators(daemon.report(leader))}
    backward = [kind for name, kind in kinds.items() if " Backward " in name]
    check(backward in (["Index Scan"], ["Index Only Scan"]), f"a kind has no direction: {kinds}")
    of = {execution: row["labels"] for execution, row in rows.items()}
    wanted = {"database": "bank", "user": "teller", "application": "night run", "client": "127.0.0.1", "query_id": query_id}
    check({key: of[plain].get(key) for key in wanted} == wanted, f"labels: {of[plain]}")
    check("trace_id" not in of[plain] and "leader_execution" not in of[plain], "and no others")
    check(of[traces["01"]].get("trace_id") == KEPT, f"a trace that is kept: {of[traces['01']]}")
    check(of[traces["01"]].get("span_id") == "b7ad6b7169203331", "and its span")
    check(of[traces["00"]].get("trace_id") == LOST, f"one that is not: {of[traces['00']]}")
    # tailord shows executions with the label leader_execution in that which it names; here the leader does nothing itself.
    check(of_workers.get("Partial Aggregate", 0) > 0, f"workers name their leader: {of_workers}")
    check(rows[pair[0]]["plan_name"] == rows[pair[1]]["plan_name"], f"two statements begin alike: {rows[pair[0]]}")
    check(of[pair[0]]["query_id"] != of[pair[1]]["query_id"], "they have query ids of their own")
    check(rows[pair[0]]["fingerprint"] != rows[pair[1]]["fingerprint"], "and fingerprints")
    check(rows[plain]["fingerprint"] == rows[traces["01"]]["fingerprint"], "a statement with another comment has the same")


def main():
    if reason := sampling_denied():
        skip(reason)
    literals()
    labels()


if __name__ == "__main__":
    main()
