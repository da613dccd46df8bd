"""Engines of the guide that need TailorCompiler: built from the page's own text on an installation, and recorded."""
import json
import shutil
import tempfile

import page
from tailor_env import BIN, BUILD, check, operators, run, until_enough


def built(folder, files, tailor=BUILD, llvm="llvm19"):
    """Builds what the page has in this folder, on an installation of that build of Tailor and on that LLVM.

    Returns where its programs are, and the environment that they need.
    """
    base = tailor / f"guide_{folder}"  # stays, so that what did not change is not compiled again
    prefix, source, build = base / "installed", base / "source", base / "build"
    for component in ("agent", "agent_dev", "compiler"):
        run("cmake", "--install", tailor, "--prefix", prefix, "--component", component)
    source.mkdir(parents=True, exist_ok=True)
    programs = page.programs(folder)
    check({program.name for program in programs} == {*files, "CMakeLists.txt"}, f"the page has the files of {folder}, and how they are built")
    for program in programs:
        file, text = source / program.name, program.text.replace("COMPONENTS llvm19", f"COMPONENTS {llvm}")
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    launcher = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={ccache}"] if (ccache := shutil.which("ccache")) else []
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror", *launcher)
    run("ninja", "-C", build)
    return build, {"LD_LIBRARY_PATH": str(next(prefix.rglob("libtailor_agent.so")).parent)}


def hashed(n):
    """What the engines' shared function computes."""
    for _ in range(4):
        n = (n ^ n >> 29) * 0x9E3779B97F4A7C15 % 2**64
    return n


NAMES = ["Filter", "Scan numbers", "Sum"]  # the operators of the engines with code generators
GENERATORS = ["engine.h", "main.cc", "llvm_engine.cc", "text_engine.cc", "emitted_engine.cc"]


def generators_sum():
    """What each of the three computes."""
    return sum(hashed(n) for n in range(1 << 20) if n % 3) % 2**64


def computes(program, arguments, expected, loader):
    for environment in ({"TAILOR_SOCKET": "/nonexistent"}, {"TAILOR_DISABLE": "1"}):
        said = run(program, 1, *arguments, env={**loader, **environment})
        check(int(said) == expected, f"{program.name} computes the right sum: {environment}")


def recorded(program, arguments, env):
    def measure(work):
        with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
            run(BIN / "tailor", "record", "-F", "5000", "-o", profile.name, "--", program, 30 * work, *arguments, env=env)
            return json.loads(run(BIN / "tailor", "report", profile.name, "--json"))
    return measure


def report_of(program, arguments, env):
    """A report with enough samples to judge."""
    report = until_enough(300, lambda found: sum(samples_of(found).values()), recorded(program, arguments, env))
    print(program.name, *arguments, samples_of(report), report["windows"], report["by_link"])
    return report


def samples_of(report):
    return {each["name"]: each["samples"] for each in operators(report)}


def shows_the_plan(report, names):
    """Whether the report has these operators, and they have nearly all samples taken inside of the execution."""
    inside = report["windows"]
    return sorted(samples_of(report)) == sorted(names) and inside["samples"] > 0 and inside["in_operators"] / inside["samples"] > 0.9


def with_tags(report):
    """The operators for which shared code worked."""
    return {op["name"] for op in operators(report) if op["by"].get("tag")}
