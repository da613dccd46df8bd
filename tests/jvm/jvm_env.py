"""What the tests of the Java agent share: the programs, and how a JVM is run under Tailor."""
import json
import os
import pathlib
import subprocess

from tailor_env import BIN, BUILD, check

JAR = BUILD / "lib" / "tailor-jvm.jar"
BROKEN_JAR = BUILD / "lib" / "tailor-jvm-broken.jar"
CLASSES = BUILD / "targets" / "jvm"
JAVA = os.environ["TAILOR_JAVA"]
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


def samples_of(found, name):
    """Samples of all methods (or components of a level) of that name, in all dictionaries of a report."""
    rows = [row for plan in found["plans"] for row in plan.get("components", plan.get("operators", []))]
    return sum(row["samples"] for row in rows if row["name"] == name)
