"""What ./dev test says of its groups: what failed, what is dear, and what CPU time was used, by daemons too."""
import json
import pathlib
import subprocess
import sys
import tempfile

from tailor_env import ROOT, check

LOG = """
      Start  1: unit_one
1: a line that says Test #7: not_a_test ...   Passed
 1/6 Test  #1: unit_one ...................   Passed    0.02 sec
 2/6 Test #12: a_rather_long_name_of_a_test_that_has_only_three_dots ...   Passed   61.25 sec
 3/6 Test #13: fails ......................***Failed    3.50 sec
 4/6 Test #14: crashes ....................***Exception: SegFault  0.10 sec
 4/6 Test #17: aborts .....................Subprocess aborted***Exception:   0.12 sec
 4/6 Test #18: says_nothing ...............***Failed  Required regular expression not found. Regex=[done ]  0.11 sec
 5/6 Test #15: late .......................***Timeout 240.01 sec
 6/6 Test #16: cannot .....................***Skipped   0.30 sec
"""
AGAIN = " 1/1 Test #13: fails ......................   Passed    2.50 sec\n"
# Leaves its parent, as a daemon does, works for half a second of CPU time and ends.
DAEMON = """
import os, time
if os.fork(): os._exit(0)
os.setsid()
with open({done!r} + ".new", "w") as file: file.write(str(os.getpid()))
os.rename({done!r} + ".new", {done!r})
while time.process_time() < 0.5: pass
"""


def suite(*arguments, **environment):
    return subprocess.run([sys.executable, str(ROOT / ".dev/suite.py"), *map(str, arguments)], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", **environment})


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    log, again, budgets, cpu = (folder / each for each in ("log", "again", "budgets", "cpu"))
    log.write_text(LOG)
    again.write_text(AGAIN)
    check(suite("failed", log).stdout.split() == ["fails", "crashes", "aborts", "says_nothing", "late"], "what failed, what crashed and what was too late has failed")
    check(suite("passed", again).stdout.split() == ["fails"], "what passed at its second try has passed")
    dearest = [line.split()[-1] for line in suite("dearest", log).stdout.splitlines()]
    check(dearest[:3] == ["late", "a_rather_long_name_of_a_test_that_has_only_three_dots", "fails"], f"the dearest come first: {dearest}")

    (folder / "test-e2e.log").write_text(LOG)
    (folder / "test-e2e.cpu").write_text("12.5\n")
    done = suite("record", folder / "suite.json", folder, "e2e")
    kept = json.loads((folder / "suite.json").read_text())
    check(kept["groups"] == {"e2e": 12.5} and kept["commit"], f"a run leaves what its groups used {done.stderr}")
    check([test["name"] for test in kept["dearest"]] == dearest and kept["dearest"][0]["seconds"] == 240.01, "and its dearest tests")

    budgets.write_text("# comment\nunit 10  # seconds\n")
    within = suite("budget", "unit", "9.5", TAILOR_BUDGETS=str(budgets))
    check(within.returncode == 0 and "10 s" in within.stdout, f"within its budget a group is not red: {within.stdout.strip()}")
    above = suite("budget", "unit", "10.5", TAILOR_BUDGETS=str(budgets))
    check(above.returncode == 1 and "more than" in above.stdout, f"above it is: {above.stdout.strip()}")
    check(suite("budget", "other", "1e6", TAILOR_BUDGETS=str(budgets)).returncode == 0, "a group without a budget is told as that")

    done = folder / "done"
    wait = f"while [ ! -e {done} ] || kill -0 $(cat {done}) 2>/dev/null; do sleep 0.05; done; echo said; exit 3"
    ran = suite("run", cpu, folder / "out", "sh", "-c", f"{sys.executable} -c '{DAEMON.format(done=str(done)).replace(chr(39), chr(34))}'; {wait}")
    check(ran.returncode == 3 and (folder / "out").read_text().endswith("said\n"), f"a command keeps its exit code and its output {ran.stderr}")
    used = float(cpu.read_text())
    check(used >= 0.5, f"what a daemon used that has left its parent counts: {used} s")
    suite("run", cpu, folder / "out", "true")
    check(float(cpu.read_text()) >= used, "a second command adds to it")
