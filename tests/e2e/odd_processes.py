"""Processes that are not as most are: one that is named by one of its threads, one in namespaces of its own, one whose file lies
in an overlay that nobody else has mounted, and a program that has the rights of another user, whose events Linux closes when it
begins: why there are no samples is said, and what helps does.

And programs that do what few do: the main thread ends and others work on, children begin by vfork, text lies in memory of no file, and
a process begins children that live for a millisecond. Functions have their names, and stacks lead to where their threads began.
With --full: the same with programs that share their C library, and with each sampler."""
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile
import time

from call_stacks import OF_KERNEL, UNKNOWN, begun, folded, in_user_mode, time_in
from tailor_env import BIN, BUILD, about, at_least, bpf_denied, check, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)
FULL = "--full" in sys.argv[1:]
TARGETS = BUILD / "targets"
PROGRAM = TARGETS / "deep_calls_static"
LEAST = 0.95  # of the time has its name, and leads to where its thread began


def judge_chains(stacks, what, inner, *path):
    """Stacks with the function `inner` lead through `path` to where their thread began."""
    inside, whole = time_in(stacks, inner), time_in(begun(stacks), inner, *path)
    check(at_least(whole, inside, LEAST), f"{what}: {whole:.0f} of {inside:.0f} ms in {inner}() lead through {', '.join(path)} to their begin")


def judge_stacks(stacks, what, inner, *path):
    all_of, inside = time_in(stacks), time_in(stacks, inner)
    check(at_least(inside, all_of, LEAST), f"{what}: {inside:.0f} of {all_of:.0f} ms are in {inner}()")
    judge_chains(stacks, what, inner, *path)


def judge(profile, what):
    judge_stacks(folded(profile), what, "innermost", "go_down", "work")


def in_innermost(profile):
    return time_in(folded(profile), "innermost")


def threads_of(process):
    return sorted(int(each.name) for each in pathlib.Path(f"/proc/{process.pid}/task").iterdir())


def has_threads(process):
    while len(threads_of(process)) < 2:
        time.sleep(0.01)


def leader_has_ended(process):
    def state():
        return pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]

    while process.poll() is None and state() != "Z":
        time.sleep(0.01)
    check(process.poll() is None, "the main thread has ended, and the process goes on")


def says_ready(process):
    check(process.stdout.readline() == b"ready\n", "the program is ready")


def record_running(folder, command, work, whom=0, wait=has_threads, options=()):
    """Records a command while it runs, by the number of its thread number `whom`."""
    profile = folder / "running.tailor"
    profile.unlink(missing_ok=True)
    process = subprocess.Popen([*command, "3600"], stdout=subprocess.PIPE)
    try:
        wait(process)
        nowhere = {"TAILOR_SOCKET": str(folder / "agent"), "TAILOR_CONTROL": str(folder / "control")}
        done = subprocess.run([BIN / "tailor", "record", "-F", "997", "--call-graph", "dwarf", *options, "-o", profile, "-p",
                               str(threads_of(process)[whom]), "--seconds", str(work)], capture_output=True, text=True,
                              env={**os.environ, **nowhere})
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    check(done.returncode == 0, f"its thread {whom} is recorded" + ("" if done.returncode == 0 else ": " + done.stderr))
    said = f"is a thread of process {process.pid}" in done.stderr
    check(said == (whom > 0), "what is sampled is said, where it is not what was asked for")
    return profile


def in_namespaces(script):
    """A shell's script in a user and a mount namespace. What is added to it is $0."""
    return ["unshare", "-r", "-m", "sh", "-c", script]


def overlay_of(folder):
    """(what mounts an overlay with the program in it, the program there)."""
    lower, empty, merged = folder / "lower", folder / "empty", folder / "merged"
    for each in (lower, empty, merged):
        each.mkdir()
    shutil.copy(PROGRAM, lower / "program")
    return f"mount -t overlay overlay -o lowerdir={lower}:{empty} {merged}", merged / "program"


def judge_namespaces(folder):
    mount, program = overlay_of(folder)
    for what, before, path in (("in namespaces of its own", "true", PROGRAM), ("in an overlay of its own", mount, program)):
        tried = subprocess.run(in_namespaces(before), capture_output=True, text=True)
        if tried.returncode != 0:
            print(f"not tried: a process {what}: {tried.stderr.strip()}")
            continue
        command = in_namespaces(f'{before} && exec {path} "$0"')
        judge(until_enough(300, in_innermost, lambda work: record_running(folder, command, work)),
              f"a process {what}")


def set_uid_program(folder):
    program = folder / "set_uid"
    shutil.copy(PROGRAM, program)
    os.chown(program, pwd.getpwnam("nobody").pw_uid, -1)
    program.chmod(0o4755)
    return program


def judge_set_uid(folder):
    program, profile = set_uid_program(folder), folder / "set_uid.tailor"
    done = subprocess.run([BIN / "tailor", "record", "--sampler", "perf", "-o", profile, "--", program, "1"], capture_output=True, text=True)
    check(done.returncode == 0, "a set-uid program runs")
    check("rights of another user" in done.stderr, "from its begin on it is not sampled, and why is said")
    done = subprocess.run([BIN / "tailor", "record", "--sampler", "perf", "-o", profile, "--", PROGRAM, "1"], capture_output=True, text=True)
    check("rights of another user" not in done.stderr, "the twin: of another program it is not")
    judge(until_enough(300, in_innermost, lambda work: record_running(folder, [program], work)),
          "set-uid, while it runs")


def recorded_command(folder, command, count, options=()):
    """The stacks of a command that gets how much CPU time it shall use, once count() of them is enough to judge."""
    profile = folder / "command.tailor"

    def measure(work):
        profile.unlink(missing_ok=True)
        run(BIN / "tailor", "record", "-q", "-F", "997", "--call-graph", "dwarf", *options, "-o", profile, "--", *command, str(0.5 * work))
        return folded(profile)

    return until_enough(300, count, measure)


def recorded_process(folder, command, count, wait, options=()):
    """The same of a command that runs when its recording begins."""
    return until_enough(300, count, lambda work: folded(record_running(folder, command, work, wait=wait, options=options)))


def judge_leader(folder, way, options):
    """Its /proc/PID/maps is empty, and /proc/PID/exe leads nowhere."""
    def count(stacks):
        return time_in(stacks, "innermost_of_worker")

    command = [TARGETS / f"leader_exit_{way}"]
    for what, stacks in (("", recorded_command(folder, command, count, options)),
                         (", by its number", recorded_process(folder, command, count, leader_has_ended, options))):
        judge_stacks(stacks, f"its main thread has ended{what}", "innermost_of_worker", "worker")


def in_vfork(stacks):
    """Those that pass through vfork() of the C library, whichever of its names was taken."""
    return [(frames, weight) for frames, weight in stacks if any("vfork" in name and not name.endswith(OF_KERNEL) for name in frames)]


def judge_vfork(folder, way, options):
    """The parent is in the kernel most of the time: in vfork(), which nothing but the tables of the C library leads out of."""
    stacks = in_vfork(recorded_command(folder, [TARGETS / f"vfork_loop_{way}"], lambda stacks: time_in(in_vfork(stacks)), options))
    all_of, whole = time_in(stacks), time_in(stacks, "start_one", "start_many", "main")
    check(at_least(whole, all_of, LEAST), f"vfork: {whole:.0f} of {all_of:.0f} ms in it lead to main()")


def judge_moved(folder, way, options, ways):
    """The text of the hot functions lies in memory of no file."""
    def count(stacks):
        return time_in(stacks, "first_in_pages") + time_in(stacks, "second_in_pages")

    for move, record, what in ways:
        command = [TARGETS / f"moved_text_{way}", move]
        what = f"text that was moved by {move}{what}"
        stacks = record(folder, command, count, options)
        first, both, all_of = time_in(stacks, "first_in_pages"), count(stacks), time_in(stacks)
        check(at_least(both, all_of, LEAST), f"{what}: {both:.0f} of {all_of:.0f} ms are in its functions")
        check(about(first, both, 2 / 3, 0.03), f"{what}: {first / both:.1%} of them in the first one, of 66.7%")
        check(not about(both - first, both, 2 / 3, 0.03), f"{what}, the twin: names of the other function are found out")
        for name in ("first_in_pages", "second_in_pages"):
            judge_chains(stacks, what, name, "work", "main")


def of_running(folder, command, count, options):
    return recorded_process(folder, command, count, says_ready, options)


def judge_storm(folder, way, options, starts):
    """Nobody can look at a child that lives for a millisecond: the file of its program is known from the others."""
    for start in starts:
        what = f"children that live for 1 ms, by {start}"
        stacks = recorded_command(folder, [TARGETS / f"exec_storm_{way}", start], lambda stacks: time_in(stacks, "child_work"), options)
        judge_chains(stacks, what, "child_work", "main")
        if way != "static":
            continue  # the loader takes much of such a child's time, and on some hosts it has no names
        ours = in_user_mode(stacks)
        all_of, named = time_in(ours), time_in([each for each in ours if each[0][-1] not in (UNKNOWN, "")])
        check(at_least(named, all_of, LEAST), f"{what}: {named:.0f} of {all_of:.0f} ms in user mode have names")
        # The rest is the begin of programs, and the parent.
        inside = time_in(ours, "child_work")
        check(at_least(inside, all_of, 0.7), f"{what}: {inside:.0f} of them are in child_work()")


def judge_twins(folder):
    """Stacks that were cut, and names of another function, are found out."""
    stacks = recorded_command(folder, [TARGETS / "leader_exit_static"], lambda stacks: time_in(stacks, "worker"))
    inside = time_in(stacks, "worker")
    # One in five has lost its callers.
    cut = [(frames[frames.index("worker"):], weight / 5) for frames, weight in stacks if "worker" in frames]
    rest = [(frames, weight * 4 / 5) for frames, weight in stacks]
    check(not at_least(time_in(begun(cut + rest), "worker"), inside, LEAST), "the twin: a fifth of stacks without a begin is too much")
    check(not at_least(time_in(rest, "worker"), inside, LEAST), "the twin: a fifth of the time with other names is too much")


def judge_programs(folder, way, options=()):
    both_ways = [("map", recorded_command, ""), ("remap", of_running, ", before the recording")]
    if FULL:
        both_ways += [("remap", recorded_command, ""), ("map", of_running, ", before the recording")]
    judge_leader(folder, way, options)
    judge_vfork(folder, way, options)
    judge_moved(folder, way, options, both_ways)
    judge_storm(folder, way, options, ("fork", "spawn") if FULL else ("fork",))


def judge_all_programs(folder):
    samplers = ["perf"] if bpf_denied() else ["perf", "bpf"]
    for way in ("static", "shared"):
        for sampler in samplers:
            print(f"With {way} C library, sampled by {sampler}:")
            judge_programs(folder, way, ("--sampler", sampler))


def judge_processes(folder):
    judge(until_enough(300, in_innermost, lambda work: record_running(folder, [PROGRAM], work, 1)), "a thread")
    if shutil.which("unshare"):
        judge_namespaces(folder)
    else:
        print("not tried: namespaces need unshare")
    flags = os.statvfs(folder).f_flag
    if os.geteuid() != 0 or flags & os.ST_NOSUID:
        print("not tried: set-uid programs need root, and a file system that has them")
    else:
        judge_set_uid(folder)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    folder.chmod(0o755)
    if FULL:
        judge_all_programs(folder)
    else:
        judge_processes(folder)
        judge_programs(folder, "static")
        judge_twins(folder)
