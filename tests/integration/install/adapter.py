"""The adapter for one version of LLVM, built without weft and in a build folder of its own, and its unit tests.

    adapter.py 22
"""
import pathlib
import subprocess
import sys

from tailor_env import BUILD, ROOT, check, run, skip

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
run("ninja", "-C", folder, *TESTS, timeout=2300)
for test in TESTS:
    libraries = run("ldd", folder / "tests" / test)
    check(f"libLLVM.so.{VERSION}" in libraries or f"libLLVM-{VERSION}" in libraries, f"{test} runs on LLVM {VERSION}")
    print(run(folder / "tests" / test, timeout=600)[-200:])
refused = configure(BUILD / "adapter_refused", 17)
check(refused.returncode != 0 and "made for LLVM 16, 19 and 22" in " ".join(refused.stderr.split()),
      "a version that the adapter is not made for is refused, and why is said")
