"""Interleaved pairs of runs and what they say: the ratio of CPU times with its 95 % interval.

"At most X %" in this project means: the upper 95 % bound over at least 20 interleaved pairs, CPU time.
The interval is Student's t over the logarithms of the pairwise ratios, so that a machine whose speed
drifts moves both sides of a pair alike.
"""
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

# Two-sided 95 % quantiles of Student's t by degrees of freedom.
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23, 12: 2.18,
       15: 2.13, 19: 2.09, 20: 2.09, 24: 2.06, 29: 2.05, 39: 2.02, 59: 2.00, 99: 1.98}


def t95(degrees: int) -> float:
    """The quantile for the largest tabulated degrees of freedom not above `degrees` (so never too narrow)."""
    if degrees < 1:
        return math.inf
    return T95[max(d for d in T95 if d <= degrees)]


class Interval:
    """A mean with its 95 % interval."""

    def __init__(self, values):
        self.count = len(values)
        self.mean = statistics.fmean(values)
        spread = statistics.stdev(values) / math.sqrt(self.count) if self.count > 1 else math.inf
        self.low = self.mean - t95(self.count - 1) * spread
        self.high = self.mean + t95(self.count - 1) * spread


def ratio_interval(pairs):
    """Of a/b over pairs (a, b): geometric mean with its 95 % interval."""
    logs = Interval([math.log(a / b) for a, b in pairs])
    result = Interval([1.0, 1.0])
    result.count, result.mean = logs.count, math.exp(logs.mean)
    result.low, result.high = math.exp(logs.low), math.exp(logs.high)
    return result


def metered(prefix, command, env=None, cwd=None):
    """CPU seconds (user + system) and wall seconds of `command` alone, run behind `prefix` (a profiler)."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "cpu"
        full = [*map(str, prefix), str(BUILD / "targets/cpu_meter"), str(out), *map(str, command)]
        run = subprocess.run(full, env={**os.environ, **(env or {})}, cwd=cwd, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if run.returncode != 0 or not out.exists():
            raise SystemExit(f"failed ({run.returncode}): {' '.join(full)}\n{run.stderr[-2000:]}")
        user, system, wall, _ = map(int, out.read_text().split())
        return (user + system) / 1e9, wall / 1e9


def interleaved(a, b, pairs=20, warmup=1, progress=None):
    """Calls a() and b() in turn; each returns its cost. The order within a pair alternates."""
    result = []
    for i in range(-warmup, pairs):
        first, second = (a, b) if i % 2 == 0 else (b, a)
        x, y = first(), second()
        if i >= 0:
            result.append((x, y) if i % 2 == 0 else (y, x))
            if progress:
                progress(i + 1, pairs)
    return result


def machine():
    """One line that says where figures come from."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 "unknown CPU")
    virtual = " (virtual machine)" if "hypervisor" in open("/proc/cpuinfo").read() else ""
    return f"{os.cpu_count()} x {model}{virtual}, Linux {platform.release()}"


def report(name, text, values):
    """Prints a result and keeps it as JSON in build/bench."""
    print(text)
    folder = pathlib.Path(os.environ.get("TAILOR_BENCH_RESULTS", BUILD / "bench"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(
        {"name": name, "machine": machine(), "command": f"python3 tests/bench/{' '.join([pathlib.Path(sys.argv[0]).name, *sys.argv[1:]])}",
         "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **values},
        indent=2) + "\n")
