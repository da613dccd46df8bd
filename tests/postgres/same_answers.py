"""A server with the extension, sampled by tailord, answers each statement as the same server without it.

answers.sql has statements of all kinds: every executor node, cursors, PL/pgSQL, triggers, errors inside of nodes,
subtransactions, foreign tables, parallel and compiled plans, EXPLAIN ANALYZE. The statements of slot.py come with them, and
sessions that wait for each other's rows. All of it runs on both servers, plainly, and with parallel plans forced as the
server's own regression tests force them. Then both servers have pg_stat_statements and auto_explain too, whose hooks stand
around those of the extension. What psql prints must be the same text, and so must the counts of pg_stat_statements. The twin does not count rows for EXPLAIN
ANALYZE, and must fail.
"""
import difflib
import pathlib
import subprocess
import time

from pg_server import PG_BIN, Server, Session, TWINS, measuring, together
from statements import SETUP, STATEMENTS, WITH_ERRORS
from tailor_env import Daemon, check, sampling_denied, skip

ANSWERS = pathlib.Path(__file__).with_name("answers.sql")
# In the place of the function that asks where it runs: here only answers count.
PROBES = """
create function probe(int, int) returns int language internal stable parallel safe cost 1 as 'int4larger';
create function probe_v(int, int) returns int language internal volatile parallel safe cost 1 as 'int4larger';
"""
# What one session changes while it keeps the rows, and what another does meanwhile. This one waits, then rechecks the rows.
CONFLICTS = [
    ("update few set b = b + 100 where a < 4", "update few set b = b + 1 where b < 50 and a < 6 returning a, b"),
    ("update few set b = 7 where a in (2, 5)", "update few set b = few.b + u.a from u where u.a = few.a and few.b < 9 returning few.a, few.b"),
    ("delete from few where a = 3", "update few set b = (select max(t.b) from t where t.a = few.b) where a < 5 returning a, b"),
    ("update few set a = a + 1000 where a = 4", "delete from few using u where few.a = u.a and u.a < 6 returning few.a"),
    ("update few set b = 1 where a < 9", "select few.a, few.b, t.a from few join t on t.a = few.b where few.a < 9 order by few.a for update of few"),
    ("update few set b = 2 where a < 9", "select a, (select count(*) from u where u.b = few.b) from few where a < 9 and b < 5 for share"),
    ("insert into parent values (500, 1)", "insert into parent values (500, 2) on conflict (a) do update set b = parent.b + excluded.b returning *"),
    ("update p set a = a + 1000 where a = 5", "update p set b = b + 1 where a < 7 returning a, b"),
    ("update few set b = 3 where a = 7", "merge into few using u on few.a = u.a and u.a < 9 when matched and few.b = 3 then delete when matched then update set b = -1"),
]


def psql(server, text):
    """All that psql says of `text`, each line with the statement that it answers before it."""
    done = subprocess.run([*server.psql("-a", "-v", f"folder={server.folder}")], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=500, check=False, cwd="/")
    check(done.returncode == 0, f"psql ran to its end ({server.settings['shared_preload_libraries'] or 'no extension'})"
          + ("" if done.returncode == 0 else ": " + done.stdout[-2000:]))
    return done.stdout


def waits(server):
    return server.sql("select count(*) from pg_stat_activity where wait_event_type = 'Lock'").strip() != "0"


def in_conflict(server):
    """What each statement of CONFLICTS gives that had to wait."""
    said = []
    for first, second in CONFLICTS:
        with Session(server) as one, Session(server) as other:
            one.sql(f"begin; {first}")
            other.psql.stdin.write(f"begin; {second};\n")
            other.psql.stdin.flush()
            deadline = time.monotonic() + 120
            while not waits(server) and time.monotonic() < deadline:
                time.sleep(0.01)
            one.sql("commit")
            said += [f"{first}; {second}", *sorted(other.sql("commit")), *one.sql("select sum(a), sum(b), count(*) from few")]
    return "\n".join(said)


def of_file(server):
    return psql(server, ANSWERS.read_text(encoding="utf-8"))


def answers(server, statements):
    """The answers of one server, by part."""
    server.sql(PROBES + SETUP)
    # answers.sql has EXPLAIN ANALYZE without times.
    each = "\n".join(f"begin; {one.rstrip(';')}; rollback;" for one in statements if not one.startswith("explain (analyze"))
    return {"answers.sql": of_file(server), "statements of slot.py": psql(server, each), "errors": psql(server, WITH_ERRORS),
            "rows that others changed": in_conflict(server)}


# But for what polls, and what names a folder.
COUNTED = """select toplevel, calls, rows, query from pg_stat_statements
where query not like '%pg_stat_activity%' and query not like '%foreign data wrapper%' order by query collate "C", toplevel, calls, rows"""


def difference(without, with_extension):
    if without == with_extension:
        return []
    return list(difflib.unified_diff(without.splitlines(), with_extension.splitlines(), "without", "with", lineterm=""))


def compare(part, without, with_extension):
    lines = difference(without, with_extension)
    for line in lines[:60]:
        print("  " + line[:200])
    check(not lines, f"{part}: the answers are the same in {len(without.splitlines())} lines")


def server_of(settings, **options):
    return Server(settings={"max_prepared_transactions": "5", "max_worker_processes": "8", "tailor.short_run": "0", **settings},
                  functions="", **options)


def forced(major):
    return {"force_parallel_mode" if major < 16 else "debug_parallel_query": "regress"}


def answers_beside(server, others):
    """The answers of a server with the other extensions."""
    if others:
        server.sql("create extension pg_stat_statements")
    said = answers(server, STATEMENTS[::3] if others else STATEMENTS)
    return {**said, "pg_stat_statements": server.sql(COUNTED)} if others else said


def both(daemon, mode, settings, others=()):
    """Runs everything on both servers. Returns what the one without the extension answered."""
    def answers_of_one(preload, agent=None):
        with server_of(settings, preload=",".join(preload), agent=agent) as server:
            said = answers_beside(server, others)
            check("terminated by signal" not in server.log(), f"{mode}: no process of the server ended by a signal")
            return said

    without, with_extension = together(lambda: answers_of_one(others),
                                       lambda: answers_of_one([*others[:1], "tailor_pg", *others[1:]], daemon.socket))
    for part, text in without.items():
        compare(f"{mode}, {part}", text, with_extension[part])
    return without


def major_of_server():
    said = subprocess.run([str(PG_BIN / "postgres"), "--version"], capture_output=True, text=True, check=True).stdout
    return int(said.split()[2].split(".")[0])


def brings(extension):
    """Whether this server has it; some packages leave all of them out."""
    folder = subprocess.run([str(PG_BIN / "pg_config"), "--pkglibdir"], capture_output=True, text=True, check=True).stdout.strip()
    return (pathlib.Path(folder) / f"{extension}.so").exists()


def main():
    if reason := sampling_denied():
        skip(reason)
    with Daemon(frequency=997) as daemon:
        measuring(daemon)
        plain = both(daemon, "plain", {})
        others = {"pg_stat_statements.track": "all", "auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on",
                  "auto_explain.log_timing": "off", "auto_explain.log_nested_statements": "on"}
        beside = ("pg_stat_statements", "auto_explain")
        if not all(map(brings, beside)):
            print(f"SKIP (this part): this server does not bring {' and '.join(beside)}", flush=True)
            others, beside = {}, ()
        both(daemon, "parallel plans forced", {**forced(major_of_server()), **others, "tailor.rows_every": "2",
                                               "tailor.nested_statements": "on"}, beside)
        plans = daemon.report("--last", "100000")["plans"]
        sampled = sum(any(op["samples"] > 0 for op in plan["operators"]) for plan in plans)
        check(sampled > 20, f"meanwhile tailord has sampled {sampled} plans")
        with server_of({}, library=TWINS / "no_counts", preload="tailor_pg", agent=daemon.socket) as server:
            server.sql(PROBES + SETUP)
            # It wraps nothing before tailord has answered.
            check(any(difference(plain["answers.sql"], of_file(server)) for _ in range(5)), "the twin no_counts fails")


if __name__ == "__main__":
    main()
