"""A recorder that does not work is red and no skip: with a `tailor` and a `tailord` that always fail, tests of every live group end
as failed. The broken twin: on a host that lets nobody sample the same tests skip.

broken_recorder.py [--all]: with it every script of the live groups that asks whether it may sample.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tailor_env import BUILD, ROOT, SKIP, check, sampling_denied, skip

TESTS = ROOT / "tests"
FAILS = "#!/bin/sh\necho 'this recorder is broken on purpose' >&2\nexit 1\n"
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


def broken_build(folder):
    """A build whose recorder does not work; the rest is the real one's."""
    (folder / "bin").mkdir()
    for each in BUILD.iterdir():
        if each.name != "bin":
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


def outcome(script, arguments, env):
    """Exit code, and the last lines that were printed."""
    command = [TESTS / "browser/run", TESTS / script] if script.endswith(".mjs") else [sys.executable, TESTS / script, *arguments]
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, timeout=120)
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()[-3:]


def is_elsewhere(code, said):
    """Whether it skipped for a reason that is none of the recorder's."""
    return code == SKIP and any(reason in " ".join(said) for reason in OTHER_REASONS)


def every():
    """All scripts that ask, by their group."""
    groups = {}
    for path in sorted(TESTS.rglob("*.py")):
        name = str(path.relative_to(TESTS))
        if name.startswith(("support", "fixtures", "bench", "integration/suite", "integration/install")) or "if reason := sampling_denied():" not in path.read_text():
            continue
        arguments = ["3.5.9"] if name.startswith("spark") else ["1"] if name == "jvm/churn.py" else ["logs"] if name == "e2e/attacks.py" else []
        groups.setdefault(name.split("/")[0], []).append((name, *arguments))
    return {**groups, "browser": CHOSEN["browser"]}


def main():
    if reason := sampling_denied():
        skip(reason)
    with tempfile.TemporaryDirectory(prefix="tailor-broken-") as name:
        folder = pathlib.Path(name)
        broken = broken_build(folder)
        red, green = 0, []
        for group, scripts in (every() if "--all" in sys.argv else CHOSEN).items():
            for script, *arguments in scripts:
                code, said = outcome(script, arguments, environment(broken))
                if is_elsewhere(code, said):
                    print(f"not asked: {script}: {said[-1]}")
                    continue
                red += code not in (0, SKIP)
                if code in (0, SKIP):
                    green.append(script)
                print(f"{group}: {script} ends with {code}: {said[-1:]}", flush=True)
        check(not green and red >= 6, f"all of {red} tests are red without a recorder {green or ''}")
        (folder / "denies").mkdir()
        (folder / "denies/sitecustomize.py").write_text(f"import sys\nsys.path.insert(0, {str(TESTS / 'support')!r})\n{DENIES}")
        code, said = outcome("e2e/first_plan.py", [], environment(broken, folder / "denies"))
        check(code == SKIP and "denied by the test" in said[-1], f"where the host denies it, the same test skips: {said[-1:]}")


if __name__ == "__main__":
    main()
