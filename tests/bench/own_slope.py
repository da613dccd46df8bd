#!/usr/bin/env python3
"""What a second of recording costs the profiler, without its start and its end: the slope between a short and a long run.

Two engines execute the same query all the time. One of them runs while the other is stopped.

    tailor record -p    records the first one, which nobody samples else
    perf record -p      does the same, and `perf script` reads what it wrote
    tailord             samples the second one: its CPU time in windows of the same length

Each round has all of them, and the ratios to perf are of the slopes of one round, with a 95 % interval over the rounds. The goal is
at most 1.0 for the mean, and 0.7 is aimed at.
"""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import engine_runs
import paired
from tailor_env import BIN, Daemon
from windows import cpu_seconds

LONG_ENOUGH = "100000000"  # executions
PROFILERS = ("tailor record", "tailord", "perf record and script")
REGISTERS = 10  # seconds: an agent looks for a daemon every five


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def own_cost(*commands):
    """CPU seconds of these commands, which run one after the other."""
    before = cpu_of_children()
    for command in commands:
        subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return cpu_of_children() - before


class Engine:
    """An engine that works while it is asked to. A context manager."""

    def __init__(self, options, env):
        self.command, self.env = list(map(str, engine_runs.command(options))), {**os.environ, **env}

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=self.env)
        time.sleep(REGISTERS)  # it makes its data, and compiles
        self.rest()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def work(self):
        if self.process.poll() is not None:
            raise SystemExit(f"the engine has ended ({self.process.returncode})")
        self.process.send_signal(signal.SIGCONT)

    def rest(self):
        self.process.send_signal(signal.SIGSTOP)


def by_tailor(hz, pid, seconds, folder):
    data = os.path.join(folder, "p.tailor")
    return own_cost([BIN / "tailor", "record", "-q", "-F", hz, "-p", pid, "--seconds", seconds, "-o", data])


def by_perf(hz, pid, seconds, folder):
    data = os.path.join(folder, "perf.data")
    return own_cost(["perf", "record", "-q", "-e", "cpu-clock", "-F", hz, "--user-regs=r15", "-p", pid, "-o", data, "--", "sleep", seconds],
                    ["perf", "script", "-i", data])


def by_daemon(daemon, seconds):
    before = cpu_seconds(daemon.process.pid)
    time.sleep(seconds)
    return cpu_seconds(daemon.process.pid) - before


def slope(cost, seconds):
    few, many = seconds
    return max(cost(many) - cost(few), 1e-9) / (many - few)


def rounds(hz, options):
    """CPU seconds a second of each profiler, of each round."""
    found = {name: [] for name in PROFILERS}
    with tempfile.TemporaryDirectory() as folder, Daemon(frequency=hz) as daemon:
        alone = {"TAILOR_SOCKET": os.path.join(folder, "agent.sock")}
        os.environ["TAILOR_CONTROL"] = os.path.join(folder, "no-daemon")  # `tailor record` takes the samples itself
        with Engine(options, alone) as first, Engine(options, daemon.env) as second:
            for number in range(options.runs):
                first.work()
                pid = first.process.pid
                found["tailor record"].append(slope(lambda s: by_tailor(hz, pid, s, folder), options.seconds))
                found["perf record and script"].append(slope(lambda s: by_perf(hz, pid, s, folder), options.seconds))
                first.rest()
                second.work()
                found["tailord"].append(slope(lambda s: by_daemon(daemon, s), options.seconds))
                second.rest()
                print(f"{hz:6} Hz  round {number + 1}: " + "  ".join(f"{name} {100 * of[-1]:.3f} %" for name, of in found.items()), flush=True)
    return found


def rows_of(hz, found):
    rows = []
    for name in PROFILERS:
        each = paired.Interval(found[name])
        row = {"what": name, "frequency": hz, "of_a_core": each.mean, "of_a_core_low": each.low, "of_a_core_high": each.high}
        if name != PROFILERS[-1]:
            ratio = paired.ratio_interval(list(zip(found[name], found[PROFILERS[-1]])))
            row |= {"ratio": ratio.mean, "low": ratio.low, "high": ratio.high, "goal": {"ratio": 1.0}}
            print(f"{hz:6} Hz  {name:14} / perf: {ratio.mean:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]", flush=True)
        rows.append(row)
    return rows


def main():
    parser = engine_runs.parser(__doc__, "tpch-1", "1", "2", LONG_ENOUGH)
    parser.add_argument("--seconds", type=float, nargs=2, default=(10, 60), metavar=("SHORT", "LONG"))
    parser.add_argument("--runs", type=int, default=5, help="rounds")
    options = parser.parse_args()
    if not shutil.which("perf"):
        raise SystemExit("perf is not installed (Debian package linux-perf)")
    rows = [row for hz in options.frequencies for row in rows_of(hz, rounds(hz, options))]
    paired.report("own_slope", f"{options.query}, SF {options.sf}, {options.threads} threads, {options.runs} rounds of "
                               f"{options.seconds[0]:g} and {options.seconds[1]:g} s, on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})


if __name__ == "__main__":
    main()
