#!/usr/bin/env python3
"""What keeping tags costs, over all queries that come with weft: CPU time against weft without tags.

Two costs are told apart. `reserved`: the runtime is compiled so that it leaves the tag's registers alone
(-ffixed-r13 -ffixed-r15), against the same weft with a runtime that doesn't (weft_steps_plain). Each strategy: the
same runtime, and generated code that keeps the tag there; without a daemon, so that nothing samples. `X and reserved`
is both: what tags cost an engine. `none again` measures no tags against no tags, which must come out as nothing.
`sampled at 1 kHz` is r15 under `tailor record --sampler perf`, whose timers run for the recorded process alone, against
r15 without.

Everything runs on one CPU, in a process for each runtime and one for the sampled row, with the same tables
(weft_steps.cc). They compile every variant of a query anew in every round. The variants take turns of a few
milliseconds, each turn in another order, so that what disturbs the machine, and what a CPU learnt from the runs before,
is the same for all. In each round code lies elsewhere (`padding`): whether a tight loop crosses a cache line can make a
query a quarter faster or slower, and says nothing about tags.
The cost of a variant in a round is the median over its executions. The value of a round is the geometric mean of the
ratio over the queries, and the interval is Student's t over the logarithms of the rounds.
"""
import argparse
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from tailor_env import BIN, BUILD

QUERIES = [f"tpch-{n}" for n in range(1, 23)] + ["figure-9", "figure-10a", "figure-10b", "sfja"]
STRATEGIES = ["r15", "swiftself", "slot"]
PLACES = 4  # of 16 bytes, in a cache line


class Steps:
    """A process that does what tests/bench/weft_steps.cc says."""

    def __init__(self, program, options, prefix=()):
        command = [*prefix, "taskset", "-c", str(options.cpu), str(BUILD / "bench-programs" / program), options.sf]
        environment = os.environ if prefix else {**os.environ, "TAILOR_SOCKET": "/nonexistent"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)

    def do(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"weft_steps ended at: {' '.join(map(str, words))}")
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure(variants, query, number, turns, options, rng):
    """The CPU ns of every execution of the query, by variant."""
    costs = {name: [] for name in variants}
    for place, (name, (steps, tags)) in enumerate(variants.items()):
        padding = 16 * ((number + place + sum(query.encode())) % PLACES) + rng.randrange(16)
        steps.do("prepare", name, query, tags, padding)
    names = list(variants)
    for _ in range(turns):
        rng.shuffle(names)
        for name in names:
            costs[name] += map(int, variants[name][0].do("run", name, options.turn_us).split())
    return costs


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
    parser.add_argument("--turns", type=int, default=6, help="turns of each variant of a query in a round")
    parser.add_argument("--turn-us", type=int, default=10000, help="CPU time of a turn, at least one execution")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=60, help="no new round after so long")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", nargs="+", default=QUERIES)
    parser.add_argument("--strategies", nargs="+", default=STRATEGIES, choices=STRATEGIES)
    parser.add_argument("--sampled", type=int, default=1000, help="Hz of the row that is sampled; 0: no such row")
    parser.add_argument("--raw", type=pathlib.Path, help="write the CPU time of every execution to this file")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    weft, plain = Steps("weft_steps", options), Steps("weft_steps_plain", options)
    variants = {"none": (weft, "none"), "none-again": (weft, "none"), "plain": (plain, "none"),
                **{s: (weft, s) for s in options.strategies}}
    folder = tempfile.TemporaryDirectory()
    if options.sampled:
        record = [str(BIN / "tailor"), "record", "--sampler", "perf", "-F", str(options.sampled), "-o",
                  str(pathlib.Path(folder.name) / "profile.tailor"), "--"]
        variants["sampled"] = (Steps("weft_steps", options, record), "r15")
    rounds, raw, end = [], [], time.monotonic() + 60 * options.minutes
    while len(rounds) < options.rounds and time.monotonic() < end:
        costs = {name: {} for name in variants}
        raw.append({})
        for query in options.queries:
            executions = measure(variants, query, len(rounds), options.turns, options, rng)
            raw[-1][query] = executions
            for name in variants:
                costs[name][query] = statistics.median(executions[name])
        rounds.append(costs)
        print(f"round {len(rounds)}", file=sys.stderr, flush=True)
    for steps in {steps for steps, _ in variants.values()}:
        steps.end()
    if options.raw:
        options.raw.write_text(json.dumps(raw))
    rows = [*((f"{s} and reserved", s, "plain") for s in options.strategies),
            *((s, s, "none") for s in options.strategies),
            ("reserved", "none", "plain"), ("none again", "none-again", "none")]
    if options.sampled:
        rows.append((f"sampled at {options.sampled / 1000:g} kHz", "sampled", "r15"))
    results = []
    for name, above, below in rows:
        value, each = ratio(rounds, above, below)
        worst = max(each, key=each.get)
        print(f"{name:22} {value.mean - 1:+7.2%}  [{value.low - 1:+.2%}, {value.high - 1:+.2%}]  "
              f"worst {worst} {each[worst] - 1:+.1%}", flush=True)
        results.append({"what": name, "ratio": value.mean, "low": value.low, "high": value.high, "queries": each})
    paired.report("tags", f"{len(options.queries)} queries, SF {options.sf}, O2, 1 thread, {len(rounds)} rounds, on "
                  f"{paired.machine()}", {"rows": results, "rounds": len(rounds), "sf": options.sf,
                                          "turns": options.turns, "turn_us": options.turn_us})


if __name__ == "__main__":
    main()
