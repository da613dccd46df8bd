"""A recording takes names from the files of debug information: beside the file and by its debug link. It keeps them, so a report
has them where these files are not. A process in a container has its own, which only its root directory leads to. The twin: without
these files there are no names."""
import json
import os
import pathlib
import shutil
import tempfile

from symbol_cache import SOURCE
from tailor_env import BIN, check, run, sampling_denied, skip


def hot(profile):
    report = json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json"))
    return "hot" in {row["name"] for row in report["functions"] if row["object"] == "program"}


def record(folder, *command, profile="p.tailor"):
    profile = folder / profile
    run(BIN / "tailor", "record", "-F", "997", "-o", profile, "--", *command)
    return profile


def build_id(program):
    notes = run("readelf", "-n", program)
    return next(line.split(":")[1].strip() for line in notes.splitlines() if "Build ID" in line)


def in_container(folder):
    """The program with another root directory, where its debug file lies."""
    if os.geteuid() != 0 or shutil.which("chroot") is None:
        print("not tried: only root may change a root directory")
        return
    root, whole = folder / "root", folder / "static"
    run("cc", "-O1", "-static", "-Wl,--build-id", f"-DVERSION={os.getpid()}", "-o", whole, folder / "program.c", expect=None)
    if not whole.exists():
        print("not tried: there is no C library to link statically")
        return
    identity = build_id(whole)
    below = root / "usr/lib/debug/.build-id" / identity[:2]
    below.mkdir(parents=True)
    run("strip", "-o", root / "program", whole)
    run("objcopy", "--only-keep-debug", whole, below / f"{identity[2:]}.debug")
    profile = record(folder, "chroot", root, "/program")
    check(not hot(record(folder, root / "program", profile="outside.tailor")), "a program outside has no debug files there")
    shutil.rmtree(root)
    check(hot(profile), "names come from the debug files that the process sees")


def main():
    if shutil.which("cc") is None or shutil.which("objcopy") is None:
        skip("there is no C compiler")
    with tempfile.TemporaryDirectory(prefix="tailor-debug-files-") as name:
        folder = pathlib.Path(name)
        (folder / "program.c").write_text(SOURCE)
        whole, program, debug = folder / "whole", folder / "program", folder / "program.debug"
        run("cc", "-O1", "-Wl,--build-id", f"-DVERSION={os.getpid()}", "-o", whole, folder / "program.c")
        run("strip", "-o", program, whole)
        check(not hot(record(folder, program)), "a stripped program has no names")
        run("objcopy", "--only-keep-debug", whole, debug)
        profile = record(folder, program)
        debug.rename(folder / "elsewhere")
        check(hot(profile), "the recording has kept those of the file beside it")
        run("strip", "-o", program, whole)
        run("objcopy", f"--add-gnu-debuglink={folder / 'elsewhere'}", program)
        check(hot(record(folder, program)), "a debug link leads to them")
        in_container(folder)


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    main()
