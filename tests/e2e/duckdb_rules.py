"""DuckDB as it comes from PyPI, operators by rules: TPC-H 1 to 22. Rules explain what the engine does, and the kinds of operators
have the shares that DuckDB's own profiling gives them. With --full the data are as large as it takes for planning to be small:
there 90 % of the engine's samples belong to a kind of operator.

DuckDB's profiling costs time, so it is off while samples are taken. It is of wall time, so of the runs of a query the fastest
counts: nobody else had the CPU in it for long."""
import importlib.util
import json
import os
import pathlib
import sys
import tempfile

from tailor_env import BIN, ROOT, at_least, by_chance, check, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)
if importlib.util.find_spec("duckdb") is None:
    skip("duckdb is not installed")
GENERATOR = os.environ.get("WEFT_TPCHGEN") or str(pathlib.Path(sys.executable).parent / "tpchgen-cli")
if not pathlib.Path(GENERATOR).exists():
    skip("tpchgen-cli is not installed")

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
# Each query as often as the others, so that the work is that of one round many times.
RUN = r"""
import duckdb, json, sys
database, queries, output, rounds = sys.argv[1:]
con = duckdb.connect(database, read_only=True)
con.execute("SET threads=1")
if output:
    con.execute("PRAGMA enable_profiling='json'")
    con.execute(f"SET profiling_output='{output}'")
texts = [open(f"{queries}/q{n}.sql").read() for n in range(1, 23)]
fastest = [None] * len(texts)
def add(node, sums):
    if "type" in node: sums[node["type"]] = sums.get(node["type"], 0) + node.get("timing", 0)
    for child in node.get("children", []): add(child, sums)
for _ in range(int(rounds)):
    for i, text in enumerate(texts):
        con.execute(text).fetchall()
        if not output: continue
        sums = {}
        for root in json.load(open(output))["operator"]: add(root, sums)
        sums.pop("RESULT_COLLECTOR", None)
        if fastest[i] is None or sum(sums.values()) < sum(fastest[i].values()): fastest[i] = sums
if output: json.dump(fastest, open(output + ".fastest", "w"))
"""
# DuckDB's operators, by the kinds of deploy/rules/duckdb.toml.
KINDS = {"Table scan": ("TABLE_SCAN", "SEQ_SCAN", "COLUMN_DATA_SCAN", "DELIM_SCAN", "CTE_SCAN", "DUMMY_SCAN", "EMPTY_RESULT"),
         "Filter": ("FILTER",), "Projection": ("PROJECTION",),
         "Hash join": ("HASH_JOIN", "RIGHT_DELIM_JOIN", "LEFT_DELIM_JOIN", "DELIM_JOIN"),
         "Other join": ("NESTED_LOOP_JOIN", "CROSS_PRODUCT", "PIECEWISE_MERGE_JOIN", "IE_JOIN", "BLOCKWISE_NL_JOIN"),
         "Hash group by": ("HASH_GROUP_BY", "PERFECT_HASH_GROUP_BY", "PARTITIONED_AGGREGATE"),
         "Aggregate": ("UNGROUPED_AGGREGATE",), "Order by": ("ORDER_BY", "TOP_N"), "CTE": ("CTE", "RECURSIVE_CTE")}
# What the two may differ by beside chance: DuckDB times calls of an operator, not what tasks do for it between them (a join
# makes its hash table in such tasks), and the time it takes to take the time.
SLACK = 0.08
LEAST_OF_SMALL = 0.5  # of the engine's samples belong to a kind of operator


def prepare(folder, scale):
    (folder / "run.py").write_text(RUN)
    run(GENERATOR, "parquet", "-s", scale, "--output-dir", folder, timeout=200)
    load = "import duckdb; c = duckdb.connect(r'%s')\n" % (folder / "tpch.db")
    load += "".join(f"c.execute(\"create table {t} as from '{folder}/{t}.parquet'\")\n" for t in TABLES)
    run(sys.executable, "-c", load, timeout=200)


def measure(folder, rounds):
    profile = folder / "p.tailor"
    run(BIN / "tailor", "record", "--callchain", "--stacks", "always", "-F", "997", "-o", profile, "--", sys.executable,
        folder / "run.py", folder / "tpch.db", ROOT / "compiler/weft/queries", "", rounds, timeout=900)
    return json.loads(run(BIN / "tailor", "report", profile, "--rules", ROOT / "deploy/rules/duckdb.toml", "--json"))


def own_profiling(folder, rounds):
    times = folder / "times.json"
    run(sys.executable, folder / "run.py", folder / "tpch.db", ROOT / "compiler/weft/queries", times, rounds, timeout=900)
    sums = {}
    for query in json.loads((folder / "times.json.fastest").read_text()):
        for kind, seconds in query.items():
            sums[kind] = sums.get(kind, 0) + seconds
    return sums


def distance(ours, theirs):
    return max(abs(ours.get(kind, 0) - theirs.get(kind, 0)) for kind in {*ours, *theirs})


def judge(report, sums, full):
    inside = report["in_operators"]["samples"] + report["in_phases"]["samples"] + report["unexplained"]["samples"]
    operators = report["in_operators"]["samples"]
    for row in report["unexplained_functions"][:5]:
        print(f"   no rule: {row['share']:.3f} {row['name']} ({row['object']})")
    explained = operators + report["in_phases"]["samples"]
    check(at_least(explained, inside, 0.95), f"rules explain {explained / inside:.1%} of the engine's {inside:.0f} samples")
    said = f"{operators / inside:.1%} of them belong to a kind of operator"
    # Of small data planning takes a larger part.
    check(at_least(operators, inside, 0.9 if full else LEAST_OF_SMALL), said)
    rows = {row["name"]: row["samples"] for row in report["operator_rows"]}
    ours = {kind: samples / operators for kind, samples in rows.items()}
    timed = {kind: sum(sums.get(each, 0) for each in types) for kind, types in KINDS.items()}
    unknown = {each: seconds for each, seconds in sums.items() if not any(each in types for types in KINDS.values())}
    check(sum(unknown.values()) <= 0.01 * sum(sums.values()), f"the kinds of DuckDB's operators are known but for {unknown}")
    theirs = {kind: seconds / sum(timed.values()) for kind, seconds in timed.items()}
    for kind in sorted({*ours, *theirs}, key=lambda kind: -theirs.get(kind, 0)):
        print(f"   {kind:14} rules {ours.get(kind, 0):6.1%}  DuckDB's own profiling {theirs.get(kind, 0):6.1%}")
    room = SLACK + by_chance(0.5, operators)
    check(distance(ours, theirs) <= room, f"no kind is further than {distance(ours, theirs):.1%} from DuckDB's own profiling")
    # The broken twin: the dearest kind and the cheapest one exchanged.
    first, *_, last = sorted(theirs, key=lambda kind: -theirs[kind])
    swapped = dict(ours, **{first: ours.get(last, 0), last: ours.get(first, 0)})
    check(distance(swapped, theirs) > room, f"{first} and {last} exchanged are noticed")


def main():
    full = "--full" in sys.argv
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder, "1" if full else "0.1")
        report = until_enough(2000, lambda measured: measured["in_operators"]["samples"],
                              lambda work: measure(folder, (1 if full else 4) * work))
        judge(report, own_profiling(folder, 5 if full else 15), full)
    return 0


if __name__ == "__main__":
    sys.exit(main())
