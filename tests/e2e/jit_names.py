"""Runtimes that write what they generated for perf, some of it at their end: at least 95 % of the time in generated code has
a name, over the whole life of the process.

Each runtime that is installed is tried; the others are named as not tried."""
import getpass
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tailor_env import BIN, all_accounted, at_least, check, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)

JAVASCRIPT = """
function mix(a) { let x = a; for (let i = 0; i < 2000; i++) x = (x * 31 + i) % 1000003; return x; }
function total(n) { let s = 0; for (let i = 0; i < n; i++) s += mix(i); return s; }
let s = 0;
const end = process.cpuUsage().user + 1.5e6 * Number(process.argv[2]);
while (process.cpuUsage().user < end) s += total(200);
console.log(s);
"""
JAVA = """
public class Work {
  static int mix(int a) { int x = a; for (int i = 0; i < 2000; i++) x = (x * 31 + i) % 1000003; return x; }
  public static void main(String[] a) {
    long s = 0;
    long end = java.lang.management.ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() + 1_500_000_000L * Integer.parseInt(a[0]);
    while (java.lang.management.ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() < end)
      for (int i = 0; i < 200; i++) s += mix(i);
    System.out.println(s);
  }
}
"""
NUMBA = """
import numba, sys, time
@numba.njit
def mix(n):
    x = 1
    for i in range(n):
        x = (x * 31 + i) % 1000003
    return x
end = time.process_time() + 1.5 * int(sys.argv[1])
s = 0
while time.process_time() < end:
    s += mix(200000)
print(s)
"""


def generated(report):
    """(with a name, without one) of the samples in generated code: named by a file, or in no file at all."""
    named = unnamed = 0
    for row in report["functions"]:
        if row["kind"] == "generated" and row["named"] and row["name"] != "[two names]":
            named += row["samples"]
        elif row["kind"] in ("generated", "unknown"):
            unnamed += row["samples"]
    return named, unnamed


def measure(folder, command, env):
    profile = folder / "p.tailor"
    run(BIN / "tailor", "record", "-F", "997", "-o", profile, "--", *command, env=env, timeout=600)
    return json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json"))


def judge(what, folder, command, function, env=None):
    """`command` gets how many times the work it does: as its last word, or in place of {work}."""
    def with_work(work):
        words = [word.replace("{work}", str(work)) for word in command]
        return words if words != command else [*command, str(work)]

    report = until_enough(200, lambda measured: sum(generated(measured)), lambda work: measure(folder, with_work(work), env))
    named, unnamed = generated(report)
    check(at_least(named, named + unnamed, 0.95),
          f"{what}: {named / (named + unnamed):.1%} of {named + unnamed:.0f} samples in generated code have a name")
    hot = [row["name"] for row in report["functions"] if function in row["name"]]
    check(hot, f"{what}: {hot[:2]} among them")
    shares = [row["share"] for row in report["functions"]]
    check(shares == sorted(shares, reverse=True), f"{what}: functions come by their cost")
    account = report["accounting"]["total"] if "total" in report["accounting"] else report["accounting"]
    check(all_accounted(account), f"{what}: the sum of the recording still fits")
    return report


def judge_numba(folder):
    """The LLVM of numba's own packages has no listener for perf: it writes nothing, whatever it is asked for."""
    (folder / "work.py").write_text(NUMBA)
    env = {"NUMBA_ENABLE_PROFILING": "1", "JITDUMPDIR": str(folder / "dumps")}
    run(sys.executable, "work.py", "1", env=env)
    if not list(folder.glob("dumps/**/jit-*.dump")):
        print("not tried: this numba writes no jitdump")
        return 0
    judge("numba", folder, [sys.executable, "work.py"], "mix", env=env)
    return 1


def maps():
    return set(pathlib.Path("/tmp").glob("perf-*.map"))


def main():
    before = maps()
    try:
        return judge_all()
    finally:
        for path in maps() - before:
            if path.owner() == getpass.getuser() and "mix" in path.read_text(errors="replace"):
                path.unlink()


def judge_all():
    tried = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.chdir(folder)
        if shutil.which("node"):
            (folder / "work.js").write_text(JAVASCRIPT)
            judge("node --perf-basic-prof", folder, ["node", "--perf-basic-prof", "work.js"], "mix")
            judge("node --perf-prof", folder, ["node", "--perf-prof", "work.js"], "mix")
            judge("node in a shell", folder, ["sh", "-c", "node --perf-basic-prof work.js {work}; true"], "mix")
            tried += 1
        else:
            print("not tried: node is not installed")
        if shutil.which("javac") and shutil.which("java"):
            (folder / "Work.java").write_text(JAVA)
            run("javac", "Work.java")
            report = judge("java -XX:+DumpPerfMapAtExit", folder, ["java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "Work"], "Work.mix")
            check(report["all"]["inferred_weight"] > 0, "names of a map count as inferred")
            tried += 1
        else:
            print("not tried: java is not installed")
        if subprocess.run([sys.executable, "-c", "import numba"], capture_output=True).returncode == 0:
            tried += judge_numba(folder)
        else:
            print("not tried: numba is not installed")
    if not tried:
        skip("no runtime with a compiler is installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
