"""Compares weft with DuckDB on random queries (query_generator.py).

A difference is reported with its seed and text; `--first SEED --count 1` repeats it. Queries with an order are ordered
by every column, so their rows are compared in order; the others as sorted lists.
"""
import argparse
import json
import re
import subprocess

import query_generator
from reference import connect, differences, load_weft, sort_key, texts
from tailor_env import BIN, check

# Joins that multiply can make results nobody wants to sort in Python.
MOST_ROWS = 200_000


class Shell:
    """weft's shell: one process for many queries, whose plans it keeps."""

    def __init__(self, scale_factor, threads):
        self.process = subprocess.Popen([str(BIN / "weft"), "--sf", scale_factor, "--threads", threads, "--json"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def rows(self, sql):
        """The rows, or the error weft gave, or ended with."""
        self.process.stdin.write(sql + ";\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith("weft: "):
                return None, line.strip()
            lines.append(line)
            if line == "]\n":
                rows = json.loads("".join(lines), object_pairs_hook=lambda pairs: [value for _, value in pairs], parse_float=str)
                return [texts(row) for row in rows], None
        return None, f"weft ended with exit code {self.process.wait()}: {''.join(lines)[-300:]}"

    def close(self):
        self.process.stdin.close()
        return self.process.wait(timeout=60)


def compare(connection, sql, shell):
    """What differs, as a list of texts; None where the result is too large to compare."""
    expected = connection.execute(sql).fetchmany(MOST_ROWS + 1)
    if len(expected) > MOST_ROWS:
        return None
    actual, error = shell.rows(sql)
    if error:
        return [error]
    expected = list(map(texts, expected))
    if not re.search(r" order by c\d", sql):
        expected.sort(key=sort_key)
        actual.sort(key=sort_key)
    return differences(actual, expected)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sf", default="0.01")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=500)
    options = parser.parse_args()
    load_weft(options.sf)
    connection = connect(options.sf)
    shells = [Shell(options.sf, threads) for threads in ("1", "3")]
    # A comparison that cannot fail would prove nothing: different answers and errors have to be found.
    check(not compare(connection, "select count(*) from nation", shells[0]) and differences([["24"]], [["25"]])
          and compare(connection, "select 1 as c0 from nation union select 2", shells[0]),
          "equal answers compare equal; different ones and errors do not")
    wrong, too_large, seed = [], 0, options.first
    compared = 0
    while compared < options.count:
        sql = query_generator.query(seed)
        found = compare(connection, sql, shells[seed % 2])
        if found is None:
            too_large += 1
        else:
            compared += 1
        if found:
            wrong.append(seed)
            print(f"seed {seed}: {found[:2]}\n  {sql}", flush=True)
            if shells[seed % 2].process.poll() is not None:
                shells[seed % 2] = Shell(options.sf, "13"[seed % 2])
        seed += 1
    check([shell.close() for shell in shells] == [0, 0], "the shells end as usual")
    print(f"seeds {options.first} to {seed - 1}; {too_large} queries with more than {MOST_ROWS} rows left out")
    check(not wrong, f"{compared} generated queries without a difference" if not wrong else f"seeds {wrong} differ")


if __name__ == "__main__":
    main()
