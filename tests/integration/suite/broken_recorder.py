"""A recorder that does not work is red and no skip: with a `tailor` and a `tailord` that always fail, tests of every live group end
as failed. The broken twins: on a host that lets nobody sample the same tests skip, and a test that ends badly for another reason
does not count as red.

broken_recorder.py [--all] --within SECONDS: with --all every script of the live groups that asks whether it may sample. All of
them together take at most so many seconds, so that ctest does not end this test before it has said which one hangs.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from tailor_env import BUILD, ROOT, SKIP, check, sampling_denied, skip

TESTS = ROOT / "tests"
BROKEN = "this recorder is broken on purpose"
FAILS = f"#!/bin/sh\necho '{BROKEN}' >&2\nexit 1\n"
FAILED = 1  # a test that fails ends so, and so does a script that breaks
# Of each group: a script and its arguments.
CHOSEN = {"e2e": [("e2e/first_plan.py",), ("e2e/functions.py",), ("e2e/coverage.py",), ("e2e/duckdb_rules.py",), ("e2e/exports.py",)],
          "integration": [("integration/service/reload.py",)],
          "jvm": [("jvm/shares.py",)],
          "spark": [("spark/operators.py", "3.5.9"), ("spark/restart.py", "3.5.9")],
          "postgres": [("postgres/background.py",), ("postgres/short_runs.py",)],
          "browser": [("browser/real.mjs",), ("browser/live.mjs",)]}
# Reasons to skip that are no matter of the recorder.
OTHER_REASONS = ("fetched", "install", "Node.js", "no browser", "not built", "no user postgres", "needs root",
                 "built without LLVM", "is missing", "missing:")
# What makes this host one that denies: the tests ask the kernel, so the answer is put between.
DENIES = "import host_allows\nhost_allows.sampling_denied = host_allows.bpf_denied = lambda: 'denied by the test'\n"

# Folders in which tests build programs. CMake keeps their full names: through a link it would spoil them for the real build.
BUILT_IN = ("guide_", "second_client", "adapter")


def broken_build(folder):
    """A build whose recorder does not work; the rest is the real one's."""
    (folder / "bin").mkdir()
    for each in BUILD.iterdir():
        if each.name != "bin" and not each.name.startswith(BUILT_IN):
            (folder / each.name).symlink_to(each)
    for each in (BUILD / "bin").iterdir():
        (folder / "bin" / each.name).symlink_to(each)
    for name in ("tailor", "tailord"):
        (folder / "bin" / name).unlink(missing_ok=True)
        (folder / "bin" / name).write_text(FAILS)
        (folder / "bin" / name).chmod(0o755)
    return folder


def environment(build, *before):
    path = [*before, TESTS / "support", TESTS / "bench", TESTS / "jvm"]
    servers = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    major = servers[-1].parent.name if servers else "15"
    return {**os.environ, "TAILOR_BUILD": str(build), "PYTHONPATH": ":".join(map(str, path)), "TAILOR_JAVA": shutil.which("java") or "java",
            "TAILOR_ASM_JAR": "/usr/share/java/asm.jar", "TAILOR_PG_BIN": str(servers[-1] if servers else "/nonexistent"),
            "TAILOR_PG_LIB": str(build / "lib/postgresql" / major), "TAILOR_PG_TWINS": str(build / "targets/postgresql" / major),
            "TAILOR_NODE": os.environ.get("TAILOR_NODE") or shutil.which("node", path=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}") or ""}


class Scripts:
    """Runs scripts until a time that holds for all of them."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def outcome(self, script, arguments, env):
        """Exit code (None: it did not end in time), and the lines that were printed."""
        command = [TESTS / "browser/run", TESTS / script] if script.endswith(".mjs") else [sys.executable, TESTS / script, *arguments]
        try:
            done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, errors="replace",
                                  timeout=max(1, self.end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None, ["it did not end in time"]
        return done.returncode, (done.stdout + done.stderr).strip().splitlines() or ["it says nothing"]


def is_red(code, said):
    """Whether it failed because of the recorder: it says what the recorder said, or which check failed."""
    return code == FAILED and any(BROKEN in line or line.startswith("FAILED: ") for line in said)


def is_elsewhere(code, said):
    """Whether it skipped for a reason that is none of the recorder's."""
    return code == SKIP and any(reason in " ".join(said[-3:]) for reason in OTHER_REASONS)


def arguments_of(name, build):
    """What the script gets in ctest, or the least of it."""
    if name == "integration/cli/output_files.py":
        return [build / "bin/tailor", TESTS / "e2e/journals/figure-9.journal.xz"]
    if name == "integration/second_client/second_client.py":
        return ["llvm19"]
    if name == "spark/churn.py":
        return ["3.5.9", "5"]
    if name.startswith("spark"):
        return ["3.5.9"]
    return {"jvm/churn.py": ["1"], "e2e/attacks.py": ["logs"]}.get(name, [])


# They install programs of their own: the broken ones do not come there.
INSTALLED = ("integration/install", "e2e/systemd_unit.py", "e2e/packages.py", "e2e/documents.py")


def every(build):
    """All scripts that ask, by their group."""
    groups = {}
    for path in sorted(TESTS.rglob("*.py")):
        name = str(path.relative_to(TESTS))
        if name.startswith(("support", "fixtures", "bench", "integration/suite", *INSTALLED)) or "if reason := sampling_denied():" not in path.read_text():
            continue
        groups.setdefault(name.split("/")[0], []).append((name, *arguments_of(name, build)))
    return {**groups, "browser": CHOSEN["browser"]}


# Twins of a test: they end badly, and the recorder is no reason.
OTHER_ENDS = {"breaks.py": "import nothing_of_this_name\n", "is_killed.py": "import os\nos.abort()\n",
              "has_wrong_arguments.py": "import sys\nsys.exit(2)\n", "hangs.py": "import time\ntime.sleep(600)\n"}


def check_other_ends(folder):
    """Nothing but a failed test counts as one."""
    for name, text in OTHER_ENDS.items():
        (folder / name).write_text(text)
        code, said = Scripts(1 if name == "hangs.py" else 60).outcome(str(folder / name), [], os.environ)
        check(code != 0 and not is_red(code, said), f"a script that {name.removesuffix('.py').replace('_', ' ')} is not red: {code}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--within", type=float, default=240, metavar="SECONDS")
    given = parser.parse_args()
    if reason := sampling_denied():
        skip(reason)
    with tempfile.TemporaryDirectory(prefix="tailor-broken-") as name:
        folder = pathlib.Path(name)
        check_other_ends(folder)
        broken = broken_build(folder)
        scripts, red, others = Scripts(given.within), 0, []
        for group, chosen in (every(broken) if given.all else CHOSEN).items():
            for script, *arguments in chosen:
                code, said = scripts.outcome(script, arguments, environment(broken))
                if is_elsewhere(code, said):
                    print(f"not asked: {script}: {said[-1]}")
                    continue
                red += is_red(code, said)
                if not is_red(code, said):
                    others.append(script)
                print(f"{group}: {script} ends with {code}: {said[-1:]}", flush=True)
        check(not others and red >= 6, f"all of {red} tests are red without a recorder {others or ''}")
        (folder / "denies").mkdir()
        (folder / "denies/sitecustomize.py").write_text(f"import sys\nsys.path.insert(0, {str(TESTS / 'support')!r})\n{DENIES}")
        code, said = Scripts(60).outcome("e2e/first_plan.py", [], environment(broken, folder / "denies"))
        check(code == SKIP and "denied by the test" in said[-1], f"where the host denies it, the same test skips: {said[-1:]}")


if __name__ == "__main__":
    main()
