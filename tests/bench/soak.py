#!/usr/bin/env python3
"""Engines, agents and readers come and go for half an hour: what tailord keeps of memory, threads and descriptors, and its CPU time.

The goal is that all of it stays flat: what the last third of the time keeps more than the third before it is within what is noise.
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
    looks, after, done, failed, cpu = soak(options.minutes * 60, options.minutes)
    columns = {what: list(column) for what, column in zip(("megabytes", "threads", "descriptors"), zip(*looks))}
    text = ", ".join(f"{what} {min(c):.0f} to {max(c):.0f} ({growth(c):+.1f})" for what, c in columns.items())
    paired.report("soak", f"{options.minutes:g} minutes, {cpu:.1%} of a core: {text}; {done}; on {paired.machine()}",
                  {"rows": [{"what": what, "least": min(c), "most": max(c), "growth": growth(c)} for what, c in columns.items()],
                   "looks": looks, "after": after, "done": done, "cpu": cpu, "options": vars(options)})
    if failed or not is_flat(looks):
        raise SystemExit(f"not flat, or failed: {failed}")


if __name__ == "__main__":
    main()
