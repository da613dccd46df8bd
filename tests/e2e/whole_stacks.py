"""Stacks lead to where their thread began, whatever says how to follow them: the .eh_frame of a static program, a .debug_frame,
plain or compressed, and what a jitdump says of generated code. Without that they do not, and the test sees it."""
import pathlib
import tempfile

from tailor_env import BIN, BUILD, at_least, check, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)
TARGETS = BUILD / "targets"
MILLISECOND = 1_000_000


# A jitdump is read some tens of milliseconds after it was mapped, or later on a busy host.
BEGIN = 2


def stacks_of(folder, command, since):
    """The folded stacks of a command from some seconds after its begin on, as (frames, ns)."""
    profile = folder / "p.tailor"
    run(BIN / "tailor", "record", "-q", "-F", "997", "--call-graph", "dwarf", "-o", profile, "--", *command)
    lines = run(BIN / "tailor", "export", profile, "--format", "folded", "--from", f"{since}s").splitlines()
    return [(stack.split(";"), int(weight)) for stack, weight in (line.rsplit(" ", 1) for line in lines)]


def time_in(stacks, *names):
    """The time of the stacks that have all of these functions, in ms."""
    return sum(weight for frames, weight in stacks if all(name in frames for name in names)) / MILLISECOND


def measured(folder, command, inner, since):
    """Until there are some hundred samples in the function: what a busy host has taken away is no fault."""
    return until_enough(300, lambda stacks: time_in(stacks, inner), lambda work: stacks_of(folder, [*command, str(work + since)], since))


def judge(folder, what, command, inner, path, since=0):
    stacks = measured(folder, command, inner, since)
    all_of, whole = time_in(stacks, inner), time_in(stacks, inner, *path)
    check(at_least(whole, all_of, 0.95), f"{what}: {whole:.0f} of {all_of:.0f} ms in {inner} lead through {', '.join(path)}")


def judge_twin(folder, what, command, inner, path):
    stacks = measured(folder, command, inner, 0)
    all_of, whole = time_in(stacks, inner), time_in(stacks, inner, *path)
    check(whole < 0.5 * all_of, f"{what}, the twin: {whole:.0f} of {all_of:.0f} ms in {inner} lead through {', '.join(path)}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for way in ("static", "debug_frame", "compressed"):
        judge(folder, way, [TARGETS / f"deep_calls_{way}"], "innermost", ("go_down", "work"))
    judge_twin(folder, "nothing", [TARGETS / "deep_calls_bare"], "innermost", ("go_down", "work"))
    through = ("calls_through", "main")
    judge(folder, "jitdump", [TARGETS / "trampolines", "framed", folder], "called_back", through, BEGIN)
    judge_twin(folder, "jitdump without call frame information", [TARGETS / "trampolines", "bare", folder], "called_back", through)
