#!/usr/bin/env python3
"""Reads a guest's console; checks the report in it: what tests/targets/known_shares must look like."""
import json
import math
import sys

console = open(sys.argv[1], errors="replace").read()
report = json.loads(console.split("REPORT BEGIN\n")[1].split("REPORT END")[0])
failed = False


def check(ok, text):
    global failed
    failed = failed or not ok
    print(f"{'ok' if ok else 'not ok'} {text}")


recording = report["recording"]
check(recording["clock_source"] == "module", f"the profile's clock is {recording['clock_source']}")
check(recording["clock_error_ns"] <= 100, f"with a bound of {recording['clock_error_ns']} ns")
# Unless told otherwise the daemon takes BPF, or says why not.
check("cpu-clock by BPF" in recording["capture"] or "though BPF would see more" in recording["capture"],
      f"sampled as the recording says: {recording['capture']}")
plans = report["plans"]
check(len(plans) == 1, f"{len(plans)} plans are in the report")
shares = {row["name"]: row["share"] for row in plans[0]["operators"]}
total = sum(shares.values())
# An emulator's loops do not cost what the hardware's do, so the shares are checked on real hosts only
# (tests/integration/session). Here: samples and the engine's own marks, stamped by two clocks, must meet.
check(shares.get("Scan", 0) / total > 0.02, f"Scan bears {shares.get('Scan', 0) / total:.3f} of the plan")
check(shares.get("Join", 0) / total > 0.5, f"Join bears {shares.get('Join', 0) / total:.3f} of the plan")
check(report["samples"] > 0, f"{report['samples']} samples")
windows = report["windows"]
inside = windows["samples"] / report["samples"]
check(inside > 0.9, f"{inside:.3f} of them inside executions, as the engine's marks say")
owned = windows["in_operators"] / windows["samples"]
# By chance it is less, rarely by three deviations.
check(owned >= 0.98 - 3 * math.sqrt(0.98 * 0.02 / windows["samples"]), f"{owned:.3f} of those belong to operators")
sys.exit(failed)
