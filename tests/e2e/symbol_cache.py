"""What a recording keeps of the functions of a file names them in later reports: here a copy of the same build without symbols.
The twins: without the cache, and another build."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from tailor_env import BIN, check, run, sampling_denied, skip

SOURCE = """
#include <stdlib.h>
#include <time.h>
static double used(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
__attribute__((noinline)) void hot(long n) { for (long i = 0; i < n; i++) __asm__ volatile("" : "+r"(i)); }
int main(int c, char** v) { for (double end = used() + 0.4 + VERSION * 1e-9; used() < end;) hot(1000000); return 0; }
"""


def build(folder, name, version):
    (folder / "program.c").write_text(SOURCE)
    run("cc", "-O1", "-Wl,--build-id", f"-DVERSION={version}", "-o", folder / name, folder / "program.c")
    run("strip", "-o", folder / f"{name}.stripped", folder / name)


def record(folder, program, env):
    """Functions of what is recorded as program."""
    shutil.copy(folder / program, folder / "program")
    profile = folder / "p.tailor"
    run(BIN / "tailor", "record", "-F", "997", "-o", profile, "--", folder / "program", env=env)
    report = json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json", env=env))
    return {row["name"]: row["samples"] for row in report["functions"] if row["object"] == "program"}


def main():
    if shutil.which("cc") is None or shutil.which("strip") is None:
        skip("there is no C compiler")
    with tempfile.TemporaryDirectory(prefix="tailor-symbols-") as name:
        folder = pathlib.Path(name)
        build(folder, "one", 1)
        build(folder, "two", 2)
        env = os.environ | {"XDG_CACHE_HOME": str(folder / "cache"), "TAILOR_SYMBOL_CACHE": "on"}
        off = env | {"TAILOR_SYMBOL_CACHE": "off"}
        check("hot" in record(folder, "one", off) and not (folder / "cache").exists(), "off: nothing is kept")
        check("hot" not in record(folder, "one.stripped", env), "nothing names it yet")
        check("hot" in record(folder, "one", env), "what runs has its names")
        found = record(folder, "one.stripped", env)
        check("hot" in found, f"and they are kept for its build: {found}")
        check("hot" not in record(folder, "one.stripped", off), "unless that is off")
        check("hot" not in record(folder, "two.stripped", env), "another build is another file")
        said = subprocess.run([BIN / "tailor", "doctor", "--json"], capture_output=True, text=True, env=env).stdout
        finding = [each["found"] for each in json.loads(said) if each["check"] == "symbol cache"]
        check(len(finding) == 1 and str(folder / "cache") in finding[0], f"doctor says how much: {finding}")


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    main()
