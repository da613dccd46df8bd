"""Executions that run at once do not mix: in two processes, and in one process on the same compiled code.

Two sessions of a program (tests/targets/two_sessions.cc) run the same plan at the same time, and one uses four times the CPU
time of the other, which the program says of each execution. Its twin marks the execution of the other session: the same check
must find it wrong.
"""
import json
import os
import subprocess
import tempfile

from tailor_env import BIN, BUILD, Daemon, check, of_count, run, sampling_denied, skip


def exchanged(*mode):
    """Executions of two sessions whose CPU time is not what their thread used, beyond chance and 3 percent."""
    with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
        said = run(BIN / "tailor", "record", "-F", "2000", "-o", profile.name, "--", BUILD / "targets/two_sessions",
                   "4", "300", *mode)
        truth = {each["id"]: each["cpu_ns"] for each in map(json.loads, said.splitlines())}
        found = {each["id"]: each for each in json.loads(run(BIN / "tailor", "list", profile.name, "--json"))["executions"]}
    check(len(truth) == 8 and truth.keys() <= found.keys(), f"{len(truth)} executions of one plan, two at a time, are listed")
    wrong = []
    for key, used in truth.items():
        chance = used * of_count(used / 1e9 * 2000)
        if abs(found[key]["cpu_ns"] - used) > 0.03 * used + chance:
            wrong.append(f"{found[key]['cpu_ns'] / 1e6:.0f} ms of {used / 1e6:.0f} ms")
    return wrong


if reason := sampling_denied():
    skip(reason)
wrong = exchanged()
check(not wrong, f"every execution of two sessions has the CPU time of its own thread {'; '.join(wrong)}".rstrip())
wrong = exchanged("swapped")
check(len(wrong) == 8, f"the broken twin, each thread marking the other's execution: {len(wrong)} of 8 are found wrong")
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
        busy = execution["cpu_ns"]
        check(busy <= 1.6 * execution["elapsed_ns"] + 3_000_000,
              f"one thread's samples do not exceed its wall time ({busy / 1e6:.1f} of {execution['elapsed_ns'] / 1e6:.1f} ms)")
