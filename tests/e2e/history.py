"""Executions by time of day, process, query and duration, from `tailor list` and `tailor report`, across restarts."""
import datetime
import json
import os
import subprocess
import time

from catalogue_rows import changed_rows
from tailor_env import BIN, Daemon, check


def ids(text):
    return [each["id"] for each in json.loads(text)["executions"]]


def utc(ns, digits=9):
    whole = datetime.datetime.fromtimestamp(ns // 10**9, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{ns % 10**9:09d}"[:20 + digits] + "Z"


def refused(daemon, *arguments, code, env=None):
    done = subprocess.run([BIN / "tailor", *arguments], capture_output=True, text=True, env={**daemon.env, **(env or {})})
    check(done.returncode == code, f"{' '.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()[:120]}")
    return done.stderr


with Daemon() as daemon:
    def work(query, repeat):
        daemon.weft("--sf", "0.1", "--threads", "1", "--repeat", str(repeat), "--quiet", "--query", query)

    before = time.time_ns()
    work("tpch-6", 4)
    middle = time.time_ns()
    # Another recording, as after a restart of the host: its clock has nothing to do with the first one's.
    daemon.stop()
    daemon.start()
    work("tpch-1", 3)
    after = time.time_ns()

    rows = json.loads(daemon.tailor("list", "--json"))["executions"]
    begins = [row["began_wall_ns"] for row in rows]
    check(len(rows) == 7 and begins == sorted(begins, reverse=True), f"{len(rows)} executions of two recordings, newest first")
    check(all(before < begin < after for begin in begins), "they began when they ran")
    for row in rows:
        said = datetime.datetime.fromisoformat(row["began"])
        check(said.utcoffset() is not None and abs(said.timestamp() - row["began_wall_ns"] / 1e9) < 0.0011, f"{row['began']} has its zone")

    newest, oldest = [row["id"] for row in rows[:3]], [row["id"] for row in rows[3:]]
    check(ids(daemon.tailor("list", "--json", "--since", utc(middle))) == newest, "--since")
    check(ids(daemon.tailor("list", "--json", "--until", utc(middle))) == oldest, "--until")
    check(ids(daemon.tailor("list", "--json", "--since", utc(begins[5]), "--until", utc(begins[4]))) == [rows[5]["id"]],
          "a range holds its begin and not its end")
    check(len(ids(daemon.tailor("list", "--json", "--since", "-10m"))) == 7, "--since -10m")
    check(ids(daemon.tailor("list", "--json", "--since", "now")) == [], "--since now")

    # Local time is that of TZ; the same words mean another time elsewhere.
    local = datetime.datetime.fromtimestamp(middle / 1e9, datetime.timezone(datetime.timedelta(hours=9)))
    words = local.strftime("%Y-%m-%dT%H:%M:%S.%f")
    def list_in(zone):
        return ids(subprocess.run([BIN / "tailor", "list", "--json", "--since", words], capture_output=True, text=True, check=True,
                                  env={**daemon.env, "TZ": zone}).stdout)
    check(list_in("JST-9") == newest, f"{words} in the local zone")
    check(list_in("UTC") == [], "and in another zone")
    check("+09:00" in subprocess.run([BIN / "tailor", "list", "--json"], capture_output=True, text=True,
                                     env={**daemon.env, "TZ": "JST-9"}).stdout, "--json says the zone")

    pids = sorted({row["pid"] for row in rows})
    check(ids(daemon.tailor("list", "--json", "--process", str(rows[0]["pid"]))) == newest, "--process PID")
    check(len(ids(daemon.tailor("list", "--json", "--process", "WEFT"))) == 7, f"--process NAME, of processes {pids}")
    check(ids(daemon.tailor("list", "--json", "--process", "wef")) == [], "a part of a name is another name")
    check(ids(daemon.tailor("list", "--json", "--fingerprint", rows[0]["fingerprint"])) == newest, "--fingerprint")
    longest = max(row["elapsed_ns"] for row in rows)
    check(ids(daemon.tailor("list", "--json", "--longer-than", f"{longest / 1e6}ms")) ==
          [row["id"] for row in rows if row["elapsed_ns"] >= longest], "--longer-than")
    label = next(iter(rows[0]["labels"].items()))
    with_label = [row["id"] for row in rows if row["labels"].get(label[0]) == label[1]]
    check(ids(daemon.tailor("list", "--json", "--label", f"{label[0]}={label[1]}")) == with_label, f"--label {label[0]}=...")
    check(ids(daemon.tailor("list", "--json", "--label", "tenant=nobody")) == [], "--label of nobody")
    # Where the host has no unified hierarchy, or lets nobody sample, no cgroup is known.
    if cgroup := rows[0]["cgroup"]:
        for pattern in (cgroup, "*" + cgroup[1:]):
            check(len(ids(daemon.tailor("list", "--json", "--cgroup", pattern))) == 7, f"--cgroup {pattern}")
        check(ids(daemon.tailor("list", "--json", "--cgroup", cgroup + "/nowhere")) == [], "--cgroup of nobody")
        groups = json.loads(daemon.tailor("list", "--by", "cgroup", "--json"))["groups"]
        check([(each["name"], each["executions"]) for each in groups] == [(cgroup, 7)], f"--by cgroup: {groups}")
        check(daemon.tailor("list", "--by", "cgroup").count("\n") == 2, "--by as text")
    page = json.loads(daemon.tailor("list", "--json", "--limit", "2"))
    check(len(page["executions"]) == 2 and page["more"], "--limit says that there are more")

    # Reports take the same options.
    def executions_of(report):
        return sum(plan["executions"] for plan in report["plans"])
    sampled = {row["id"] for row in rows if row["samples"] > 0}
    for which, part in ((oldest, ("--until", utc(middle))), (newest, ("--since", utc(middle)))):
        if sampled.intersection(which):
            check(executions_of(daemon.report(*part)) == len(sampled.intersection(which)), f"a report {part[0]} {part[1]}")
        else:
            print("not checked: a report of a time, because no execution has samples")
    said = refused(daemon, "report", "--since", "now", code=3)
    check("holds no execution that began at" in said, "a report of nothing says what was asked")
    refused(daemon, "report", newest[0], "--since", "-10m", code=2)
    refused(daemon, "list", "--since", "now", code=3)
    for wrong in ("noon", "25:00", "2026-02-30"):
        said = refused(daemon, "list", "--since", wrong, code=2)
        check("--since" in said and "yesterday 14:00" in said, f"{wrong}: the accepted forms are named")
    said = refused(daemon, "list", "--since", "2026-03-29T02:30", code=2, env={"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"})
    check("put forward" in said, "a time that the clocks left out")
    refused(daemon, "list", "--since", "-1m", "--until", "-2m", code=2)
    refused(daemon, "list", "--label", "user", code=2)
    refused(daemon, "list", "--longer-than", "5", code=2)

    # One query by two plans; a restart between executions by one plan changes none.
    def changing(query):
        daemon.weft("--sf", "0.1", "--threads", "1", "--quiet", "--query", query, "--label", "fingerprint=changing")
    for query in ("tpch-6", "tpch-6", "tpch-1"):
        changing(query)
    daemon.stop()
    daemon.start()
    changing("tpch-1")
    runs = ids(daemon.tailor("list", "--json", "--fingerprint", "changing"))
    said = json.loads(daemon.tailor("list", "--plan-changes", "--json"))
    between = [(change["fingerprint"], change["before"]["id"], change["after"]["id"]) for change in said["plan_changes"]]
    check(between == [("changing", runs[2], runs[1])], f"the plan changed once: {between}")
    check(said["executions"] == 11 and said["without_plan"] == 0, "all executions were compared")
    text = daemon.tailor("list", "--plan-changes")
    check(runs[1][:12] in text and runs[2][:12] in text and runs[0][:12] not in text, "as text")
    check("No plan changed among 3 executions" in daemon.tailor("list", "--plan-changes", "--fingerprint", rows[0]["fingerprint"]), "of another query nothing")

    # What the budget of the catalogue took is missing in the list, and it says so.
    daemon.stop()
    with changed_rows(daemon.store) as catalogue:
        catalogue.execute("INSERT INTO removed VALUES (?, 7, 0, ?, ?)", (os.getuid(), before, after))
    check("7 executions of" in daemon.tailor("list"), "the list says how many executions were removed")
    removed = json.loads(daemon.tailor("list", "--json"))["removed"]
    check([(row["uid"], row["executions"]) for row in removed] == [(os.getuid(), 7)], f"and whose: {removed}")
