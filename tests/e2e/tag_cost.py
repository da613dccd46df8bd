"""`tailor ab`: what tags cost, from a share of executions that the engine was asked to run without them."""
import json
import math
import os
import pathlib
import signal
import subprocess
import tempfile

from live_daemon import wait_for
from tailor_env import BIN, BUILD, Daemon, about, check, run, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)

ENGINE = BUILD / "targets" / "tag_stores"
HALF = "50%"


def recorded(folder, percent, executions, share=HALF):
    """What `tailor ab` says of so many executions whose tags cost so many per cent."""
    profile = pathlib.Path(folder) / f"{percent}.tailor"
    run(BIN / "tailor", "record", "-F", 4999, "--untagged-executions", share, "-o", profile, "--", ENGINE, executions, percent)
    return json.loads(run(BIN / "tailor", "ab", profile, "--json")), profile


def off_by(ratio, truth):
    """How far the ratio is from the truth, in standard errors."""
    error = (math.log(ratio["high"]) - math.log(ratio["low"])) / (2 * 1.959964)
    return (math.log(ratio["value"]) - math.log(truth)) / error


with tempfile.TemporaryDirectory() as folder:
    # An injected cost is found. The interval narrows as executions come.
    executions = 1000
    while True:
        found, profile = recorded(folder, 50, executions)
        if found["ratio"] and found["ratio"]["high"] / found["ratio"]["low"] < 1.2:
            break
        check(executions < 64000, f"{executions} executions are enough to judge: {found['ratio']}")
        executions *= 2
    with_tags, without = found["with"]["executions"], found["without"]["executions"]
    check(about(without, with_tags + without, 0.5, 0), f"{without} executions of {with_tags + without} have no tags")
    check(found["ratio"]["low"] > 1, f"a cost of 50 % is found: {found['ratio']}")
    check(abs(off_by(found["ratio"], 1.5)) < 5, f"and is 50 %: {off_by(found['ratio'], 1.5):.1f} standard errors away")
    said = run(BIN / "tailor", "ab", profile)
    check("Tags cost CPU time here." in said, said.strip())
    listed = json.loads(run(BIN / "tailor", "list", profile, "--limit", 100000, "--json"))["executions"]
    check(sum(not each["tags"] for each in listed) == without, "`tailor list` says which have none")

    # A against A: tags that cost nothing.
    same, _ = recorded(folder, 0, executions)
    check(abs(off_by(same["ratio"], 1)) < 5, f"tags that cost nothing are not accused: {same['ratio']}")
    # Twin: that they cost half again is excluded here.
    check(abs(off_by(same["ratio"], 1.5)) > 5, f"and 50 % would be noticed: {off_by(same['ratio'], 1.5):.1f} standard errors away")

    # Nobody asked for executions without tags.
    none, profile = recorded(folder, 1, 50, share="0")
    check(none["executions_without_tags"] == 0 and none["ratio"] is None, "without such executions nothing is said")
    check("All of these executions had tags" in run(BIN / "tailor", "ab", profile), "in words, too")

    # tailord asks engines at run time, when its configuration says so.
    configuration = pathlib.Path(folder) / "tailord.toml"
    configuration.write_text("frequency = 997\n")
    with Daemon(frequency=997, options=["--config", configuration]) as daemon:
        def executions_so_far():
            rows = json.loads(daemon.tailor("list", "--limit", 100000, "--json", expect=None) or '{"executions": []}')["executions"]
            return len(rows), sum(not row["tags"] for row in rows)

        engine = subprocess.Popen([ENGINE, "1000000", "0"], env={**os.environ, **daemon.env})
        try:
            wait_for("executions", lambda: executions_so_far()[0] > 20)
            check(executions_so_far()[1] == 0, "all have tags")
            configuration.write_text('frequency = 997\nuntagged-executions = "50%"\n')
            daemon.process.send_signal(signal.SIGHUP)
            wait_for("executions without tags", lambda: executions_so_far()[1] > 20)
            configuration.write_text("frequency = 997\n")
            daemon.process.send_signal(signal.SIGHUP)
            wait_for("the agent heard of it", lambda: all(row["tags"] for row in json.loads(
                daemon.tailor("list", "--limit", 50, "--json"))["executions"]))
            check(True, "and none has tags off any more, once nobody asks for it")
        finally:
            engine.kill()
            engine.wait()
        said = json.loads(daemon.tailor("ab", "--json"))
        check("tag_cost" not in json.loads(daemon.tailor("status", "--json")), "a status has no cost of tags while nobody asks for it")
        check(said["executions_without_tags"] > 20, f"{said['executions_without_tags']} executions without tags are in the store")
        # weft compiles such an execution without tags.
        configuration.write_text('untagged-executions = "50%"\n')
        daemon.process.send_signal(signal.SIGHUP)
        wait_for("the daemon has read it", lambda: "untagged-executions" in open(daemon.log.name).read().split("changed:")[-1])
        status = json.loads(daemon.tailor("status", "--json"))
        check(status["untagged_ppm"] == 500000 and status["tag_cost"]["without"]["executions"] > 10,
              f"the status has the cost of tags: {status.get('tag_cost')}")
        check(" times the CPU time (" in daemon.tailor("status"), "in words, too")
        daemon.weft("--sf", "0.05", "--threads", "2", "--opt", "2", "--repeat", "60", "--quiet", "--query", "tpch-1")
        rows = [row for row in json.loads(daemon.tailor("list", "--process", "weft", "--limit", 1000, "--json"))["executions"]]
        off = [row for row in rows if not row["tags"]]
        check(len(rows) == 60 and 5 < len(off) < 55, f"{len(off)} of weft's {len(rows)} executions have no tags")
        check(len({row["fingerprint"] for row in rows}) == 1, "all are of one query")
        # What they cost is found in their operators all the same, by the generated code.
        report = daemon.report(max(off, key=lambda row: row["samples"])["id"])
        check(report["operators"]["share"] > 0.3, f"{report['operators']['share']:.0%} of one without tags are in operators")
        # A workflow asks for each of its runs, as a query does.
        workflow = pathlib.Path(folder) / "sums.wf"
        workflow.write_text('workflow sums\nudf "sums.ll"\ninput t(x f64) rows 100000 by make()\ncontext total f64\n'
                            "from t\nreduce add(x) into total\nend\n")
        workflow.with_suffix(".ll").write_text(
            "define void @make(i64 %row, ptr %x) {\n  %v = sitofp i64 %row to double\n  store double %v, ptr %x, align 8\n  ret void\n}\n"
            "define double @add(double %a, double %b) {\n  %r = fadd double %a, %b\n  ret double %r\n}\n")
        daemon.weft("workflow", workflow, "--repeat", "60", "--quiet")
        listed = json.loads(daemon.tailor("list", "--process", "weft", "--limit", 1000, "--json"))["executions"]
        runs = [row for row in listed if row["plan_name"] == "sums"]
        off = [row for row in runs if not row["tags"]]
        check(len(runs) == 60 and 5 < len(off) < 55, f"{len(off)} of {len(runs)} runs of a workflow have no tags")
