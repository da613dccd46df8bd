"""`./dev bench` fails when a benchmark gives no result, although it ended well, and runs the others all the same."""
import json
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import tempfile

import figures
from tailor_env import ROOT, check

GIVES_A_RESULT = """#!/bin/sh
for option; do case $option in --benchmark_out=*) echo '{"benchmarks": [{"name": "one"}]}' >"${option#*=}" ;; esac; done
"""
FINDS_NOTHING = """#!/bin/sh
for option; do case $option in --benchmark_out=*) echo '{"benchmarks": []}' >"${option#*=}" ;; esac; done
"""
FAILS_INSIDE = FINDS_NOTHING.replace("[]", '[{"name": "one", "error_occurred": true, "error_message": "no such table"}]')
IGNORES_ITS_OPTIONS = "#!/bin/sh\n"
BREAKS = GIVES_A_RESULT + "exit 3\n"


def bench(build, *names):
    """Exit code and error stream."""
    done = subprocess.run([sys.executable, str(ROOT / "tests/bench/run"), "--no-table", *names], capture_output=True, text=True,
                          env={**os.environ, "TAILOR_BUILD": str(build)})
    return done.returncode, done.stderr, done.stdout


def program(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


runner = runpy.run_path(str(ROOT / "tests/bench/run"), run_name="runner")
check(set(runner["scripts"]()) == set(runner["SHORT"]), "each script has options for --short")
with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "sums.json").write_text('{"name": "sums", "machine": "Y", "bytes": 7}')
    check(runner["result_of"](pathlib.Path(folder), "sums") == [7], "single figures are a result, too")
    (pathlib.Path(folder) / "sums.json").write_text('{"name": "sums", "machine": "Y"}')
    check(not runner["result_of"](pathlib.Path(folder), "sums"), "a name alone is none")

with tempfile.TemporaryDirectory() as folder:
    build = pathlib.Path(folder)
    program(build / "bench-bin", "good", GIVES_A_RESULT)
    check(bench(build, "micro")[0] == 0, "a benchmark with a result passes")
    for name, text, said in (("aaa_empty", FINDS_NOTHING, "gave no result"), ("aaa_silent", IGNORES_ITS_OPTIONS, "gave no result"),
                             ("aaa_error", FAILS_INSIDE, "no such table"), ("aaa_broken", BREAKS, "ended with 3")):
        program(build / "bench-bin", name, text)
        code, errors, out = bench(build, "micro")
        check(code == 1 and f"{name} {said}" in errors.replace("one: ", ""), f"{name} fails: {errors.strip()}")
        check("1 of 2 benchmarks gave results" in out, "the other one is run all the same")
        (build / "bench-bin" / name).unlink()
    # An old result does not stand in for a new one.
    (build / "bench-bin/good").write_text(IGNORES_ITS_OPTIONS)
    check(bench(build, "micro")[0] == 1, "a result of an earlier run does not count")

    for name in ("clock_calibration", "clock_edges", "tag_recovery"):
        program(build / "bench-programs", name, "#!/bin/sh\necho $*\n")
    check(bench(build, "programs")[0] == 0, "programs that print a figure pass")
    program(build / "bench-programs", "clock_edges", "#!/bin/sh\n")
    code, errors, _ = bench(build, "programs")
    check(code == 1 and "clock_edges gave no result" in errors, f"one that prints nothing fails: {errors.strip()}")
    code, _, said = bench(build, "suite")
    check(code == 1 and "no run of ./dev test has passed" in said, "without a run of the tests there is nothing of them to keep")
    (build / "suite.json").write_text(json.dumps({"commit": "abc", "groups": {"unit": 7.5}, "dearest": [{"name": "one_test", "seconds": 3.5}]}))
    os.utime(build / "suite.json", (10**9, 10**9))
    check(bench(build, "suite")[0] == 0, "where there was one, its figures are taken")
    (build / "taken").mkdir()
    shutil.copy2(build / "bench/suite.json", build / "taken")
    rows = figures.results_in(build / "taken")["suite"]
    check({(row["what"], row["value"]) for row in rows} == {("CPU seconds, unit", 7.5), ("dearest, one_test, wall seconds", 3.5)},
          f"by group, and by test: {[row['what'] for row in rows]}")
    check(all(row["commit"] == "abc" and row["date"] == "2001-09-09" and row["command"] == "./dev test" for row in rows),
          "they are of its commit and its day")
    code, errors, _ = bench(build, "nothing")
    check(code == 2 and "there is no benchmark nothing" in errors, "an unknown name is an error")
