"""The adapter for one version of LLVM, built without weft and in a build folder of its own: its unit tests, and the guide's
engines on an installation of it.

    adapter.py 22
"""
import pathlib
import subprocess
import sys

import engines
from tailor_env import BUILD, ROOT, check, run, sampling_denied, skip

VERSION = sys.argv[1]
if not pathlib.Path(f"/usr/lib/llvm-{VERSION}/include/llvm").exists():
    skip(f"the headers of LLVM {VERSION} are not installed (llvm-{VERSION}-dev)")
folder = BUILD / f"adapter{VERSION}"  # stays, so that what did not change is not compiled again


def configure(where, version):
    return subprocess.run(
        ["cmake", "-S", ROOT, "-B", where, "-G", "Ninja", f"-DTAILOR_LLVM_VERSIONS={version}", "-DTAILOR_WEFT=OFF",
         "-DTAILOR_BENCH=OFF", "-DTAILOR_WERROR=ON", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
         "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1"], capture_output=True, text=True)


done = configure(folder, VERSION)
check(done.returncode == 0, f"Tailor is configured for LLVM {VERSION}{done.stderr[-2000:]}")
TESTS = [f"llvm_{name}_test_{VERSION}" for name in ("jit", "listing", "tags", "coverage", "table1", "tiers", "engine_lineage")]
run("ninja", "-C", folder, *TESTS, "tailor_agent", "tailor_agent_static", "tailor_dwarf", timeout=2300)


def runs_on_it(program, env=None):
    libraries = run("ldd", program, env=env)
    check(f"libLLVM.so.{VERSION}" in libraries or f"libLLVM-{VERSION}" in libraries, f"{program.name} runs on LLVM {VERSION}")


for test in TESTS:
    runs_on_it(folder / "tests" / test)
    print(run(folder / "tests" / test, timeout=600)[-200:])
build, loader = engines.built("generators", engines.GENERATORS, folder, f"llvm{VERSION}")
engine = build / "llvm_engine"
runs_on_it(engine, loader)
engines.computes(engine, [], engines.generators_sum(), loader)
refused = configure(BUILD / "adapter_refused", 17)
check(refused.returncode != 0 and "made for LLVM 16, 19 and 22" in " ".join(refused.stderr.split()),
      "a version that the adapter is not made for is refused, and why is said")
if reason := sampling_denied():
    skip(reason)
report = engines.report_of(engine, [], loader)
check(engines.shows_the_plan(report, engines.NAMES), "the report of the engine has the operators of its plan")
check(engines.with_tags(report) == {"Sum"}, f"the tag says for whom the shared function works: {engines.with_tags(report)}")
