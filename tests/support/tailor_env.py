"""Runs the binaries as a user does: a private tailord with its own sockets and store, weft, tailor.

Used by tests/e2e and tests/bench. Everything lives in one temporary folder that goes when the daemon ends.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from chance import about, at_least, at_most, by_chance, of_count  # noqa: F401: all tests have them from here
from disturbance import Watch, adopt, check_live, undisturbed  # noqa: F401
from host_allows import bpf_denied, perf_tool_denied, sampling_denied  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TAILOR_BUILD", ROOT / "build"))
BIN = BUILD / "bin"
SKIP = 77
# Earlier runs of this user change no answers.
os.environ["TAILOR_SYMBOL_CACHE"] = "off"
# Nor does what servers have: a test that asks one names its own.
os.environ.pop("DEBUGINFOD_URLS", None)


def skip(reason):
    """Ends the test as skipped; ctest shows the reason."""
    print(f"SKIP: {reason}")
    sys.exit(SKIP)


def check(condition, text):
    """Ends the test as failed unless the condition holds; prints what held."""
    if not condition:
        print(f"FAILED: {text}")
        sys.exit(1)
    print(f"ok: {text}")


def until_enough(wanted, count, measure, most=64):
    """measure(work), with twice the work again and again until count() of what it gives is `wanted`.

    How many samples some work gets depends on the host and on who else is busy there, so no test may ask a number of it.
    """
    work = 1
    while True:
        measured = measure(work)
        found = count(measured)
        if found >= wanted:
            print(f"{found:.0f} samples of {work} times the work are enough to judge")
            return measured
        check(work < most, f"{found:.0f} samples of {work} times the work: this host takes samples")
        work *= 2


def run(*command, env=None, timeout=300, expect=0, stdin=None):
    """Runs a command to its end; returns its standard output. Any other exit code than `expect`, one or several, fails the test."""
    done = subprocess.run([str(c) for c in command], env={**os.environ, **(env or {})}, capture_output=True, text=True,
                          timeout=timeout, input=stdin)
    if expect is not None and done.returncode not in (expect if isinstance(expect, tuple) else (expect,)):
        print(f"FAILED: {' '.join(map(str, command))}: exit code {done.returncode}, expected {expect}")
        print(done.stdout[-3000:], done.stderr[-3000:], sep="\n")
        sys.exit(1)
    return done.stdout


def all_accounted(account):
    """Whether each sample that was received is in one of the classes of an accounting."""
    classes = ("attributed", "unattributed", "filtered", "late", "counted_by_other", "not_drawn")
    return account["received"] == sum(account[each] for each in classes)


def operators(report):
    """The operators of all plans in a report."""
    return [op for plan in report.get("plans", []) for op in plan["operators"]]


class Daemon:
    """A private tailord. Use as a context manager; `env` makes weft and tailor talk to it."""

    def __init__(self, frequency=1000, options=()):
        self.folder = tempfile.TemporaryDirectory(prefix="tailor-test-")
        base = pathlib.Path(self.folder.name)
        self.socket, self.control, self.store = base / "agent.sock", base / "control.sock", base / "store"
        # The daemon writes to its end; whoever reads has a place of their own in it (said()).
        self.log = open(base / "log", "a")
        self.env = {"TAILOR_SOCKET": str(self.socket), "TAILOR_CONTROL": str(self.control),
                    "TAILOR_STORE": str(self.store)}
        self.command = [str(BIN / "tailord"), "--socket", str(self.socket), "--control", str(self.control), "--store",
                        str(self.store), "--frequency", str(frequency), *map(str, options)]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + 120  # a daemon that ends is told at once; a busy host may be slow
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            status = subprocess.run([str(BIN / "tailor"), "status"], env={**os.environ, **self.env}, capture_output=True)
            if status.returncode == 0:
                return self
            time.sleep(0.05)
        print("FAILED: tailord did not come up:", self.said()[-3000:])
        sys.exit(1)

    def said(self):
        """What its log has so far."""
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def stop(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(timeout=30)
        return self.process.returncode if self.process else None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
        self.log.close()
        self.folder.cleanup()

    def tailor(self, *arguments, **options):
        return run(BIN / "tailor", *arguments, env=self.env, **options)

    def weft(self, *arguments, **options):
        return run(BIN / "weft", *arguments, env=self.env, **options)

    def report(self, *arguments):
        return json.loads(self.tailor("report", *arguments, "--json"))
