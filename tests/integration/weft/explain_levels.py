"""`weft explain --levels`: every instruction once, links that lead somewhere, harmless text; names for perf and gdb."""
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import tempfile

from tailor_env import BIN, check, run, sampling_denied

WEFT = BIN / "weft"
COMMON = ["--sf", "0.01", "--threads", "1"]
QUIET = {"TAILOR_DISABLE": "1"}


def on_terminal(command, env):
    """What the command writes to a terminal."""
    primary, secondary = pty.openpty()
    process = subprocess.Popen(command, stdout=secondary, stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm", **env})
    os.close(secondary)
    out = b""
    try:
        while chunk := os.read(primary, 65536):
            out += chunk
    except OSError:  # the other end is closed
        pass
    process.wait()
    return out.decode()


for query in ("sfja", "tpch-1"):
    for opt in ("0", "2"):
        explain = [WEFT, "explain", "--levels", *COMMON, "--opt", opt, "--query", query]
        name = f"{query} O{opt}"
        levels = json.loads(run(*explain, "--json", env=QUIET))
        code = levels["code"]["instructions"]
        at = 0
        for each in code:
            if each["offset"] != at:
                check(False, f"{name}: no gap at {at}")
            at += len(each["bytes"]) // 2
        check(at == levels["code"]["size"], f"{name}: {len(code)} instructions are all of the code's {at} bytes")
        tasks = {task["id"]: task for task in levels["tasks"]}
        operators = {op["id"] for op in levels["operators"]}
        lines = {line["line"]: line for line in levels["ir"]}
        links = [ir for each in code for ir in each["ir"]]
        check(set(links) <= set(lines), f"{name}: links of the code lead to lines of the IR")
        owned = [t for ir in links for t in lines[ir]["tasks"]]
        check(owned and set(owned) <= set(tasks), f"{name}: those to tasks")
        check({op for t in owned for op in tasks[t]["operators"]} <= operators, f"{name}: those to operators")
        check({t for p in levels["pipelines"] for t in p["tasks"]} <= set(tasks), f"{name}: pipelines are made of tasks")
        kinds = {kind: sum(each["link"] == kind for each in code) for kind in ("exact", "inferred", "shared", "prologue", "unmapped")}
        check(kinds["unmapped"] == 0 and kinds["exact"] > 0.3 * len(code), f"{name}: every instruction has an owner or is frame code: {kinds}")
        text = run(*explain, env=QUIET)
        shown = re.findall(r"^.*?\s+([0-9a-f]+) [=~& ?] \S", text, re.M)
        check(sorted(int(x, 16) for x in shown) == [each["offset"] for each in code], f"{name}: the text has each instruction once")
        check("\x1b" not in text, f"{name}: no colours where there is no terminal")

check("\x1b[3" in on_terminal([*map(str, explain)], QUIET), "colours on a terminal")
check("\x1b" not in on_terminal([*map(str, explain)], {**QUIET, "NO_COLOR": "1"}), "not with NO_COLOR")
hostile = 'select l_orderkey as "a\x1b[31m\u202eb" from lineitem where l_comment = \'\x1b]0;x\x07\' order by 1 limit 1'
for options in ([], ["--json"]):
    text = run(WEFT, "explain", "--levels", *COMMON, *options, "-c", hostile, env=QUIET)
    check("\x1b" not in text and "\x07" not in text, f"hostile names are escaped {options}")
check("\u202e" not in run(WEFT, "explain", "--levels", *COMMON, "-c", hostile, env=QUIET), "direction overrides too")

functions = {f["name"] for f in levels["code"]["functions"]}
with tempfile.TemporaryDirectory() as folder:
    base = pathlib.Path(folder)
    work = ["--quiet", "--repeat", "200", *COMMON, "--query", query]
    if not shutil.which("perf") or sampling_denied():
        print("SKIP: perf: not here, or denied")
    else:
        def report(data, *options):
            return run("perf", "report", "-i", data, "--stdio", "--sort", "symbol", *options)

        record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "5000", "-k", "CLOCK_MONOTONIC"]
        run(*record, "-o", base / "plain", "--", WEFT, *work, env=QUIET)
        check(not any(f in report(base / "plain") for f in functions), "without options perf knows no name")
        run(*record, "-o", base / "dumped", "--", WEFT, *work, "--jitdump", base / "dumps", env=QUIET)
        run("perf", "inject", "--jit", "-i", base / "dumped", "-o", base / "named")
        check(any(f in report(base / "named") for f in functions), "perf inject --jit and perf report show names of the jitdump")
        check(list((base / "dumps").glob("jit-*-plan-*.ll")), "the IR that its lines refer to lies beside it")
        # The shell says which process it becomes: the map is named by it, and is left to whoever asked for it.
        run(*record, "-o", base / "mapped", "--", "sh", "-c", 'echo $$ >"$0"; exec "$@"', base / "pid", WEFT, *work,
            "--perf-map", env=QUIET)
        check(any(f in report(base / "mapped") for f in functions), "perf report shows names of the perf map")
        pathlib.Path(f"/tmp/perf-{(base / 'pid').read_text().strip()}.map").unlink()
    if not shutil.which("gdb"):
        print("SKIP: gdb is not here")
    else:
        shown = run("gdb", "--batch", "-ex", "set confirm off", "-ex", "set debuginfod enabled off", "-ex", "break weft_rt_group_add",
                    "-ex", "run", "-ex", "bt", "--args", WEFT, *work, "--gdb", env=QUIET, expect=None)
        print(shown[-1500:])
        check(any(f in shown for f in functions), "gdb's backtrace names the generated function")
