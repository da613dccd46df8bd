#!/usr/bin/env python3
"""Bytes a sample of a whole store: every file that a tailord leaves, the catalogue included, after a minute of weft at 1 kHz.

    short    many short executions: TPC-H 1 at SF 1
    long     executions of a second and more

Goals: at most 12 bytes a sample for the short ones, and 6 for the long ones. A case whose executions are shorter than a second is
no long one, and fails.
"""
import json
import pathlib
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import engine_runs
import paired
from tailor_env import Daemon

GOALS = {"short": 12, "long": 6}
LONG = 1.0  # seconds


def kind_of(file):
    """Segments by what they hold; all other files by their names."""
    return file.suffix[1:] if file.suffix in (".data", ".dictionary") else file.name


def sizes_of(folder):
    sizes = {}
    for file in folder.rglob("*"):
        if file.is_file():
            sizes[kind_of(file)] = sizes.get(kind_of(file), 0) + file.stat().st_size
    return sizes


def measure(case, options):
    if case == "long":
        options.query, options.sf = options.long_query, options.long_sf
    repeat = options.repeat or engine_runs.repeats_for(options, options.seconds)
    of_case = vars(options) | {"repeat": repeat}
    command = engine_runs.command(type(options)(**of_case))
    with Daemon(frequency=options.frequencies[0]) as daemon:
        began = time.monotonic()
        paired.metered([], command, env=daemon.env)
        wall = time.monotonic() - began
        daemon.tailor("list", "--limit", "1")  # what it has is written
        total = json.loads(daemon.tailor("status", "--json"))["total"]
        daemon.stop()
        sizes = sizes_of(daemon.store)
    samples = int(total.get("attributed", 0)) + int(total.get("unattributed", 0))
    if samples == 0:
        raise SystemExit(f"{case}: there are no samples")
    return {"what": case, "query": of_case["query"], "executions": int(repeat), "seconds_an_execution": wall / int(repeat),
            "samples": samples, "sizes": sizes, "bytes_a_sample": sum(sizes.values()) / samples}


def main():
    parser = engine_runs.parser(__doc__, "tpch-1", "1", "2", None)
    parser.add_argument("--seconds", type=float, default=60, help="how long weft runs, about; --repeat says it exactly")
    parser.add_argument("--long-query", default="tpch-18")
    parser.add_argument("--long-sf", default="10", help="so that an execution takes a second and more")
    parser.add_argument("--cases", nargs="+", default=list(GOALS), choices=GOALS)
    options = parser.parse_args()
    rows, good = [], True
    for case in options.cases:
        row = measure(case, options)
        row["goal"] = {"bytes_a_sample": GOALS[case]}
        is_it = case != "long" or row["seconds_an_execution"] >= LONG
        good = good and is_it and row["bytes_a_sample"] <= GOALS[case]
        for kind, size in sorted(row["sizes"].items(), key=lambda each: -each[1]):
            print(f"{case:6} {kind:20} {size:12,} bytes  {size / row['samples']:7.3f} a sample")
        print(f"{case:6} {row['bytes_a_sample']:.2f} bytes a sample (goal {GOALS[case]}) of {row['samples']:,} samples, "
              f"{row['executions']:,} executions of {row['seconds_an_execution']:.3f} s" + ("" if is_it else ": they are too short"), flush=True)
        rows.append(row)
    paired.report("store_bytes", f"{options.seconds:g} s at {options.frequencies[0]} Hz, on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})
    if not good:
        raise SystemExit("a store is larger than its goal")


if __name__ == "__main__":
    main()
