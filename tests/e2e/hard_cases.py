"""The cases in which profilers guess whom shared code works for (tests/targets/hard_cases.cc), against the truth that
the program measured itself. With the same tolerance the run without tags must be found wrong.

    hard_cases.py            r15, half a second each
    hard_cases.py --full     every register strategy, two seconds each
"""
import json
import math
import subprocess
import sys
import tempfile

from tailor_env import BIN, BUILD, check, sampling_denied, skip

CASES = ["nested", "callback", "exception", "recursion", "signal", "malloc", "touch", "fault", "fork", "pool"]
FULL = "--full" in sys.argv
FREQUENCY = 2000
MILLISECONDS = 2000 if FULL else 500
without_stacks = set()  # recordings for which BPF is not permitted

if reason := sampling_denied():
    skip(reason)
if not (BUILD / "targets/hard_cases").exists():
    skip("built without LLVM")


def record(case, strategy):
    """The truth of one run, as query -> operator -> ns, and the report."""
    with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
        done = subprocess.run([str(BIN / "tailor"), "record", "-F", str(FREQUENCY), "-o", profile.name, "--",
                               str(BUILD / "targets/hard_cases"), case, strategy, str(MILLISECONDS)],
                              capture_output=True, text=True)
        check(done.returncode == 0, f"{case}, {strategy}: runs {done.stderr[-500:]}")
        report = subprocess.run([str(BIN / "tailor"), "report", profile.name, "--json"], capture_output=True, text=True)
        shown = subprocess.run([str(BIN / "tailor"), "report", profile.name], capture_output=True, text=True).stdout
    by = json.loads(report.stdout)["by"]
    recovered = by.get("tag_unwound", 0) + by.get("tag_scanned", 0) > 0
    check(("saved them" in " ".join(shown.split())) == recovered, f"{case}, {strategy}: recovered tags are counted in the report")
    if "by BPF" not in done.stderr:
        without_stacks.add((case, strategy))
    return json.loads(done.stdout.splitlines()[-1]), json.loads(report.stdout)


def found(report):
    """Query -> operator -> ns, from samples."""
    return {plan["name"]: {op["name"]: op["weight"] for op in plan["operators"]} for plan in report["plans"]}


def errors(truth, report):
    """What is wrong: an operator's part of the true time, found and true, beyond chance (four standard errors) and two
    points of bias."""
    total = sum(ns for query in truth.values() for ns in query.values())
    samples = total / 1e9 * FREQUENCY
    wrong = []
    for query, operators in truth.items():
        for operator, ns in operators.items():
            true = ns / total
            seen = found(report).get(query, {}).get(operator, 0) / total
            allowed = 0.02 + 4 * math.sqrt(max(true * (1 - true), 0.01) / samples)
            if abs(seen - true) > allowed:
                wrong.append(f"{query}.{operator}: {seen:.1%} of the time, in truth {true:.1%} (+-{allowed:.1%})")
    return wrong


def kernel_tags(report):
    """Whether this way of sampling knows the tag of a thread in the kernel."""
    return report["by"].get("kernel_tag", 0) > 0


for strategy in ("r15", "swiftself") if FULL else ("r15",):
    for case in CASES:
        truth, report = record(case, strategy)
        wrong = errors(truth, report)
        if case == "touch":
            a = next(op for plan in report["plans"] for op in plan["operators"] if op["name"] == "A")
            check(a["kernel_weight"] > 0.5 * a["weight"], f"{case}: {a['kernel_weight'] / a['weight']:.0%} of A's time is in "
                  "the kernel, in a column of its own")
        if case == "fault" and not kernel_tags(report):
            hidden = [row for row in report["unattributed_rows"] if row["key"] == "unknown_kernel"]
            check(wrong and hidden and any("rt_faults" in place["where"] for place in report["unattributed_places"]),
                  f"{case}, {strategy}: without the tag of threads in the kernel its time is unattributed, by name")
            continue
        if case == "malloc":
            check(report["by"].get("tag_unwound", 0) > 20 or (case, strategy) in without_stacks,
                  f"{case}, {strategy}: tags that the C library put aside are found on its stack")
        if case == "malloc" and (case, strategy) in without_stacks and wrong:
            # The C library uses the register too; what was lost must be said, not given to somebody else.
            keys = {row["key"] for row in report["unattributed_rows"]}
            check("tag_check_failed" in keys, f"{case}, {strategy}: what the library hid is unattributed")
            continue
        check(not wrong, f"{case}, {strategy}: operators have what they used {'; '.join(wrong)}")
truth, report = record("nested", "none")
check(errors(truth, report), "the broken twin: without tags the same check finds it wrong")
