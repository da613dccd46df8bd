"""Executions that run at once do not mix: in two processes, and in one process on the same compiled code."""
import json
import subprocess

from tailor_env import BIN, Daemon, check, run, sampling_denied, skip
import os

if reason := sampling_denied():
    skip(reason)
with Daemon(frequency=2000) as daemon:
    environment = {**os.environ, **daemon.env}
    both = [subprocess.Popen([str(BIN / "weft"), "--sf", "0.1", "--threads", "1", "--repeat", "20", "--quiet", "--tpch", q],
                             env=environment) for q in ("1", "6")]
    check(all(p.wait(timeout=200) == 0 for p in both), "two engines run at once")
    executions = json.loads(daemon.tailor("list", "--limit", "1000", "--json"))["executions"]
    by_pid = {}
    for execution in executions:
        by_pid.setdefault(execution["pid"], set()).add(execution["plan"])
    check(len(by_pid) == 2 and all(len(plans) == 1 for plans in by_pid.values()), "each process has its own plan")

    # The same cached plan, by two sessions of one process at once.
    daemon.weft("--sf", "0.1", "--threads", "1", "--repeat", "60", "--concurrent", "2", "--quiet", "--tpch", "6")
    executions = json.loads(daemon.tailor("list", "--limit", "1000", "--json"))["executions"]
    pid = executions[0]["pid"]
    mine = [e for e in executions if e["pid"] == pid]
    check(len(mine) == 60, "sixty executions of one plan")
    check(len({e["id"] for e in mine}) == 60, "each with its own identity")
    sampled = [e for e in mine if e["samples"] > 0]
    check(sampled, f"{len(sampled)} of them have samples of their own")
    for execution in sampled[:10]:
        busy = execution["samples"] * 500_000
        check(busy <= 1.6 * execution["elapsed_ns"] + 3_000_000,
              f"one thread's samples do not exceed its wall time ({busy / 1e6:.1f} of {execution['elapsed_ns'] / 1e6:.1f} ms)")
