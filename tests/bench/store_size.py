#!/usr/bin/env python3
"""What lists and reports of a few executions take in a store of 100, 1,000 and 10,000 data segments: CPU time.

The goal is that they take the time of what they show, not of what is stored. The stores are made anew (build/bench-programs/large_store):
a data segment of ten minutes has 20 executions.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from tailor_env import BIN

MAKE = paired.BUILD / "bench-programs/large_store"


def measured(store, arguments):
    """CPU seconds and wall seconds of `tailor`."""
    command = [str(BIN / "tailor"), *arguments]
    # No daemon: it would be asked to write down what it has.
    env = {**os.environ, "TAILOR_STORE": store, "TAILOR_CONTROL": store + "/no.sock"}
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"failed ({process.returncode}): {command}")
    return used.ru_utime + used.ru_stime, time.monotonic() - begin


def commands(store):
    """What is asked: of the newest, and of an hour in the middle."""
    env = {**os.environ, "TAILOR_STORE": store, "TAILOR_CONTROL": store + "/no.sock"}
    rows = json.loads(subprocess.run([BIN / "tailor", "list", "--json", "-n", "1000000"], capture_output=True, check=True, env=env).stdout)
    rows = rows["executions"]
    middle = rows[len(rows) // 2]
    hour = [time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(middle["began_wall_ns"] / 1e9 + plus)) for plus in (-1800, 1800)]
    hour = ["--since", hour[0], "--until", hour[1]]
    return {"list": ["list"], "list of an hour": ["list", *hour], "report --last 1": ["report", "--last", "1"],
            "report --last 20": ["report", "--last", "20"], "report of an execution": ["report", middle["id"][:12]],
            "report of an hour": ["report", *hour]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segments", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for segments in options.segments:
        with tempfile.TemporaryDirectory() as folder:
            store = os.path.join(folder, "store")
            subprocess.run([MAKE, str(segments), store], check=True)
            for name, arguments in commands(store).items():
                runs = [measured(store, arguments) for _ in range(options.runs + 1)][1:]
                cpu, wall = (sorted(column)[len(runs) // 2] for column in zip(*runs))
                rows.append({"segments": segments, "what": name, "cpu": cpu, "wall": wall})
                print(f"{segments:>7,} segments: {name:<22} CPU {cpu * 1e3:7.1f} ms, wall {wall * 1e3:7.1f} ms", flush=True)
    paired.report("store_size", f"medians of {options.runs} runs, on {paired.machine()}", {"rows": rows, "options": vars(options)})


if __name__ == "__main__":
    main()
