"""Code that moves: queries are compiled, run in two tiers, unloaded, and the next one's code takes their addresses.

Every sample still goes to the query that had its address at its time. Addresses alone would mix the two queries.
"""
import json
import os
import pathlib
import subprocess

from tailor_env import BIN, Daemon, at_least, check, operators, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
QUERIES = [6, 3] * 6


def owners_by_address(names):
    """The queries that had each 16 bytes of code, by the perf map alone: it has no times. Only query 3 has a third pipeline."""
    objects, end = [], None
    for line in names.splitlines():
        start, size, name = line.split()
        start, size = int(start, 16), int(size, 16)
        if end is None or not 0 <= start - end < 16:
            objects.append({})
        objects[-1][name] = range(start // 16, (start + size - 1) // 16 + 1)
        end = start + size
    owners = {}
    for functions in objects:
        query = 3 if "pipeline_3" in functions else 6
        for place in (place for places in functions.values() for place in places):
            owners.setdefault(place, set()).add(query)
    return owners


with Daemon(frequency=4000) as daemon:
    command = [BIN / "weft", "--sf", "0.1", "--threads", "2", "--repeat", "10", "--quiet", "--tiered", "--perf-map",
               "--kept-plans", "1"]
    weft = subprocess.Popen([*command, *(word for q in QUERIES for word in ("--tpch", str(q)))], env={**os.environ, **daemon.env})
    check(weft.wait(timeout=200) == 0, "weft runs twelve queries, each compiled anew")
    names = pathlib.Path(f"/tmp/perf-{weft.pid}.map")
    text = names.read_text()
    names.unlink()
    starts = [line.split()[0] for line in text.splitlines()]
    owners = owners_by_address(text)
    both = sum(len(queries) == 2 for queries in owners.values())
    check(both > 0, f"the broken twin: by address alone {both} of {len(owners)} places in the code would be of both queries")
    check(len(starts) > len(set(starts)), f"{len(starts) - len(set(starts))} of {len(starts)} functions took the address of an earlier one")

    report = daemon.report("--pid", str(weft.pid), "--last", "1000")
    window = report["windows"]
    check(at_least(window["in_operators"], window["samples"], 0.98),
          f"{window['in_operators']} of {window['samples']} samples inside executions are in operators")
    kinds = {}
    for plan in report["plans"]:
        kinds.setdefault(plan["name"], set()).update(op["kind"] for op in plan["operators"] if op["samples"] > 0)
    check(set(kinds) == {"tpch-3", "tpch-6"}, f"all of it is of the two queries: {kinds}")
    # Query 6 has no join, query 3 does: what one left at an address must not show up in the other.
    check("hash_join" in kinds["tpch-3"] and "hash_join" not in kinds["tpch-6"], "operators of one query are not in the other")
    executions = [e for e in json.loads(daemon.tailor("list", "--limit", "1000", "--json"))["executions"] if e["pid"] == weft.pid]
    check(len(executions) == 10 * len(QUERIES), f"{len(executions)} executions")
    for execution in [e for e in executions if e["samples"] > 0][:12]:
        own = daemon.report("--execution", execution["id"])["plans"]
        check([plan["name"] for plan in own] == [execution["plan_name"]], f"execution {execution['id'][:8]} has samples of {execution['plan_name']} only")
