"""`tailor record -p` of a process that never registered: its jitdump, its perf map, or how to register."""
import json
import os
import pathlib
import subprocess
import tempfile

from tailor_env import BIN, BUILD, Daemon, about, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)


def watch(daemon, mode, folder):
    """Records the whole of a jit_process; returns what `tailor record` said, the report, and its text."""
    target = subprocess.Popen([BUILD / "targets/jit_process", mode, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    profile = pathlib.Path(folder) / f"{mode}.tailor"
    try:
        target.stdout.readline()
        recorder = subprocess.Popen([BIN / "tailor", "record", "-p", str(target.pid), "-o", profile],
                                    env={**os.environ, **daemon.env}, stderr=subprocess.PIPE, text=True)
        said = ""
        while "Ctrl-C ends it" not in said:
            line = recorder.stderr.readline()
            if not line:
                check(False, f"{mode}: the recording begins: {said}")
            said += line
        target.stdin.write(b"x")
        target.stdin.close()
        check(target.wait(timeout=60) == 0, f"{mode}: the process ends as usual")
        said += recorder.stderr.read()
        check(recorder.wait(timeout=60) == 0, f"{mode}: so does the recording of it")
    finally:
        target.kill()
        pathlib.Path(f"/tmp/perf-{target.pid}.map").unlink(missing_ok=True)
    report = json.loads(daemon.tailor("report", profile, "--json"))
    return target.pid, said, report, daemon.tailor("report", profile)


def functions(report):
    """What each function cost, in samples of a millisecond: periods are drawn, so numbers of samples are not costs."""
    return {row["name"]: row["weight"] / 1e6 for row in report["functions"] if row["kind"] == "generated" and row["named"]}


with tempfile.TemporaryDirectory() as folder, Daemon(frequency=1000) as daemon:
    pid, said, report, text = watch(daemon, "dump", folder)
    check(f"jit-{pid}.dump" in said and "has not registered" in said, "dump: where names come from is said, and how to register")
    found = functions(report)
    print(found)
    one, two, early = (found.get(name, 0) for name in ("one \x1b[31m", "two", "early"))
    # All three had the same address one after the other: only the times of their records differ.
    check(about(one, one + two, 1 / 3, 0.02), f"dump: by (address, time) 'one' has {one / (one + two):.1%} of one and two (1 s of 3)")
    check(early < 0.2 * (one + two), f"dump: what ran before they were loaded has {early}")
    check(sum(found.values()) > 0.97 * report["weight"] / 1e6, f"dump: functions have {sum(found.values()) * 1e6 / report['weight']:.1%}")
    check("\x1b" not in text, "dump: hostile names are escaped")

    pid, said, report, text = watch(daemon, "map", folder)
    check(f"perf-{pid}.map" in said, "map: where names come from is said")
    found = functions(report)
    one, two = found.get("one \x1b[31m", 0), found.get("two", 0)
    check(about(one, one + two, 1 / 3, 0.02), f"map: 'one' has {one / (one + two):.1%} of one and two")

    pid, said, report, text = watch(daemon, "none", folder)
    for words in ("has not registered", "tailor_agent_start", "TAILOR_SOCKET=", f"jit-{pid}.dump", f"perf-{pid}.map"):
        check(words in said, f"none: the message has '{words}'")
    check(not functions(report), "none: no function is made up")
    check(report["unattributed"]["samples"] > 0.9 * report["samples"] > 0, "none: the samples are there, unattributed")
