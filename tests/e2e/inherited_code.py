"""Generated code goes on without the process, or the program, that generated it (tests/targets/inherited_code.cc). A forked child runs code
of its parent: its functions have their names, from the parent's perf map and from its agent. So does a grandchild whose own parent has ended
at once, most likely without a sample. A program executes itself: the second one has its own names, and none of them are those of the first.
In a time namespace a jitdump has times of another clock: they are the right ones.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from tailor_env import BIN, BUILD, about, at_least, check, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)
TARGETS = BUILD / "targets"
MILLISECOND = 1_000_000
WANTED = 500  # samples: shares of a third and of two thirds cannot be taken for each other
SLACK = 0.03
AHEAD = 1000  # seconds, of the clock in the namespace


class Measured:
    """The time in generated functions by name, and in everything, in ms; and what the program said."""

    def __init__(self, profile, said=None):
        self.truth = said
        rows = json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json"))["functions"]
        self.all = sum(row["weight"] for row in rows) / MILLISECOND
        self.named = {}
        for row in rows:
            if row["kind"] == "generated" and row["named"]:
                self.named[row["name"]] = self.named.get(row["name"], 0) + row["weight"] / MILLISECOND

    def of(self, *names):
        return sum(self.named.get(name, 0) for name in names)


def recorded(folder, how, names, counted):
    """`names`: who names the code. Until there are enough samples in the functions `counted`."""
    profile = folder / "p.tailor"

    def measure(work):
        said = json.loads(run(BIN / "tailor", "record", "-q", "-F", "997", "-o", profile, "--", TARGETS / "inherited_code", how, names,
                              str(0.9 * work)).splitlines()[-1])
        pathlib.Path(f"/tmp/perf-{said['pid']}.map").unlink(missing_ok=True)
        return Measured(profile, said)

    return until_enough(WANTED, lambda measured: measured.of(*counted), measure)


def judge_fork(folder, how, names):
    what = f"{how}: code of the parent, named by {names}"
    measured = recorded(folder, how, names, ("in_parent", "in_child"))
    own, both = measured.of("in_child"), measured.of("in_parent", "in_child")
    parent, child = measured.truth["in_parent"], measured.truth["in_child"]
    check(at_least(both, measured.all, 0.95), f"{what}: {both:.0f} of {measured.all:.0f} ms have the names of both functions")
    share = child / (parent + child)
    check(about(own, both, share, SLACK), f"{what}: {own / both:.1%} are the child's, of {share:.1%} by its clock")
    check(not about(own, both, 1 - share, SLACK), f"{what}, the twin: the parent's share is found out")


def judge_exec(folder, names):
    """What the first one wrote to a perf map may be unread when it ends. Then it has no names, and never those of the second one. Its
    agent has said everything before its code ran, so it has all of them."""
    what = f"a program executes itself, with names by {names}"
    measured = recorded(folder, "exec", names, ("second_image",))
    second, first = measured.of("second_image"), measured.of("first_image")
    by_clock = {name: measured.truth[name] for name in ("first_image", "second_image")}
    share = by_clock["second_image"] / sum(by_clock.values())
    generated = measured.all  # nearly all of it
    check(about(second, generated, share, SLACK), f"{what}: {second / generated:.1%} of the time are the second one's, of {share:.1%} by its clock")
    check(not about(second, generated, 1 - share, SLACK), f"{what}, the twin: the share of the first one is found out")
    of_first = first / generated
    check((names == "map" and of_first == 0) or about(first, generated, 1 - share, SLACK), f"{what}: {of_first:.1%} are the first one's, which are all of it")
    check(measured.of("never_run") == 0, f"{what}: what never ran has nothing")


def time_namespace():
    """What runs a command in a time namespace whose clock is ahead. None, and why is said: this host has none."""
    if not shutil.which("unshare"):
        print("not tried: time namespaces need unshare")
        return None
    apart = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-T", "--monotonic", str(AHEAD), "--fork", "--"]
    tried = subprocess.run([*apart, sys.executable, "-c", "import time; print(time.monotonic())"], capture_output=True, text=True)
    if tried.returncode != 0:
        print(f"not tried: a time namespace: {tried.stderr.strip()}")
        return None
    check(float(tried.stdout) > time.monotonic() + AHEAD / 2, f"the clock in the namespace says {float(tried.stdout):.0f} s")
    return apart


def judge_time_namespace(folder):
    """All three functions of jit_process have one address: only the times in its jitdump tell them apart."""
    apart = time_namespace()
    if apart is None:
        return
    profile = folder / "p.tailor"
    # The program runs its first function until there is something to read.
    script = f"echo | exec {TARGETS / 'jit_process'} dump {folder}"
    run(BIN / "tailor", "record", "-q", "-F", "997", "-o", profile, "--", *apart, "sh", "-c", script)
    measured = Measured(profile)
    one, two = measured.of("one \x1b[31m"), measured.of("two")
    what = "in a time namespace"
    check(at_least(one + two, measured.all, 0.95), f"{what}: {one + two:.0f} of {measured.all:.0f} ms have names")
    check(about(one, one + two, 1 / 3, SLACK), f"{what}: {one / (one + two):.1%} are the first one's, of a third")
    check(not about(two, one + two, 1 / 3, SLACK), f"{what}, the twin: names that are exchanged are found out")


with tempfile.TemporaryDirectory(prefix="tailor-inherited-") as name:
    folder = pathlib.Path(name)
    for names in ("map", "agent"):
        for how in ("fork", "grandchild"):
            judge_fork(folder, how, names)
        judge_exec(folder, names)
    judge_time_namespace(folder)
