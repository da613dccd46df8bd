"""Programs without build ids: two of one path, whose code is the same to the byte, and whose functions have other names. What ran is
named by its own names, in one recording and in profiles that are read when the path leads to the other."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from chance import at_least
from tailor_env import BIN, check, run, sampling_denied, skip

SOURCE = """
#include <stdlib.h>
#include <time.h>
static double used(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
__attribute__((noinline)) void NAME(long n) { for (long i = 0; i < n; i++) __asm__ volatile("" : "+r"(i)); }
int main(int c, char** v) { for (double end = used() + atof(v[1]); used() < end;) NAME(1000000); return 0; }
"""
SECONDS = "0.7"


def build(folder, name):
    source = folder / "program.c"
    source.write_text(SOURCE)
    run("cc", "-O1", "-Wl,--build-id=none", f"-DNAME={name}", "-o", folder / name, source)


def functions(profile):
    """Samples by function, of the programs of this test alone: what is not named too. A mapping may be of a file that is gone by then."""
    report = json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json"))
    return {row["name"]: row["samples"] for row in report["functions"] if row["object"].startswith("program")}


def mostly(found, name, other):
    whole = sum(found.values())
    check(whole > 50 and at_least(found.get(name, 0), whole, 0.9) and other not in found, f"{name} alone: {found}")


def record(profile, *command):
    run(BIN / "tailor", "record", "-F", "997", "-o", profile, "--", *command)
    return profile


def one_after_the_other(folder):
    program = folder / "program"
    shutil.copy(folder / "function_a", program)
    first = record(folder / "a.tailor", program, SECONDS)
    mostly(functions(first), "function_a", "function_b")
    # Copies keep times: these prove nothing.
    shutil.copy2(folder / "function_b", folder / "new")
    os.utime(folder / "new", (1, 1))
    (folder / "new").rename(program)
    mostly(functions(first), "function_a", "function_b")
    mostly(functions(record(folder / "b.tailor", program, SECONDS)), "function_b", "function_a")
    program.unlink()
    mostly(functions(first), "function_a", "function_b")


def both_in_one_recording(folder):
    shutil.copy(folder / "function_a", folder / "program")
    shutil.copy(folder / "function_b", folder / "new")
    both = functions(record(folder / "both.tailor", "sh", "-c",
                            f"cd {folder}; ./program {SECONDS}; mv new program; ./program {SECONDS}"))
    named = both.get("function_a", 0), both.get("function_b", 0)
    whole = sum(both.values())
    check(min(named) > 50 and at_least(sum(named), whole, 0.9), f"both have their names: {both}")


def written_in_place(folder):
    """The same file, with another content when the recording ends: what ran is not called by what did not."""
    shutil.copy(folder / "function_a", folder / "program")
    found = functions(record(folder / "place.tailor", "sh", "-c", f"cd {folder}; ./program {SECONDS}; cp function_b program"))
    check(sum(found.values()) > 50 and "function_b" not in found, f"nothing that never ran: {found}")


def already_running(folder):
    """What was mapped before the recording began has no id; its names are right all the same, and say which file they are from."""
    shutil.copy(folder / "function_a", folder / "program")
    running = subprocess.Popen([folder / "program", "60"])
    try:
        shutil.copy(folder / "function_b", folder / "new")
        (folder / "new").rename(folder / "program")
        run(BIN / "tailor", "record", "-F", "997", "--seconds", "1", "-o", folder / "running.tailor", "-p", running.pid)
        mostly(functions(folder / "running.tailor"), "function_a", "function_b")
    finally:
        running.kill()
        running.wait()
    mostly(functions(folder / "running.tailor"), "function_a", "function_b")


def main():
    if shutil.which("cc") is None:
        skip("there is no C compiler")
    with tempfile.TemporaryDirectory(prefix="tailor-no-build-id-") as name:
        folder = pathlib.Path(name)
        for function in ("function_a", "function_b"):
            build(folder, function)
        one_after_the_other(folder)
        both_in_one_recording(folder)
        written_in_place(folder)
        already_running(folder)


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    main()
