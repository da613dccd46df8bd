"""DuckDB as it comes from PyPI, operators by rules: TPC-H 1 to 22. At least 90 % of the engine's samples belong to a kind of
operator, and the kinds have the shares that DuckDB's own profiling gives them."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tailor_env import BIN, ROOT, check, run, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
if importlib.util.find_spec("duckdb") is None:
    skip("duckdb is not installed")
GENERATOR = os.environ.get("WEFT_TPCHGEN") or str(pathlib.Path(sys.executable).parent / "tpchgen-cli")
if not pathlib.Path(GENERATOR).exists():
    skip("tpchgen-cli is not installed")

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
RUN = r"""
import duckdb, glob, json, sys, time
con = duckdb.connect(sys.argv[1], read_only=True)
con.execute("SET threads=1")
con.execute("PRAGMA enable_profiling='json'")
con.execute(f"SET profiling_output='{sys.argv[3]}'")
queries = [open(f"{sys.argv[2]}/q{n:02d}.sql").read() for n in range(1, 23)]
sums = {}
def add(node):
    if "type" in node: sums[node["type"]] = sums.get(node["type"], 0) + node.get("timing", 0)
    for child in node.get("children", []): add(child)
end = time.process_time() + float(sys.argv[4])
while time.process_time() < end:
    for query in queries:
        con.execute(query).fetchall()
        for root in json.load(open(sys.argv[3]))["operator"]: add(root)
json.dump(sums, open(sys.argv[3] + ".sums", "w"))
"""
# DuckDB's operators, by the kinds of deploy/rules/duckdb.toml.
KINDS = {"Table scan": ("TABLE_SCAN", "SEQ_SCAN", "COLUMN_DATA_SCAN", "DELIM_SCAN", "CTE_SCAN", "DUMMY_SCAN", "EMPTY_RESULT"),
         "Filter": ("FILTER",), "Projection": ("PROJECTION",),
         "Hash join": ("HASH_JOIN", "RIGHT_DELIM_JOIN", "LEFT_DELIM_JOIN", "DELIM_JOIN"),
         "Hash group by": ("HASH_GROUP_BY", "PERFECT_HASH_GROUP_BY", "PARTITIONED_AGGREGATE"),
         "Aggregate": ("UNGROUPED_AGGREGATE",), "Order by": ("ORDER_BY", "TOP_N")}


def prepare(folder):
    run(GENERATOR, "parquet", "-s", "0.05", "--output-dir", folder, timeout=200)
    load = "import duckdb; c = duckdb.connect(r'%s')\n" % (folder / "tpch.db")
    load += "".join(f"c.execute(\"create table {t} as from '{folder}/{t}.parquet'\")\n" for t in TABLES)
    run(sys.executable, "-c", load, timeout=200)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        script, profile, times = folder / "run.py", folder / "p.tailor", folder / "times.json"
        script.write_text(RUN)
        run(BIN / "tailor", "record", "--callchain", "--stacks", "always", "-F", "997", "-o", profile, "--",
            sys.executable, script, folder / "tpch.db", ROOT / "compiler/weft/queries", times, "5", timeout=220)
        report = json.loads(run(BIN / "tailor", "report", profile, "--rules", ROOT / "deploy/rules/duckdb.toml", "--json"))
        sums = json.loads((folder / "times.json.sums").read_text())
        judge(report, sums)
    return 0


def judge(report, sums):
    inside = 1 - report["outside"]["share"]
    operators = report["in_operators"]["share"] / inside
    check(report["samples"] * inside > 2000, f"{report['samples'] * inside:.0f} samples of the engine")
    for row in report["unexplained_functions"][:5]:
        print(f"   no rule: {row['share']:.3f} {row['name']} ({row['object']})")
    check(operators >= 0.9, f"{operators:.1%} of them belong to a kind of operator")
    ours = {row["name"]: row["share"] / report["in_operators"]["share"] for row in report["operator_rows"]}
    all_timed = sum(sums.values())
    theirs = {kind: sum(sums.get(each, 0) for each in types) / all_timed for kind, types in KINDS.items()}
    worst = 0
    for kind, share in sorted(theirs.items(), key=lambda item: -item[1]):
        print(f"   {kind:14} rules {ours.get(kind, 0):6.1%}  DuckDB's own profiling {share:6.1%}")
        worst = max(worst, abs(ours.get(kind, 0) - share))
    # Its profiling counts wall time, and the time to take it.
    check(worst <= 0.08, f"no kind is further than {worst:.1%} from DuckDB's own profiling")
    # The broken twin: kinds exchanged.
    names = sorted(theirs, key=lambda kind: -theirs[kind])
    swapped = dict(ours, **{names[0]: ours.get(names[1], 0), names[1]: ours.get(names[0], 0)})
    if abs(theirs[names[0]] - theirs[names[1]]) > 0.2:
        check(max(abs(swapped.get(kind, 0) - share) for kind, share in theirs.items()) > 0.08, "kinds exchanged are noticed")


if __name__ == "__main__":
    sys.exit(main())
