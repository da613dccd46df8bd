#!/usr/bin/env python3
"""Injected-cost oracle: does the profile find a known cost, where it was put, and as large as it is?

LLSS section 5.2, sharpened. A cost that the optimizer cannot see through is wrapped around the filter
expression, the join key or the group key of the SFJA query, by an identity function that burns a number of
rounds, inlined into the generated loop or called in the shared runtime. The plain run has the same function at
the same place with a few rounds: the fences around them then cost the same in both runs, and the injected rounds
neither hide behind what other operators wait for nor expose it. With T the CPU time of an execution
and w_op the time the profile gives an operator, of the altered and the plain run of a pair:

    true cost      t = T_altered - T_plain
    observed cost  o = w_op,altered - w_op,plain
    bias           mean(o) / mean(t) - 1, with its 95 % interval

Both runs of a pair are executions of one process that take turns (altered, plain, plain, altered, ...), so that
what drifts moves both alike, and so many pairs are run that the expected half-width of the interval is below the
margin. It passes if the interval lies within +-5 %, and for every other operator the interval of its change
(relative to t) lies within +-5 % too.

The tables are small on purpose. Beside an injected cost the operators that wait for memory take longer than in the
plain run, the more so the larger the tables: with `--sf 0.05` the grouping gained 5 % of the injected time. That
growth is part of t, and the profile shows it where it happens, not in the operator that bears the injected cost.
"""
import argparse
import json
import math
import pathlib
import statistics
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from tailor_env import BIN, Daemon, operators, run

QUERY = """
select ({group}) , avg(l_extendedprice), sum(l_quantity), avg(l_discount)
from lineitem join (select * from supplier order by s_acctbal desc limit 10000) s on {join} = s_suppkey
where {filter} > date '1995-01-01'
group by ({group})
"""
PLAIN = {"group": "l_suppkey * 100 + s_nationkey", "join": "l_suppkey", "filter": "l_commitdate"}
# Where the cost is injected -> the operator that evaluates the expression, and so must be found to bear it: the
# scan that filters, and the maps that compute keys for the join and for the grouping.
BEARER = {"filter": "scan lineitem < hash_join", "join": "map < hash_join", "group": "map < group_by"}


BASE_ROUNDS = 16


def query(where, variant, rounds=BASE_ROUNDS):
    """The SFJA query with a cost of `rounds` at one place; without more it is the plain query of that place."""
    parts = dict(PLAIN)
    parts[where] = f"weft_burn_{variant}({parts[where]}, {rounds})"
    return " ".join(QUERY.format(**parts).split())


class Runner:
    """Executes queries under one daemon; gives CPU time and time per operator."""

    def __init__(self, daemon, scale, threads, repeat, twin=None):
        """`twin`: a weft whose owners are wrong, with the environment it wants."""
        self.daemon, self.scale, self.threads, self.repeat = daemon, scale, threads, repeat
        self.program, self.env = twin or (BIN / "weft", {})

    def __call__(self, sql):
        """Of `repeat` executions of one query."""
        executions = self._weft("--repeat", self.repeat, "-c", sql)
        report = self.daemon.report("--last", str(self.repeat))
        return {"cpu": sum(e["cpu_ns"] for e in executions), "operators": by_operator(operators(report))}

    def pair(self, altered, plain):
        """Of `repeat` executions of each of two queries that take turns in one process."""
        turns = [altered, plain, plain, altered] * (self.repeat // 2)
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:  # too long for a command line
            script.write(";\n".join(turns))
            script.flush()
            executions = self._weft("-f", script.name)
        plans = self.daemon.report("--last", str(len(turns)))["plans"]
        # A compiled query keeps the name of its first execution.
        return [{"cpu": sum(e["cpu_ns"] for e in executions if e["query"].endswith(name)),
                 "operators": by_operator(op for plan in plans if plan["name"].endswith(name)
                                          for op in plan["operators"])}
                for name in (" #1", " #2")]

    def _weft(self, *options):
        out = run(self.program, "--sf", self.scale, "--threads", self.threads, "--opt", 2, "--timing-json", "-",
                  "--quiet", *options, env={**self.daemon.env, **self.env})
        return json.loads(out)["executions"]


def by_operator(rows):
    """Operator -> ns on CPU. Plans differ by a map, so operators are told apart by what they are and what
    consumes them (of the scan of lineitem and its filter: whatever comes above the map)."""
    result, path = {}, []
    for op in rows:
        del path[op["depth"]:]
        consumer = next((kind for kind in reversed(path) if kind != "map" or op["kind"] == "map"), "")
        name = op["name"].lower() if op["kind"] == "scan" else op["kind"]
        path.append(op["kind"])
        key = f"{name} < {consumer}"
        result[key] = result.get(key, 0) + op["weight"]
    return result


def rounds_for(runner, where, variant, share):
    """How many rounds make the injected cost `share` of the plain run's CPU time: two probes, then a line."""
    low, high = BASE_ROUNDS + 16, BASE_ROUNDS + 128
    cost = {}
    for n in (low, high):
        altered, plain = (run["cpu"] for run in runner.pair(query(where, variant, n), query(where, variant)))
        cost[n] = altered - plain
    slope = (cost[high] - cost[low]) / (high - low)
    if slope <= 0:
        raise SystemExit(f"{where}/{variant}: more rounds do not cost more; the injection is optimised away")
    return max(BASE_ROUNDS + 1, round((share * plain - (cost[low] - low * slope)) / slope))


def interval(observed, true):
    """mean(observed) / mean(true) - 1 with its 95 % interval, by the delta method on the ratio of means."""
    count, o, t = len(true), statistics.fmean(observed), statistics.fmean(true)
    ratio = o / t
    residuals = [x - ratio * y for x, y in zip(observed, true)]
    half = paired.t95(count - 1) * statistics.stdev(residuals) / math.sqrt(count) / t
    return ratio - 1, ratio - 1 - half, ratio - 1 + half, half


def experiment(runner, where, variant, share, margin, least, most):
    """One cell of the table: pairs until the interval is narrow enough, at least `least`, at most `most`."""
    rounds = rounds_for(runner, where, variant, share)
    altered_sql, plain_sql = query(where, variant, rounds), query(where, variant)
    observed, true, others = [], [], {}
    while len(true) < most:
        altered, plain = runner.pair(altered_sql, plain_sql)
        true.append(altered["cpu"] - plain["cpu"])
        bearer = BEARER[where]
        observed.append(altered["operators"].get(bearer, 0) - plain["operators"].get(bearer, 0))
        for key in set(altered["operators"]) | set(plain["operators"]):
            if key != bearer:
                others.setdefault(key, []).append(altered["operators"].get(key, 0) - plain["operators"].get(key, 0))
        if len(true) >= least and all(
                interval(changes + [0] * (len(true) - len(changes)), true)[3] < 0.3 * margin
                for changes in (observed, *others.values())):
            break
    bias, low, high, half = interval(observed, true)
    side = {}
    for name, change in others.items():
        change += [0] * (len(true) - len(change))
        value, lowest, highest, _ = interval(change, true)
        side[name] = {"change": value + 1, "low": lowest + 1, "high": highest + 1}
    unmoved = all(max(abs(s["low"]), abs(s["high"])) <= margin for s in side.values())
    return {"where": where, "variant": variant, "share": share, "rounds": rounds, "pairs": len(true), "bias": bias,
            "low": low, "high": high, "others": side, "others_unchanged": unmoved,
            "passed": abs(low) <= margin and abs(high) <= margin and unmoved,
            "relative_cost": statistics.fmean(true)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sf", default="0.003")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=300, help="executions of each of the two queries of a pair")
    parser.add_argument("--frequency", type=int, default=8000)
    parser.add_argument("--margin", type=float, default=0.05)
    parser.add_argument("--pairs", type=int, nargs=2, default=(20, 200), metavar=("LEAST", "MOST"))
    parser.add_argument("--shares", type=float, nargs="+", default=(0.25, 0.5, 1.0))
    parser.add_argument("--places", nargs="+", default=list(BEARER))
    parser.add_argument("--variants", nargs="+", default=("inline", "call"))
    options = parser.parse_args()
    cells = []
    for where in options.places:
        for variant in options.variants:
            for share in options.shares:
                # Each with a store of its own: a report takes longer the more there is to choose from.
                with Daemon(options.frequency) as daemon:
                    runner = Runner(daemon, options.sf, options.threads, options.repeat)
                    runner(query("filter", "inline"))
                    cell = experiment(runner, where, variant, share, options.margin, *options.pairs)
                cells.append(cell)
                print(f"{where:7} {variant:7} +{share:4.0%}  n={cell['pairs']:3}  bias {cell['bias']:+6.1%}"
                      f"  [{cell['low']:+6.1%}, {cell['high']:+6.1%}]  others"
                      f" {'unchanged' if cell['others_unchanged'] else 'CHANGED'}"
                      f"  {'pass' if cell['passed'] else 'FAIL'}", flush=True)
    passed = sum(c["passed"] for c in cells)
    paired.report("oracle", f"{passed} of {len(cells)} cells within +-{options.margin:.0%} on {paired.machine()}",
                  {"cells": cells, "options": vars(options)})
    return 0 if passed == len(cells) else 1


if __name__ == "__main__":
    sys.exit(main())
