"""Tags never corrupt an engine: the guide's engine with scopes, and one that gives compilers every reason to use the tag's register.

Both are built with and without -ffixed-r15, by gcc and clang, at all levels of optimisation, and must compute the right results.
Where the register is not kept, this must be said. Where samples can be taken, the shares of operators are compared too.
"""
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import page
from tailor_env import BIN, BUILD, about, check, operators, run, sampling_denied, skip, until_enough

HERE = pathlib.Path(__file__).parent
FLAG = "-ffixed-r15"
LEVELS = ["-O0", "-O2", "-O3 -march=native"]
CLANG = next((found for name in ("clang++-19", "clang++") if (found := shutil.which(name))), None)
# (compiler, options, whether r15 is kept)
BUILDS = [("g++", f"{level} {flag}", flag == FLAG) for level, flag in itertools.product(LEVELS, (FLAG, ""))]
BUILDS += [("g++", f"-O2 -flto {FLAG}", True)]
BUILDS += [(CLANG, level, False) for level in LEVELS if CLANG]


def scopes_sum():
    """What scopes_engine computes in one round."""
    values = (n * 0x9E3779B97F4A7C15 % 2**64 >> 7 for n in range(64 << 14))
    return sum(value for value in values if value % 3) % 2**64


base = BUILD / "guide_flags"  # stays, so that a compiler's cache finds what it has compiled
prefix, source = base / "installed", base / "source"
source.mkdir(parents=True, exist_ok=True)
for component in ("agent", "agent_dev"):
    run("cmake", "--install", BUILD, "--prefix", prefix, "--component", component)
library = next(prefix.rglob("libtailor_agent.so")).parent
loader = {"LD_LIBRARY_PATH": str(library)}
SCOPES = source / "scopes_engine.cc"
SCOPES.write_text(next(program.text for program in page.programs() if program.name == SCOPES.name))
PRESSURE = HERE / "pressure_engine.cc"
CACHE = [ccache] if (ccache := shutil.which("ccache")) else []


def compiled(file, compiler, options, include=None, link=()):
    """Builds the program. Returns where it is, and what the compiler said."""
    target = base / "engine"
    target.unlink(missing_ok=True)
    include = include or prefix / "include"
    done = subprocess.run([*CACHE, compiler, "-std=c++20", "-Wall", "-Wextra", *options.split(), f"-I{include}", "-c", file, "-o", f"{target}.o"],
                          capture_output=True, text=True)
    check(done.returncode == 0, f"{compiler} {options}: {file.name} compiles{done.stderr if done.returncode else ''}")
    run(compiler, *options.replace(FLAG, "" if link == () else FLAG).split(), f"{target}.o", f"-L{library}", "-ltailor_agent", "-pthread", "-o", target)
    return target, done.stderr


def output(program):
    """What the program prints to its two streams; nothing of one that crashed."""
    done = subprocess.run([program], env={**os.environ, **loader, "TAILOR_SOCKET": "/nonexistent"}, capture_output=True, text=True)
    return (done.stdout, done.stderr) if done.returncode == 0 else ("", done.stderr)


def first(text):
    return (text.split() or [""])[0]


right = {SCOPES: str(scopes_sum()), PRESSURE: first(output(compiled(PRESSURE, "g++", "-O1 -DTAGS=TAILOR_TAGS_NONE")[0])[0])}
check(right[PRESSURE] != "", "without tags the other engine computes something")
for (compiler, options, kept), file in itertools.product(BUILDS, right):
    program, said = compiled(file, compiler, options, link=(FLAG,) if kept else ())
    result, notices = output(program)
    name = f"{os.path.basename(compiler)} {options.strip()}: {file.name}"
    check(first(result) == right[file], f"{name} computes the right result: {result.strip() or 'it crashed'}")
    check((file.name in notices and "r15" in notices) != kept, f"{name}: its agent says that the register is not kept: {not kept}")
    if file == PRESSURE:
        check(("not kept" not in result) == kept, f"{name}: the engine can ask for it")
    warns = "clang uses this register" in said
    check(warns == (compiler == CLANG) and ("warning" in said) == warns, f"{name}: the compiler warns if it is clang, and of nothing else: {warns}")

# An option that the linker does not get is lost with -flto.
program, _ = compiled(PRESSURE, "g++", f"-O2 -flto {FLAG}")
result, notices = output(program)
check(first(result) == right[PRESSURE], "g++ -O2 -flto, linked without the option, computes the right result")
check(("not kept" in result) == ("r15" in notices), f"what the linker made of it is what is said: {result.strip()}")

# The broken twin: scopes that do not tell the compiler that they change the register.
with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(prefix / "include/tailor", pathlib.Path(folder) / "tailor")
    header = pathlib.Path(folder) / "tailor/tag_scope.h"
    text = header.read_text()
    broken = text.replace(': "r15", "memory")', ': "memory")').replace(': "r13", "memory")', ': "memory")')
    check(broken.count('"memory")') == text.count('"memory")') and broken != text, "the twin differs in what it tells the compiler")
    header.write_text(broken)
    for compiler in filter(None, ("g++", CLANG)):
        result, _ = output(compiled(PRESSURE, compiler, "-O2", folder)[0])
        check(first(result) != right[PRESSURE], f"the broken twin, {compiler} -O2: the result is wrong: {result.strip() or 'it crashed'}")

if reason := sampling_denied():
    skip(reason)


def recorded(program):
    def measure(work):
        with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
            done = subprocess.run([BIN / "tailor", "record", "-F", "5000", "-o", profile.name, "--", program, str(100 * work)],
                                  env={**os.environ, **loader}, capture_output=True, text=True)
            check(done.returncode == 0, f"{program.name} is recorded{done.stderr if done.returncode else ''}")
            report = json.loads(run(BIN / "tailor", "report", profile.name, "--json"))
            report["said"] = "its agent says: " in done.stderr
            report["found"] = [each for each in json.loads(run(BIN / "tailor", "doctor", profile.name, "--json", expect=None))
                               if each["check"] == "agent"]
            return report
    return measure


def shares(compiler, options):
    """Samples of each operator, all of them, whether the doubt was said when it was recorded, and by doctor."""
    program, _ = compiled(SCOPES, compiler, options, link=(FLAG,))
    report = until_enough(400, lambda found: found["windows"]["samples"], recorded(program))
    samples = {each["name"]: each["samples"] for each in operators(report)}
    print(compiler, options, samples, report["windows"])
    return samples, report["windows"]["samples"], report["said"], any("r15" in each["found"] for each in report["found"])


kept, of_kept, *doubts = shares("g++", f"-O2 {FLAG}")
check(not any(doubts), "no doubt is said where the register is kept")
check(sum(kept.values()) / of_kept > 0.9, "operators have the samples where the register is kept")
for compiler, options in [("g++", "-O2"), *([(CLANG, "-O2")] if CLANG else [])]:
    found, of_found, *doubts = shares(compiler, options)
    check(all(doubts), f"{compiler} {options}: the doubt is said, by `tailor record` and by `tailor doctor`")
    if compiler == "g++":  # another compiler makes other code
        for name, samples in kept.items():
            check(about(found.get(name, 0), of_found, samples / of_kept, 0.1), f"{compiler} {options}: {name} has its share: {found}")
