#!/usr/bin/env python3
"""What timers cost where nobody works: interrupts of a CPU without a recorded thread, beside the samples of the one that has it.

A thread works on the first CPU. Under `tailor record` the second CPU's timer interrupts are counted, at a high rate and at one
that takes next to no samples, in pairs that take turns: the difference is what the sampler's own timers do there. Needs a quiet
machine: whoever else runs on the second CPU has timers too. Fails where the upper bound of the difference is above 5 % of the
samples.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from tailor_env import BIN, BUILD

WORK = BUILD / "targets/fixed_work"


def timer_interrupts(cpu):
    lines = pathlib.Path("/proc/interrupts").read_text().splitlines()
    column = lines[0].split().index(f"CPU{cpu}")
    return int(next(line.split()[1 + column] for line in lines if line.split()[0] == "LOC:"))


def recorded(frequency, options, folder):
    """Timer interrupts of the second CPU while the first works, and the samples of the recording."""
    data = os.path.join(folder, "p.tailor")
    command = [BIN / "tailor", "record", "-F", frequency, "-o", data, "--", "taskset", "-c", "0", WORK, "1", options.millions]
    before = timer_interrupts(1)
    said = subprocess.run(list(map(str, command)), check=True, stderr=subprocess.PIPE, text=True).stderr
    samples = re.search(r"([\d,]+) samples", said)
    return timer_interrupts(1) - before, int(samples[1].replace(",", "")) if samples else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frequency", type=int, default=997)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--millions", default="2000", help="of rounds that the thread computes: some seconds")
    parser.add_argument("--goal", type=float, default=0.05)
    options = parser.parse_args()
    if (os.cpu_count() or 1) < 2:
        raise SystemExit("one CPU only")
    with tempfile.TemporaryDirectory() as folder:
        pairs = paired.interleaved(lambda: recorded(options.frequency, options, folder), lambda: recorded(1, options, folder),
                                   options.pairs)
    share = paired.Interval([(often[0] - rarely[0]) / often[1] for often, rarely in pairs])
    row = {"what": "interrupts of idle CPUs, part of the samples", "ratio": share.mean, "low": share.low, "high": share.high,
           "pairs": share.count}
    paired.report("idle_timers", f"{share.mean:.4f} [{share.low:.4f}, {share.high:.4f}] interrupts of an idle CPU a sample, at "
                                 f"{options.frequency} Hz, on {paired.machine()}", {"rows": [row], "options": vars(options)})
    if share.high > options.goal:
        raise SystemExit(f"the upper bound is above {options.goal}")


if __name__ == "__main__":
    main()
