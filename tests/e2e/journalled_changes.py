"""What changes while the daemon runs is in the journal: reloads, pauses, rates, triggers, limits, shares of executions, and summaries
that take the place of samples. Replays are the same to the byte, and say what the daemon said."""
import filecmp
import glob
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from catalogue_rows import changed_rows
from live_daemon import wait_for
from tailor_env import BIN, Daemon, check, run, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)

CONFIG = """max-frequency = 2000
keep-days = 1
user-plans = 3
sample-executions = "1/2"
untagged-executions = "UNTAGGED"
[processes]
ignore = ["IGNORED"]
[[triggers.raise]]
name = "traced"
label = "trace=yes"
frequency = 499
for = "1s"
cool-down = "0s"
"""
DAY_NS = 86400 * 10**9


def config_of(untagged="0", ignored="nobody-runs-this"):
    return CONFIG.replace("UNTAGGED", untagged).replace("IGNORED", ignored)


with tempfile.TemporaryDirectory() as folder:
    config, journal = (pathlib.Path(folder) / name for name in ("tailord.toml", "journal"))
    config.write_text(config_of())
    daemon = Daemon(frequency=199, options=["--config", config])
    with daemon:
        # A store with samples of last week, for the second start.
        daemon.weft("--sf", "0.05", "--threads", "1", "--repeat", "40", "--quiet", "--query", "tpch-6")
        daemon.stop()
        with changed_rows(daemon.store) as catalogue:
            catalogue.execute("UPDATE segment SET wall_ns = wall_ns - ?", (10 * DAY_NS,))
        old = set(glob.glob(str(daemon.store / "*.data")))
        daemon.command += ["--journal", str(journal)]
        daemon.start()
        log = pathlib.Path(daemon.log.name)

        def status():
            return json.loads(daemon.tailor("status", "--json"))

        def process(pid):
            return next((p for p in status()["processes"] if p["info"]["process"]["pid"] == pid), {})

        def received(pid):
            return int(process(pid).get("accounting", {}).get("received", 0))

        def reload(text, changed):
            config.write_text(text)
            times = log.read_text().count("changed: " + changed)
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(f"{changed} is read again", lambda: log.read_text().count("changed: " + changed) > times)

        def weft(*options):
            return subprocess.Popen([BIN / "weft", "--sf", "0.05", "--threads", "2", "--opt", "2", "--repeat", "100000", "--quiet",
                                     "--query", "tpch-6", *options], env={**os.environ, **daemon.env})

        engines = [weft()]
        try:
            pid = engines[0].pid
            wait_for("an engine is sampled", lambda: received(pid) > 20)
            daemon.tailor("rate", 997, "--pid", pid)
            reload(config_of(untagged="50%"), "untagged-executions")
            wait_for("executions without tags", lambda: any(not row["tags"] for row in json.loads(
                daemon.tailor("list", "--process", pid, "--limit", 1000, "--json"))["executions"]))
            daemon.tailor("pause", pid)
            engines.append(weft("--label", "trace=yes"))
            other = engines[1].pid
            wait_for("the trigger fires", lambda: int(status()["triggers"][0].get("fired", 0)) >= 1)
            # More plans than a user may have.
            engines.append(subprocess.Popen([BIN / "weft", "--sf", "0.05", "--threads", "1", "--quiet", "--repeat", "20"] +
                                            [word for n in (1, 3, 6, 10, 12, 14) for word in ("--query", f"tpch-{n}")],
                                            env={**os.environ, **daemon.env}))
            wait_for("a limit is reached", lambda: any(each["reason"] == "user-plans" for each in status().get("limits", [])))
            daemon.tailor("resume", pid)
            before = received(pid)
            wait_for("it is sampled again", lambda: received(pid) > before + 20)
            reload(config_of(untagged="50%", ignored="weft"), "processes.ignore")
            wait_for("nobody is sampled any more", lambda: not process(pid).get("sampled") and not process(other).get("sampled"))
            reload(config_of(untagged="50%"), "processes.ignore")
            wait_for("and again", lambda: process(other).get("sampled"))
            wait_for("old samples became summaries", lambda: not old & set(glob.glob(str(daemon.store / "*.data"))))
        finally:
            for engine in engines:
                engine.kill()
                engine.wait()
        time.sleep(1)
        daemon.stop()
        one, two = (journal.with_name(name) for name in ("one.tailor", "two.tailor"))
        for to in (one, two):
            run(BIN / "tailor", "replay", journal, "-o", to)
        check(filecmp.cmp(one, two, shallow=False), "two replays of the journal are the same")
        # Twin: without the second half of what the journal says.
        half = journal.with_name("half.journal")
        half.write_bytes(journal.read_bytes()[:journal.stat().st_size // 2])
        run(BIN / "tailor", "replay", half, "-o", journal.with_name("half.tailor"), expect=None)
        given = journal.with_name("half.tailor")
        check(not given.exists() or not filecmp.cmp(one, given, shallow=False), "half of the journal does not give the same")

        def facts(report):
            account, recording = report["accounting"], report["recording"]
            return ({key: account[key] for key in ("received", "attributed", "unattributed", "late", "not_drawn", "not_drawn_ns",
                                                   "messages", "messages_rejected", "log_records", "log_records_lost")},
                    recording["rates"], recording["pauses"], recording["executions_drawn_share"])

        # Of each engine: its samples with their weights, and what the whole recording says of itself.
        for engine in (pid, other):
            live, replayed = daemon.report("--pid", engine), json.loads(run(BIN / "tailor", "report", one, "--pid", engine, "--json"))
            check((live["samples"], live["weight"]) == (replayed["samples"], replayed["weight"]),
                  f"process {engine}: the replay has the {live['samples']} samples of the store with their weights")
            check(facts(live) == facts(replayed), "and says the same of the recording")
        halved = run(BIN / "tailor", "report", journal.with_name("half.tailor"), "--pid", pid, "--json", expect=None)
        check(not halved or facts(daemon.report("--pid", pid)) != facts(json.loads(halved)), "half of the journal does not say so")
        account, rates, pauses, share = facts(live)
        check(account["not_drawn"] > 0 and share == 0.5, f"{account['not_drawn']} samples are of executions that are not drawn")
        check(account["messages_rejected"] > 0, f"{account['messages_rejected']} messages were refused")
        check({rate["frequency"] for rate in rates} == {997, 499} and pauses, "rates by hand and by the trigger, and the pause")
        listed = [json.loads(run(BIN / "tailor", "list", *where, "--process", str(pid), "--limit", 100000, "--json"))["executions"]
                  for where in (["--store", daemon.store], [one])]
        of = [{row["id"]: (row["drawn"], row["tags"], row["samples"]) for row in rows} for rows in listed]
        check(of[0] == of[1], f"the {len(of[0])} executions are drawn, and have tags, as in the store")
        check({drawn for drawn, _, _ in of[0].values()} == {True, False} and {tags for _, tags, _ in of[0].values()} == {True, False},
              "some are drawn and some have tags, others not")
