"""Compares weft's answers with DuckDB's on the same generated tables.

For every query that comes with weft, at every optimisation level asked for and on one and three threads; `t` is the
default, unoptimised code until the optimised is ready. Rows are compared as sorted lists, and the columns that a query
is ordered by also in order.
"""
import argparse
import json
import pathlib

from reference import ORDER, QUERIES, connect, differences, load_weft, rows_of_weft, sort_key, texts, unsorted
from tailor_env import check

NAMES = {f"q{n}": f"tpch-{n}" for n in range(1, 23)} | {"figure9": "figure-9", "figure10a": "figure-10a",
                                                        "figure10b": "figure-10b", "sfja": "sfja"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sf", default="0.01")
    parser.add_argument("--levels", default="0,2,t")
    parser.add_argument("--queries", default=",".join(NAMES))
    parser.add_argument("--write", help="also write the reference's answers to this file, for expected_answers.py")
    options = parser.parse_args()
    load_weft(options.sf)
    connection = connect(options.sf)
    wrong, answers = [], {}
    for stem in options.queries.split(","):
        name = NAMES[stem]
        given = [texts(row) for row in connection.execute((QUERIES / f"{stem}.sql").read_text()).fetchall()]
        expected = sorted(given, key=sort_key)
        answers[name] = {"rows": len(expected), "first": expected[:40]}
        for level in options.levels.split(","):
            for threads in ("1", "3"):
                code = [] if level == "t" else ["--opt", level]
                actual = rows_of_weft("--query", name, "--sf", options.sf, "--threads", threads, *code)
                found = differences(sorted(actual, key=sort_key), expected) or unsorted(actual, given, ORDER.get(name, []))
                if found:
                    wrong.append(f"{name} at level {level} on {threads} threads")
                    print(f"{wrong[-1]}: {found[:3]}")
        print(f"{name}: {len(expected)} rows", flush=True)
    if options.write:
        pathlib.Path(options.write).write_text(json.dumps(answers, indent=0) + "\n")
    # A comparison that cannot fail would prove nothing.
    swapped = [["1", "b"], ["2", "a"]]
    check(differences([["24"]], [["25"]]) and differences([], [["1"]]) and unsorted(swapped, swapped[::-1], [0]),
          "different rows, missing rows and rows out of order would be found")
    check(not wrong, f"all answers equal DuckDB's at scale factor {options.sf}" if not wrong else "; ".join(wrong))


if __name__ == "__main__":
    main()
