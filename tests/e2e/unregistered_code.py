"""Generated code that its engine forgot to register is nobody's, and is said (tests/targets/unregistered_code.cc): two pipelines of
known cost, of which the second runs with a tag of the first one's operator in the register. The truth is taken by the program's
CPU clock. Each way to forget it has its cause in `tailor doctor`.
"""
import json
import tempfile

from chance import about
from tailor_env import BIN, BUILD, check, operators, run, sampling_denied, skip, until_enough

SLACK = 0.03  # of the whole: loops that tell the time, and the agent
TARGET = BUILD / "targets/unregistered_code"
# How the second pipeline is forgotten, and the cause that is found.
CAUSES = {"first": "not_this_code", "none": "no_code", "wrong_plan": "wrong_plan", "unloaded": "other_time"}

if reason := sampling_denied():
    skip(reason)


def recorded(how):
    """The truth as operator -> ns, the report, its text, and what doctor finds on generated code."""
    def measure(work):
        with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
            said = run(BIN / "tailor", "record", "-F", "1999", "-o", profile.name, "--", TARGET, how, 400 * work)
            report = json.loads(run(BIN / "tailor", "report", profile.name, "--json"))
            text = " ".join(run(BIN / "tailor", "report", profile.name).split())
            findings = json.loads(run(BIN / "tailor", "doctor", profile.name, "--json", expect=None))
            return json.loads(said.splitlines()[-1]), report, text, [each for each in findings if each["check"] == "generated code"]
    return until_enough(300, lambda found: found[1]["windows"]["samples"], measure)


def right(truth, report):
    """Whether each operator has the part of the execution that its pipeline used."""
    whole, samples = sum(truth.values()), {each["name"]: each["samples"] for each in operators(report)}
    inside = report["windows"]["samples"]
    print(truth, samples, report["unregistered_code"], inside)
    return all(about(samples.get(name, 0), inside, ns / whole, SLACK) for name, ns in truth.items())


truth, report, text, findings = recorded("both")
check(right(truth, report), "both are registered: each operator has what its pipeline used")
check(not findings and not any(each["samples"] > 0.01 * report["samples"] for each in report["unregistered_code"]),
      "nothing is said of code that nobody registered")
for how, why in CAUSES.items():
    truth, report, text, findings = recorded(how)
    check(not right(truth, report), f"the broken twin, {how}: the same check finds that an operator has too little")
    forgotten = {"Scan": 0 if how == "none" else truth["Scan"], "Join": 0}
    inside, whole = report["windows"]["samples"], sum(truth.values())
    samples = {each["name"]: each["samples"] for each in operators(report)}
    for name, ns in forgotten.items():
        check(about(samples.get(name, 0), inside, ns / whole, SLACK), f"{how}: {name} has its own and nothing of its neighbour's")
    said = report["unregistered_code"]
    check(len(said) == 1 and about(said[0]["samples"], inside, 1 - sum(forgotten.values()) / whole, SLACK),
          f"{how}: the rest is in code that nobody registered: {said}")
    check(said[0]["why"] == why, f"{how}: the cause is {why}")
    row = [each for each in report["unattributed_rows"] if each["key"] == "unregistered_code"]
    check(len(row) == 1 and row[0]["samples"] == said[0]["samples"], f"{how}: it is a row of its own")
    check("in generated code that nobody registered" in text, f"{how}: the report says so before its figures")
    check(len(findings) == 1 and findings[0]["state"] == "problem" and findings[0]["remedy"] and findings[0]["cause"] == why, f"{how}: doctor says what to do: {findings}")
