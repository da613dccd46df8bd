"""What `./dev test` asks of its groups beside whether they pass: the CPU time that they use, their dearest tests, and which tests
are unsteady.

suite.py run CPU_FILE LOG COMMAND...   runs a command, its output into LOG; adds the seconds of CPU time of all that it started, also
                                       of daemons that left it, to the number in CPU_FILE; ends as the command does
suite.py budget GROUP SECONDS          says what was used and what .dev/budgets allows; fails above that
suite.py dearest LOG...                the ten tests that took longest, of logs of ctest
suite.py record FILE FOLDER GROUP...   writes what a run used as JSON, for tests/bench/run: the CPU time of each group and the dearest
                                       tests, from FOLDER/test-GROUP.cpu and .log
suite.py failed|passed LOG...          names of tests in logs of ctest
"""
import ctypes
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUDGETS = pathlib.Path(os.environ.get("TAILOR_BUDGETS") or pathlib.Path(__file__).with_name("budgets"))
RESULT = re.compile(r"^ *\d+/\d+ +Test +#\d+: (\S+) \.*(?: +|)(Passed|[\w ]*\*{3}.*?) +(\d+\.\d+) sec", re.M)
BAD = ("***Failed", "***Timeout", "***Exception", "***Not Run")


def run(cpu_file, log, *command):
    """Daemons that leave their parent become this process's children: their time counts when they end."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    with open(log, "wb") as output:
        main = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        while True:
            pid, status = os.wait()
            if pid == main.pid:
                break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    path = pathlib.Path(cpu_file)
    before = float(path.read_text()) if path.exists() else 0
    path.write_text(f"{before + used.ru_utime + used.ru_stime:.1f}\n")
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1


def allowances():
    """Seconds of CPU time by group."""
    lines = (line.partition("#")[0].split() for line in BUDGETS.read_text().splitlines())
    return {words[0]: float(words[1]) for words in lines if words}


def budget(group, seconds):
    used, allowed = float(seconds), allowances().get(group)
    if allowed is None:
        print(f"{used:.0f} s of CPU time; .dev/budgets says nothing of this group")
        return 0
    print(f"{used:.0f} of {allowed:.0f} s of CPU time" + (": more than .dev/budgets allows" if used > allowed else ""))
    return used > allowed


def results(logs):
    """(name, how it ended, seconds) of each test that ran; a later log counts for what stands in several."""
    found = {}
    for log in logs:
        for name, how, seconds in RESULT.findall(pathlib.Path(log).read_text(errors="replace")):
            found[name] = (how, float(seconds))
    return found


def dearest_of(logs):
    """(name, seconds) of the ten tests that took longest."""
    ran = sorted(results(logs).items(), key=lambda item: -item[1][1])[:10]
    return [(name, seconds) for name, (_, seconds) in ran]


def dearest(*logs):
    for name, seconds in dearest_of(logs):
        print(f"{seconds:7.1f} s  {name}")


def record(file, folder, *groups):
    folder = pathlib.Path(folder)
    used = {group: float((folder / f"test-{group}.cpu").read_text()) for group in groups}
    tests = [{"name": name, "seconds": seconds} for name, seconds in dearest_of([folder / f"test-{group}.log" for group in groups])]
    commit = subprocess.run(["git", "describe", "--always", "--exclude=*", "--dirty=+"], cwd=ROOT, capture_output=True, text=True)
    pathlib.Path(file).write_text(json.dumps({"commit": commit.stdout.strip() or "unknown", "groups": used, "dearest": tests}, indent=2) + "\n")


def named(logs, wanted):
    for name, (how, _) in results(logs).items():
        if wanted(how):
            print(name)


if __name__ == "__main__":
    word, *arguments = sys.argv[1:]
    if word == "run":
        sys.exit(run(*arguments))
    elif word == "budget":
        sys.exit(budget(*arguments))
    elif word == "dearest":
        dearest(*arguments)
    elif word == "record":
        record(*arguments)
    elif word == "failed":
        named(arguments, lambda how: any(bad in how for bad in BAD))
    elif word == "passed":
        named(arguments, lambda how: how == "Passed")
    else:
        sys.exit(f"suite.py: unknown word {word!r}")
