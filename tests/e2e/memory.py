"""Which region an operator touches, without hardware that says it: on every TPC-H query the operands of sampled instructions
are computed, and lie in memory that has a name: a region that weft registered, else stack, code, constants or the like by the
mappings of the process.
"""
import json
import pathlib
import sys
import tempfile

from tailor_env import BIN, at_least, check, run, sampling_denied, skip, until_enough

FULL = "--full" in sys.argv
QUERIES = range(1, 23)
ENOUGH = 2000 if FULL else 150  # addresses
if reason := sampling_denied():
    skip(reason)


def recorded(profile, query, *options):
    def measure(work):
        run(BIN / "tailor", "record", *options, "-o", profile, "--", BIN / "weft", "--sf", "0.1", "--threads", "2", "--quiet",
            "--query", query, "--repeat", str(5 * work))
        return json.loads(run(BIN / "tailor", "memory", "--json", "--points", "0", profile))

    return measure


def share_of(report, name):
    """How many of the computed addresses lie in memory of that name."""
    return sum(row["samples"] for row in report["rows"] if row["region_name"] == name)


with tempfile.TemporaryDirectory() as folder:
    profile = pathlib.Path(folder) / "p.tailor"
    sums = dict.fromkeys(("generated", "resolved", "lost", "registered", "named", "heap"), 0)
    owners = set()
    print("| query | samples in generated code | resolved | lost | registered | named | other heap |")
    for number in QUERIES:
        query = f"tpch-{number}"
        report = until_enough(ENOUGH, lambda found: found["addresses"]["decoded"],
                              recorded(profile, query, "--memory", "-F", "4000"), most=256)
        addresses = report["addresses"]
        row = {"generated": report["generated_samples"], "resolved": addresses["decoded"], "lost": addresses["lost"],
               "registered": addresses["in_regions"], "named": addresses["in_regions"] + addresses["in_mappings"],
               "heap": share_of(report, "other heap")}
        print(f"| {query} | {row['generated']:.0f} | {row['resolved']:.0f} | {row['lost'] / row['generated']:.1%} | "
              + " | ".join(f"{row[key] / row['resolved']:.1%}" for key in ("registered", "named", "heap")) + " |")
        check(at_least(row["named"], row["resolved"], 0.97), f"{query}: {row['named'] / row['resolved']:.1%} are in named memory")
        for key in sums:
            sums[key] += row[key]
        if number == 18:
            owners = {each["operator_name"] for each in report["rows"] if each["region_name"].startswith(("join", "group"))}
            print(run(BIN / "tailor", "memory", profile))
    print(f"all: {sums}")
    check(not at_least(0, sums["resolved"], 0.97), "the broken twin: were none of it registered or mapped, the check would fail")
    check(len(owners) >= 2, f"regions are touched by several operators: {', '.join(sorted(owners))}")

    # The kernel says where a page fault was.
    faults = recorded(profile, "tpch-18", "-e", "faults")(4)
check(faults["samples"] > 0 and faults["addresses"]["recorded"] == faults["samples"],
      f"each of {faults['samples']} page faults has an address")
groups = [row for row in faults["rows"] if row["operator_name"].startswith("Group by")]
inside = sum(row["samples"] for row in groups if row["region_name"].startswith("group"))
check(inside > 0.5 * sum(row["samples"] for row in groups) > 0,
      f"{inside:.0f} of the {sum(row['samples'] for row in groups):.0f} faults of the group-by lie in its registered regions")
