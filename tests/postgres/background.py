"""What rules (deploy/rules/postgres.toml) give a phase of its name: the checkpointer, which runs no statement, and CREATE INDEX.

The rules without that phase are the twin: no sample may be in it.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import time

from pg_server import Server, Session, measuring
from tailor_env import BIN, Daemon, at_least, check, sampling_denied, skip

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/rules/postgres.toml"
PHASE, COMMAND = "checkpointer", "CREATE INDEX"
ENOUGH, MOST_TURNS, MOST_TIMES = 300, 60, 64
CONFIG = """sampler = "bpf"
stacks = "always"

[[processes.sample]]
executable = "postgres"
"""
SETUP = """
create table big (a int, b text) with (fillfactor = 50);
insert into big select i, repeat('x', 500) from generate_series(1, 40000) i;
checkpoint;
"""


def is_found(daemon, pid):
    """Who does not register is found within five seconds."""
    time.sleep(0.5)
    return subprocess.run([str(BIN / "tailor"), "report", "--pid", pid, "--rules", str(RULES)], env={**os.environ, **daemon.env},
                          capture_output=True, check=False).returncode == 0


def phases(daemon, pid, rules):
    """({phase: samples} of a process, all its samples in phases and elsewhere)"""
    report = daemon.report("--pid", pid, "--rules", rules)
    rows = {row["name"]: row["samples"] for row in report["phase_rows"]}
    return rows, sum(rows.values()) + report["in_operators"]["samples"] + report["unexplained"]["samples"]


def without_phase(folder, phase):
    text = RULES.read_text(encoding="utf-8")
    cut = re.sub(rf'\[\[phase\]\]\nname = "{phase}"\n(\w+ = .*\n|  .*\n)+', "", text)
    check(cut != text, f"the rules have the phase {phase}")
    path = pathlib.Path(folder) / "without.toml"
    path.write_text(cut, encoding="utf-8")
    return path


def worked(daemon, session, pid, work, enough=ENOUGH):
    """Its phases, once it has used enough CPU time: a fast host does more of the work for that."""
    times = 1
    for _ in range(MOST_TURNS):
        for _ in range(times):
            session.sql(work)
        if not is_found(daemon, pid):
            continue
        if phases(daemon, pid, RULES)[1] >= enough:
            break
        times = min(2 * times, MOST_TIMES)
    return phases(daemon, pid, RULES)


def of_command(rows):
    """Its samples, in all of its phases."""
    return sum(count for phase, count in rows.items() if phase.startswith(COMMAND))


def command_has_a_phase(daemon, session, folder):
    session.sql("set max_parallel_maintenance_workers = 0")
    pid = session.sql("select pg_backend_pid()")[0]
    before, _ = worked(daemon, session, pid, "update big set a = a + 1")
    check(of_command(before) == 0, f"before it there is no {COMMAND}: {before}")
    rows = before
    for _ in range(MOST_TURNS):
        rows, _ = worked(daemon, session, pid, "create index made on big (b, a); drop index made")
        if sum(rows.values()) - sum(before.values()) >= ENOUGH:
            break
    # Nothing but the end of a transaction and the drop is beside it.
    new = sum(rows.values()) - sum(before.values())
    check(at_least(of_command(rows), new, 0.5), f"{of_command(rows)} of {new} samples in phases are in {COMMAND}: {rows}")
    twin, _ = phases(daemon, pid, without_phase(folder, f"{COMMAND}.*"))
    check(of_command(twin) == 0, f"without it in the rules they are not: {twin}")


def main():
    if reason := sampling_denied():
        skip(reason)
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "tailord.toml"
        config.write_text(CONFIG, encoding="utf-8")
        with Daemon(frequency=3989, options=["--config", config]) as daemon, \
                Server(agent=measuring(daemon).socket, preload="", functions="") as server:
            server.sql(SETUP)
            pid = server.sql("select pid from pg_stat_activity where backend_type = 'checkpointer'").strip()
            with Session(server) as session:
                rows, samples = worked(daemon, session, pid, "update big set a = a + 1; checkpoint")
                command_has_a_phase(daemon, session, folder)
            check(samples >= ENOUGH, f"the checkpointer has {samples} samples: {rows}")
            check(at_least(rows.get(PHASE, 0), samples, 0.9), f"{rows.get(PHASE, 0)} of them are in the phase {PHASE}")
            twin, _ = phases(daemon, pid, without_phase(folder, PHASE))
            check(not at_least(twin.get(PHASE, 0), samples, 0.9), f"without the phase in the rules they are not: {twin}")


if __name__ == "__main__":
    main()
