"""Which region an operator touches, without hardware that says it: the operands of sampled instructions of a query
that chases hash tables are computed, and lie in the regions the engine registered."""
import json
import pathlib
import tempfile

from tailor_env import BIN, check, run, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
with tempfile.TemporaryDirectory() as folder:
    profile = pathlib.Path(folder) / "p.tailor"
    run(BIN / "tailor", "record", "--memory", "-F", "4000", "-o", profile, "--", BIN / "weft", "--sf", "0.2", "--threads",
        "2", "--quiet", "--query", "tpch-18", "--repeat", "40")
    report = json.loads(run(BIN / "tailor", "report", "--memory", "--json", profile))
    text = run(BIN / "tailor", "report", "--memory", profile)
    # The kernel says where a page fault was.
    run(BIN / "tailor", "record", "-e", "faults", "-o", profile, "--", BIN / "weft", "--sf", "0.2", "--threads", "2", "--quiet",
        "--query", "tpch-18", "--repeat", "10")
    faults = json.loads(run(BIN / "tailor", "report", "--memory", "--json", profile))
addresses = report["addresses"]
print(text)
check(report["generated_samples"] > 300, f"{report['generated_samples']:.0f} samples in generated code are enough to judge")
check(addresses["decoded"] > 0, f"{addresses['decoded'] / report['generated_samples']:.1%} of these have an operand, of the others it is lost")
check(addresses["in_regions"] >= 0.5 * addresses["decoded"],
      f"{addresses['in_regions'] / addresses['decoded']:.1%} of the operands lie in registered regions (at least half)")
owners = {row["operator_name"] for row in report["rows"] if row["region"]}
check(len(owners) >= 2, f"regions are touched by several operators: {', '.join(sorted(owners))}")
check(faults["samples"] > 1000 and faults["addresses"]["recorded"] == faults["samples"],
      f"each of {faults['samples']} page faults has an address")
groups = [row for row in faults["rows"] if row["operator_name"].startswith("Group by")]
inside = sum(row["samples"] for row in groups if row["region_name"].startswith("group"))
check(inside > 0.5 * sum(row["samples"] for row in groups) > 100,
      f"{inside:.0f} of the {sum(row['samples'] for row in groups):.0f} faults of the group-by lie in its registered regions")
