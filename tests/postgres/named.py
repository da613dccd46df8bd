"""How much of a session's time the rules (deploy/rules/postgres.toml) name, without the extension: pgbench's statements, and TPC-H's.

What the rules call "all else" has no name of its own. TPC-H's time must be in nodes and phases that have one. For statements as short as
pgbench's, all else is a large part: there some rule must fit, and the test prints how much has a name of its own. The twins must fail:
rules without operators for TPC-H, and rules without phases for pgbench.
"""
import pathlib
import re
import sys
import tempfile

from background import CONFIG, RULES, worked
from pg_server import Server, Session, measuring
from tailor_env import ROOT, Daemon, at_least, check, sampling_denied, skip

sys.path.append(str(ROOT / "tests/bench"))
import pg_tpch  # noqa: E402
import postgres as bench  # noqa: E402

# The part that is named at least, the samples that judge it, and how much data TPC-H has: planning is a small part of its time there.
NAMED, ENOUGH, SCALE_FACTOR = 0.9, 2000, "0.02"
REST = ("session: protocol and all else", "executor run: result rows and all outside of nodes", "utility command",
        "parallel worker: its start, its end and all else")


def without(folder, kind):
    """The rules without those of a kind."""
    cut = re.sub(rf'\[\[{kind}\]\]\n(\w+ = .*\n|  .*\n)+', "", RULES.read_text(encoding="utf-8"))
    check(f"[[{kind}]]" not in cut and "[[" in cut, f"the twin's rules have no {kind}")
    path = pathlib.Path(folder) / f"no_{kind}.toml"
    path.write_text(cut, encoding="utf-8")
    return path


class Share:
    """What rules make of the samples of a process."""

    def __init__(self, daemon, pid, rules=RULES):
        report = daemon.report("--pid", pid, "--rules", rules)
        self.ruled = report["in_operators"]["samples"] + report["in_phases"]["samples"]
        self.samples = self.ruled + report["unexplained"]["samples"] + report["outside"]["samples"]
        self.named = self.ruled - sum(row["samples"] for row in report["phase_rows"] if row["name"] in REST)

    def text(self):
        return f"of {self.samples:.0f} samples rules fit {self.ruled:.0f}, and {self.named:.0f} have a name of their own"


def sampled(daemon, server, work):
    """The process of a session that did this."""
    with Session(server) as session:
        session.sql("set max_parallel_workers_per_gather = 0")
        pid = session.sql("select pg_backend_pid()")[0]
        _, samples = worked(daemon, session, pid, work, ENOUGH)
    check(samples >= ENOUGH, f"the session has {samples:.0f} samples")
    return pid


def pgbench_is_named(daemon, server, folder, name, statements):
    pid = sampled(daemon, server, statements)
    share, twin = Share(daemon, pid), Share(daemon, pid, without(folder, "phase"))
    check(at_least(share.ruled, share.samples, NAMED), f"{name}: {share.text()}")
    check(not at_least(twin.ruled, twin.samples, NAMED), f"{name}, without phases in the rules: {twin.text()}")


def tpch_is_named(daemon, server, folder):
    pg_tpch.load(server, SCALE_FACTOR)
    pid = sampled(daemon, server, "\n".join(pg_tpch.queries().values()))
    share, twin = Share(daemon, pid), Share(daemon, pid, without(folder, "operator"))
    check(at_least(share.named, share.samples, NAMED), f"TPC-H: {share.text()}")
    check(not at_least(twin.named, twin.samples, NAMED), f"TPC-H, without operators in the rules: {twin.text()}")


def main():
    if reason := sampling_denied():
        skip(reason)
    if not pathlib.Path(pg_tpch.generator()).exists():
        skip("tpchgen-cli is not installed")
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "tailord.toml"
        config.write_text(CONFIG, encoding="utf-8")
        with Daemon(frequency=3989, options=["--config", config]) as daemon, \
                Server(agent=measuring(daemon).socket, preload="", functions="", settings={"shared_buffers": "256MB"}) as server:
            server.sql(bench.PGBENCH_SETUP)
            # Less text than psql takes before it has answered.
            pgbench_is_named(daemon, server, folder, "pgbench -S", bench.select_only(800))
            pgbench_is_named(daemon, server, folder, "pgbench TPC-B", bench.tpc_b(100))
            tpch_is_named(daemon, server, folder)


if __name__ == "__main__":
    main()
