"""The exit codes and messages of `tailor` that docs/cli.md promises."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TAILOR, CORPUS = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []


def check(arguments, code, says="", out=""):
    done = subprocess.run([TAILOR, *map(str, arguments)], capture_output=True, text=True, env=ENV, timeout=30)
    good = done.returncode == code and says in done.stderr and out in done.stdout
    if not good:
        failures.append(f"tailor {' '.join(map(str, arguments))}: {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    ENV = {**os.environ, "TAILOR_STORE": str(folder / "store"), "TAILOR_CONTROL": str(folder / "control.sock"),
           "LC_ALL": "C", "COLUMNS": "100"}
    empty, torn = CORPUS / "worked_example", CORPUS / "torn"
    text = folder / "text.tailor"
    text.write_text("this is no profile, and long enough to be mistaken for one")

    check(["--version"], 0, out="tailor ")
    check([], 2)
    check(["frobnicate"], 2)
    check(["report", "--no-such-option"], 2)
    check(["record"], 2, says="command after --")
    for words, said in ((["-a"], "-p PID"), (["-t", "7"], "--thread"), (["-c", "1000"], "NAME@PERIOD"), (["-D", "500"], "--from"),
                        (["--cgroup", "x", "-p", "1"], "processes.sample"), (["-p", "1,2"], "start one for each"),
                        (["-p", "1", "--", "sleep", "5"], "--seconds"), (["-p", "one"], "no pid"), (["--call-graph", "lbr", "--", "true"], "fp")):
        check(["record", *words], 2, says=said)
    for words, said in ((["-i", empty], "tailor report FILE"), (["--sort", "comm"], "--level function"), (["--stdio"], "leave it out"),
                        ([empty, "--no-children"], "self and total"), (["-g"], "call graph"), (["-n", empty], "leave it out")):
        check(["report", *words], 2, says=said)
    for command in ("annotate", "timeline", "flame", "memory", "sql", "list", "iterations"):
        check([command, "-i", empty], 2, says=f"tailor {command} FILE")
        check([command, empty, "--stdio"], 2, says="leave it out")
    check(["script", "-i", empty], 2, says="tailor export FILE --format csv")
    check(["sql", folder / "missing.tailor", "-q", "SELECT nothing_known"], 2, says="SQL")
    check(["record", "--stacks", "some", "--", "true"], 2, says="{adaptive,always,none}")
    check(["record", "-p", "99999999"], 3, says="there is no process")
    check(["record", "-e", "no-such-event", "--", "true"], 2, says="tailor events")
    check(["report", folder / "missing.tailor"], 3, says="No such file")
    check(["report", folder], 2)
    check(["report", text], 2, says="not a Tailor profile")
    check(["report", empty, "--pid", "x"], 2, says="is no pid")
    check(["report"], 1, says="there is no store in")
    check(["status"], 1, says="no daemon at")
    check(["report", empty], 3, says="no sample")
    check(["annotate", empty], 3, says="no sample")
    check(["list", empty], 3, says="no execution")
    check(["replay", folder / "missing.journal", "-o", folder / "out.tailor"], 3)
    # Damaged files are shown as far as they go, and say so.
    check(["report", torn, "--execution", "ffff"], 3, says="no execution begins with")
    listed = json.loads(check(["list", torn, "--json"], 0))
    if [e["plan_name"] for e in listed["executions"]] != ["figure-9"]:
        failures.append(f"list --json of a torn file: {listed}")
    # Hostile file names do not reach the terminal.
    check(["report", str(folder / "a\x1b[2Jb.tailor")], 3, says="\\x1b[2J")

print("\n".join(failures) or "exit codes hold")
sys.exit(1 if failures else 0)
