"""The guide's engine with its own LLVM pipeline: built from the page's own text on an installation, run and profiled."""
import json
import shutil
import tempfile

import page
from tailor_env import BIN, BUILD, check, operators, run, sampling_denied, skip, until_enough

NAMES = ["Filter", "Scan numbers", "Sum"]
# Formulas of the condition and of what is added up. The dear one moves from one operator to the other.
DEAR_FILTER = ("hash(hash(hash(n))) % 1000", "n")
DEAR_SUM = ("n % 1000", "hash(hash(hash(n)))")

BASE = BUILD / "guide_orc"  # stays, so that what did not change is not compiled again
prefix, source, build = BASE / "installed", BASE / "source", BASE / "build"
for component in ("agent", "agent_dev", "compiler"):
    run("cmake", "--install", BUILD, "--prefix", prefix, "--component", component)
source.mkdir(parents=True, exist_ok=True)
programs = page.programs("orc")
check({program.name for program in programs} == {"orc_engine.cc", "CMakeLists.txt"}, "the page has the program and how it is built")
for program in programs:
    file = source / program.name
    if not file.exists() or file.read_text() != program.text:
        file.write_text(program.text)
launcher = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={ccache}"] if (ccache := shutil.which("ccache")) else []
run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
    "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror", *launcher)
run("ninja", "-C", build)
loader = {"LD_LIBRARY_PATH": str(next(prefix.rglob("libtailor_agent.so")).parent)}


def answer(condition, formula):
    """What the program has to compute."""
    def hashed(n):
        for _ in range(4):
            n = (n ^ n >> 29) * 0x9E3779B97F4A7C15 % 2**64
        return n
    return sum(formula(n, hashed) for n in range(1 << 20) if condition(n)) % 2**64


for environment in ({"TAILOR_SOCKET": "/nonexistent"}, {"TAILOR_DISABLE": "1"}):
    said = run(build / "orc_engine", 1, "n % 1000", "hash(n)", env={**loader, **environment})
    check(int(said) == answer(lambda n: n % 1000, lambda n, hashed: hashed(n)), "the program computes the right sum without a daemon, and with the agent off")
if reason := sampling_denied():
    skip(reason)


def recorded(formulas, env=None):
    def measure(work):
        with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
            run(BIN / "tailor", "record", "-F", "5000", "-o", profile.name, "--", build / "orc_engine", 30 * work, *formulas,
                env={**loader, **(env or {})})
            return json.loads(run(BIN / "tailor", "report", profile.name, "--json"))
    return measure


def samples_of(report):
    return {each["name"]: each["samples"] for each in operators(report)}


def shows_the_plan(report):
    inside = report["windows"]
    return sorted(samples_of(report)) == NAMES and inside["samples"] > 0 and inside["in_operators"] / inside["samples"] > 0.9


def is_dearest(report, name):
    of = samples_of(report)
    return of[name] > 0.6 * sum(of.values())


for formulas, dear in ((DEAR_FILTER, "Filter"), (DEAR_SUM, "Sum")):
    report = until_enough(300, lambda found: sum(samples_of(found).values()), recorded(formulas))
    print(formulas, samples_of(report), report["windows"], report["by_link"])
    check(shows_the_plan(report), "the report has the operators of the plan, and they have the samples")
    check(is_dearest(report, dear), f"{dear} calls the shared function, and most of the time is its")
    tagged = {op["name"] for op in operators(report) if op["by"].get("tag")}
    check(tagged == {dear}, f"the tag says for whom the shared function works: {tagged}")
    other = "Sum" if dear == "Filter" else "Filter"
    check(not is_dearest(report, other), f"the broken twin: {other} is not the dearest here")
check(not shows_the_plan(recorded(DEAR_SUM, {"TAILOR_DISABLE": "1"})(1)), "the broken twin: with the agent off there is no such plan")
