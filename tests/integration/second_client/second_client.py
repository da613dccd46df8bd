"""An engine that is not weft: PageRank as an iterative dataflow graph, through LLVM and through gcc.

It is built outside the tree on installed headers, profiled, and its nodes get the samples they must get.
"""
import json
import os
import pathlib
import subprocess
import tempfile

from tailor_env import BIN, BUILD, ROOT, check, operators, run, sampling_denied, skip

with tempfile.TemporaryDirectory() as folder:
    base = pathlib.Path(folder)
    prefix = base / "installed"
    for component in ("agent", "compiler"):
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", component)
    source = base / "dataflow_client"
    run("cp", "-r", ROOT / "tests/integration/dataflow_client", source)
    run("cmake", "-S", source, "-B", base / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("ninja", "-C", base / "build")
    program = base / "build/pagerank"
    # The agent's library lies where no loader looks.
    library = next(prefix.rglob("libtailor_agent.so")).parent
    alone = [run(program, backend, env={"TAILOR_DISABLE": "1", "LD_LIBRARY_PATH": str(library)})
             for backend in ("llvm", "llvm-r13", "c")]
    check(len(set(alone)) == 1 and "sum 1.000000000" in alone[0], "all code generators compute the same ranks")

    if reason := sampling_denied():
        skip(reason)
    for backend in ("llvm", "llvm-r13", "c"):
        profile = base / f"{backend}.tailor"
        run(BIN / "tailor", "record", "-F", "5000", "-o", profile, "--", program, backend, "600000", "1800000",
            env={"LD_LIBRARY_PATH": str(library)})
        report = json.loads(run(BIN / "tailor", "report", profile, "--json"))
        share = {op["name"]: op["samples"] / report["windows"]["samples"] for op in operators(report)}
        print(backend, {name: f"{value:.1%}" for name, value in share.items()})
        check(report["windows"]["samples"] > 200, f"{backend}: enough samples")
        check(share["Scatter"] == max(share.values()), f"{backend}: scattering costs the most")
        check(share["Gather ranks"] > 0 and share["Read edges"] > 0, f"{backend}: so do its inputs cost something")
        check(sum(share.values()) > 0.95, f"{backend}: nodes have {sum(share.values()):.1%} of the samples")
        # flow_add is one function with two owners; only the tag can tell them apart.
        tagged = {op["name"]: op["by"]["tag"] for op in operators(report) if op["by"].get("tag")}
        check({"Scatter", "Delta"} <= set(tagged), f"{backend}: the shared helper's samples went to both owners: {tagged}")
        check(tagged["Scatter"] > tagged["Delta"], f"{backend}: more to the one that calls it more often")
