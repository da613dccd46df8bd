"""Triggers of the configuration: a query that runs longer than usual, and a label, raise the rate of their process for a while;
status, log, report and replay say why."""
import filecmp
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from live_daemon import wait_for
from tailor_env import BIN, Daemon, check, run, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)

CONFIG = """max-frequency = 2000
[[triggers.raise]]
name = "slow"
slower-than-usual = 50
frequency = 997
for = "5s"
cool-down = "1h"
[[triggers.raise]]
name = "traced"
label = "trace=yes"
frequency = 499
for = "2s"
cool-down = "0s"
"""


def check_config(config, text, *words):
    config.write_text(text)
    done = subprocess.run([BIN / "tailord", "--check-config", config], capture_output=True, text=True)
    said = done.stdout + done.stderr
    check(done.returncode == (2 if words else 0) and all(word in said for word in words), said.strip())


with tempfile.TemporaryDirectory() as folder:
    config, journal = (pathlib.Path(folder) / name for name in ("tailord.toml", "journal"))
    check_config(config, CONFIG.replace("997", "2001"), "trigger slow: a rate is from 1 to 2000 Hz, not 2001")
    check_config(config, CONFIG.replace('name = "traced"', 'name = "slow"'), ":8:", "two triggers of the name")
    waits = '[[triggers.raise]]\nname = "locked"\nwait-longer-than = "500ms"\nfrequency = 997\n'
    check_config(config, CONFIG + waits, "trigger locked:", "needs the times off the CPU")
    check_config(config, CONFIG.replace("slower-than-usual = 50", "run-queue-above = 64"))
    check_config(config, CONFIG)
    with Daemon(frequency=99, options=["--journal", journal, "--config", config]) as daemon:
        def status():
            return json.loads(daemon.tailor("status", "--json"))

        def process(pid):
            return next((p for p in status()["processes"] if p["info"]["process"]["pid"] == pid), None)

        def received(pid):
            found = process(pid)
            return int(found["accounting"]["received"]) if found else 0

        def rate(pid):
            return (process(pid) or {}).get("rate", {})

        def ended(pid):
            rows = json.loads(daemon.tailor("list", "--process", pid, "--limit", 100, "--json", expect=None) or '{"executions": []}')
            return sum(not row["running"] for row in rows["executions"])

        def trigger(name):
            counts = next(each for each in status()["triggers"] if each["name"] == name)
            return int(counts.get("fired", 0)), int(counts.get("skipped", 0))

        def weft(*options):
            # Long enough that no host keeps one off its CPU for 50 times as long.
            return subprocess.Popen([BIN / "weft", "--sf", "0.5", "--threads", "1", "--repeat", "100000", "--quiet", "--query",
                                     "tpch-1", *options], env={**os.environ, **daemon.env})

        engines = [weft()]
        try:
            pid = engines[0].pid
            wait_for("an engine is sampled", lambda: received(pid) > 20)
            wait_for("it is known how long the query takes", lambda: ended(pid) >= 30)
            check(not rate(pid) and trigger("slow")[0] == 0, "nothing runs longer than usual, and nothing is raised")
            # It may have been stopped between two queries.
            for _ in range(10):
                engines[0].send_signal(signal.SIGSTOP)
                stopped = time.monotonic()
                deadline = stopped + 60
                while not rate(pid) and time.monotonic() < deadline:
                    time.sleep(0.1)
                raised, took = rate(pid), time.monotonic() - stopped
                engines[0].send_signal(signal.SIGCONT)
                if raised:
                    break
                time.sleep(0.2)
            check(raised.get("frequency") == 997 and "trigger slow: a query ran 50 times its usual" in raised["why"],
                  f"the process of a query that stands still is raised: {raised}")
            wait_for("it is over by itself", lambda: not rate(pid))
            check(trigger("slow")[0] == 1, "the trigger fired once")
            listed = json.loads(daemon.tailor("list", "--json", "--limit", 100000))["executions"]
            marks = [row["rate"] for row in listed if row["pid"] == pid and row["rate"]]
            check(marks and all(mark["hz"] == 997 and "trigger slow" in mark["why"] for mark in marks), f"executions are marked: {marks[:3]}")
            check(not all(row["rate"] for row in listed), "and not all of them")
            check(re.search(r"trigger              slow: fired 1 time(,|$)", daemon.tailor("status"), re.MULTILINE), "status says so in words")
            engines[0].send_signal(signal.SIGSTOP)
            time.sleep(max(3, 2 * took))
            check(not rate(pid), "it is cooling down")
            engines[0].send_signal(signal.SIGCONT)

            engines.append(weft("--label", "trace=yes"))
            other = engines[1].pid
            wait_for("an execution with the label raises its process",
                     lambda: rate(other).get("frequency") == 499 and rate(other)["why"] == "trigger traced")
            check(not rate(pid), "and no other")
            wait_for("again and again, without a cool-down", lambda: trigger("traced")[0] >= 2)
            daemon.tailor("rate", 200, "--pid", other)
            fired = trigger("traced")[0]
            time.sleep(3)
            check(rate(other)["frequency"] == 200 and trigger("traced")[0] == fired, "a rate that somebody asked for stays")

            # Other rules from now on.
            config.write_text(CONFIG.replace("trace=yes", "trace=no").replace("997", "5000"))
            daemon.process.send_signal(signal.SIGHUP)
            log = pathlib.Path(daemon.log.name)
            wait_for("a trigger that cannot be is refused",
                     lambda: "trigger slow: a rate is from 1 to 2000 Hz" in log.read_text())
            check(len(status()["triggers"]) == 2 and trigger("slow")[0] == 1, "and everything stays as it was")
            config.write_text(CONFIG.replace("trace=yes", "trace=no"))
            daemon.process.send_signal(signal.SIGHUP)
            wait_for("other triggers are taken over", lambda: "changed: triggers.raise" in log.read_text())
            daemon.tailor("rate", "default", "--pid", other)
            time.sleep(1)
            check(not rate(other), "the label is no reason any more")
        finally:
            for engine in engines:
                engine.kill()
                engine.wait()
        daemon.stop()
        report = daemon.report("--pid", pid)
        rates = [each for each in report["recording"]["rates"] if each["pid"] == pid]
        check(len(rates) == 1 and rates[0]["frequency"] == 997 and "trigger slow" in rates[0]["why"], f"the report has it: {rates}")
        check("was sampled at 997 Hz from" in daemon.tailor("report", "--pid", pid), "and says so")
        replayed, again = (journal.with_name(name) for name in ("one.tailor", "two.tailor"))
        run(BIN / "tailor", "replay", journal, "-o", replayed)
        run(BIN / "tailor", "replay", journal, "-o", again)
        check(filecmp.cmp(replayed, again, shallow=False), "two replays of the journal are the same")
        same = json.loads(run(BIN / "tailor", "report", replayed, "--pid", pid, "--json"))
        check(same["recording"]["rates"] == report["recording"]["rates"] and same["weight"] == report["weight"],
              "they have the rates and the weights")
