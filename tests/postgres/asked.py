"""What SQL asks tailord, with something else in its place.

Users without the right are refused before anybody is asked. Paths hold nothing but numbers and digits. Whatever answers, and
however, a statement ends with rows or with an error that says why, and the session goes on. One that waits can be cancelled.
"""
import json
import os
import re
import socket
import threading

from pg_server import Server, Session, history_functions
from tailor_env import check
from told import Told

QUESTIONS = ["select * from tailor_top()", "select * from tailor_executions()", "select * from tailor_changes()", "select * from tailor_plan(-5)",
             "select * from tailor_execution('0af7')", "select * from tailor_tables()"]
OPERATORS = [
    {"id": 1, "name": "Aggregate", "depth": 0, "share": 0.25, "share_low": 0.2, "share_high": 0.3, "samples": 10.5, "weight": 2e6,
     "attributes": [{"key": "estimated_rows", "value": "1"}, {"key": "loops", "value": "1e+02"}]},
    {"id": 3, "name": "Seq Scan on t", "depth": 1, "share": 0.75, "share_low": 0.7, "share_high": 0.8, "samples": 30, "weight": 6e6,
     "attributes": [{"key": "estimated_rows", "value": "no number"}, {"key": "actual_rows", "value": "7.5"}]}]
SOURCE = {"name": "cpu-clock", "unit": "ns_on_cpu"}
TOP = {"total_cpu_ns": 8e6, "fingerprints": [
    {"fingerprint": "fffffffffffffffb", "name": "select", "text": "select ?", "executions": 7, "drawn": 7, "cpu_ns": 6e6,
     "samples": 6, "elapsed_ns": {"min": 1e6, "mean": 2e6, "max": 3e6}, "last_execution": "0af7"},
    {"fingerprint": "tpch-3", "name": "of another engine", "text": "", "executions": 1, "running": 0, "cpu_ns": 2e6, "samples": 2,
     "elapsed_ns": None, "last_execution": "1bf7"}]}
LIST = {"executions": [
    {"id": "0af7", "engine": "PostgreSQL", "pid": 12, "labels": {"user": "ann", "database": "bank", "query_id": "-5"},
     "fingerprint": "fffffffffffffffb", "plan_name": "select ?", "began_ms": 0.0, "running": False, "elapsed_ns": 2e6, "drawn": True,
     "cpu_ns": 1e6, "samples": 1, "rows": 3, "error": "", "added_runs": {"runs": 4, "failed": 1, "elapsed_ns": {"min": 1e5, "mean": 25e4, "max": 6e5}}},
    {"id": "1bf7", "engine": "weft", "pid": 13, "labels": {}, "fingerprint": "tpch-3", "plan_name": "q", "began_ms": 0.0,
     "running": False, "cpu_ns": 1e6, "samples": 1, "rows": None, "error": ""}]}

CHANGES = {"plan_changes": [{"fingerprint": "fffffffffffffffb", "before": {**LIST["executions"][0], "id": "00aa"}, "after": LIST["executions"][0]},
                            {"fingerprint": "tpch-3", "before": LIST["executions"][1], "after": LIST["executions"][1]}]}


def good(body):
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCONTENT-LENGTH: %d\r\n\r\n" % len(text) + text


class Answerer:
    """Takes the place of tailord's HTTP interface, and gives everybody one answer."""

    def __init__(self, path):
        self.answer, self.asked = b"", []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        os.chmod(path, 0o777)
        self.socket.listen(16)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.socket.accept()
            with connection:
                asked = b""
                while b"\r\n\r\n" not in asked and (piece := connection.recv(65536)):
                    asked += piece
                self.asked.append(asked.decode())
                try:
                    connection.sendall(self.answer)
                except OSError:
                    pass


def reads_answers(answerer, session):
    def rows(answer, question):
        answerer.answer = good(answer)
        return session.sql(question)
    top = rows(TOP, "select * from tailor_top('2 hours', 9)")
    check(top == ["-5|select ?|7|7|6|0.75|6|2|3|0af7", "|of another engine|1||2|0.25|2|||1bf7"], f"tailor_top: {top}")
    check(answerer.asked[-1].startswith("GET /api/v1/fingerprints?since=-7200s&limit=9&order=cpu HTTP/1.1\r\n"), answerer.asked[-1])
    listed = rows(LIST, "select execution, pid, datname, usename, query_id, query, runs, elapsed_ms, cpu_ms, rows from tailor_executions()")
    check(listed == ["0af7|12|bank|ann|-5|select ?|4|0.25|1|3"], f"tailor_executions: {listed}")
    changes = rows(CHANGES, "select query_id, query, datname, usename, before_execution, after_execution, after_runs, after_elapsed_ms, after_cpu_ms "
                            "from tailor_changes()")
    check(changes == ["-5|select ?|bank|ann|00aa|0af7|4|0.25|1"], f"tailor_changes: {changes}")
    says_what_is_not_known(rows)
    expected = ["1|Aggregate|0.25|0.2|0.3|10.5|2|1||100", "3|  Seq Scan on t|0.75|0.7|0.8|30|6||7.5|"]
    plan = rows({"runs": {"operators": OPERATORS, "source": SOURCE}}, "select * from tailor_plan(-5)")
    check(plan == expected, f"tailor_plan: {plan}")
    check(answerer.asked[-1].startswith("GET /api/v1/fingerprints/fffffffffffffffb?since=-86400s HTTP/1.1\r\n"), answerer.asked[-1])
    plan = rows({"plans": [{"operators": OPERATORS}], "source": SOURCE}, "select * from tailor_execution('0af7')")
    waited = [node.split("|") for node in expected]
    check(plan == ["|".join([*node[:7], "", *node[7:]]) for node in waited], f"tailor_execution: {plan}")
    reads_waits(rows)
    reads_tables(answerer, rows)
    events = rows({"plans": [{"operators": OPERATORS[:1]}], "source": {"unit": "events"}}, "select cpu_ms is null from tailor_execution('0af7')")
    check(events == ["t"], f"events are no time: {events}")
    check(rows({"plans": [], "source": SOURCE}, "select * from tailor_execution('0af7')") == [], "a plan without nodes")


def says_what_is_not_known(rows):
    """Nothing, where nobody knows how many runs share an execution, or none of them has ended."""
    one = {**LIST["executions"][0], "elapsed_ns": 9e9}
    shared = one.pop("added_runs")
    labels = {**one["labels"], "runs": "short runs of this plan, added up"}
    cases = [(one, "1|9000|0"), ({**one, "error": "x"}, "1|9000|1"), ({**one, "added_runs": shared, "labels": labels}, "4|0.25|1"),
             ({**one, "added_runs": {**shared, "runs": 0, "failed": 0}}, "0||0"), ({**one, "runs_unknown": True, "labels": labels}, "||")]
    running = {key: value for key, value in one.items() if key != "elapsed_ns"} | {"running": True}
    cases += [(running, "1||"), ({**running, "labels": labels}, "||")]
    for execution, expected in cases:
        said = rows({"executions": [execution]}, "select runs, elapsed_ms, failed from tailor_executions()")
        check(said == [expected], f"runs of {execution}: {said}")
    for query, expected in (({"running": 7}, "|"), ({"running": 6}, "2|3"), ({"elapsed_ns": {**TOP["fingerprints"][0]["elapsed_ns"], "unknown": 7}}, "|")):
        said = rows({**TOP, "fingerprints": [{**TOP["fingerprints"][0], **query}]}, "select mean_ms, max_ms from tailor_top()")
        check(said == [expected], f"times of {query}: {said}")


def reads_waits(rows):
    """Those of the node, in the plan and process that they name."""
    process = {"pid": 12, "start": 5}
    waits = [{"process": process, "plan": 7, "operator": 3, "ns": 4e6}, {"process": process, "plan": 7, "operator": 3, "ns": 1e6},
             {"process": process, "plan": 8, "operator": 1, "ns": 9e6}, {"process": {"pid": 12, "start": 6}, "plan": 7, "operator": 1, "ns": 9e6},
             {"process": process, "plan": 7, "operator": 0, "ns": 9e6}]
    answer = {"plans": [{"process": process, "plan": 7, "operators": OPERATORS}], "source": SOURCE, "off_cpu": {"rows": waits}}
    read = rows(answer, "select node, wait_ms from tailor_execution('0af7')")
    check(read == ["1|0", "3|5"], f"waits of nodes: {read}")


def reads_tables(answerer, rows):
    def waits(ns, **said):
        # Of a plan that is not in the answer: plans of one tree have the number of the first.
        return {"plan": 9, "operator": 3, "ns": ns, "attributes": [{"key": key, "value": value} for key, value in said.items()]}

    def node(weight, **said):
        return {"id": 1, "name": "n", "depth": 0, "weight": weight, "samples": weight / 1e6, "attributes": [{"key": key, "value": value} for key, value in said.items()]}
    plans = [{"operators": [node(2e6, schema="s", table="t"), node(1e6, schema="s", table="t", index="t_a"), node(4e6)]},
             {"operators": [node(1e6, schema="s", table="t", cost="7"), node(5e5, schema="other", table="t"), node(25e4, table="t")]}]
    question = "select * from tailor_tables('1 minute')"
    answer = {"plans": plans, "source": SOURCE, "weight": 1e7, "view": {"runs": {"left_out": 0}}}
    read = rows(answer, question)
    expected = ["s|t||0.3|3|3|", "s|t|t_a|0.1|1|1|", "other|t||0.05|0.5|0.5|", "|t||0.025|0.25|0.25|"]
    check(read == expected, f"tailor_tables has a row for each schema: {read}")
    check(" /api/v1/executions/all/profile?since=-60s&process_name=PostgreSQL&label=database=postgres HTTP" in answerer.asked[-1], answerer.asked[-1])
    waited = {**answer, "off_cpu": {"rows": [waits(4e6, schema="s", table="t"), waits(1e6, schema="s", table="t"),
                                             waits(3e6, schema="s", table="never_ran"), {"plan": 0, "operator": 0, "ns": 9e6}]}}
    read = rows(waited, question)
    expected = ["s|t||0.3|3|3|5", "s|t|t_a|0.1|1|1|0", "other|t||0.05|0.5|0.5|0", "|t||0.025|0.25|0.25|0", "s|never_ran||0|0|0|3"]
    check(read == expected, f"waits belong to the table that their row names: {read}")
    for other, known in (({**waited, "view": {"runs": {"left_out": 1}}}, "5|0|0"), ({**waited, "source": {"unit": "events"}}, "5|0|5")):
        read = rows(other, "select count(*), count(cpu_ms), count(wait_ms) from tailor_tables()")
        check(read == [known], f"what is not all of the time is no time: {read}")


def refuses_others(answerer, server):
    before = len(answerer.asked)
    with Session(server, "-U", "asker") as session:
        for question in [*QUESTIONS, "select * from tailor_top_hour", "select tailor_answer('top', '', 1, 1)"]:
            said = "\n".join(session.sql(question))
            check("permission denied" in said, f"to others: {question}: {said}")
    # The function itself looks, too: somebody may have granted it by mistake.
    server.sql("grant execute on function tailor_answer to asker")
    with Session(server, "-U", "asker") as session:
        said = "\n".join(session.sql("select tailor_answer('top', '', 1, 1)"))
        check("pg_read_all_stats" in said, f"and the function says to whom: {said}")
    check(len(answerer.asked) == before, "nobody was asked for them")
    answerer.answer = good(TOP)
    with Session(server, "-U", "watcher") as session:
        for question in ("select count(*) from tailor_top()", "select count(*) from tailor_top_hour"):
            check(session.sql(question) == ["2"], f"members of pg_read_all_stats may: {question}")


def shows_everybody_their_own(answerer, server):
    """The last statement, to the user whom it ran as, and to nobody else."""
    server.sql("create procedure peek() language plpgsql security definer as $$ begin perform count(*) from pg_class; end $$")
    answerer.answer = good({"running": False, "plans": [{"operators": OPERATORS}], "source": SOURCE})
    with Session(server, "-U", "asker") as session:
        session.sql("select count(*) from pg_class")
        nodes = session.sql("select node, cpu_ms, wait_ms is null from tailor_last_cost()")
        check(nodes == ["1|2|t", "3|6|t"], f"tailor_last_cost: {nodes}")
        check(re.match("GET /api/v1/executions/[0-9a-f]{32}/profile HTTP", answerer.asked[-1]), answerer.asked[-1])
        before = len(answerer.asked)
        session.sql("call peek()")
        said = "\n".join(session.sql("select * from tailor_last_cost()"))
        check("ran as another user" in said and "Seq Scan" not in said, f"what ran as another user is not shown: {said}")
        check(len(answerer.asked) == before, "and nobody is asked for it")


def asks_for_nothing_else(answerer, session):
    before = len(answerer.asked)
    for arguments in ("'top', '../status', 1, 1", "'execution', '0af7/../../status', 1, 1", r"'query', E'0\r\nX: y', 1, 1",
                      "'execution', 'ABCD', 1, 1", f"'execution', '{'0' * 33}', 1, 1", "'status', '', 1, 1", "'top', '', 0, 1",
                      "'top', '', -9223372036854775808, 1"):
        said = "\n".join(session.sql(f"select tailor_answer({arguments})"))
        check(said.startswith("ERROR"), f"tailor_answer({arguments}) is refused: {said}")
    check(len(answerer.asked) == before, "and nobody is asked")


def survives_any_answer(answerer, session):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: "
    for answer, said in ((b"", "closed the connection"), (b"HTTP/1.1 200 OK\r\n", "closed the connection"), (b"SSH-2.0\r\n\r\n", "does not speak HTTP"),
                         (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "does not say how long"),
                         (head + b"99999999999999999999999\r\n\r\n", "longer than"), (head + b"70000000\r\n\r\n", "longer than"),
                         (head + b"-1\r\n\r\n", "longer than"), (head + b"10\r\n\r\n[1]", "closed the connection"),
                         (b"\0" * 200_000, "have no end"), (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 40_000, "have no end"),
                         (head + b"3\r\n\r\n[1}", "invalid input syntax for type json"),
                         (head + b"4\r\n\r\n\"\xff\xfe\"", "invalid byte sequence"),
                         (b"HTTP/1.1 429 Too many\r\nContent-Length: 9\r\n\r\n\"a limit\"", "a limit"),
                         (b"HTTP/1.1 500 No\r\nContent-Length: 3000\r\n\r\n" + b"x" * 3000, "refused to answer (500)")):
        answerer.answer = answer
        for question in QUESTIONS:
            answered = "\n".join(session.sql(question))
            check("ERROR" in answered and said in answered, f"{answer[:60]}: {answered}")
    answerer.answer = b"HTTP/1.1 404 Not found\r\nContent-Length: 2\r\n\r\n{}"
    check(all(session.sql(question) == [] for question in QUESTIONS), "what tailord does not know has no rows")
    for answer in ({}, {"fingerprints": None, "executions": {}, "runs": 7, "plans": None, "plan_changes": 1}, []):
        answerer.answer = good(answer)
        for question in QUESTIONS:
            answered = session.sql(question)
            check(not answered or answered[0].startswith("ERROR"), f"{answer}: {answered}")
    answerer.answer = good(TOP)
    check(session.sql("select count(*) from tailor_top()") == ["2"], "after all of these the session goes on")


def ends_what_short_runs_share(answerer, server, told):
    """It would go on, and the daemon would wait for more of it. The rows come from what is written then."""
    answerer.answer = good({"running": False, "plans": [{"operators": OPERATORS}], "source": SOURCE})
    with Session(server) as session:
        session.sql("set tailor.short_run = '1h'; set application_name = 'short'")
        for _ in range(3):
            session.sql("select 7 as often")
        name = session.sql("select 7 as often; select tailor_last_execution()")[1]
        session.sql("select 7 as often")
        check(session.sql("select count(*) from tailor_last_cost()") == ["2"], "short runs have a cost")
        shared = told.first(lambda each: each.ended and each.labels.get("application") == "short" and "runs" in each.labels
                            and each.began_as == "select ? as often", "that short runs share")
        check(f"/executions/{name}/" in answerer.asked[-1], f"it is asked for by its name: {answerer.asked[-1]}")
        # The first run has its own, as nothing is known of its plan.
        check(shared.added_runs().runs == 4, f"the runs before it are told: {shared.added_runs()}")


def waits_in_a_queue(server):
    """Where so many ask that none more is taken, a statement waits, as it does for an answer. Both can be cancelled."""
    path = server.folder / "busy.sock"
    with socket.socket(socket.AF_UNIX) as busy, Session(server) as session:
        busy.bind(str(path))
        os.chmod(path, 0o777)
        busy.listen(0)
        session.sql(f"set tailor.http_socket = '{path}'; set statement_timeout = '300ms'")
        waiting = []
        for what in ("for an answer", "to be taken"):
            said = "\n".join(session.sql("select * from tailor_top()"))
            check("canceling statement" in said, f"it waits {what}: {said}")
            while what == "for an answer" and fills(path, waiting):
                pass
        check(session.sql("set statement_timeout = 0; select 1") == ["1"], "and the session goes on")
        for each in waiting:
            each.close()


def fills(path, waiting):
    """Whether one more could connect. It is put into `waiting`."""
    one = socket.socket(socket.AF_UNIX)
    one.setblocking(False)
    waiting.append(one)
    try:
        one.connect(str(path))
    except BlockingIOError:
        return False
    return True


def has_a_mark_for_other_letters(answerer, server):
    """A name that the database's encoding does not have, and the character that jsonb does not take, hide nobody else's rows."""
    def queries(session, name):
        answerer.answer = good({**TOP, "fingerprints": [{**TOP["fingerprints"][1], "name": name}, TOP["fingerprints"][0]]})
        return session.sql("select query from tailor_top() order by query_id nulls first")
    with Session(server) as session:
        check(queries(session, "a\0b \\u0000") == ["a?b \\u0000", "select ?"], "a zero in a name")
    if not server.sql("select convert('x', 'LATIN1', 'UTF8')", fails=True):
        print("not looked at: databases in other encodings, as this server was installed without its conversions")
        return
    server.sql("create database latin encoding 'LATIN1' locale 'C' template template0")
    with Session(server, "-d", "latin") as session:
        session.sql(history_functions() + "set client_encoding = 'UTF8'")
        said = [queries(session, "é 日本")]
        answerer.answer = good(TOP).replace(b"of another", b"of \xff\xfeother")
        said.append(session.sql("select count(*) from tailor_top()"))
    check(said == [["é ??", "select ?"], ["2"]], f"letters that a database does not have: {said}")


def names_its_database(answerer, server):
    server.sql("create database \"o'dd ä&%\"")
    with Session(server, "-d", "o'dd ä&%") as session:
        session.sql("create function tailor_answer(text, text, bigint, integer) returns text as 'tailor_pg', 'tailor_pg_answer' language c strict")
        answerer.answer = good({})
        session.sql("select tailor_answer('tables', '', 60, 1)")
    check("&label=database=o%27dd%20%C3%A4%26%25 HTTP" in answerer.asked[-1], answerer.asked[-1])


def says_what_is_missing(server):
    with Session(server) as session:
        session.sql(f"set tailor.http_socket = '{server.folder}/none'")
        said = "\n".join(session.sql("select * from tailor_top()"))
        check("no tailord answers" in said and "tailor.http_socket" in said, f"without a daemon: {said}")
        session.sql(f"set tailor.http_socket = '{'x' * 200}'")
        check("too long" in "\n".join(session.sql("select * from tailor_top()")), "a path that is no socket's")
        for _ in range(300):
            session.sql("select * from tailor_top()")
        check(session.sql("select 1") == ["1"], "no descriptor is left behind")


def main():
    server = Server()
    server.settings["tailor.http_socket"] = server.folder / "http.sock"
    with server:
        answerer = Answerer(server.folder / "http.sock")
        told = Told(server.agent)
        server.sql("create role asker login; create role watcher login in role pg_read_all_stats;" + history_functions())
        with Session(server) as session:
            reads_answers(answerer, session)
            asks_for_nothing_else(answerer, session)
            survives_any_answer(answerer, session)
        refuses_others(answerer, server)
        shows_everybody_their_own(answerer, server)
        ends_what_short_runs_share(answerer, server, told)
        has_a_mark_for_other_letters(answerer, server)
        names_its_database(answerer, server)
        waits_in_a_queue(server)
        says_what_is_missing(server)


if __name__ == "__main__":
    main()
