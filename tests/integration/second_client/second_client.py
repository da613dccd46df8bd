"""An engine that is not weft: PageRank as an iterative dataflow graph, through LLVM, through gcc, and through machine
code that the engine writes itself.

It is built outside the tree on installed headers, profiled, and its nodes get the samples they must get.

    second_client.py llvm19|llvm16
"""
import json
import subprocess
import sys
import tempfile

from built import build, environment
from tailor_env import BIN, check, operators, run, sampling_denied, skip

LLVM = sys.argv[1]
BACKENDS = ("llvm", "llvm-r13", "c", "emitted") if LLVM == "llvm19" else ("llvm", "llvm-r13")
program = build(LLVM)
libraries = run("ldd", program)
check(f"libLLVM-{LLVM[4:]}" in libraries or f"libLLVM.so.{LLVM[4:]}" in libraries, f"the program runs on {LLVM}")
alone = [run(program, backend, env={"TAILOR_DISABLE": "1", **environment()}) for backend in BACKENDS]
check(len(set(alone)) == 1 and "sum 1.000000000" in alone[0], "all code generators compute the same ranks")
if reason := sampling_denied():
    skip(reason)


def shares_of(backend):
    """The report of a run, and what share of the samples inside the execution its nodes have."""
    with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
        run(BIN / "tailor", "record", "-F", "5000", "-o", profile.name, "--", program, backend, "200000", "1800000",
            env=environment())
        report = json.loads(run(BIN / "tailor", "report", profile.name, "--json"))
    share = {op["name"]: op["samples"] / report["windows"]["samples"] for op in operators(report)}
    print(backend, {name: f"{value:.1%}" for name, value in share.items()}, report["by_link"])
    return report, share


for backend in BACKENDS:
    report, share = shares_of(backend)
    check(report["windows"]["samples"] > 200, f"{backend}: enough samples")
    check(share["Scatter"] == max(share.values()), f"{backend}: scattering costs the most")
    check(share["Gather ranks"] > 0 and share["Read edges"] > 0, f"{backend}: so do its inputs cost something")
    check(share["Leaders"] > 0, f"{backend}: and what the engine's own code does under a tag")
    check(sum(share.values()) > 0.95, f"{backend}: nodes have {sum(share.values()):.1%} of the samples")
    # flow_add is one function with two owners; only the tag can tell them apart.
    tagged = {op["name"]: op["by"]["tag"] for op in operators(report) if op["by"].get("tag")}
    check({"Scatter", "Delta"} <= set(tagged), f"{backend}: the shared helper's samples went to both owners: {tagged}")
    check(tagged["Scatter"] > tagged["Delta"], f"{backend}: more to the one that calls it more often")


def gather_is_dearer(share):
    """The emitted code divides for every edge, of which there are nine for every vertex that is damped."""
    return share["Gather ranks"] > 1.2 * share["Damp"]


if "emitted" in BACKENDS:
    check(gather_is_dearer(share), "emitted: a division for every edge costs more than one for every vertex")
    links = report["by_link"]
    check(sum(links.values()) == links["exact"] + links["prologue"] > 100, "emitted: the engine's own log says all exactly")
    check(not gather_is_dearer(shares_of("emitted-swapped")[1]), "the broken twin: with the two exchanged in the log it is not so")
