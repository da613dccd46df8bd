"""explain analyze: weft executes a query, tailord says what its operators cost; and what is said where it cannot."""
import json
import os
import pathlib
import re
import shutil
import subprocess

from tailor_env import BIN, Daemon, check, run, sampling_denied, skip, until_enough


def weft(*arguments, env):
    """Exit code, standard output, error stream."""
    done = subprocess.run([str(BIN / "weft"), "--sf", "0.1", "--threads", "2", *map(str, arguments)],
                          env={**os.environ, **env}, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def by_kind(plan, kind):
    return [op for op in plan["operators"] if op["kind"] == kind]


if reason := sampling_denied():
    skip(reason)
nowhere = {"TAILOR_SOCKET": "/nonexistent/agent.sock", "TAILOR_CONTROL": "/nonexistent/control.sock"}
code, _, said = weft("-c", "explain analyze select count(*) from nation", env=nowhere)
check(code == 1 and "no daemon at /nonexistent/control.sock" in said and "tailord" in said,
      f"without a daemon: {said.strip()}")
with Daemon(frequency=2000) as daemon:
    code, _, said = weft("-c", "explain analyze select count(*) from nation", env={**daemon.env, "TAILOR_DISABLE": "1"})
    check(code == 1 and "has not registered" in said and str(daemon.socket) in said, f"not registered: {said.strip()}")
    code, _, said = weft("-c", "explain analyze\nselect n_nam from nation", env=daemon.env)
    check(code == 1 and "line 2, column 8" in said, f"errors of the query keep their place: {said.strip()}")

    code, text, said = weft("explain", "--analyze", "--repeat", "60", "--tpch", 3, env=daemon.env)
    check(code == 0, f"explain --analyze {said.strip()}")
    for word in ("Scan lineitem", "Groupjoin", "95 % range", "samples", "rows", "estimated", "unattributed", "inferred",
                 "lost", "60 executions"):
        check(word in text, f"the plan shows {word}")
    def explained(work):
        code, text, said = weft("--json", "--repeat", 60 * work, "-c", "explain analyze select l_returnflag, count(*), "
                                "sum(l_quantity) from lineitem, orders where l_orderkey = o_orderkey and o_orderdate < "
                                "date '1995-03-15' group by l_returnflag order by l_returnflag", env=daemon.env)
        check(code == 0, f"explain analyze in front of a query {said.strip()}")
        return json.loads(text)

    plan = until_enough(100, lambda found: found["all"]["samples"], explained)
    times = plan["executions"]
    everything = plan["all"]["samples"]
    parts = sum(op["samples"] for op in plan["operators"]) + plan["engine"]["samples"] + plan["unattributed"]["samples"]
    check(abs(parts - everything) <= 0.01 * everything + 1, f"operators, engine and unattributed add up: {parts:.1f} of {everything}")
    # The engine's own clocks and the samples measure the same executions.
    check(0.5 <= plan["all"]["cpu_ns"] / plan["cpu_ns"] <= 1.5,
          f"sampled CPU time is {plan['all']['cpu_ns'] / plan['cpu_ns']:.2f} of what the engine counted")
    # Rows against the reference: the engine's own answers.
    lines = run(BIN / "weft", "--sf", "0.1", "-c", "select count(*) from lineitem, orders where l_orderkey = o_orderkey "
                "and o_orderdate < date '1995-03-15'", env={"TAILOR_DISABLE": "1"}).split()
    joined = int(lines[-1])
    join, = by_kind(plan, "hash_join")
    check(join["rows"] == times * joined, f"the join passed on {join['rows']} rows, {times} times {joined}")
    scans = {op["name"]: op for op in by_kind(plan, "scan")}
    check(scans["Scan lineitem"]["rows"] == times * 600572, f"lineitem was read whole: {scans['Scan lineitem']['rows']}")
    check(scans["Scan lineitem"]["estimated_rows"] == 600572, "beside the estimate")
    # The profile has the same rows, of one execution, beside the estimates.
    def counted_rows(kind):
        told = [op["attributes"] for shown in daemon.report()["plans"] for op in shown["operators"] if op["kind"] == kind]
        return {float(each["value"]) for attributes in told for each in attributes if each["key"] == "actual_rows"}
    check(counted_rows("hash_join") == {joined}, f"the profile knows that the join passed on {joined} rows: {counted_rows('hash_join')}")
    check(counted_rows("output") == {3}, "and how many rows the result has")
    busy = max(plan["operators"], key=lambda op: op["samples"])
    check(busy["kind"] in ("hash_join", "scan", "group_by"), f"most time goes to {busy['name']}")
    output, = by_kind(plan, "output")
    check(plan["result_rows"] == 3 and output["rows"] == 3 * times, "the output's rows are the result's")
    # An answer for one execution only, in a store that holds others.
    code, text, _ = weft("--json", "explain", "--analyze", "--tpch", 1, env=daemon.env)
    one = json.loads(text)
    check(code == 0 and one["executions"] == 1 and one["all"]["cpu_ns"] < 3 * one["cpu_ns"] + 5e6,
          "only the execution that was asked for is in the numbers")

    # A workflow: what was predicted of its functions stands beside what they took.
    if shutil.which("clang++-19") or pathlib.Path("/usr/lib/llvm-19/bin/clang++").exists():
        def functions(work):
            code, text, said = weft("explain", "--workflow", "kmeans", "--analyze", "--repeat", 5 * work, env=daemon.env)
            check(code == 0 and "cycles a tuple, predicted and measured" in text, f"explain --analyze of a workflow {said.strip()}")
            rows = re.findall(r"^(\w+), line \d+ +\S.*? +([\d.]+) to ([\d.]+) +(\d+)  (holds|wrong: .*|open: .*)$", text, re.M)
            return {name: (float(low), float(high), int(samples), verdict) for name, low, high, samples, verdict in rows}

        found = until_enough(100, lambda rows: rows.get("nearest", (0, 0, 0))[2], functions)
        low, high, _, verdict = found["nearest"]
        check(0 < low < high, f"nearest takes {low} to {high} cycles a tuple: {verdict}")
        check(max(found, key=lambda name: found[name][2]) in ("nearest", "make_point"), f"it is among the dearest: {found}")
        code, _, said = weft("explain", "--workflow", "kmeans", "--analyze", "--repeat", 1001, env=daemon.env)
        check(code == 1 and "1000 at most" in said, f"too many runs: {said.strip()}")
