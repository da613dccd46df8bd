"""`cmake --install`: the programs run from where they were installed, also when that folder is moved, and find nothing of
the build; the packages for engines say which version they are, and why they do not fit."""
import pathlib
import re
import shutil
import subprocess
import tempfile

from tailor_env import BUILD, check, run, sampling_denied, skip

PROGRAMS = ("tailord", "tailor", "weft")
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(engine C CXX)
if(FOUND_LLVM)
  set(LLVM_VERSION_MAJOR ${FOUND_LLVM})
endif()
find_package(TailorCompiler ${WANTED} REQUIRED COMPONENTS ${PARTS})
if(NOT TARGET tailor::llvm)
  message(FATAL_ERROR "no adapter: ${TailorCompiler_LLVM_REASON}")
endif()
"""


def configure(prefix, folder, *options):
    """Exit code and what cmake says of an engine's project that finds the package."""
    build = tempfile.mkdtemp(dir=folder)
    done = subprocess.run(["cmake", "-S", str(folder), "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *options],
                          capture_output=True, text=True)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def check_headers(root):
    """The headers for engines are whole, and none of them is of the libraries alone."""
    headers = {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*.h")}
    ours = re.compile(r'#include [<"]((?:compiler|proto|daemon|agent)/[^">]+)')
    wanted = {used for text in headers.values() for used in ours.findall(text)}
    check("compiler/llvm/engine_lineage.h" in headers, "the headers of the adapter are installed")
    check(wanted <= set(headers), f"and those that they include: {sorted(wanted - set(headers))}")
    check("compiler/llvm/llvm_api.h" not in headers, "a header of the adapter's own is not")


def refuses(prefix, folder, words, *options):
    code, said = configure(prefix, folder, *options)
    check(code != 0 and all(word in said for word in words), f"{' '.join(options)} is refused, and why is said: {words}")


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    run("cmake", "--install", BUILD, "--prefix", folder / "there")
    prefix = folder / "elsewhere"
    shutil.move(folder / "there", prefix)
    for program in PROGRAMS:
        binary = prefix / "bin" / program
        check(binary.is_file(), f"bin/{program} is installed")
        libraries = run("ldd", binary, env={"LD_LIBRARY_PATH": ""})
        check("not found" not in libraries and str(BUILD) not in libraries, f"{program} has all libraries, and none of the build")
        run(binary, "--help")
    check(str(prefix) in run("ldd", prefix / "bin/weft", env={"LD_LIBRARY_PATH": ""}), "weft takes the agent that lies beside it")

    check_headers(prefix / "include/tailor-compiler")
    project = folder / "engine"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(PROJECT)
    code, said = configure(prefix, project)
    check(code == 0, f"an engine finds the package{'' if code == 0 else ': ' + said[-800:]}")
    code, said = configure(prefix, project, "-DWANTED=0.1")
    check(code == 0, "in the version that it asks for")
    refuses(prefix, project, ["compatible with requested version"], "-DWANTED=99.0")
    refuses(prefix, project, ["no adapter for LLVM 15", "19"], "-DFOUND_LLVM=15")
    refuses(prefix, project, ["no adapter for LLVM 17"], "-DPARTS=llvm17")

    if reason := sampling_denied():
        skip(reason)
    profile = folder / "p.tailor"
    run(prefix / "bin/tailor", "record", "-o", profile, "--", prefix / "bin/weft", "--sf", "0.01", "--repeat", "20", "--quiet",
        "--tpch", "6")
    check("Scan lineitem" in run(prefix / "bin/tailor", "report", profile), "and they work together")
