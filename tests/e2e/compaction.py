"""Old samples go and their sums stay: `tailor report --by` and /api/v1/history say the same before and after, also when the daemon
is killed in between."""
import glob
import json
import math
import os
import signal
import subprocess
import time

from catalogue_rows import changed_rows
from tailor_env import BIN, Daemon, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
DAY_NS = 86400 * 10**9
CANARY = "canary4711"


def history(daemon, *options):
    return json.loads(daemon.tailor("report", "--by", "hour", "--json", *options))


def rows(answer):
    """Weight and samples by hour, kind of row, name and event."""
    return {(period["begin_ms"], row["what"], row["id"], row["name"], row["source"]): (row["weight"], row["samples"])
            for period in answer["periods"] for row in period["rows"]}


def same(before, after):
    return before.keys() == after.keys() and all(
        math.isclose(a, b, rel_tol=1e-9) for key in before for a, b in zip(before[key], after[key]))


def make_old(daemon):
    """As if all data segments had been written ten days ago."""
    with changed_rows(daemon.store) as catalogue:
        catalogue.execute("UPDATE segment SET wall_ns = wall_ns - ?", (10 * DAY_NS,))


def data_segments(daemon):
    return sorted(glob.glob(str(daemon.store / "*.data")))


with Daemon(options=("--keep-days", "1")) as daemon:
    def work(*query, repeat=40):
        daemon.weft("--sf", "0.1", "--threads", "1", "--repeat", str(repeat), "--quiet", *query)

    # Much dearer than the other query, and more than one of its operators costs something.
    work("--query", "tpch-1")
    work("-c", f"select count(*) from orders where o_comment like '%{CANARY}%'", repeat=3)
    first = history(daemon)
    queries = {query["name"]: query for query in first["queries"]}
    # What belongs to no execution may be the most expensive, and has none.
    fingerprint = next(query["fingerprint"] for query in first["queries"] if query["fingerprint"])
    check(first["executions"] == 43, f"{first['executions']} executions of {len(queries)} queries ended")
    before = history(daemon, "--fingerprint", fingerprint)
    took = sorted(row["elapsed_ns"] for row in json.loads(daemon.tailor("list", "--json", "--fingerprint", fingerprint))["executions"])
    for key, part in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        real = took[math.ceil(part * len(took)) - 1]
        check(abs(before["elapsed_ns"][key] - real) <= 0.05 * real, f"{key} of {len(took)} executions: {before['elapsed_ns'][key] / 1e6:.3f} ms; {real / 1e6:.3f} ms")
    check(before["result_rows"]["executions"] == len(took), f"their rows are known: {before['result_rows']}")
    check(sum(row["what"] == "operator" for row in before["rows"]) >= 2, "its operators have costs")

    # What reports say of the samples, by another way.
    report = daemon.report("--fingerprint", fingerprint)
    named = {(row["id"], row["name"]): row["weight"] for row in before["rows"] if row["what"] == "operator"}
    for operator in report["plans"][0]["operators"]:
        want, have = operator["weight"], named.get((operator["id"], operator["name"]), 0)
        # Sums divide a sample of several owners into 2^20 parts.
        check(math.isclose(have, want, rel_tol=1e-5), f"{operator['name']}: {have / 1e6:.3f} ms; {want / 1e6:.3f} ms in a report on the samples")

    daemon.stop()
    old = data_segments(daemon)
    make_old(daemon)
    daemon.start()
    deadline = time.monotonic() + 60
    while any(os.path.exists(path) for path in old) and time.monotonic() < deadline:
        time.sleep(0.2)
    check(not any(os.path.exists(path) for path in old), f"{len(old)} old data segments are gone")
    check(len(glob.glob(str(daemon.store / "*.summary"))) == 1, "a summary is there")
    summed_up = history(daemon, "--fingerprint", fingerprint)
    check(same(rows(before), rows(summed_up)), "the sums are those of the samples")
    check(all(summed_up["elapsed_ns"][key] == before["elapsed_ns"][key] for key in ("min", "max", "p50", "p95", "p99")) and
          summed_up["result_rows"] == before["result_rows"], f"and so is how long executions took: {summed_up['elapsed_ns']}")
    listed = json.loads(daemon.tailor("list", "--json"))
    check(listed["executions"] == [], "their executions are no longer listed one by one")
    gone = listed["gone"]
    check(sum(row["executions"] for row in gone) == 43 and {row["fingerprint"] for row in gone} >= {q["fingerprint"] for q in queries.values() if q["executions"]},
          f"the list has the sums of them: {len(gone)} hours and queries")
    on_cpu = sum(event["weight"] for query in first["queries"] if query["fingerprint"] for event in query["events"] if event["unit"] == "ns_on_cpu")
    check(math.isclose(sum(row["cpu_ns"] for row in gone), on_cpu, rel_tol=1e-9), "their CPU time is that of the samples")
    one = json.loads(daemon.tailor("list", "--json", "--fingerprint", fingerprint))["gone"]
    check(one and all(row["fingerprint"] == fingerprint for row in one), "the sums of one query")
    check(fingerprint in daemon.tailor("list"), "as text")
    check(json.loads(daemon.tailor("list", "--json", "--until", "yesterday"))["gone"] == [], "none of them is of the days before")
    text = daemon.tailor("report", "--by", "day", "--fingerprint", fingerprint)
    check("executions ended" in text and before["rows"][0]["name"] in text, "as text")
    check(fingerprint in daemon.tailor("report", "--by", "day"), "and in the list of queries")
    side = f"fingerprint:{fingerprint}"
    compared = json.loads(daemon.tailor("diff", "--json", side, f"{side}@-1d.."))
    check(compared.get("sums") and compared["same_plan"] and compared["executions"]["a"] == before["executions"],
          f"a comparison is of the sums: {compared['executions']}")
    check(all(row["weight_change"] == 0 for row in compared["operators"] + compared["rest"]), "of the same on both sides")
    check("= everything" in daemon.tailor("diff", side, side), "as text")
    told = json.loads(daemon.tailor("sql", "--json", "--fingerprint", fingerprint, "-q",
                                    "SELECT sum(weight) AS weight, sum(kernel) AS kernel FROM history_costs WHERE unit = 'ns_on_cpu'"))[0]
    of_event = [event for event in summed_up["events"] if event["unit"] == "ns_on_cpu"]
    for key in ("weight", "kernel"):
        check(math.isclose(told[key], sum(event[key] for event in of_event), rel_tol=1e-9), f"SQL says the same of {key}: {told[key]:.0f}")

    # More of the same query; the daemon is killed, and its successor goes on.
    work("--query", "tpch-1", repeat=20)
    both = history(daemon, "--fingerprint", fingerprint)
    check(both["executions"] == before["executions"] + 20, "summaries and samples are added up")
    left = json.loads(daemon.tailor("list", "--json", "--fingerprint", fingerprint))["executions"]
    newest = next(row["id"] for row in left if row["samples"] > 0)
    for sides, told in (((newest, side), True), ((side, newest), True), ((newest, newest), False)):
        done = subprocess.run([BIN / "tailor", "diff", "--json", *sides], env={**os.environ, **daemon.env}, capture_output=True, text=True)
        check(done.returncode == 0 and ("are deleted, and are left out" in done.stderr) == told,
              f"an execution beside {'all that are left of its query' if told else 'itself'}: {done.stderr.strip()}")
    daemon.stop(signal.SIGKILL)
    # Its successor finishes what it left behind.
    daemon.start()
    daemon.stop()
    make_old(daemon)
    daemon.start()
    deadline = time.monotonic() + 60
    while len(data_segments(daemon)) > 1 and time.monotonic() < deadline:
        time.sleep(0.2)
    again = history(daemon, "--fingerprint", fingerprint)
    check(same(rows(both), rows(again)) and again["executions"] == both["executions"], "nothing is lost, nothing counts twice")
    check(not any(CANARY.encode() in open(path, "rb").read() for path in glob.glob(str(daemon.store / "*"))), "no literal is kept")
    shown = {words: daemon.tailor("report", *words.split()) for words in ("--by hour --json", "--by day --json", "--by day")}
    check(not [words for words, text in shown.items() if CANARY in text], "and none is shown of what is gone")

    done = subprocess.run([BIN / "tailor", "report", "--by", "day", "--fingerprint", "0123"], capture_output=True, text=True,
                          env={**os.environ, **daemon.env})
    check(done.returncode == 3 and "0123" in done.stderr, "a query that the store does not know")
    done = subprocess.run([BIN / "tailor", "report", "--by", "day", "--level", "task"], capture_output=True, text=True)
    check(done.returncode == 2, "--by has no levels")
