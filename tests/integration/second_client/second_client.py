"""An engine that is not weft: PageRank as an iterative dataflow graph, through LLVM, through gcc, and through machine
code that the engine writes itself.

It is built outside the tree on installed headers, profiled, and its nodes get the samples they must get.

    second_client.py llvm19|llvm16
"""
import json
import pathlib
import re
import sys
import tempfile

from built import BASE, build, environment
from tailor_env import BIN, ROOT, check, operators, run, sampling_denied, skip, until_enough

LLVM = sys.argv[1]
BACKENDS = ("llvm", "llvm-r13", "c", "emitted") if LLVM == "llvm19" else ("llvm", "llvm-r13")
SWAPPED = ("llvm", "c", "emitted") if LLVM == "llvm19" else ("llvm",)
program = build(LLVM)
libraries = run("ldd", program)
check(f"libLLVM-{LLVM[4:]}" in libraries or f"libLLVM.so.{LLVM[4:]}" in libraries, f"the program runs on {LLVM}")


def of_the_tree(path):
    """Whether the file lies in Tailor's tree, or was built there, and is not of the installation or the program."""
    path = pathlib.Path(path).resolve()
    return path.is_relative_to(ROOT.resolve()) and not path.is_relative_to(BASE.resolve())


folder = program.parent
read = {folder / line.strip() for line in run("ninja", "-C", folder, "-t", "deps").splitlines() if line.startswith("    ")}
check(any("compiler/llvm/jit.h" in str(path) for path in read), f"{len(read)} files were read to build the program, installed headers too")
check(not any(map(of_the_tree, read)), f"none is of the source tree: {list(filter(of_the_tree, read))[:3]}")
check(of_the_tree(ROOT / "compiler/llvm/jit.h"), "the broken twin: a header of the tree would be noticed")


def numbers(text):
    return [int(n) for n in re.findall(r"(?<=[ |])\d+\b", text)]


said = [numbers(line) for line in (ROOT / "docs/integrate-your-engine.md").read_text().split("| what | LLVM |")[1].split("\n\n")[0]
        .splitlines()[2:]]
counted = [numbers(line) for line in run(ROOT / "tests/integration/dataflow_client/count_lines").splitlines()[1:]]
check(said == [*counted, [sum(column) for column in zip(*counted)]], f"the lines it takes are as documented: {counted}")
alone = [run(program, backend, env={"TAILOR_DISABLE": "1", **environment()}) for backend in BACKENDS]
check(len(set(alone)) == 1 and "sum 1.000000000" in alone[0], "all code generators compute the same ranks")
if reason := sampling_denied():
    skip(reason)


def shares_of(backend):
    """The report of a run, and what share of the samples inside the execution its nodes have."""
    def recorded(work):
        with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
            run(BIN / "tailor", "record", "-F", "10000", "-o", profile.name, "--", program, backend, work * 200000,
                work * 2400000, env=environment())
            return json.loads(run(BIN / "tailor", "report", profile.name, "--json"))

    report = until_enough(1000, lambda found: found["windows"]["samples"], recorded)
    share = {op["name"]: op["samples"] / report["windows"]["samples"] for op in operators(report)}
    print(backend, report["windows"], {name: f"{value:.1%}" for name, value in share.items()}, report["by_link"])
    return report, share


def reading_is_dearer(share):
    """Twelve edges are read for each vertex that is damped."""
    return share["Read edges"] > 1.3 * share["Damp"]


for backend in BACKENDS:
    report, share = shares_of(backend)
    check(share["Scatter"] == max(share.values()), f"{backend}: scattering costs the most")
    check(share["Gather ranks"] > 0, f"{backend}: so do its inputs cost something")
    # Other guests of the host disturb what memory costs: one of three recordings is enough.
    dearer = reading_is_dearer(share) or any(reading_is_dearer(shares_of(backend)[1]) for _ in range(2))
    check(dearer, f"{backend}: reading edges costs more than damping vertices")
    check(share["Leaders"] > 0, f"{backend}: and what the engine's own code does under a tag")
    inside = report["windows"]
    check(0.95 < inside["in_operators"] / inside["samples"] <= 1, f"{backend}: nodes have nearly all samples of the execution")
    # Those of the nodes are counted wherever they were taken, a few before or after the execution's marks.
    check(0.95 < sum(share.values()) < 1.02, f"{backend}: added up they are {sum(share.values()):.1%}")
    # flow_add is one function with two owners; only the tag says for which of them it works.
    tagged = {op["name"]: op["by"]["tag"] for op in operators(report) if op["by"].get("tag")}
    check({"Scatter", "Delta"} <= set(tagged), f"{backend}: the shared helper's samples went to both owners: {tagged}")
    check(tagged["Scatter"] > tagged["Delta"], f"{backend}: more to the one that calls it more often")
    if backend == "emitted":
        links = report["by_link"]
        check(sum(links.values()) == links["exact"] + links["prologue"] > 0, "emitted: the engine's own log says all exactly")
for backend in SWAPPED:
    check(not reading_is_dearer(shares_of(backend + "-swapped")[1]), f"the broken twin {backend}: with the two exchanged it is not so")
