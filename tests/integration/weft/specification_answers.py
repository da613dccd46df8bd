"""weft's answers to TPC-H at scale factor 1 against those of the specification.

specification_sf1.json holds facts about the validation output of the specification: of every query the number of rows
and the columns it is ordered by; of the short answers all rows; of the others the sums of their numeric columns and a
digest of all rows. The short answers are compared by the specification's rules (clause 2.1.3.5): sums within $100,
averages and ratios within 1 % when rounded to cents, everything else exactly. Sums and digests are of rows in which
amounts are rounded to cents, as the validation output prints them: stricter than the rules.

The facts were derived, with `--derive FILE --tables FOLDER`, from the answers that the Python package duckdb 0.10.3 has
on board (tpch_answers(); later ones load them from the network). Numbers, names and keys there are those of the
specification; addresses and comments are not, because its generator draws random texts from another stream. They were
replaced by those of the rows in question, of the tables in FOLDER (supplier.tbl and customer.tbl of tpchgen-cli at
scale factor 1), which are those of the output files that come with dbgen. Query 13, whose numbers depend on comments,
is from such a file itself.
"""
import argparse
import csv
import hashlib
import json
import pathlib
from decimal import ROUND_HALF_UP, Decimal

from reference import ORDER, load_weft, rows_of_weft
from tailor_env import check

FACTS = pathlib.Path(__file__).parent / "specification_sf1.json"
CENT = Decimal("0.01")
# Kinds of the columns: x exact, c amount in cents (exact), s sum, a average or ratio.
COLUMNS = {1: "xxssssaaax", 2: "cxxxxxxx", 3: "xsxx", 4: "xx", 5: "xs", 6: "s", 7: "xxxs", 8: "xa", 9: "xxs", 10: "xxscxxxx",
           11: "xs", 12: "xxx", 13: "xx", 14: "a", 15: "xxxxs", 16: "xxxx", 17: "a", 18: "xxxxcs", 19: "s", 20: "xx",
           21: "xx", 22: "xxs"}
# Random texts in the answers: column of the answer, and where to find it: table, column that names the row there and
# here, column of the text.
TEXTS = {2: [(5, "supplier", 1, 1, 2), (7, "supplier", 1, 1, 6)], 10: [(5, "customer", 0, 0, 2), (7, "customer", 0, 0, 7)],
         15: [(2, "supplier", 0, 0, 2)], 20: [(1, "supplier", 1, 0, 2)]}
# Of query 13: c_count and custdist.
QUERY_13 = """0 50005, 9 6641, 10 6532, 11 6014, 8 5937, 12 5639, 13 5024, 19 4793, 7 4687, 17 4587, 18 4529, 20 4516,
15 4505, 14 4446, 16 4273, 21 4190, 22 3623, 6 3265, 23 3225, 24 2742, 25 2086, 5 1948, 26 1612, 27 1179, 4 1007, 28 893,
29 593, 3 415, 30 376, 31 226, 32 148, 2 134, 33 75, 34 50, 35 37, 1 17, 36 14, 38 5, 37 5, 40 4, 41 2, 39 1"""
FEW_ROWS = 10


def plain(row, kinds):
    """Texts as the validation output prints them."""
    return [text.strip() if kind == "x" else str(Decimal(text).quantize(CENT, ROUND_HALF_UP))
            for text, kind in zip(row, kinds, strict=True)]


def digest(rows):
    return hashlib.sha256("\n".join("|".join(row) for row in rows).encode()).hexdigest()


def facts_of(number, rows):
    kinds = COLUMNS[number]
    rows = [plain(row, kinds) for row in rows]
    order = ORDER.get(f"tpch-{number}", [])
    facts = {"rows": len(rows), "order": digest([[row[c] for c in order] for row in rows])}
    if len(rows) <= FEW_ROWS:
        return facts | {"all": sorted(rows)}
    sums = [str(sum(Decimal(row[c]) for row in rows)) if kind in "sca" else "" for c, kind in enumerate(kinds)]
    return facts | {"sums": sums, "digest": digest(sorted(rows))}


def close(text, expected, kind):
    """Clause 2.1.3.5."""
    if kind in "xc":
        return text == expected
    value, wanted = Decimal(text), Decimal(expected)
    return abs(value - wanted) <= 100 if kind == "s" else abs(value - wanted) <= abs(wanted) / 100


def problem(number, rows, expected):
    """What is wrong with an answer, or None."""
    found = facts_of(number, rows)
    for key in ("rows", "sums", "digest"):
        if found.get(key) != expected.get(key):
            return f"{key}: {found.get(key)}, expected {expected.get(key)}"
    for row, wanted in zip(found.get("all", []), expected.get("all", [])):
        if not all(map(close, row, wanted, COLUMNS[number])):
            return f"{row}, expected {wanted}"
    return None if found["order"] == expected["order"] else "the order of the rows"


def derive(path, folder):
    import duckdb
    tables = {table: [line.split("|") for line in (pathlib.Path(folder) / f"{table}.tbl").read_text().splitlines()]
              for table in ("supplier", "customer")}
    answers = duckdb.connect().execute("select query_nr, answer from tpch_answers() where scale_factor = 1 order by 1")
    facts = {}
    for number, text in answers.fetchall():
        rows = list(csv.reader(text.splitlines(), delimiter="|", quotechar="\0"))[1:]
        if number == 13:
            rows = [pair.split() for pair in QUERY_13.split(",")]
        for column, table, there, here, source in TEXTS.get(number, []):
            found = {row[there]: row[source] for row in tables[table]}
            for row in rows:
                row[column] = found[row[here]]
        facts[f"tpch-{number}"] = facts_of(number, rows)
    pathlib.Path(path).write_text(json.dumps(facts, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--derive", metavar="FILE", help="write the facts instead, from duckdb 0.10.3")
    parser.add_argument("--tables", metavar="FOLDER", help="with --derive: where supplier.tbl and customer.tbl are")
    options = parser.parse_args()
    if options.derive:
        return derive(options.derive, options.tables)
    load_weft("1")
    expected = json.loads(FACTS.read_text())
    check(len(expected) == 22, "there are facts about 22 answers")
    wrong = []
    for number in range(1, 23):
        rows = rows_of_weft("--sf", "1", "--tpch", number)
        found = problem(number, rows, expected[f"tpch-{number}"])
        print(f"tpch-{number}: {len(rows)} rows {found or 'as in the specification'}", flush=True)
        if found:
            wrong.append(number)
        # The check itself: an answer with one row less, or one changed value, is wrong.
        changed = [list(row) for row in rows]
        changed[0][-1] = "123456789"
        check(problem(number, rows[:-1], expected[f"tpch-{number}"]) and problem(number, changed, expected[f"tpch-{number}"]),
              f"tpch-{number}: a missing row or a changed value would be found")
    check(not wrong, "all 22 answers equal the specification's at scale factor 1" if not wrong else f"wrong: {wrong}")


if __name__ == "__main__":
    main()
