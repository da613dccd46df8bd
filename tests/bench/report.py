#!/usr/bin/env python3
"""What `tailor report` takes for a profile of two million executions: CPU and wall time, and memory.

The goal is a second and 200 MB. The profile is made anew (build/bench-programs/many_executions).
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from tailor_env import BIN

MAKE = paired.BUILD / "bench-programs/many_executions"


def measured(command):
    """CPU seconds, wall seconds and the most memory (MB) of a command."""
    begin = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"failed ({process.returncode}): {command}")
    return used.ru_utime + used.ru_stime, time.monotonic() - begin, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executions", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "many.tailor")
        subprocess.run([MAKE, str(options.executions), file], check=True)
        megabytes = os.path.getsize(file) / 1e6
        runs = [measured([BIN / "tailor", "report", file]) for _ in range(options.runs + 1)][1:]
    cpu, wall, memory = (sorted(column)[len(runs) // 2] for column in zip(*runs))
    paired.report("report", f"{options.executions:,} executions, {megabytes:.0f} MB: CPU {cpu:.2f} s, wall {wall:.2f} s, "
                            f"memory {memory:.0f} MB (medians of {len(runs)}), on {paired.machine()}",
                  {"cpu": cpu, "wall": wall, "megabytes": memory, "file_megabytes": megabytes, "runs": runs,
                   "options": vars(options)})


if __name__ == "__main__":
    main()
