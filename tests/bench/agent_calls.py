#!/usr/bin/env python3
"""What the agent's calls cost an engine's thread, and whether a storm of plans loses anything.

Engines (tests/bench/agent/plan_storm.cc) load and unload plans at a steady rate, 2,000 a second together, beside a tailord
that samples them. Each call is timed in CPU time of the thread that makes it. Fails where the load of a plan takes more than
8 us at the median or 20 us at the 99th percentile, where all calls of a statement of a known plan take more than 2 us at the
median (of each engine's calls; the engines' median), or where a message or a mark was lost, refused or never heard of. The
99.9th percentile stands beside that of a copy of as many bytes ("memcpy") in the same run.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from tailor_env import BUILD, Daemon

STORM = BUILD / "bench-programs/plan_storm"
LOSSES = ("log_lost", "messages_rejected", "agent_dropped", "agent_unsent")
GOALS = {"plan_load": {"p50": 8, "p99": 20}, "statement": {"p50": 2}}  # us


def storm(options):
    """What the engines say, and what the daemon has counted of them meanwhile."""
    with Daemon(frequency=options.frequency) as daemon:
        each = options.plans / options.processes
        engines = [subprocess.Popen([str(STORM), str(each), str(options.seconds), str(options.bytes)], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True, env={**os.environ, **daemon.env})
                   for _ in range(options.processes)]
        said = [json.loads(engine.stdout.readline()) for engine in engines]
        daemon.tailor("list", "--limit", "1")  # what it has heard is counted
        heard = json.loads(daemon.tailor("status", "--json"))
        for engine in engines:
            engine.communicate("\n")
        return said, heard


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", type=float, default=2000, help="a second, of all engines")
    parser.add_argument("--bytes", type=int, default=30_000, help="of each plan, about")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--frequency", type=int, default=99)
    options = parser.parse_args()
    said, heard = storm(options)
    rows, good = [], True
    for kind in said[0]["calls"]:
        row = {"what": kind, "calls": sum(each["calls"][kind]["calls"] for each in said)}
        for part in ("p50", "p99", "p99.9"):
            row[part] = statistics.median(each["calls"][kind][part] for each in said)
        row["most"] = max(each["calls"][kind]["most"] for each in said)
        row["goal"] = GOALS.get(kind, {})
        good = good and all(row[part] <= most for part, most in row["goal"].items())
        print(f"{kind:16} {row['calls']:10,} calls  p50 {row['p50']:7.2f} us  p99 {row['p99']:7.2f} us  p99.9 {row['p99.9']:7.2f} us  "
              f"most {row['most']:9.2f} us", flush=True)
        rows.append(row)
    lost = {key: sum(each[key] for each in said) for key in ("refused", "dropped")}
    lost["unheard"] = sum(not each["heard"] for each in said)
    for key in LOSSES:
        lost[key] = int(heard.get("total", {}).get(key, 0))
    plans, seconds = sum(each["plans"] for each in said), max(each["seconds"] for each in said)
    print(f"{plans:,} plans in {seconds:.1f} s: " + ", ".join(f"{count} {what}" for what, count in lost.items()))
    rows.append({"what": "the storm", "plans": plans, "seconds": seconds, **lost})
    paired.report("agent_calls", f"{options.processes} engines, {options.plans:g} plans of {options.bytes:,} bytes a second, on "
                                 f"{paired.machine()}", {"rows": rows, "options": vars(options)})
    if not good or any(lost.values()):
        raise SystemExit("a call is above the goal, or something was lost")


if __name__ == "__main__":
    main()
