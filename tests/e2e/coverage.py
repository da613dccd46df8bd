"""Who gets the samples: inside execution windows at least 98 % go to operators, and every operator that used at least
20 ms of CPU time in an instrumented run (rdtsc around its sections) has samples of that run.

The denominator is every user and kernel sample of every thread from registration to exit.
"""
import json

from tailor_env import Daemon, at_least, check, check_live, operators, sampling_denied, skip, undisturbed, until_enough

QUERIES = ["tpch-1", "tpch-3", "tpch-6", "tpch-18", "figure-9", "sfja"]
SAMPLED, INSTRUMENTED = 60, 20  # executions
BUSY_NS = 20e6


def busy_of(timed):
    return [op for op in timed if op["ns"] >= BUSY_NS]


def unseen(timed, sampled):
    """The operators that were busy and have no samples."""
    return [f"operator {op['id']} ({op['name']}, {op['ns'] / 1e6:.0f} ms)" for op in busy_of(timed) if op["id"] not in sampled]


if reason := sampling_denied():
    skip(reason)


def attempt():
    """What rdtsc tells of a section is time on the wall: a thread that is put off its CPU in it looks busy."""
    inside = owned = 0
    with Daemon(frequency=2000) as daemon:
        for query in QUERIES:
            common = ["--sf", "0.1", "--threads", "2", "--quiet", "--query", query]

            def window_of(work):
                daemon.weft(*common, "--repeat", work * SAMPLED)
                return daemon.report("--last", str(work * SAMPLED))["windows"]

            window = until_enough(400, lambda found: found["samples"], window_of)
            inside += window["samples"]
            owned += window["in_operators"]
            print(f"{query:9} {window['in_operators']:6} of {window['samples']:6} samples inside executions are in operators")
            # Samples and readings of the counter measure the same executions, so what the readings cost is in both.
            def instrumented(work):
                runs = work * INSTRUMENTED
                timed = json.loads(daemon.weft(*common, "--repeat", runs, "--instrument", "--timing-json", "-"))["operators"]
                return timed, {op["id"] for op in operators(daemon.report("--last", str(runs))) if op["samples"] > 0}

            # A fast host needs more executions for that.
            timed, sampled = until_enough(1, lambda found: len(busy_of(found[0])), instrumented)
            busy, missing = busy_of(timed), unseen(timed, sampled)
            check_live(not missing, f"{query}: all {len(busy)} operators that used 20 ms have samples {missing or ''}")
            check(all(unseen(timed, sampled - {op["id"]}) for op in busy),
                  f"{query}: without the samples of any one of them the check fails")
    return inside, owned


inside, owned = undisturbed(attempt)
check(at_least(owned, inside, 0.98), f"{owned / inside:.2%} of the samples inside executions go to operators (at least 98 %)")
