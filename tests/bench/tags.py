#!/usr/bin/env python3
"""What keeping tags costs, over all queries that come with weft: CPU time against weft without tags.

Two costs are told apart. `reserved`: the runtime is compiled so that it leaves the tag's registers alone
(-ffixed-r13 -ffixed-r15), against the same weft with a runtime that doesn't (weft_plain). Each strategy: the same
runtime, and generated code that keeps the tag there; without a daemon, so that nothing samples.

A run is one process that executes one query a number of times; its cost is the least CPU time of an execution,
because what disturbs only adds. The variants of a query run one right after the other, so that a machine whose speed
drifts is the same for all of them; the order turns from round to round.
The value of a round is the geometric mean of the ratio over the queries, and the interval is Student's t over the
logarithms of the rounds.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from tailor_env import BIN, BUILD

QUERIES = [f"tpch-{n}" for n in range(1, 23)] + ["figure-9", "figure-10a", "figure-10b", "sfja"]
STRATEGIES = ["r15", "swiftself", "slot"]


def run(weft, tags, query, options):
    """The least CPU ns of the query's executions."""
    command = [str(weft), "--sf", options.sf, "--threads", "1", "--repeat", str(options.repeat), "--opt", "2", "--quiet",
               "--timing-json", "-", "--tags", tags, "--query", query]
    out = subprocess.run(command, capture_output=True, text=True, check=True,
                         env={**os.environ, "TAILOR_SOCKET": "/nonexistent"}).stdout
    return min(execution["cpu_ns"] for execution in json.loads(out)["executions"])


def ratio(rounds, above, below):
    """The interval of the rounds' geometric means, and the ratio of every query."""
    logs = [[math.log(r[above][q] / r[below][q]) for q in r[below]] for r in rounds]
    result = paired.ratio_interval([(math.exp(statistics.fmean(of_queries)), 1.0) for of_queries in logs])
    names = list(rounds[0][below])
    each = {q: math.exp(statistics.fmean(of_queries[i] for of_queries in logs)) for i, q in enumerate(names)}
    return result, each


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sf", default="0.1")
    parser.add_argument("--repeat", type=int, default=5, help="executions of each query in a run")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=60, help="no new round after so long")
    parser.add_argument("--queries", nargs="+", default=QUERIES)
    parser.add_argument("--strategies", nargs="+", default=STRATEGIES, choices=STRATEGIES)
    options = parser.parse_args()
    variants = {"none": (BIN / "weft", "none"), **{s: (BIN / "weft", s) for s in options.strategies}}
    variants["plain"] = (BUILD / "bench-programs/weft_plain", "none")
    rounds, names, end = [], list(variants), time.monotonic() + 60 * options.minutes
    while len(rounds) < options.rounds and time.monotonic() < end:
        turn = len(rounds) % len(names)
        order = names[turn:] + names[:turn]
        costs = {name: {} for name in names}
        for query in options.queries:
            for name in order:
                costs[name][query] = run(*variants[name], query, options)
        rounds.append(costs)
        print(f"round {len(rounds)}", file=sys.stderr, flush=True)
    rows = [*((s, s, "none") for s in options.strategies), ("reserved", "none", "plain"),
            *((f"{s} and reserved", s, "plain") for s in options.strategies)]
    results = []
    for name, above, below in rows:
        value, each = ratio(rounds, above, below)
        worst = max(each, key=each.get)
        print(f"{name:22} {value.mean - 1:+7.2%}  [{value.low - 1:+.2%}, {value.high - 1:+.2%}]  "
              f"worst {worst} {each[worst] - 1:+.1%}", flush=True)
        results.append({"what": name, "ratio": value.mean, "low": value.low, "high": value.high, "queries": each})
    paired.report("tags", f"{len(options.queries)} queries, SF {options.sf}, O2, 1 thread, {len(rounds)} rounds, on "
                  f"{paired.machine()}", {"rows": results, "rounds": len(rounds), "sf": options.sf,
                                          "repeat": options.repeat})


if __name__ == "__main__":
    main()
