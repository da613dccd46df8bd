"""Processes that are not as most are: one that is named by one of its threads, one in namespaces of its own, one whose file lies
in an overlay that nobody else has mounted, and a program that has the rights of another user, whose events Linux closes when it
begins: why there are no samples is said, and what helps does."""
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import time

from tailor_env import BIN, BUILD, at_least, check, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)
PROGRAM = BUILD / "targets" / "deep_calls_static"
MILLISECOND = 1_000_000


def time_in(profile, *names):
    lines = run(BIN / "tailor", "export", profile, "--format", "folded", expect=None).splitlines()
    stacks = [(stack.split(";"), int(weight)) for stack, weight in (line.rsplit(" ", 1) for line in lines)]
    return sum(weight for frames, weight in stacks if all(name in frames for name in names)) / MILLISECOND


def judge(profile, what):
    all_of, inner, whole = time_in(profile), time_in(profile, "innermost"), time_in(profile, "innermost", "go_down", "work")
    check(at_least(inner, all_of, 0.95), f"{what}: {inner:.0f} of {all_of:.0f} ms are in innermost()")
    check(at_least(whole, inner, 0.95), f"{what}: {whole:.0f} of these lead through their callers")


def threads_of(process):
    return sorted(int(each.name) for each in pathlib.Path(f"/proc/{process.pid}/task").iterdir())


def record_running(folder, command, work, whom=0):
    """Records a command while it runs, by the number of its thread number `whom`."""
    profile = folder / "running.tailor"
    process = subprocess.Popen([*command, "3600"])
    try:
        while len(threads_of(process)) < 2:
            time.sleep(0.01)
        nowhere = {"TAILOR_SOCKET": str(folder / "agent"), "TAILOR_CONTROL": str(folder / "control")}
        done = subprocess.run([BIN / "tailor", "record", "-F", "997", "--call-graph", "dwarf", "-o", profile, "-p",
                               str(threads_of(process)[whom]), "--seconds", str(work)], capture_output=True, text=True,
                              env={**os.environ, **nowhere})
    finally:
        process.kill()
        process.wait()
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
        judge(until_enough(300, lambda profile: time_in(profile, "innermost"), lambda work: record_running(folder, command, work)),
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
    judge(until_enough(300, lambda profile: time_in(profile, "innermost"), lambda work: record_running(folder, [program], work)),
          "set-uid, while it runs")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    folder.chmod(0o755)
    judge(until_enough(300, lambda profile: time_in(profile, "innermost"), lambda work: record_running(folder, [PROGRAM], work, 1)),
          "a thread")
    if shutil.which("unshare"):
        judge_namespaces(folder)
    else:
        print("not tried: namespaces need unshare")
    flags = os.statvfs(folder).f_flag
    if os.geteuid() != 0 or flags & os.ST_NOSUID:
        print("not tried: set-uid programs need root, and a file system that has them")
    else:
        judge_set_uid(folder)
