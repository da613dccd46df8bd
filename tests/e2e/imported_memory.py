"""Data addresses that perf took end in `tailor memory`: with the journal of a recording that heard the engine meanwhile, page
faults have the operators and the regions of the engine. A group by faults in its groups.

The broken twins are a weft whose owners are swapped, and the same perf.data without the journal.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tailor_env import BIN, BUILD, check, perf_tool_denied, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)
if reason := perf_tool_denied():
    skip(reason)
SWAPPED = {"TAILOR_TWIN_KIND": "scan", "TAILOR_TWIN_CONSUMER": "group_by"}


def imported(folder, *options):
    run(BIN / "tailor", "import", folder / "perf.data", "-o", folder / "perf.tailor", *options)
    return json.loads(run(BIN / "tailor", "memory", folder / "perf.tailor", "--json", "--points", "100"))


def recorded(folder, work, weft=BIN / "weft", env=None):
    done = subprocess.run([BIN / "tailor", "record", "--journal", folder / "journal", "-o", folder / "own.tailor", "--", "perf", "record",
                           "-k", "CLOCK_MONOTONIC_RAW", "-d", "--user-regs=r15", "-e", "page-faults", "-c", "1", "-o", folder / "perf.data",
                           "--", weft, "--sf", "0.1", "--threads", "2", "--quiet", "--query", "tpch-18", "--repeat", str(5 * work)],
                          env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=600)
    check(done.returncode == 0 and (folder / "perf.data").exists(), f"perf records under tailor record {done.stderr[-500:] if done.returncode else ''}")
    return imported(folder, "--dictionary", folder / "journal")


def faults_of(report):
    """Those of the group by, those of anybody that lie in groups, and those that are both."""
    by_group_by = [row for row in report["rows"] if row["operator_name"].startswith("Group by")]
    in_groups = [row for row in report["rows"] if row["region_name"].startswith("group")]
    return [sum(row["samples"] for row in rows) for rows in (by_group_by, in_groups, [row for row in by_group_by if row in in_groups])]


def enough(folder, **program):
    return until_enough(100, lambda report: faults_of(report)[1], lambda work: recorded(folder, work, **program))


def lie_in_groups(by_group_by, in_groups, both):
    return both > 0.5 * by_group_by > 0 and both > 0.5 * in_groups


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        report = enough(folder)
        check(report["addresses"]["recorded"] == report["samples"] > 0, f"each of {report['samples']} page faults has the address of perf")
        by, within, both = faults_of(report)
        check(lie_in_groups(by, within, both),
              f"{both:.0f} of the {by:.0f} faults of the group by lie in its registered regions, where {within:.0f} lie in all")
        roles = {row["name"]: row["role"] for row in report["by_region"]}
        check(roles.get("groups") == "hash table", f"regions have the roles that the engine gives them: {roles}")
        check(report["points"]["count"] > 0 and report["regions"], "and each access has its place in a region")
        without = imported(folder)
        check(faults_of(without) == [0, 0, 0] and without["samples"] == report["samples"], "the broken twin, without the journal: nobody's")
        by, within, both = faults_of(enough(folder, weft=BUILD / "targets/weft_swapped_owners", env=SWAPPED))
        check(not lie_in_groups(by, within, both), f"the broken twin, owners swapped: {both:.0f} of {by:.0f} and of {within:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
