"""Where the CPU time goes that tailor_pg costs a PostgreSQL backend: a table with one part turned off at a time.

One backend runs the same statements in turns of shuffled order. All turns but one lack one part of the extension (a setting turns
it off), one lacks everything (tailor.enabled = off), and one lacks nothing, as a control. The cost of a part is the CPU time with
everything against that without the part. Nobody samples: a socket that takes the agent's messages stands in for tailord.

    phases         planning, start, end and commit are told apart
    wrappers       nodes are wrapped; without them call stacks tell nodes
    rows           rows of some executions are counted
    text           the text of statements is told
    query ids      the server computes them, and plans are found by them
    sharing        short runs share an execution: without it, each sends two messages. As a rule this part saves time
    catching       hooks catch errors (PG_TRY)
    stores         nodes and phases are stored in the slot; wrappers and phases stay
    walk           the nodes of a plan are walked. Wrappers need the walk, so its cost is that without wrappers against that
                   without both

The last three have no settings in the extension, but in the build of it that is measured here. The tests' build makes it.

--frequency adds what sampling costs, with one tailord after the other: as it is by default, without stacks, with waits (programs
at each switch of threads), and by perf (side events). Each is a ratio of sampled turns to turns in which it is paused.

--starts N adds what it costs that the extension is loaded and off: N servers with it and N without it, in turns. Two servers
differ by their layout in memory alone, so only many of them tell anything.

    export TAILOR_PG_BIN=/usr/lib/postgresql/15/bin TAILOR_PG_LIB=build/lib/postgresql/15
    export TAILOR_PG_TWINS=build/targets/postgresql/15
    python3 tests/bench/postgres_parts.py --rounds 200
    python3 tests/bench/postgres_parts.py --rounds 40 --frequency 99 --starts 20

--short runs so little that it only shows whether this works.
"""
import argparse
import contextlib
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/postgres"), str(ROOT / "tests/bench")]
import ablation  # noqa: E402
import paired  # noqa: E402
import postgres  # noqa: E402
from ablation import AGAIN, ALL  # noqa: E402
from paired import ratio_interval  # noqa: E402
from pg_server import Session, TWINS, measuring  # noqa: E402
from tailor_env import Daemon  # noqa: E402

OFF = "off"
PARTS = {"without phases": ("tailor.phases", "off"), "without wrappers": ("tailor.most_overhead", "0"),
         "without rows": ("tailor.rows_every", "0"), "without text": ("tailor.query_text", "off"),
         "without query ids": ("compute_query_id", "off"), "without sharing": ("tailor.short_run", "0"),
         "without catching": ("tailor.part_try", "off"), "without stores": ("tailor.part_stores", "off"),
         "without walk": ("tailor.part_walk", "off")}
WHOLES = {"without walk": "without wrappers"}
SETTINGS = {OFF: ("tailor.enabled", "off"), **PARTS}
SAMPLERS = {"as by default": [], "without stacks": ["--stacks", "none"], "with waits": ["--event", "auto,off-cpu"],
            "by perf": ["--sampler", "perf"]}


class Parts:
    """Turns one part of the backend's extension off."""

    def __init__(self, session, pid):
        self.session, self.pid, self.mode = session, pid, ALL

    def enter(self, mode):
        if self.mode in SETTINGS:
            self.session.sql(f"reset {SETTINGS[self.mode][0]}")
        if mode in SETTINGS:
            self.session.sql("set {} = {}".format(*SETTINGS[mode]))
        self.mode = mode


class Sampling:
    """Samples the backend, or not."""

    def __init__(self, session, pid, daemon):
        self.session, self.pid, self.daemon, self.mode = session, pid, daemon, "sampled"

    def enter(self, mode):
        if mode != self.mode:
            self.daemon.tailor("resume" if mode == "sampled" else "pause", str(self.pid))
        self.mode = mode


@contextlib.contextmanager
def backend_of(server, work):
    """A session that has said what it says first, its process, and the scripts; on one CPU."""
    with Session(server) as session, postgres.scripts_of(work.statements) as scripts:
        session.sql("set max_parallel_workers_per_gather = 0;" + work.session)
        pid = int(session.sql("select pg_backend_pid()")[-1])
        with postgres.on_one_cpu(pid, session.psql.pid):
            yield session, pid, scripts


def costs_by_work(options, modes, names, scripts):
    """{work: {mode: costs}}. The first turn of each mode does not count: caches are filled, and plans are told."""
    for script in scripts.values():
        for mode in names:
            postgres.turn(modes, mode, script)
    return {name: ablation.in_turns(names, options.rounds, lambda mode, script=script: postgres.turn(modes, mode, script),
                                    options.seconds) for name, script in scripts.items()}


def parts(options, work):
    with postgres.server_for(options, None, work, TWINS / "parts") as server, backend_of(server, work) as (session, pid, scripts):
        costs = costs_by_work(options, Parts(session, pid), [ALL, OFF, *PARTS, AGAIN], scripts)
    return ablation.table(costs, list(PARTS), OFF, WHOLES)


def sampling(options, work):
    rows = []
    for what, arguments in SAMPLERS.items():
        with Daemon(frequency=options.frequency, options=arguments) as daemon:
            agent = measuring(daemon).socket
            with postgres.server_for(options, agent, work) as server, backend_of(server, work) as (session, pid, scripts):
                costs = costs_by_work(options, Sampling(session, pid, daemon), ["sampled", "paused"], scripts)
        rows.append((f"sampled {what}", ablation.ratio(costs, "sampled", "paused")))
    return rows


def start_cost(options, work, preload):
    """CPU time of one turn of each statement by a server that has just started, and has it loaded or not."""
    settings = {"shared_buffers": "1GB", "work_mem": "64MB", **({"tailor.enabled": "off"} if preload else {})}
    total = 0
    with postgres.KeptServer(options.data, settings=settings, preload=preload, functions="") as server:
        with backend_of(server, work) as (session, pid, scripts):
            modes = Parts(session, pid)
            for script in scripts.values():
                postgres.turn(modes, ALL, script)
                total += sum(postgres.turn(modes, ALL, script) for _ in range(options.turns))
    return total


def starts(options, work):
    """Pairs of servers; which of a pair comes first alternates."""
    with tempfile.TemporaryDirectory(prefix="tailor-pg-kept-") as kept:
        options.data = options.data or kept
        with postgres.server_for(options, None, work):
            pass  # its tables are made
        pairs = paired.interleaved(lambda: start_cost(options, work, "tailor_pg"), lambda: start_cost(options, work, ""),
                                   pairs=options.starts, warmup=0)
    return [("loaded and off", ratio_interval(pairs))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", choices=("steps", "tpch", "pgbench"), default="pgbench")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0, help="no round of a statement begins after this time")
    parser.add_argument("--frequency", type=int, default=0, help="sampling is measured too, with so many samples a second")
    parser.add_argument("--starts", type=int, default=0, help="pairs of servers, with the extension and without it")
    parser.add_argument("--turns", type=int, default=10, help="of each statement, by a server of --starts")
    parser.add_argument("--sf", default="1", help="scale factor of TPC-H")
    parser.add_argument("--queries", default="", help="numbers of TPC-H, as 1,3,6; default: all")
    parser.add_argument("--data", default="", help="a folder for the server's data that stays")
    parser.add_argument("--rows-every", type=int, default=100, help="as tailor.rows_every")
    parser.add_argument("--short-run", default="10ms", help="as tailor.short_run")
    parser.add_argument("--short", action="store_true", help="one round and one pair of servers")
    options = parser.parse_args()
    if options.short:
        options.rounds, options.starts, options.turns, options.sf, options.queries = 1, min(options.starts, 1), 1, "0.01", "1,6"
    if not TWINS:
        parser.error("TAILOR_PG_TWINS names no folder")
    work = postgres.work_of(options)
    rows = parts(options, work)
    if options.frequency:
        rows += sampling(options, work)
    if options.starts:
        rows += starts(options, work)
    lines = [f"CPU time of a backend, {options.work}, on {paired.machine()}; mean with 95 % interval"]
    lines += [f"{what:28} {postgres.text(value)} over {value.count} pairs" for what, value in rows]
    paired.report(f"postgres_parts_{options.work}", "\n".join(lines),
                  {"rows": [{"what": what, "ratio": value.mean, "low": value.low, "high": value.high, "pairs": value.count}
                            for what, value in rows], "options": vars(options)})


if __name__ == "__main__":
    main()
