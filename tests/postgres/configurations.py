"""Each configuration of docs/postgresql.md and deploy, as it stands there: a statement must be found in its nodes.

Ways to load the extension, and the settings with their defaults, are read from the page, files of tailord from the page and from deploy.
What is new on the page and is not tried here fails.
"""
import os
import pathlib
import re
import subprocess
import tempfile

from background import is_found
from history import settled
from life import is_measured
from pg_server import Server, Session, history_functions, measuring
from tailor_env import ROOT, Daemon, at_least, check, operators, sampling_denied, skip

FREQUENCY = 3989
PAGE = (ROOT / "docs/postgresql.md").read_text(encoding="utf-8")
RULES = ROOT / "deploy/rules/postgres.toml"
SETUP = "create table t as select i as a from generate_series(1, 300) i; analyze;"
STATEMENT = "select count(burn(a, 1000000)) from t where a > 0"
MEASURED = {"tailor.short_run": "0", "max_parallel_workers_per_gather": "0"}
# What a session sets, and whether the statement has an execution then.
IN_A_SESSION = {
    "tailor.enabled": {"off": False, "on": True},
    "tailor.nested_statements": {"on": True},
    "tailor.phases": {"off": True, "on": True},
    "tailor.rows_every": {"0": True, "1": True},
    "tailor.most_overhead": {"0": True, "100": True},
    "tailor.short_run": {"0": True, "1h": True},
    "tailor.query_text": {"off": True, "normalized": True, "full": True},
    "tailor.conditions": {"on": True},
}
# What the server is started with.
AT_START = {"tailor.watch_locks", "tailor.socket", "tailor.http_socket"}
# Options of tailord that a file names in comments, and that are not for this test: with a limit perf takes the samples, which reads no
# nodes (docs/capture.md), and a port may be somebody's.
NOT_TRIED = {"max-overhead", "metrics-listen"}


def documented():
    """{setting: its default} of the page's table."""
    rows = re.findall(r"^\| `(tailor\.\w+)` \| ([^|]+) \|", PAGE, re.M)
    return {name: "" if default == "empty" else re.sub(r"`| (%|ms)$", "", default) for name, default in rows}


def loading():
    """The ways of the page's table to load the extension."""
    table = PAGE[PAGE.index("## Loading"):PAGE.index("## Settings")]
    return re.findall(r"^\| `([^`]+)` \|", table, re.M)


def uncommented(text):
    """The options before the first table that comments of a file name."""
    top = re.split(r"^# \[", text, flags=re.M)[0]
    return "".join(f"{key} = {value}\n" for key, value in re.findall(r"^# ([a-z-]+) = (.+)$", top, re.M) if key not in NOT_TRIED)


def files():
    """{where it stands: a configuration of tailord}"""
    shipped = (ROOT / "deploy/systemd/tailord.toml").read_text(encoding="utf-8")
    kubernetes = (ROOT / "deploy/kubernetes/daemonset.yaml").read_text(encoding="utf-8")
    in_map = re.search(r"^  tailord\.toml: \|\n((?:    .*\n)+)", kubernetes, re.M)
    return {**{f"block {number} of the page": text for number, text in enumerate(re.findall(r"^```toml\n(.*?)^```", PAGE, re.M | re.S))},
            "deploy/systemd": shipped, "deploy/systemd, with its options": uncommented(shipped),
            "deploy/kubernetes": re.sub(r"^    ", "", in_map[1], flags=re.M)}


def execution_of(session):
    session.sql(STATEMENT)
    return session.sql("select tailor_last_execution()")[0]


def is_sampled(daemon, session, how):
    """A daemon that is busy begins to sample a session after its first statements."""
    check(is_measured(daemon, session, STATEMENT), f"{how}: the session is sampled")


def is_in_nodes(daemon, execution, how):
    settled(daemon, [execution], lambda row: row["samples"] > 0)
    report = daemon.report(execution)
    found = sum(each["samples"] for each in operators(report))
    check(at_least(found, report["samples"], 0.8), f"{how}: {found:.0f} of {report['samples']} samples are in nodes")


def each_way_to_load():
    ways = {"shared_preload_libraries = 'tailor_pg'": {"preload": "tailor_pg"},
            "session_preload_libraries = 'tailor_pg'": {"preload": "", "settings": {**MEASURED, "session_preload_libraries": "tailor_pg"}},
            "LOAD 'tailor_pg'": {"preload": ""}}
    check(loading() == list(ways), f"the page has the ways that are tried: {loading()}")
    for way, options in ways.items():
        with Daemon(frequency=FREQUENCY) as daemon, Server(agent=measuring(daemon).socket, **{"settings": MEASURED, **options}) as server:
            server.sql(SETUP)
            with Session(server) as session:
                if way.startswith("LOAD"):
                    session.sql(way)
                is_sampled(daemon, session, way)
                is_in_nodes(daemon, execution_of(session), way)
            if way.startswith("session"):
                for_a_role(daemon, server)


def for_a_role(daemon, server):
    server.sql("create role measured superuser login; alter role measured set session_preload_libraries = 'tailor_pg'")
    with Session(server, "-U", "measured") as session:
        is_sampled(daemon, session, "ALTER ROLE")
        is_in_nodes(daemon, execution_of(session), "ALTER ROLE")


def each_setting():
    with Daemon(frequency=FREQUENCY) as daemon:
        web = daemon.control.parent / "http.sock"
        settings = {**MEASURED, "tailor.watch_locks": "on", "tailor.http_socket": web}
        with Server(agent=measuring(daemon).socket, settings=settings) as server:
            os.chmod(web, 0o777)
            server.sql(SETUP + history_functions())
            with Session(server) as session:
                have_their_defaults(session)
                is_sampled(daemon, session, "by default")
                for name, values in IN_A_SESSION.items():
                    for value, is_measured in values.items():
                        session.sql(f"set {name} = '{value}'")
                        execution = execution_of(session)
                        check(bool(execution) == is_measured, f"{name} = {value}: it has an execution: {execution}")
                        if value == "1h":
                            # What short runs share is written down when it ends.
                            session.sql("set application_name = 'another'")
                            execution_of(session)
                        if is_measured:
                            is_in_nodes(daemon, execution, f"{name} = {value}")
                    session.sql(f"reset {name}")
                check(int(session.sql("select count(*) from tailor_top()")[0]) > 0, "tailor.http_socket is where tailord answers")
            # It has no connection, so pg_stat_activity does not list it.
            postmaster = (server.data / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0]
            processes = subprocess.run(["ps", "-o", "args=", "--ppid", postmaster], capture_output=True, text=True, check=False).stdout
            check(processes.count("tailor lock watch") == 1, f"tailor.watch_locks starts a worker: {processes}")


def have_their_defaults(session):
    known = dict(line.split("|") for line in session.sql("select name, boot_val from pg_settings where name like 'tailor.%'"))
    check(documented() == known, f"the page has all settings with their defaults: {documented()}, {known}")
    check(set(known) == set(IN_A_SESSION) | AT_START, f"all of them are tried: {set(known)}")


def each_file():
    for where, text in files().items():
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "tailord.toml"
            config.write_text(text, encoding="utf-8")
            with Daemon(frequency=FREQUENCY, options=["--config", config]) as daemon, \
                    Server(agent=measuring(daemon).socket, settings=MEASURED) as server:
                server.sql(SETUP)
                with Session(server) as session:
                    is_sampled(daemon, session, where)
                    is_in_nodes(daemon, execution_of(session), where)
                if "processes.sample" in text and not text.startswith("#"):
                    finds_kinds(daemon, server)


def finds_kinds(daemon, server):
    """Of a session without the extension, with the command of the page."""
    command = "tailor report --pid PID --rules deploy/rules/postgres.toml"
    check(command in PAGE, f"the page has {command}")
    with Session(server) as session:
        session.sql("set tailor.enabled = off")
        pid = session.sql("select pg_backend_pid()")[0]
        for _ in range(60):
            session.sql("select count(*) from t x, t y where x.a + y.a > 7")
            if is_found(daemon, pid):
                break
        report = daemon.report("--pid", pid, "--rules", RULES)
    check(report["in_operators"]["samples"] > 0, f"by rules, without the extension: {[row['name'] for row in report['operator_rows']]}")


def main():
    if reason := sampling_denied():
        skip(reason)
    each_way_to_load()
    each_setting()
    each_file()


if __name__ == "__main__":
    main()
