"""Names of things that are not there: one kind of error, which lists what there is; and which file `--last N` is of."""
import json
import pathlib
import re
import subprocess
import tempfile

from tailor_env import BIN, all_accounted, check, run, sampling_denied, skip


def refused(*command):
    done = subprocess.run([BIN / "tailor", *command], capture_output=True, text=True)
    said = done.stderr.strip()
    check(done.returncode == 2 and not done.stdout and re.fullmatch(r'tailor: there is no (\w+) "nosuch"; there are: .+', said),
          f"{' '.join(map(str, command[:2]))}: {said}")
    return said


for command in ("annotate", "events", "list", "record", "report", "status"):
    check(command in refused("nosuch"), f"the commands that there are: {command}")

if reason := sampling_denied():
    skip(reason)

with tempfile.TemporaryDirectory() as folder:
    profile = pathlib.Path(folder) / "two.tailor"
    # Each execution has many samples, on a fast host, too: those without one are in no plan.
    run(BIN / "tailor", "record", "-F", "2000", "-o", profile, "--", BIN / "weft", "--sf", "0.5", "--threads", "1", "--repeat", "20",
        "--quiet", "--query", "tpch-1")
    levels = refused("report", profile, "--level", "nosuch")
    check("operator" in levels and "task" in levels, "the levels that there are")
    check("cpu-clock" in refused("report", profile, "--source", "nosuch"), "the sources that there are")
    whole = json.loads(run(BIN / "tailor", "report", profile, "--json"))
    one = json.loads(run(BIN / "tailor", "report", "--last", "1", profile, "--json"))
    three = json.loads(run(BIN / "tailor", "report", "--last", "3", profile, "--json"))
    check(sum(p["executions"] for p in one["plans"]) == 1 and one["samples"] < whole["samples"], "--last 1 FILE is of the file")
    check(sum(p["executions"] for p in three["plans"]) == 3, "--last 3 FILE too")
    behind = json.loads(run(BIN / "tailor", "report", profile, "--json", "--last"))
    check(sum(p["executions"] for p in behind["plans"]) == 1 and behind["samples"] == one["samples"], "FILE --last is the last one")

    # Every number adds up, and says what it covers.
    for report in (whole, one):
        for plan in report["plans"]:
            parts = sum(row["share"] for row in plan["operators"] + plan["unowned"])
            samples = sum(row["samples"] for row in plan["operators"] + plan["unowned"])
            check(abs(parts - 1) < 1e-9 and abs(samples - plan["own"]["samples"]) < 1e-6,
                  f"operators and what none owns are the plan's own {plan['own']['samples']} samples")
            beside = plan["beside"]["engine_components"] + plan["beside"]["unattributed"]
            inside = samples + sum(row["samples"] for row in beside)
            if report is one:
                check(abs(inside - report["samples"]) < 1e-6, "with what stands beside them they are the execution's")
        classes = sum(report[kind]["samples"] for kind in ("operators", "engine_components", "unattributed"))
        check(abs(classes - report["samples"]) < 1e-6, f"classes add up to {report['samples']} samples")
    account = whole["accounting"]
    others = sum(source["samples"] for source in whole["other_sources"])
    check(all_accounted(account), f"received {account['received']} adds up")
    check(whole["samples"] + others == account["attributed"] + account["unattributed"], "and is what the report is of")
    everything = json.loads(run(BIN / "tailor", "report", profile, "--of", "everything", "--json"))
    parts = sum(row["share"] for plan in everything["plans"] for row in plan["operators"])
    check(abs(parts - everything["operators"]["share"]) < 1e-9, "--of everything: operators are parts of the whole report")
