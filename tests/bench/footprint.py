#!/usr/bin/env python3
"""What a tailord takes that is installed and forgotten: its CPU time and its memory, while it samples nobody, and beside
engines that are registered at 19 Hz.

    idle       nobody is registered
    quiet      engines are registered, and wait for statements
    statements each engine is given a statement now and then
    busy       each engine runs a query all the time, as far as there are CPUs

Fails where a figure is above its goal: 0.05 % of a core and 64 MB while idle, 128 MB beside the engines, with 0.3 % of a core
while they wait, and 0.5 % while they work.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from windows import cpu_seconds
from tailor_env import BIN, Daemon

STATES = ("idle", "quiet", "statements", "busy")
GOALS = {"idle": (0.0005, 64), "quiet": (0.003, 128), **dict.fromkeys(STATES[2:], (0.005, 128))}
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


def registered(daemon):
    return sum(each["sampled"] for each in json.loads(daemon.tailor("status", "--json"))["processes"])


def measure(state, options):
    with Daemon(frequency=options.frequency) as daemon:
        engines = None if state == "idle" else Engines(daemon, options, state == "busy")
        deadline = time.monotonic() + 120
        while engines and registered(daemon) < options.processes:
            if time.monotonic() > deadline:
                raise SystemExit(f"{registered(daemon)} of {options.processes} engines are sampled")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of each state")
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--frequency", type=int, default=19)
    parser.add_argument("--statements", type=float, default=2, help="a second, of each engine")
    parser.add_argument("--sf", default="0.01")
    parser.add_argument("--busy-sf", default="0.1", help="of engines that run a query all the time: how long it takes")
    parser.add_argument("--states", nargs="+", default=list(STATES), choices=STATES)
    options = parser.parse_args()
    rows, good = [], True
    for state in options.states:
        row = measure(state, options)
        part, most = GOALS[state]
        row["goal"] = {"of_a_core": part, "megabytes": most}
        good = good and row["of_a_core"] <= part and row["megabytes"] <= most
        print(f"{state:12} {100 * row['of_a_core']:6.3f} % of a core (goal {100 * part:g} %)  {row['megabytes']:6.1f} MB at most "
              f"(goal {most} MB)", flush=True)
        rows.append(row)
    paired.report("footprint", f"{options.processes} engines at {options.frequency} Hz, {options.seconds:g} s each, on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})
    if not good:
        raise SystemExit("a figure is above its goal")


if __name__ == "__main__":
    main()
