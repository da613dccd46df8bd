"""Who gets the samples: inside execution windows at least 98 % go to operators, and every operator that used
much CPU in an instrumented run (rdtsc around its sections) has samples. A pair of rdtsc costs more than most
sections, so the instrumented time of one that is entered often says little: 60 ms of the sampled run count.

The denominator is every user and kernel sample of every thread from registration to exit.
"""
import json

from tailor_env import Daemon, operators, check, sampling_denied, skip

QUERIES = ["tpch-1", "tpch-3", "tpch-6", "tpch-18", "figure-9", "sfja"]
if reason := sampling_denied():
    skip(reason)
inside = owned = 0
SAMPLED, INSTRUMENTED = 300, 20  # executions
PERIOD_NS = 500_000
with Daemon(frequency=2000) as daemon:
    for query in QUERIES:
        common = ["--sf", "0.1", "--threads", "2", "--quiet", "--query", query]
        daemon.weft(*common, "--repeat", SAMPLED)
        report = daemon.report("--last", str(SAMPLED))
        window = report["windows"]
        inside += window["samples"]
        owned += window["in_operators"]
        print(f"{query:9} {window['in_operators']:6} of {window['samples']:6} samples inside executions are in operators")
        sampled = {op["id"] for op in operators(report) if op["samples"] > 0}
        timed = json.loads(daemon.weft(*common, "--repeat", INSTRUMENTED, "--instrument", "--timing-json", "-"))
        # rdtsc itself makes the instrumented run many times slower: an operator's part of it, of the sampled run's time.
        scale = window["samples"] * PERIOD_NS / sum(op["ns"] for op in timed["operators"])
        for op in timed["operators"]:
            if op["ns"] * scale >= 60e6:
                check(op["id"] in sampled, f"{query}: operator {op['id']} ({op['name']}, {op['ns'] * scale / 1e6:.0f} ms) has samples")
check(inside > 1000, f"{inside} samples are enough to judge")
check(owned >= 0.98 * inside, f"{owned / inside:.2%} of the samples inside executions go to operators (at least 98 %)")
