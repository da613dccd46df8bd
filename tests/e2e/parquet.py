"""Parquet tables of a profile, read by DuckDB: their sums are those of the report, and every reference leads to a row. pyarrow reads the same.

The profiles are replayed from journals, so that neither a kernel nor an engine takes part; one is of a perf.data made by hand that
is larger than a row group."""
import importlib.util
import json
import lzma
import pathlib
import subprocess
import sys
import tempfile

import perf_file
from tailor_env import BIN, check, run, skip

if importlib.util.find_spec("duckdb") is None:
    skip("duckdb is not installed")
import duckdb

if importlib.util.find_spec("pyarrow") is not None:
    import pyarrow.parquet
else:
    pyarrow = None

JOURNALS = pathlib.Path(__file__).resolve().parent / "journals"
# The keys of docs/exports.md, and the tables where they are to be found.
REFERENCES = [("samples", "process", "processes", "process"), ("samples", "source", "sources", "source"),
              ("samples", "execution", "executions", "execution"), ("samples", "plan", "plans", "plan"),
              ("samples", "owners", "owners", "owners"), ("samples", "stack", "stacks", "stack"), ("stacks", "caller", "stacks", "stack"),
              ("executions", "process", "processes", "process"), ("executions", "plan", "plans", "plan"),
              ("labels", "execution", "executions", "execution"), ("owners", "plan", "plans", "plan"),
              ("plans", "process", "processes", "process"), ("components", "plan", "plans", "plan")]
BY_OWNER = """select o.plan, o.component, sum(s.weight * o.part) from samples s join owners o using (owners)
              where o.level = ? and s.source = ? and o.component is not null group by all"""


def tables(profile, folder, *options):
    """A database whose views are the tables of the profile."""
    run(BIN / "tailor", "export", profile, "--format", "parquet", "-o", folder, *options)
    data = duckdb.connect()
    for file in sorted(folder.glob("*.parquet")):
        data.execute(f"create view {file.stem} as from '{file}'")
    return data


def same(ours, theirs, total):
    """Whether two dictionaries of weights are the same, but for rounding."""
    keys = {*ours, *theirs}
    return all(abs(ours.get(key, 0) - theirs.get(key, 0)) <= 1e-9 * total + 1e-6 for key in keys)


def judge_sums(data, source, report):
    count, weight = data.execute("select count(*), sum(weight) from samples where source = ?", [source]).fetchone()
    check(count == report["samples"] and weight == round(report["all"]["weight"]), f"all {count} samples with their weight {weight}")
    total = report["all"]["weight"]
    wanted = {(plan["plan_key"], row["id"]): row["weight"] for plan in report["plans"] for row in plan["operators"] if row["weight"] > 0}
    found = {(plan, component): weight for plan, component, weight in data.execute(BY_OWNER, ["operator", source]).fetchall()}
    check(same(found, wanted, total), f"{len(wanted)} operators have the weight that the report gives them")
    shifted = dict(zip(found, list(found.values())[1:] + list(found.values())[:1]))
    check(not same(shifted, wanted, total), "exchanged operators are noticed")
    components = dict(data.execute("select component, sum(weight) from samples where component is not null and source = ? group by all",
                                   [source]).fetchall())
    check(same(components, {row["key"]: row["weight"] for row in report["component_rows"]}, total),
          f"{len(components)} engine components")
    nobody = dict(data.execute("""select unattributed, sum(weight * coalesce(part, 1)) from samples s left join
        (select owners, part from owners where level_index = 0 and component is null) o using (owners)
        where unattributed is not null and source = ? group by all""", [source]).fetchall())
    check(same(nobody, {row["key"]: row["weight"] for row in report["unattributed_rows"]}, total),
          f"reasons of what is unattributed: {sorted(nobody)}")


def judge_level(data, source, level, report):
    wanted = {(plan["plan_key"], row["id"]): row["weight"] for plan in report["plans"] for row in plan["components"] if row["id"] != 0}
    found = {(plan, component): weight for plan, component, weight in data.execute(BY_OWNER, [level, source]).fetchall()}
    check(wanted and same(found, wanted, report["all"]["weight"]), f"{len(wanted)} components of level {level}")


def dangling(data, references=REFERENCES):
    out = []
    for table, column, other, key in references:
        (lost,) = data.execute(f"select count(*) from {table} where {column} is not null and {column} not in (select {key} from {other})").fetchone()
        if lost:
            out.append(f"{table}.{column}")
    return out


def judge_references(data, samples):
    check(not dangling(data), "every reference leads to a row")
    (lost,) = data.execute("select count(*) from samples anti join threads using (process, tid)").fetchone()
    check(lost == 0, "every thread is known")
    (broken,) = data.execute("select count(*) from (select owners, level_index, sum(part) p from owners group by all) where abs(p - 1) > 1e-9").fetchone()
    check(broken == 0, "the parts of each sample's owners add up to 1 on every level")
    (disordered,) = data.execute(f"""select count(*) from (select time_ns - lag(time_ns) over (order by file_row_number) step
        from read_parquet('{samples}', file_row_number = true)) where step < 0""").fetchone()
    check(disordered == 0, "samples come in the order of time")
    data.execute("create temp table plans_cut as from plans limit 0")
    check(dangling(data, [("samples", "plan", "plans_cut", "plan")]) == ["samples.plan"], "a missing row is noticed")


def differing(table, name, data):
    """The columns whose values are not those that DuckDB reads; of moments only how many there are."""
    out = []
    for column, values in zip(table.column_names, table.columns):
        if pyarrow.types.is_timestamp(values.type):
            same_values = (len(values) - values.null_count,) == data.execute(f'select count("{column}") from {name}').fetchone()
        else:
            same_values = [(value,) for value in values.to_pylist()] == data.execute(f'select "{column}" from {name}').fetchall()
        if not same_values:
            out.append(column)
    return out


def judge_arrow(folder, data):
    """A second reader, which shares nothing with the first."""
    if pyarrow is None:
        print("not checked: pyarrow, which is not installed")
        return
    for file in sorted(folder.glob("*.parquet")):
        table = pyarrow.parquet.read_table(file)
        table.validate(full=True)
        wrong = differing(table, file.stem, data)
        check(not wrong, f"pyarrow reads {table.num_rows} rows of {table.num_columns} columns of {file.stem}, as DuckDB does: {wrong}")
        if file.stem == "samples":
            check(differing(table.slice(1), "samples", data), "a missing row is noticed")


def judge_journal(name, folder):
    raw, profile = folder / "journal", folder / f"{name}.tailor"
    raw.write_bytes(lzma.decompress((JOURNALS / f"{name}.journal.xz").read_bytes()))
    run(BIN / "tailor", "replay", raw, "-o", profile)
    data = tables(profile, folder / name)
    report = json.loads(run(BIN / "tailor", "report", profile, "--json"))
    (source,) = data.execute("select source from sources where event = ?", [report["source"]["name"]]).fetchone()
    judge_sums(data, source, report)
    for level in ("task", "ir"):
        judge_level(data, source, level, json.loads(run(BIN / "tailor", "report", profile, "--level", level, "--json")))
    judge_references(data, folder / name / "samples.parquet")
    if name == "figure-9":
        judge_arrow(folder / name, data)
    (received, lost), account = data.execute("select received, lost_ring + lost_hardware from recording").fetchone(), report["accounting"]
    check((received, lost) == (account["received"], account["lost_ring"] + account["lost_hardware"]), f"{received} received, {lost} lost")
    judge_execution(profile, folder, data)


def judge_execution(profile, folder, data):
    """One execution, chosen as every command chooses it."""
    execution, fingerprint = data.execute("select execution, fingerprint from samples where execution is not null group by all "
                                          "order by count(*) desc limit 1").fetchone()
    listed = json.loads(run(BIN / "tailor", "list", profile, "--json"))["executions"]
    check(fingerprint in {row["fingerprint"] for row in listed if row["id"] == execution}, "fingerprints are those of tailor list")
    one = tables(profile, folder / "one", "-x", execution)
    (wanted,) = data.execute("select count(*) from samples where execution = ?", [execution]).fetchone()
    found = one.execute("select count(*), count(distinct execution) from samples").fetchone()
    check(found == (wanted, 1), f"the {wanted} samples of one execution")


def judge_row_groups(folder):
    """More samples than a row group holds, of a recording without a dictionary."""
    count = 300_000
    perf_file.write_many(folder / "perf.data", count)
    data = tables(folder / "perf.data", folder / "many")
    found = data.execute("select count(*), sum(weight), count(distinct pid), count(distinct code_address), count(cpu) from samples").fetchone()
    check(found == (count, count * 1_000_000, 4, 1000, 0), f"{count} samples, and no CPU, which the recording does not say")
    groups, most = data.execute("select count(*), max(num_rows) from (select distinct row_group_id, row_group_num_rows num_rows "
                                "from parquet_metadata(?))", [str(folder / "many" / "samples.parquet")]).fetchone()
    check(groups == 3 and most == 1 << 17, f"{groups} row groups of at most {most} rows")
    if pyarrow is not None:
        check(pyarrow.parquet.ParquetFile(folder / "many" / "samples.parquet").metadata.num_row_groups == groups, "pyarrow sees the same row groups")
    last = data.execute("select count(*) from samples where time_ns >= (select max(time_ns) from samples) - 900").fetchone()
    check(last == (10,), "bounds of row groups lead to the right ones")


def judge_refusals(folder):
    profile = folder / "perf.data"
    for output in ([], ["-o", "-"]):
        failed = subprocess.run([BIN / "tailor", "export", profile, "--format", "parquet", *output], capture_output=True, text=True)
        check(failed.returncode == 2 and "directory" in failed.stderr, f"refused with {output or 'no -o'}")
    failed = subprocess.run([BIN / "tailor", "export", profile, "--format", "parquet", "-o", profile], capture_output=True, text=True)
    check(failed.returncode != 0 and "directory" in failed.stderr, "a file is no directory")
    cut = folder / "cut.parquet"
    cut.write_bytes((folder / "many" / "samples.parquet").read_bytes()[:-100])
    try:
        duckdb.connect().execute(f"select count(*) from '{cut}'").fetchone()
    except duckdb.Error:
        print("ok: a file that was cut off is refused")
        return
    check(False, "a file that was cut off is refused")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for journal in ("tpch-3", "figure-9"):
            sub = folder / journal
            sub.mkdir()
            judge_journal(journal, sub)
        judge_row_groups(folder)
        judge_refusals(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
