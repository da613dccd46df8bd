"""Which region an operator touches, without hardware that says it: on every TPC-H query the operands of sampled instructions
are computed, and lie in memory that has a name: a region that weft registered, else stack, code, constants or the like by the
mappings of the process. The names are right: columns are columns of the query, and a group by faults in its groups.

The broken twins are a weft that registers its memory elsewhere than it is, a weft whose owners are swapped, and the text of
another query.
"""
import json
import pathlib
import re
import sys
import tempfile

from tailor_env import BIN, BUILD, ROOT, at_least, check, run, sampling_denied, skip, until_enough

FULL = "--full" in sys.argv
QUERIES = range(1, 23)
ENOUGH = 2000 if FULL else 150  # addresses
# A column of the file that lies before, and memory that nobody has.
TO_ANOTHER_COLUMN, TO_NOWHERE = 2 << 20, 1 << 40
if reason := sampling_denied():
    skip(reason)


def recorded(profile, query, *options, weft=BIN / "weft", env=None):
    def measure(work):
        run(BIN / "tailor", "record", *options, "-o", profile, "--", weft, "--sf", "0.1", "--threads", "2", "--quiet",
            "--query", query, "--repeat", str(5 * work), env=env)
        return json.loads(run(BIN / "tailor", "memory", "--json", "--points", "0", profile))

    return measure


def addresses_of(query, profile, **program):
    """The report of so many addresses that they can be judged."""
    return until_enough(ENOUGH, lambda found: found["addresses"]["decoded"],
                        recorded(profile, query, "--memory", "-F", "4000", **program), most=256)


def share_of(report, name):
    """How many of the computed addresses lie in memory of that name."""
    return sum(row["samples"] for row in report["rows"] if row["region_name"] == name)


def columns_of(report, query):
    """How many addresses lie in columns, and how many of them in columns that the query's text names."""
    text = (ROOT / f"compiler/weft/queries/q{query}.sql").read_text()
    inside = fitting = 0
    for row in report["rows"]:
        if column := re.match(r"[a-z]+\.([a-z]+_[a-z]+)", row["region_name"]):
            inside += row["samples"]
            fitting += row["samples"] * (column[1] in text)
    return inside, fitting


def faults_of_group_by(profile, **program):
    """Page faults of TPC-H 18, whose addresses the kernel says: those of the group by, those of anybody that lie in groups, and
    those that are both."""
    faults = recorded(profile, "tpch-18", "-e", "faults", **program)(4)
    check(faults["samples"] > 0 and faults["addresses"]["recorded"] == faults["samples"],
          f"each of {faults['samples']} page faults has an address")
    by_group_by = [row for row in faults["rows"] if row["operator_name"].startswith("Group by")]
    in_groups = [row for row in faults["rows"] if row["region_name"].startswith("group")]
    return [sum(row["samples"] for row in rows) for rows in
            (by_group_by, in_groups, [row for row in by_group_by if row in in_groups])]


def lie_in_groups(by_group_by, in_groups, both):
    return both > 0.5 * by_group_by > 0 and both > 0.5 * in_groups


with tempfile.TemporaryDirectory() as folder:
    profile = pathlib.Path(folder) / "p.tailor"
    sums = dict.fromkeys(("generated", "resolved", "lost", "registered", "named", "heap", "columns", "fitting", "misread"), 0)
    owners = set()
    print("| query | samples in generated code | resolved | lost | registered | named | other heap |")
    for number in QUERIES:
        query = f"tpch-{number}"
        report = addresses_of(query, profile)
        addresses = report["addresses"]
        columns, fitting = columns_of(report, number)
        row = {"generated": report["generated_samples"], "resolved": addresses["decoded"], "lost": addresses["lost"],
               "registered": addresses["in_regions"], "named": addresses["in_regions"] + addresses["in_mappings"],
               "heap": share_of(report, "other heap"), "columns": columns, "fitting": fitting,
               "misread": columns_of(report, number % 22 + 1)[1]}
        print(f"| {query} | {row['generated']:.0f} | {row['resolved']:.0f} | {row['lost'] / row['generated']:.1%} | "
              + " | ".join(f"{row[key] / row['resolved']:.1%}" for key in ("registered", "named", "heap")) + " |")
        check(at_least(row["named"], row["resolved"], 0.97), f"{query}: {row['named'] / row['resolved']:.1%} are in named memory")
        check(at_least(row["resolved"] - row["heap"], row["resolved"], 0.97),
              f"{query}: {row['heap']} are in heap that weft did not register")
        check(at_least(row["fitting"], row["columns"], 0.99) or row["columns"] == 0,
              f"{query}: {row['fitting']:.0f} of {row['columns']:.0f} in columns are in columns that the query reads")
        for key in sums:
            sums[key] += row[key]
        if number == 18:
            owners = {each["operator_name"] for each in report["rows"] if each["region_name"].startswith(("join", "group"))}
            print(run(BIN / "tailor", "memory", profile))
    print(f"all: {sums}")
    check(len(owners) >= 2, f"regions are touched by several operators: {', '.join(sorted(owners))}")
    check(not at_least(sums["misread"], sums["columns"], 0.99), f"the broken twin: by the text of the next query "
          f"{sums['misread'] / sums['columns']:.0%} of them would be right")

    def registered(resolved, heap):
        return at_least(resolved - heap, resolved, 0.97)

    check(registered(sums["resolved"], sums["heap"]), "weft registers the heap that it works on")
    moved = BUILD / "targets/weft_moved_regions"
    twin = addresses_of("tpch-18", profile, weft=moved, env={"TAILOR_TWIN_SHIFT": str(TO_NOWHERE)})
    check(not registered(twin["addresses"]["decoded"], share_of(twin, "other heap")),
          f"the broken twin, registered nowhere: {share_of(twin, 'other heap') / twin['addresses']['decoded']:.0%} are in other heap")
    columns, fitting = columns_of(addresses_of("tpch-6", profile, weft=moved, env={"TAILOR_TWIN_SHIFT": str(TO_ANOTHER_COLUMN)}), 6)
    check(not at_least(fitting, columns, 0.99), f"the broken twin, registered beside: {fitting:.0f} of {columns:.0f} are in "
          "columns that the query reads")

    # The kernel says where a page fault was.
    by, within, both = faults_of_group_by(profile)
    check(lie_in_groups(by, within, both), f"{both:.0f} of the {by:.0f} faults of the group by lie in its registered regions, where "
          f"{within:.0f} lie in all")
    by, within, both = faults_of_group_by(profile, weft=BUILD / "targets/weft_swapped_owners",
                                          env={"TAILOR_TWIN_KIND": "scan", "TAILOR_TWIN_CONSUMER": "group_by"})
    check(not lie_in_groups(by, within, both), f"the broken twin, owners swapped: {both:.0f} of {by:.0f} and of {within:.0f}")
