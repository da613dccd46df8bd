#!/usr/bin/env python3
"""What `--max-overhead 1%` costs programs: CPU time under `tailor record --max-overhead 1%` against alone, in pairs.

The number of pairs is fixed before, so that the interval is a true one; give more where it is too wide to tell. Fails
where an upper bound is above --bound.
"""
import argparse
import os
import pathlib
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from tailor_env import BIN

QUIET = {"TAILOR_DISABLE": "1"}


def weft(query, sf, repeat):
    return [BIN / "weft", "--sf", sf, "--threads", "2", "--repeat", repeat, "--opt", "2", "--quiet", "--query", query]


# Real targets: an engine that writes many marks, one that spends its time in shared code, and one that knows no agent. Each
# takes how much it works.
PROGRAMS = {"weft, TPC-H 1": lambda sf, much: weft("tpch-1", sf, much),
            "weft, TPC-H 18": lambda sf, much: weft("tpch-18", sf, much),
            "two threads of arithmetic": lambda sf, much: [paired.BUILD / "targets/fixed_work", "2", str(much)]}


def lasting(program, sf, seconds):
    """The program's command with as much work as takes so long, about: what it costs to begin must not decide."""
    wall = lambda much: paired.metered([], program(sf, str(much)), env=QUIET)[1]
    wall(1)  # data that is made anew counts once
    few, more = 10, 60
    each = max((wall(more) - wall(few)) / (more - few), 1e-4)
    return program(sf, str(max(round(seconds / each), 1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", default="1%")
    parser.add_argument("--bound", type=float, default=1.012)
    parser.add_argument("--pairs", type=int, default=40, help="of each program")
    parser.add_argument("--seconds", type=float, default=10, help="how long each runs, about")
    parser.add_argument("--sf", default="1")
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    options = parser.parse_args()
    wanted = {name: lasting(PROGRAMS[name], options.sf, options.seconds) for name in options.programs}
    rows, good = [], True
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "p.tailor")
        prefix = [BIN / "tailor", "record", "-F", "20000", "--max-overhead", options.share, "-o", data, "--"]
        for name, command in wanted.items():
            alone = lambda: paired.metered([], command, env=QUIET)[0]
            sampled = lambda: paired.metered(prefix, command)[0]
            value = paired.ratio_interval(paired.interleaved(sampled, alone, options.pairs))
            good = good and value.high <= options.bound
            print(f"{name:28} {value.mean:.4f}  [{value.low:.4f}, {value.high:.4f}]  {value.count} pairs", flush=True)
            rows.append({"program": name, "ratio": value.mean, "low": value.low, "high": value.high, "pairs": value.count})
    paired.report("max_overhead", f"--max-overhead {options.share}, CPU time against alone, on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})
    if not good:
        raise SystemExit(f"an upper bound is above {options.bound}")


if __name__ == "__main__":
    main()
