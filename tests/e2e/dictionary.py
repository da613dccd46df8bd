"""Samples that perf took of an engine get operators from the journal of a recording that heard the engine meanwhile: nearly all
of them belong to an operator or to the engine, the kinds of operators are those that the recording itself found, and without the
journal none has an owner."""
import json
import pathlib
import subprocess
import sys
import tempfile

from tailor_env import BIN, about, at_least, check, operators, perf_tool_denied, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)
if reason := perf_tool_denied():
    skip(reason)


def record(folder, work, clock=("-k", "CLOCK_MONOTONIC_RAW")):
    """Both at the same time; why perf cannot, or None."""
    done = subprocess.run([BIN / "tailor", "record", "--journal", folder / "journal", "-o", folder / "own.tailor", "--", "perf", "record",
                           *clock, "--user-regs=r15", "-e", "cpu-clock", "-F", "997", "-o", folder / "perf.data", "--", BIN / "weft", "--sf",
                           "0.05", "--threads", "1", "--quiet", "--repeat", str(40 * work), "--query", "tpch-3"], capture_output=True,
                          text=True, timeout=600)
    return None if done.returncode == 0 and (folder / "perf.data").exists() else done.stderr[-500:]


def imported(folder, *options):
    run(BIN / "tailor", "import", folder / "perf.data", "-o", folder / "perf.tailor", *options)
    return json.loads(run(BIN / "tailor", "report", folder / "perf.tailor", "--json"))


def owned(report):
    return report["operators"]["samples"] + report["engine_components"]["samples"]


def shares(report):
    total = sum(row["samples"] for row in operators(report))
    return {(row["id"], row["name"]): row["samples"] / total for row in operators(report)}, total


def measure(folder, work):
    reason = record(folder, work)
    check(not reason, f"perf records under tailor record {reason or ''}")
    return imported(folder, "--dictionary", folder / "journal")


def judge(folder, report):
    check(at_least(owned(report), report["samples"], 0.95), f"{owned(report):.0f} of {report['samples']} samples have an owner")
    own, of_own = shares(json.loads(run(BIN / "tailor", "report", folder / "own.tailor", "--json")))
    mine, total = shares(report)

    def like(found):
        # Both are samples: each errs.
        return all(about(share * of_own, of_own, found.get(name, 0), 0.02 + 1.5 / total ** 0.5) for name, share in own.items())

    check(like(mine), f"operators have the shares that the recording gives them, of {total:.0f} and {of_own:.0f} samples")
    names = sorted(mine, key=lambda name: -mine[name])
    check(not like({**mine, names[0]: mine[names[-1]], names[-1]: mine[names[0]]}), "exchanged ones are noticed")
    check(imported(folder)["operators"]["samples"] == 0, "without the journal no operator has any")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        judge(folder, until_enough(600, lambda report: report["operators"]["samples"], lambda work: measure(folder, work)))
        reason = record(folder, 1, clock=())
        check(not reason, f"and by its own clock {reason or ''}")
        refused = subprocess.run([BIN / "tailor", "import", folder / "perf.data", "--dictionary", folder / "journal", "-o", folder / "x.tailor"],
                                 capture_output=True, text=True)
        check(refused.returncode == 2 and "-k CLOCK_MONOTONIC_RAW" in refused.stderr, "perf's own clock is refused")
        refused = subprocess.run([BIN / "tailor", "import", folder / "perf.data", "--dictionary", folder / "own.tailor", "-o",
                                  folder / "x.tailor"], capture_output=True, text=True)
        check(refused.returncode == 2 and "not a journal" in refused.stderr, "a profile is no journal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
