"""Processes that run no statement: rules (deploy/rules/postgres.toml) give the checkpointer's time to the phase of its name.

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
PHASE = "checkpointer"
ENOUGH, MOST_TURNS = 300, 60
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


def without_phase(folder):
    text = RULES.read_text(encoding="utf-8")
    cut = re.sub(rf'\[\[phase\]\]\nname = "{PHASE}"\n(\w+ = .*\n)+', "", text)
    check(cut != text, f"the rules have the phase {PHASE}")
    path = pathlib.Path(folder) / "without.toml"
    path.write_text(cut, encoding="utf-8")
    return path


def checkpoints(daemon, session, pid):
    """Its phases, once it has used enough CPU time."""
    for _ in range(MOST_TURNS):
        session.sql("update big set a = a + 1; checkpoint")
        if is_found(daemon, pid) and phases(daemon, pid, RULES)[1] >= ENOUGH:
            break
    return phases(daemon, pid, RULES)


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
                rows, samples = checkpoints(daemon, session, pid)
            check(samples >= ENOUGH, f"the checkpointer has {samples} samples: {rows}")
            check(at_least(rows.get(PHASE, 0), samples, 0.9), f"{rows.get(PHASE, 0)} of them are in the phase {PHASE}")
            twin, _ = phases(daemon, pid, without_phase(folder))
            check(not at_least(twin.get(PHASE, 0), samples, 0.9), f"without the phase in the rules they are not: {twin}")


if __name__ == "__main__":
    main()
