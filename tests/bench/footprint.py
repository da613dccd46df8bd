#!/usr/bin/env python3
"""What a tailord takes that is installed and forgotten: its CPU time and its memory, while it samples nobody, and beside
engines that are registered at 19 Hz.

    idle       nobody is registered
    quiet      engines are registered, and wait for statements
    statements each engine is given a statement now and then
    busy       each engine runs a query all the time, as far as there are CPUs
    crowd      a thousand small engines are registered, and do nothing
    record     no daemon: a `tailor record` whose command sleeps, and what its start costs

Fails where a figure is above its goal: 0.05 % of a core and 24 MB while idle, 128 MB beside 20 engines, with 0.3 % of a core
while they wait, and 0.5 % while they work; 1 % beside a thousand; 0.05 % for the idle recorder, and 60 ms for its start.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from windows import cpu_seconds
from tailor_env import BIN, BUILD, Daemon

STATES = ("idle", "quiet", "statements", "busy", "crowd", "record")
GOALS = {"idle": {"of_a_core": 0.0005, "megabytes": 24}, "quiet": {"of_a_core": 0.003, "megabytes": 128},
         "statements": {"of_a_core": 0.005, "megabytes": 128}, "busy": {"of_a_core": 0.005, "megabytes": 128},
         "crowd": {"of_a_core": 0.01}, "record": {"of_a_core": 0.0005, "start_seconds": 0.06}}
STATEMENT = "SELECT count(*), sum(l_extendedprice * l_discount) FROM lineitem WHERE l_quantity < 24;\n"
SETTLES = 20  # seconds: then a daemon that nobody needs knows it


def megabytes(pid, field):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split(field + ":")[1].split()[0]) / 1024


class Engines:
    """Processes of weft, all registered; each reads statements, or runs a query all the time."""

    def __init__(self, daemon, options, busy):
        weft = [BIN / "weft", "--sf", options.busy_sf if busy else options.sf, "--threads", "1", "--quiet"]
        if busy:
            weft += ["--opt", "2", "--repeat", "100000000", "--query", "tpch-1"]
        self.processes = [subprocess.Popen(list(map(str, weft)), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                                           env={**os.environ, **daemon.env}) for _ in range(options.processes)]

    def say(self, statement):
        for process in self.processes:
            process.stdin.write(statement)
            process.stdin.flush()

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdin.close()


class Crowd:
    """Small processes that registered and do nothing."""

    def __init__(self, daemon, options):
        # One pipe for all of them: with one for each, a thousand would need more descriptors than a shell allows.
        stdin, self.open = os.pipe()
        self.processes = [subprocess.Popen([str(BUILD / "bench-programs/idle_engine")], stdin=stdin, stdout=subprocess.DEVNULL,
                                           env={**os.environ, **daemon.env}) for _ in range(options.crowd)]
        os.close(stdin)

    def end(self):
        os.close(self.open)
        for process in self.processes:
            process.kill()
            process.wait()


def engines_of(state, daemon, options):
    """The engines of a state, and how many they are."""
    if state == "idle":
        return None, 0
    if state == "crowd":
        return Crowd(daemon, options), options.crowd
    return Engines(daemon, options, state == "busy"), options.processes


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def recorder_alone(options, seconds):
    """CPU seconds of a `tailor record` whose command sleeps for so long; the command's own are a millisecond."""
    with tempfile.TemporaryDirectory() as folder:
        before = cpu_of_children()
        subprocess.run([str(BIN / "tailor"), "record", "-q", "-F", str(options.frequency), "-o", os.path.join(folder, "p.tailor"),
                        "--", "sleep", str(seconds)], check=True)
        return cpu_of_children() - before


def measure_recorder(options):
    few = 2.0
    start = recorder_alone(options, few)
    more = recorder_alone(options, few + options.seconds)
    part = max(more - start, 0.0) / options.seconds
    return {"what": "record", "of_a_core": part, "start_seconds": start - few * part}


def registered(daemon):
    return sum(each["sampled"] for each in json.loads(daemon.tailor("status", "--json"))["processes"])


def measure(state, options):
    if state == "record":
        return measure_recorder(options)
    with Daemon(frequency=options.frequency) as daemon:
        engines, wanted = engines_of(state, daemon, options)
        deadline = time.monotonic() + 300
        while engines and registered(daemon) < wanted:
            if time.monotonic() > deadline:
                raise SystemExit(f"{registered(daemon)} of {wanted} engines are sampled")
            time.sleep(0.2)
        time.sleep(SETTLES)
        pid, statements = daemon.process.pid, 0
        before, began = cpu_seconds(pid), time.monotonic()
        while (passed := time.monotonic() - began) < options.seconds:
            if state == "statements":
                engines.say(STATEMENT)
                statements += options.processes
            time.sleep(max(min(1 / options.statements, options.seconds - passed), 0))
        cpu, wall = cpu_seconds(pid) - before, time.monotonic() - began
        memory = megabytes(pid, "VmHWM")
        if engines:
            engines.end()
        return {"what": state, "of_a_core": cpu / wall, "megabytes": memory, "statements": statements / wall}


def readable(what, value):
    if what == "of_a_core":
        return f"{100 * value:.3f} % of a core"
    return f"{value:.1f} MB" if what == "megabytes" else f"{1000 * value:.0f} ms to start"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of each state")
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--crowd", type=int, default=1000, help="engines that do nothing")
    parser.add_argument("--frequency", type=int, default=19)
    parser.add_argument("--statements", type=float, default=2, help="a second, of each engine")
    parser.add_argument("--sf", default="0.01")
    parser.add_argument("--busy-sf", default="0.1", help="of engines that run a query all the time: how long it takes")
    parser.add_argument("--states", nargs="+", default=list(STATES), choices=STATES)
    options = parser.parse_args()
    rows, good = [], True
    for state in options.states:
        row = measure(state, options)
        row["goal"] = GOALS[state]
        good = good and all(row[what] <= most for what, most in row["goal"].items())
        print(f"{state:12} " + "  ".join(f"{readable(what, row[what])} (goal {readable(what, most)})"
                                         for what, most in row["goal"].items()), flush=True)
        rows.append(row)
    paired.report("footprint", f"{options.processes} engines at {options.frequency} Hz, {options.seconds:g} s each, on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})
    if not good:
        raise SystemExit("a figure is above its goal")


if __name__ == "__main__":
    main()
