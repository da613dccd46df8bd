"""What a session does where no node runs, told apart by rules (deploy/rules/postgres.toml): parse, analyze, rewrite, result rows, send, and
the phases of CREATE INDEX.

Each statement spends most of its time in one phase, or a known part of it. The rules without that phase are the twin: no sample may be in
it.
"""
import itertools
import pathlib
import tempfile

from background import CONFIG, ENOUGH, phases, without_phase, worked
from pg_server import Server, Session, measuring
from tailor_env import Daemon, at_least, check, sampling_denied, skip

COLUMNS, VIEWS = 1000, 20
SETUP = f"""
create table wide ({', '.join(f'c{number} int' for number in range(COLUMNS))});
create view v0 as select * from wide;
{''.join(f'create view v{number + 1} as select * from v{number};' for number in range(VIEWS))}
create table narrow as select i as a from generate_series(1, 20000) i;
create table numbers as select i as a from generate_series(1, 200000) i;
create table texts as select md5(i::text) as a from generate_series(1, 200000) i;
analyze;
"""
# The phase, the part of the session's time that it has at least, and what the session runs.
CASES = [
    # The last word is an error: nothing but the parser has seen the text.
    ("parse", 0.5, f"select {', '.join(['1'] * 100_000)} from from"),
    # A column is looked for among all columns. The one at the end is missing.
    ("analyze", 0.5, f"select {', '.join([f'c{COLUMNS - 1}'] * 5000)}, no_such_column from wide"),
    # PREPARE makes no plan.
    ("rewrite", 0.1, f"prepare p as select count(*) from v{VIEWS}; deallocate p"),
    ("result rows", 0.3, f"\\o /dev/null\nselect {', '.join(['a'] * 50)} from narrow;\n\\o\nselect 1"),
    ("send", 0.1, "\\o /dev/null\nselect repeat('x', 100000) from generate_series(1, 1000);\n\\o\nselect 1"),
    # Numbers that are in order are sorted at once.
    ("CREATE INDEX: scan", 0.05, "create index made on numbers (a); drop index made"),
    ("CREATE INDEX: fill", 0.03, "create index made on numbers (a); drop index made"),
    ("CREATE INDEX or CLUSTER: sort", 0.2, "create index made on texts (a); drop index made"),
    ("CREATE INDEX: validate", 0.02, "create index concurrently made on texts (a); drop index made"),
]


def samples_for(part):
    """So many samples that none in the phase cannot be chance."""
    return next(count for count in itertools.count(ENOUGH, 100) if not at_least(0, count, part))


def has_it(daemon, server, folder, phase, part, work):
    enough = samples_for(part)
    with Session(server) as session:
        session.sql("set max_parallel_workers_per_gather = 0; set max_parallel_maintenance_workers = 0")
        pid = session.sql("select pg_backend_pid()")[0]
        rows, samples = worked(daemon, session, pid, work, enough)
    found = rows.get(phase, 0)
    check(samples >= enough and at_least(found, samples, part), f"{found} of {samples} samples are in the phase {phase}: {rows}")
    twin, _ = phases(daemon, pid, without_phase(folder, phase))
    check(twin.get(phase, 0) == 0, f"without it in the rules they are not: {twin}")


def main():
    if reason := sampling_denied():
        skip(reason)
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "tailord.toml"
        config.write_text(CONFIG, encoding="utf-8")
        with Daemon(frequency=3989, options=["--config", config]) as daemon, \
                Server(agent=measuring(daemon).socket, preload="", functions="") as server:
            server.sql(SETUP)
            for phase, part, work in CASES:
                has_it(daemon, server, folder, phase, part, work)


if __name__ == "__main__":
    main()
