"""Stacks lead to where their thread began, whatever says how to follow them: the .eh_frame of a static program, a .debug_frame,
plain or compressed, and what a jitdump says of generated code. Without that they do not, and the test sees it."""
import pathlib
import tempfile

from call_stacks import begun, folded, time_in
from tailor_env import BIN, BUILD, at_least, check, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)
TARGETS = BUILD / "targets"


# A jitdump is read some tens of milliseconds after it was mapped, or later on a busy host.
BEGIN = 2


def stacks_of(folder, command, since):
    """The folded stacks of a command from some seconds after its begin on, as (frames, ns)."""
    profile = folder / "p.tailor"
    run(BIN / "tailor", "record", "-q", "-F", "997", "--call-graph", "dwarf", "-o", profile, "--", *command)
    return folded(profile, "--from", f"{since}s")


def measured(folder, command, inner, since):
    """Until there are some hundred samples in the function: what a busy host has taken away is no fault."""
    return until_enough(300, lambda stacks: time_in(stacks, inner), lambda work: stacks_of(folder, [*command, str(work + since)], since))


def shares(stacks, inner, path):
    """The time in a function, the part of it that leads through its callers, and the part that leads to where its thread began."""
    return time_in(stacks, inner), time_in(stacks, inner, *path), time_in(begun(stacks), inner, *path)


def judge(folder, what, command, inner, path, since=0):
    all_of, whole, to_begin = shares(measured(folder, command, inner, since), inner, path)
    check(at_least(whole, all_of, 0.95), f"{what}: {whole:.0f} of {all_of:.0f} ms in {inner} lead through {', '.join(path)}")
    check(at_least(to_begin, all_of, 0.95), f"{what}: {to_begin:.0f} of them lead to where their thread began")


def judge_twin(folder, what, command, inner, path):
    all_of, whole, to_begin = shares(measured(folder, command, inner, 0), inner, path)
    check(whole < 0.5 * all_of, f"{what}, the twin: {whole:.0f} of {all_of:.0f} ms in {inner} lead through {', '.join(path)}")
    check(to_begin < 0.5 * all_of, f"{what}, the twin: {to_begin:.0f} of them lead to where their thread began")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for way in ("static", "debug_frame", "compressed"):
        judge(folder, way, [TARGETS / f"deep_calls_{way}"], "innermost", ("go_down", "work"))
    judge_twin(folder, "nothing", [TARGETS / "deep_calls_bare"], "innermost", ("go_down", "work"))
    through = ("calls_through", "main")
    judge(folder, "jitdump", [TARGETS / "trampolines", "framed", folder], "called_back", through, BEGIN)
    judge_twin(folder, "jitdump without call frame information", [TARGETS / "trampolines", "bare", folder], "called_back", through)
