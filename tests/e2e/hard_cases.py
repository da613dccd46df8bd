"""The cases in which profilers guess whom shared code works for (tests/targets/hard_cases.cc), against the truth that
the program measured itself. Each case has its broken twin: the same tolerance must find it wrong where there are neither
tags nor stacks. Call stacks alone must get right what the innermost generated frame tells, and no more.

    hard_cases.py            r15, less than a second each
    hard_cases.py --full     every strategy, two seconds each
    hard_cases.py ... -- --sampler perf    with other options of tailor record
"""
import json
import subprocess
import sys
import tempfile

from tailor_env import BIN, BUILD, by_chance, check, run, sampling_denied, skip

CASES = ["plain", "nested", "callback", "exception", "recursion", "signal", "malloc", "touch", "fault", "fork", "pool"]
# Shared code that works for another operator than the generated frame that called it: no call stack tells.
SCOPED = ["nested", "recursion", "signal"]
OPTIONS = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
FULL = "--full" in sys.argv
FREQUENCY = 4999
EFFECTIVE = 0.88  # of periods that are drawn, docs/capture.md
MILLISECONDS = 2000 if FULL else 800

if reason := sampling_denied():
    skip(reason)
if not (BUILD / "targets/hard_cases").exists():
    skip("built without LLVM")


def record(case, strategy, *options):
    """The truth of one run, as query -> operator -> ns, the report, and what the recorder said."""
    with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
        done = subprocess.run([str(BIN / "tailor"), "record", "-F", str(FREQUENCY), *OPTIONS, *options, "-o", profile.name,
                               "--", str(BUILD / "targets/hard_cases"), case, strategy, str(MILLISECONDS)],
                              capture_output=True, text=True)
        check(done.returncode == 0, f"{case}, {strategy}: runs" + (f": {done.stderr[-500:]}" if done.returncode else ""))
        report = json.loads(run(BIN / "tailor", "report", profile.name, "--json"))
        if case == "malloc":
            recovered = report["by"].get("tag_unwound", 0) > 0
            check(("saved them" in " ".join(run(BIN / "tailor", "report", profile.name).split())) == recovered,
                  f"{case}, {strategy}: recovered tags are counted in the report")
    return json.loads(done.stdout.splitlines()[-1]), report, done.stderr


def found(report):
    """Query -> operator -> ns, from samples."""
    return {plan["name"]: {op["name"]: op["weight"] for op in plan["operators"]} for plan in report["plans"]}


def errors(truth, report):
    """What is wrong: an operator's part of the true time, found and true, beyond chance and one
    point of bias. Samples of different weight count as fewer."""
    total = sum(ns for query in truth.values() for ns in query.values())
    samples = EFFECTIVE * total / 1e9 * FREQUENCY
    wrong = []
    for query, operators in truth.items():
        for operator, ns in operators.items():
            true = ns / total
            seen = found(report).get(query, {}).get(operator, 0) / total
            allowed = 0.01 + by_chance(min(max(true, 0.01), 0.99), samples)
            if abs(seen - true) > allowed:
                wrong.append(f"{query}.{operator}: {seen:.1%} of the time, in truth {true:.1%} (+-{allowed:.1%})")
    return wrong


def right(case, strategy):
    truth, report, said = record(case, strategy)
    wrong = errors(truth, report)
    if case == "touch":
        a = next(op for plan in report["plans"] for op in plan["operators"] if op["name"] == "A")
        check(a["kernel_weight"] > 0.5 * a["weight"], f"{case}: {a['kernel_weight'] / a['weight']:.0%} of A's time is in "
              "the kernel, in a column of its own")
    if case == "fault" and strategy != "none" and report["by"].get("kernel_tag", 0) == 0:
        # This way of sampling does not know the tag of a thread in the kernel.
        hidden = [row for row in report["unattributed_rows"] if row["key"] == "unknown_kernel"]
        check(wrong and hidden and any("rt_faults" in place["where"] for place in report["unattributed_places"]),
              f"{case}, {strategy}: without the tag of threads in the kernel its time is unattributed, by name")
        return
    if case == "malloc" and strategy in ("r15", "swiftself"):
        check(report["by"].get("tag_unwound", 0) > 0.05 * report["samples"],
              f"{case}, {strategy}: tags that the C library put aside are found where it saved them")
    check(not wrong, f"{case}, {strategy}: operators have what they used {'; '.join(wrong)}".rstrip())


def slots_are_read():
    """Whether this host and these options have what reads tags in memory."""
    return "by BPF" in record("plain", "slot")[2]


strategies = ["r15"]
if FULL:
    strategies += ["swiftself", "slot"] if slots_are_read() else ["swiftself"]
    if "slot" not in strategies:
        print("left out: tags in memory slots, which only a BPF program reads")
for strategy in strategies:
    for case in CASES:
        right(case, strategy)
for case in CASES:
    truth, report, _ = record(case, "none", "--stacks", "none")
    check(errors(truth, report), f"{case}, the broken twin: without tags and stacks the same check finds it wrong")
for case in CASES if FULL else ["plain", *SCOPED]:
    if case not in SCOPED:
        right(case, "none")
        continue
    truth, report, _ = record(case, "none")
    check(errors(truth, report), f"{case}, call stacks alone: the generated frame is that of another operator")
