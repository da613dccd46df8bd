"""Exports keep every sample: the totals and the operators of other tools' readers are those of the report.

The profile is replayed from a journal, so that neither a kernel nor an engine takes part. Formats that are not text are read by
foreign_readers.py."""
import csv
import io
import json
import lzma
import pathlib
import subprocess
import sys
import tempfile

from tailor_env import BIN, check, run

JOURNAL = pathlib.Path(__file__).resolve().parent / "journals/tpch-3.journal.xz"


def exported(profile, form, folder, *options):
    path = folder / f"profile.{form}"
    run(BIN / "tailor", "export", profile, "--format", form, "-o", path, *options)
    return path


def operators_of(report):
    """Operator -> samples, of those with one owner, and names that several operators share added."""
    out = {}
    for plan in report["plans"]:
        for row in plan["operators"]:
            out[row["name"]] = out.get(row["name"], 0) + row["samples"]
    return out


def judge_csv(path, report):
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    check(len(rows) == report["samples"], f"csv: a row for each of {report['samples']} samples")
    weight = sum(int(row["weight"]) for row in rows)
    check(weight == round(report["all"]["weight"]), f"csv: {weight} ns, as the report says")
    found = {}
    for row in rows:
        owners = [name for name in row["operator"].split(" + ") if name]
        for name in owners:
            found[name] = found.get(name, 0) + 1 / len(owners)
    wanted = {name: samples for name, samples in operators_of(report).items() if samples > 0}
    # What several own is split by parts in the report, evenly here.
    shared = report["all"].get("shared_weight", 0) / report["all"]["weight"] * report["samples"]
    worst = max(abs(found.get(name, 0) - samples) for name, samples in wanted.items())
    check(worst <= shared + 1e-6, f"csv: operators have their samples (within the {shared:.1f} that are shared)")
    moved = dict(zip(wanted, list(found.values())[1:] + list(found.values())[:1]))
    check(max(abs(moved.get(name, 0) - samples) for name, samples in wanted.items()) > shared, "exchanged ones are noticed")


def judge_folded(path, report):
    lines = path.read_text().splitlines()
    total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    check(total == round(report["all"]["weight"]), f"folded: {len(lines)} stacks have all {total} ns")
    check(sum(int(line.rsplit(" ", 1)[1]) for line in lines[1:]) != total, "folded: a stack that is left out is noticed")


def replayed(folder):
    """A profile, and its report."""
    raw, profile = folder / "journal", folder / "profile.tailor"
    raw.write_bytes(lzma.decompress(JOURNAL.read_bytes()))
    run(BIN / "tailor", "replay", raw, "-o", profile)
    return profile, json.loads(run(BIN / "tailor", "report", profile, "--json"))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        profile, report = replayed(folder)
        for form, judge in (("csv", judge_csv), ("folded", judge_folded)):
            judge(exported(profile, form, folder), report)
        lines = exported(profile, "folded", folder, "--levels", "operator,function").read_text().splitlines()
        names = set(operators_of(report))
        check(any(line.split(";")[0].rsplit(" ", 1)[0] in names for line in lines), "levels come in the order that was asked for")
        failed = subprocess.run([BIN / "tailor", "export", profile, "--format", "folded", "--levels", "nothing"], capture_output=True,
                                text=True)
        check(failed.returncode == 2 and "there is no level" in failed.stderr, "an unknown level is an error that lists those there are")
    return 0


if __name__ == "__main__":
    sys.exit(main())
