#!/usr/bin/env python3
"""Engines, agents and readers come and go for half an hour: what tailord keeps of memory, threads and descriptors, and its CPU time.

The goal is that all of it stays flat: it keeps as much at rest afterwards as before, within what is noise. What the allocator keeps of
memory is no leak: then the last third of the time needs no more than the third before it.
"""
import argparse
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from soak_churn import growth, is_flat, soak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    options = parser.parse_args()
    soaked = soak(options.minutes * 60, options.minutes)
    if soaked.failed:
        raise SystemExit(f"failed: {soaked.failed}")
    more = growth(soaked)
    columns = {what: list(column) for what, column in zip(("megabytes", "threads", "descriptors"), zip(*soaked.looks))}
    text = ", ".join(f"{what} {min(c):.0f} to {max(c):.0f} ({grown:+.1f})" for (what, c), grown in zip(columns.items(), more))
    paired.report("soak", f"{options.minutes:g} minutes, {soaked.cpu:.1%} of a core: {text}; {soaked.done}; on {paired.machine()}",
                  {"rows": [{"what": what, "least": min(c), "most": max(c), "growth": grown} for (what, c), grown in zip(columns.items(), more)],
                   "looks": soaked.looks, "before": soaked.before, "after": soaked.after, "done": soaked.done, "cpu": soaked.cpu,
                   "options": vars(options)})
    if not is_flat(soaked):
        raise SystemExit(f"not flat, within {soaked.allowed}")


if __name__ == "__main__":
    main()
