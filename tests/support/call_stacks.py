"""The stacks of a profile, and whether they lead to where their threads began: for tests of names and of call chains."""
from tailor_env import BIN, run

MILLISECOND = 1_000_000
# Functions in which threads of C programs begin.
BEGINS = frozenset({"_start", "main", "start_thread", "clone3", "__clone3", "clone", "__clone"})
UNKNOWN = "[unknown]"
OF_KERNEL = "_[k]"


def folded(profile, *options):
    """The stacks of a profile as (functions, ns), the outermost function first. The list is empty if there are no samples."""
    lines = run(BIN / "tailor", "export", profile, "--format", "folded", "--levels", "function", *options, expect=(0, 3)).splitlines()
    return [(stack.split(";"), int(weight)) for stack, weight in (line.rsplit(" ", 1) for line in lines)]


def time_in(stacks, *names):
    """The time of the stacks that have all of these functions, in ms."""
    return sum(weight for frames, weight in stacks if all(name in frames for name in names)) / MILLISECOND


def begun(stacks):
    """The stacks that lead to where their thread began. The C library of some hosts has no names of the functions in which other
    threads begin. There an unknown function counts too, if it called another one and nobody called it."""
    has_names = any("start_thread" in frames for frames, _ in stacks)
    return [(frames, weight) for frames, weight in stacks
            if BEGINS.intersection(frames) or (not has_names and len(frames) > 1 and frames[0] == UNKNOWN)]


def in_user_mode(stacks):
    """Those that were taken in code of programs, and not in the kernel on their behalf."""
    return [(frames, weight) for frames, weight in stacks if not frames[-1].endswith(OF_KERNEL)]
