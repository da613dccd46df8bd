"""The dataflow program, built outside the tree on an installation of Tailor's own, by one version of LLVM or another.

Installation and builds stay in the build folder, so that what did not change is not compiled again.
"""
import pathlib
import shutil

from tailor_env import BUILD, ROOT, run, skip

BASE = BUILD / "second_client"
LLVM_FOLDERS = {"llvm19": "/usr/lib/llvm-19", "llvm16": "/usr/lib/llvm-16"}


def install():
    """Installs what an engine needs; returns where."""
    prefix = BASE / "installed"
    for component in ("agent", "agent_dev", "compiler"):
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", component)
    return prefix


def build(llvm):
    """Builds the program on that LLVM and returns it; ends the test as skipped where that LLVM is not installed."""
    if not pathlib.Path(LLVM_FOLDERS[llvm], "include/llvm").exists():
        skip(f"the headers of {llvm} are not installed (llvm-{llvm[4:]}-dev)")
    prefix = install()
    source, folder = BASE / "source", BASE / llvm
    shutil.copytree(ROOT / "tests/integration/dataflow_client", source, dirs_exist_ok=True)
    launcher = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={ccache}"] if (ccache := shutil.which("ccache")) else []
    run("cmake", "-S", source, "-B", folder, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLLVM={llvm}", *launcher)
    run("ninja", "-C", folder)
    return folder / "pagerank"


def environment():
    """What the program needs to run: the agent's library lies where no loader looks."""
    return {"LD_LIBRARY_PATH": str(next((BASE / "installed").rglob("libtailor_agent.so")).parent)}
