"""What `./dev lint` analyses with clang-tidy: only sources that changed, themselves or by what they include, since they were
found clean; and a source with a finding is never taken for clean."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tailor_env import ROOT, check

# Stands in for clang-tidy: a finding is the word "wrong" in a source or in what it includes; "broken" does not compile. Logs
# what it was given.
CHECKER = """#!/usr/bin/env python3
import os, pathlib, re, sys
if "--version" in sys.argv:
    sys.exit(print("LLVM version 19.1.7"))
file = pathlib.Path(next(word for word in sys.argv if word.endswith(".cc")))
open(os.environ["LOG"], "a").write(file.name + "\\n")
def files(path):
    yield path
    for name in re.findall(r'#include "(.*)"', path.read_text()):
        yield from files(pathlib.Path(os.environ["TAILOR_ROOT"]) / name)
said = [f"{each}:1:1: error: {word}" for each in files(file)
        for word in ("wrong", "broken [clang-diagnostic-error]") if word.split()[0] in each.read_text()]
if said:
    sys.exit(print("\\n".join(said)) or 1)
"""


class Project:
    """A folder under git with two sources, of which one includes a header, and `more` sources."""

    def __init__(self, folder, more=0):
        self.root = pathlib.Path(folder)
        self.names = ["a", "b", *(f"more{number}" for number in range(more))]
        for name in self.names[2:]:
            self.write(f"daemon/{name}.cc", f"int {name}();\n")
        self.write("daemon/a.cc", '#include "daemon/a.h"\n')
        self.write("daemon/a.h", "int a();\n")
        self.write("daemon/b.cc", "int b();  // two\n")
        self.write(".clang-tidy", "Checks: all\n")
        self.write("checker", CHECKER).chmod(0o755)
        self.write("build/compile_commands.json", json.dumps([
            {"file": str(self.root / f"daemon/{name}.cc"), "command": f"g++ -I{self.root} -o {name}.o -c {name}.cc"} for name in self.names]))
        self.git("init", "-q")
        self.git("add", "daemon")
        self.commit()

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=Test", "-c", "user.email=test@localhost", *arguments], cwd=self.root, check=True)

    def commit(self):
        self.git("commit", "-q", "--allow-empty", "-m", "A commit")

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def tidy(self, *options):
        """Exit code, what was printed, and the sources that were analysed."""
        log = self.write("log", "")
        done = subprocess.run([sys.executable, str(ROOT / ".dev/tidy.py"), *options], capture_output=True, text=True,
                              env={**os.environ, "TAILOR_ROOT": str(self.root), "TAILOR_CLANG_TIDY": str(self.root / "checker"),
                                   "LOG": str(log)})
        return done.returncode, done.stdout + done.stderr, log.read_text().split()

    def stale(self, *options):
        return self.tidy("--stale", *options)[1].split()

    def draws(self):
        """What --ci analyses beside what is stale, as it draws for the commit that is checked out."""
        return set(self.stale("--ci")) - set(self.stale())


with tempfile.TemporaryDirectory() as folder:
    project = Project(folder)
    check(project.stale() == ["daemon/a.cc", "daemon/b.cc"], "at first nothing is known to be clean")
    code, said, ran = project.tidy()
    check((code, len(ran)) == (0, 1), f"both are analysed, together: {said}")
    check(project.stale() == [], "then they are known to be clean")

    project.write("daemon/b.cc", "int b();  // three\n")
    check(project.stale() == [], "a comment changes nothing")
    project.write("daemon/b.cc", "int b();  // NOLINT\n")
    check(project.stale() == ["daemon/b.cc"], "but one that speaks to clang-tidy does")
    project.write("daemon/a.h", "long a();\n")
    check(project.stale() == ["daemon/a.cc", "daemon/b.cc"], "a header brings back what includes it")
    check(project.tidy("--update")[0] == 0 and project.stale() == [], "the list is written")
    (project.root / ".dev/cache/tidy_clean").unlink()
    check(project.stale() == [], "which is enough for a clean clone")

    project.write("daemon/a.cc", '#include "daemon/a.h"\nint wrong;\n')
    project.write("daemon/b.cc", "int c();\n")
    code, said, ran = project.tidy("--update")
    check(code == 1 and "a.cc:1:1: error: wrong" in said, f"a finding fails: {said}")
    check(len(ran) == 1 and project.stale() == ["daemon/a.cc"], f"and its source is not clean, but the one beside it is: {ran}")
    check("a.cc" in project.tidy()[1], "nor is it after another run")
    project.write("daemon/b.cc", "int broken;\n")
    project.write("daemon/a.cc", '#include "daemon/a.h"\nint d();\n')
    code, said, ran = project.tidy()
    check(code == 1 and len(ran) == 3, f"sources that do not compile together are analysed apart: {ran}")
    check(project.stale() == ["daemon/b.cc"], "the one that compiles is clean")

    project.write("daemon/b.cc", '#include "daemon/a.h"\n')
    project.write("daemon/a.h", '#include "daemon/c.h"\n')
    project.write("daemon/c.h", "int c();\n")
    check(project.tidy()[0] == 0 and project.stale() == [], "all is clean again")
    project.write("daemon/c.h", "long c();\n")
    check(project.stale() == ["daemon/a.cc"], "a header that none includes itself brings back one source that reaches it")
    project.write("daemon/c.h", "long wrong();\n")
    project.write("daemon/b.cc", '#include "daemon/a.h"\nint b();\n')
    check(project.tidy()[0] == 1 and project.stale() == ["daemon/a.cc", "daemon/b.cc"],
          "where a header has a finding, no source that reaches it is clean")
    project.write(".clang-tidy", "Checks: more\n")
    check(project.stale() == ["daemon/a.cc", "daemon/b.cc"], "other checks bring back everything")

with tempfile.TemporaryDirectory() as folder:
    project = Project(folder, more=41)
    count = len(project.names)
    code, said, ran = project.tidy("--ci")
    check((code, ran) == (1, []) and f"lacks {count} sources" in said and "--tidy-all" in said, f"a list that lacks many fails: {said}")
    check(project.tidy("--stale", "--ci")[0] == 1, "and before anything is built for it")
    check(project.tidy("--update")[0] == 0 and project.stale() == [], "the list is complete")
    first = project.draws()
    check(len(first) == 10 and project.draws() == first, "then ten are analysed again, the same ones for one commit")
    others = set()
    for _ in range(5):
        project.commit()
        others |= project.draws()
    check(not others <= first, "and others for another commit")
    for number in range(40):
        project.write(f"daemon/more{number}.cc", f"long more{number}();\n")
    code, said, ran = project.tidy("--ci")
    check(code == 0 and ran and project.stale() == [], f"forty that are not in the list are analysed: {said}")

    # A list that was written without an analysis.
    drawn = min(project.draws())
    (project.root / ".dev/cache/tidy_clean").unlink()
    project.write(drawn, "int wrong();\n")
    script = f"import sys; sys.path.insert(0, {str(ROOT / '.dev')!r}); import tidy; keys = tidy.keys_of(tidy.sources()); " \
             "tidy.LIST.write_text(''.join(f'{key} {name}\\n' for name, key in keys.items()))"
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "TAILOR_ROOT": str(project.root),
                                                                    "TAILOR_CLANG_TIDY": str(project.root / "checker")})
    check(project.stale() == [] and project.tidy()[0] == 0, "a list that is wrong hides a finding")
    code, said, ran = project.tidy("--ci")
    check(code == 1 and f"{drawn.rpartition('/')[2]}:1:1: error: wrong" in said, f"until the commit draws its source: {said}")
