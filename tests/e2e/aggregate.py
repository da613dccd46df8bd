"""A daemon that adds samples up for much longer than anybody waits: a report of an engine that still runs has them all the
same, and they are complete, attributed and said to be sums.
"""
import json
import os
import subprocess
import time

from tailor_env import BIN, Daemon, bpf_denied, check, check_live, sampling_denied, skip, undisturbed, until_enough

if reason := sampling_denied():
    skip(reason)


def attempt():
    with Daemon(frequency=1000, options=["--aggregate", "60"]) as daemon:
        engine = subprocess.Popen([str(BIN / "weft"), "--sf", "0.05", "--quiet", "--repeat", "100000", "--query", "tpch-18"],
                                  env={**os.environ, **daemon.env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 30
            while not json.loads(daemon.tailor("list", "--limit", "1", "--json"))["executions"] and time.monotonic() < deadline:
                time.sleep(0.2)

            def later(_):
                time.sleep(1)
                return daemon.report("--pid", engine.pid)

            # Long before the sums' time is over: 40 seconds of waiting are the most.
            report = until_enough(1000, lambda found: found["weight"] / found["source"]["period"], later, most=2 ** 40)
            if "a record per sample" in report["recording"]["capture"]:
                check(bpf_denied(), f"BPF is allowed, so it takes the samples: {report['recording']['capture']}")
                skip(f"BPF is not permitted: {bpf_denied()}")
            check(report["recording"]["aggregated_ns"] == 60_000_000_000, "the report says that samples were added up")
            singles = report["weight"] / report["source"]["period"]
            check(report["samples"] < singles / 2, f"{singles:.0f} samples in {report['samples']:.0f} sums")
            check(report["unattributed"]["share"] < 0.01, f"{report['unattributed']['share']:.2%} of them are nobody's")
            check_live(sum(report["accounting"][loss] for loss in ("late", "lost_ring", "lost_hardware")) == 0, "none is late or lost")
        finally:
            engine.kill()
            engine.wait()


undisturbed(attempt)
