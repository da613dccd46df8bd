#!/usr/bin/env python3
"""What `--max-overhead 1%` keeps to: CPU time of an engine with samples against without, in windows of the same process.

The option bounds what samples cost. The agent, its marks, the tags and the lineage are there in all windows: they are no
samples, and the option cannot govern them. The rate that is asked for is far above what the bound allows.

The number of pairs is fixed before, so that the interval is a true one; give more where it is too wide to tell. Fails
where an upper bound is above --bound.
"""
import argparse
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
import windows
from tailor_env import Daemon


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", default="1%")
    parser.add_argument("--frequency", type=int, default=20000, help="asked for; the bound allows far less")
    parser.add_argument("--bound", type=float, default=1.012)
    parser.add_argument("--pairs", type=int, default=60, help="of windows, of each query")
    parser.add_argument("--seconds", type=float, default=1, help="of a window, about")
    parser.add_argument("--sf", default="1")
    parser.add_argument("--queries", nargs="+", default=["tpch-1", "tpch-6", "tpch-18"])
    options = parser.parse_args()
    rows, good = [], True
    for query in options.queries:
        limits = ["--max-overhead", options.share, "--max-frequency", options.frequency]
        with Daemon(frequency=options.frequency, options=limits) as daemon:
            value = windows.cost(daemon, query, options.sf, options.seconds, options.pairs)
        good = good and value.high <= options.bound
        print(f"{query:8} {value.mean:.4f}  [{value.low:.4f}, {value.high:.4f}]  {value.count} pairs", flush=True)
        rows.append({"query": query, "ratio": value.mean, "low": value.low, "high": value.high, "pairs": value.count})
    paired.report("max_overhead", f"--max-overhead {options.share}, CPU time with samples against without, on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})
    if not good:
        raise SystemExit(f"an upper bound is above {options.bound}")


if __name__ == "__main__":
    main()
