#!/usr/bin/env python3
"""What a tailord with its defaults costs an engine: CPU time with samples against without, in windows of the same process.

Fails where the upper bound of an interval is above --bound.
"""
import argparse
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
import windows
from tailor_env import Daemon

DEFAULT = 99  # of tailord


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frequency", type=int, default=DEFAULT)
    parser.add_argument("--bound", type=float, default=1.003)
    parser.add_argument("--pairs", type=int, default=100, help="of windows, of each query")
    parser.add_argument("--seconds", type=float, default=1, help="of a window, about")
    parser.add_argument("--sf", default="1")
    parser.add_argument("--queries", nargs="+", default=["tpch-1", "tpch-6", "tpch-18"])
    options = parser.parse_args()
    rows, good = [], True
    for query in options.queries:
        with Daemon(frequency=options.frequency) as daemon:
            value = windows.cost(daemon, query, options.sf, options.seconds, options.pairs)
        good = good and value.high <= options.bound
        print(f"{query:8} {value.mean:.4f}  [{value.low:.4f}, {value.high:.4f}]  {value.count} pairs", flush=True)
        rows.append({"query": query, "ratio": value.mean, "low": value.low, "high": value.high, "pairs": value.count})
    paired.report("default_rate", f"{options.frequency} Hz, CPU time with samples against without, on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})
    if not good:
        raise SystemExit(f"an upper bound is above {options.bound}")


if __name__ == "__main__":
    main()
