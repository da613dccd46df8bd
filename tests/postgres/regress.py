"""The server's own regression suite, on a server with the extension, sampled by tailord, and on one without it.

Packages of servers do not bring the suite. TAILOR_PG_REGRESS names the folder src/test/regress of the server's sources, where `make` has built
regress.so. Without it the folder counts where `make install-tests` puts it. A test that passes without the extension must pass with it. Tests
that depend on chance are given a second try on both servers. A build that does not count rows for EXPLAIN ANALYZE must fail.
"""
import os
import pathlib
import re
import subprocess

from pg_server import PG_BIN, Server, TWINS, measuring
from reach import within_reach
from tailor_env import Daemon, check, sampling_denied, skip

# The first ones make what the others need.
COUNTED = ["test_setup", "create_index", "memoize", "partition_prune"]
# The suite of any version has more tests than this.
LEAST, TRIES, MOST_S = 100, 2, 1200
# The suite's answers have no query ids.
SETTINGS = {"compute_query_id": "regress", "max_connections": "60", "shared_buffers": "128MB"}


def said_by_pg_config(option):
    return pathlib.Path(subprocess.run([str(PG_BIN / "pg_config"), option], capture_output=True, text=True, check=True).stdout.strip())


def files_of_suite():
    """Its folder, and the folder of the library that its functions are in."""
    named = os.environ.get("TAILOR_PG_REGRESS")
    folder = pathlib.Path(named) if named else said_by_pg_config("--pkglibdir") / "regress"
    if not (folder / "parallel_schedule").exists():
        skip(f"the server's regression suite is not in {folder}: TAILOR_PG_REGRESS names src/test/regress of its sources")
    folder, = within_reach([folder.resolve()])
    return folder, folder if (folder / "regress.so").exists() else said_by_pg_config("--pkglibdir")


class Suite:
    def __init__(self):
        self.folder, self.library = files_of_suite()
        self.program = said_by_pg_config("--pgxs").parents[1] / "test/regress/pg_regress"
        if not self.program.exists():
            skip(f"the server brings no {self.program}")

    def run(self, server, what):
        """(tests that ran, those of them that failed)"""
        out = server.folder / "out"
        out.mkdir()
        server.give_to_user(out)
        # Newer ones look for expected answers in the folder where they run.
        done = subprocess.run([str(self.program), f"--inputdir={self.folder}", f"--outputdir={out}", f"--bindir={PG_BIN}",
                               f"--dlpath={self.library}", f"--host={server.folder}", "--port=5432", "--user=tester", *what],
                              cwd=self.folder, capture_output=True, text=True, timeout=MOST_S, check=False,
                              env={**os.environ, "LC_ALL": "C", "HOME": str(server.folder)}, **server.as_user())
        ended = done.returncode in (0, 1)
        check(ended, "pg_regress ran to its end" + ("" if ended else done.stdout[-2000:] + done.stderr[-2000:]))
        check("terminated by signal" not in server.log(), "no process of the server ended by a signal")
        diffs = out / "regression.diffs"
        text = diffs.read_text(encoding="utf-8", errors="replace") if diffs.exists() else ""
        ran = {path.stem for path in (out / "results").glob("*.out")}
        return ran, set(re.findall(r"^diff .*/results/([^/\s]+)\.out$", text, re.M)) & ran

    def on(self, what, **options):
        with Server(settings=SETTINGS, functions="", **options) as server:
            return self.run(server, what)

    def everything(self):
        return [f"--schedule={self.folder}/parallel_schedule"]


def same_tests_pass(suite, daemon):
    """And none more fails."""
    worse = None
    for _ in range(TRIES):
        ran, failed = suite.on(suite.everything(), preload="")
        check(len(ran) >= LEAST, f"{len(ran)} tests ran")
        if 2 * len(failed) > len(ran):
            skip(f"{len(failed)} of {len(ran)} tests fail without the extension: {suite.folder} is of another version, or has no regress.so")
        ran_with, failed_with = suite.on(suite.everything(), preload="tailor_pg", agent=daemon.socket)
        check(ran_with == ran, f"the same {len(ran)} tests ran: {ran ^ ran_with}")
        print(f"  without the extension {len(failed)} of {len(ran)} tests fail: {sorted(failed)}")
        worse = failed_with - failed if worse is None else worse & (failed_with - failed)
        if not worse:
            break
    check(not worse, f"what passes without the extension passes with it: {sorted(worse)}")


def twin_fails(suite, daemon):
    """It wraps nothing before tailord has answered."""
    ran, failed = suite.on(COUNTED, preload="")
    judged = ran - failed
    check(judged, f"of {COUNTED} some pass without the extension")
    check(any(judged & suite.on(COUNTED, preload="tailor_pg", agent=daemon.socket, library=TWINS / "no_counts")[1] for _ in range(5)),
          "the twin no_counts fails")


def main():
    if reason := sampling_denied():
        skip(reason)
    suite = Suite()
    with Daemon(frequency=997) as daemon:
        measuring(daemon)
        same_tests_pass(suite, daemon)
        plans = daemon.report("--last", "100000")["plans"]
        check(any(op["samples"] > 0 for plan in plans for op in plan["operators"]), f"meanwhile tailord has sampled {len(plans)} plans")
        twin_fails(suite, daemon)


if __name__ == "__main__":
    main()
