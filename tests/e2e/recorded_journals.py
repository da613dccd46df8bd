"""Recordings kept in the repository, one per query, replay to the same profiles as on the day they were made.

Beside each journal stands what its profile says: the digest of its bytes, and every sample by operator, task,
engine component and reason. Neither a kernel nor an engine takes part, so a difference is a change in Tailor.
The machine code of each profile has all samples of its generated code, at instructions that can be read.

  recorded_journals.py             compare
  recorded_journals.py --expect    write down what the profiles say now (after an intended change)
  recorded_journals.py --record    record all journals again
"""
import argparse
import hashlib
import json
import lzma
import pathlib
import subprocess
import sys
import tempfile

from tailor_env import BIN, check, run

FOLDER = pathlib.Path(__file__).resolve().parent / "journals"
NAMED = ["figure-9", "sfja"]
COUNTS = ("samples", "weight", "kernel_weight", "inferred_weight", "shared_weight")


def queries():
    return [f"tpch-{n}" for n in range(1, 23)] + NAMED


def counts(row):
    return {key: row[key] for key in COUNTS if row[key]}


def losses(report):
    account = report["accounting"]
    return {"scope": "recording", "lost_samples": account["lost_ring"] + account["lost_hardware"], "lost_share": account["lost_share"],
            "unwritten_samples": account["unwritten_samples"], "late_samples": account["late"],
            "log_records_lost": account["log_records_lost"], "throttled": account["throttled"], "gap_ns": account["gap_ns"]}


def rows(report):
    """Every sample of a report by what it went to; what no sample went to is left out."""
    said = {"all": counts(report["all"]), "losses": losses(report), "by": report["by"]}
    for kind in ("component_rows", "unattributed_rows"):
        said[kind] = {row["key"]: counts(row) for row in report[kind]}
    said["plans"] = [{
        "operators": {f"{op['id']} {op['name']}": counts(op) for op in plan["operators"] if op["samples"]},
        "tasks": {f"{p['id']} {p['name']}: {task['name']}": counts(task) for p in plan["pipelines"] for task in p["tasks"]
                  if task["samples"]},
    } for plan in report["plans"]]
    return said


def replayed(journal, folder):
    """What the profile of a journal's bytes says, and the profile's path."""
    raw, profile = folder / "journal", folder / "profile.tailor"
    raw.write_bytes(journal)
    run(BIN / "tailor", "replay", raw, "-o", profile)
    said = rows(json.loads(run(BIN / "tailor", "report", profile, "--json")))
    said["profile_sha256"] = hashlib.sha256(profile.read_bytes()).hexdigest()
    return said


def misplaced(assembly):
    """Samples of code objects that are at none of their instructions, or at one that nobody could read."""
    at_instructions = sum(each["samples"] for code in assembly for each in code["instructions"] if each.get("samples") and each["text"])
    return sum(code["samples"] for code in assembly) - at_instructions


def check_machine_code(query, profile, by):
    assembly = json.loads(run(BIN / "tailor", "annotate", profile, "--json")).get("assembly", [])
    samples = sum(code["samples"] for code in assembly)
    most = by["code"] + by.get("kernel_code", 0) + by.get("callchain", 0)
    check(by["code"] <= samples <= most, f"{query}: its machine code has {samples:g} of {by['code']:g} to {most:g} samples")
    check(misplaced(assembly) == 0, f"{query}: each of them is at an instruction")
    # The twin: an instruction that is left out is seen.
    sampled = next(code for code in assembly if code["samples"] > 0)
    sampled["instructions"].remove(next(each for each in sampled["instructions"] if each.get("samples")))
    check(misplaced(assembly) > 0, f"{query}: and one less would be seen")


def record(query, folder):
    journal = folder / "recorded"
    run(BIN / "tailor", "record", "-F", "1000", "-o", folder / "live.tailor", "--journal", journal, "--", BIN / "weft",
        "--sf", "0.05", "--threads", "2", "--repeat", "8", "--opt", "2", "--quiet", "--query", query)
    (FOLDER / f"{query}.journal.xz").write_bytes(lzma.compress(journal.read_bytes(), preset=9 | lzma.PRESET_EXTREME))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--expect", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for query in queries():
            if options.record:
                record(query, folder)
            journal = lzma.decompress((FOLDER / f"{query}.journal.xz").read_bytes())
            said, expected = replayed(journal, folder), FOLDER / f"{query}.json"
            if options.record or options.expect:
                expected.write_text(json.dumps(said, indent=1, sort_keys=True) + "\n")
                continue
            wanted = json.loads(expected.read_text())
            different = [key for key in wanted if wanted[key] != said.get(key)]
            check(not different, f"{query}: {wanted['all']['samples']:.0f} samples as expected"
                  + "".join(f"; {key} was {wanted[key]}, is {said.get(key)}" for key in different))
            check_machine_code(query, folder / "profile.tailor", said["by"])
            if query == "figure-9":
                broken(journal, wanted, folder)
    return 0


def broken(journal, wanted, folder):
    """The comparison can fail: a byte changed in the middle of a journal is refused or told apart."""
    damaged = bytearray(journal)
    damaged[len(damaged) // 2] ^= 0x10
    raw = folder / "damaged"
    raw.write_bytes(damaged)
    done = subprocess.run([BIN / "tailor", "replay", raw, "-o", folder / "damaged.tailor"], capture_output=True)
    same = done.returncode == 0 and hashlib.sha256((folder / "damaged.tailor").read_bytes()).hexdigest()
    check(same != wanted["profile_sha256"], "a damaged journal does not pass")


if __name__ == "__main__":
    sys.exit(main())
