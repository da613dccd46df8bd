"""Every command line of README.md and of docs/*.md that can run is run, on an installation of Tailor in a root of its own.

    documents.py [--full | --self-check]

The installation lies in /usr, as packages put it (tests/support/installed_root.py). The home and the folder are empty, and no
variable names Tailor. TABLE says which commands are not run and why, PREPARED what a page needs before it. A command that is
neither run nor in the table is red, and so is an entry of the table that no command needs. With --full the root is made from
the Debian packages.

The broken twin runs each time (--self-check): a page with mistakes of every kind, each of which must be found.
"""
import argparse
import contextlib
import dataclasses
import doctest
import http.server
import importlib.util
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import page_commands
from installed_root import LIBRARY, TOOLS, Root, installed, packages, view
from page_checks import Checks, Entry, Table, ended
from page_commands import Page
from tailor_env import BIN, BUILD, ROOT, check, perf_tool_denied, sampling_denied, skip


def config(text, folder, env):
    """Whether tailord takes it as a configuration."""
    (folder / "page.toml").write_text(text)
    return fault_of("tailord --check-config page.toml", folder, env)


def rules(text, folder, env):
    """Whether reports take it as a file of rules."""
    (folder / "page.toml").write_text(text)
    return fault_of("tailor report recorded.tailor --rules page.toml", folder, env)


def tokens(text, folder, env):
    """Whether tailord takes it as its file of tokens, once each token has a digest."""
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a09"
    (folder / "tokens.toml").write_text(text.replace('"..."', f'"{digest}"'))
    (folder / "tokens.toml").chmod(0o600)
    return config(f'tokens = "{folder}/tokens.toml"\nlisten = ["127.0.0.1:0"]\n', folder, env)


def in_c(text, folder, env):
    return compiled("page.c", "cc -std=c11", text, folder, env)


def in_cpp(text, folder, env):
    return compiled("page.cc", "c++ -std=c++20", text, folder, env)


def compiled(name, compiler, text, folder, env):
    """Whether the statement is right in a function, with the installed headers and library."""
    (folder / name).write_text("#include <tailor/agent.h>\n#include <tailor/tag_scope.h>\nint main(void) {\n  uint64_t tag = 0;\n"
                               "  struct tailor_agent_options options = {sizeof(struct tailor_agent_options)};\n" + text +
                               "  return tag != 0 || options.size == 0;\n}\n")
    return fault_of(f"{compiler} -ffixed-r15 -Wall -Werror -o page {name} -ltailor_agent && ./page", folder, env)


def fault_of(text, folder, env):
    code, said = ended(text, folder, env)
    return f"`{text}`: exit code {code}: {said.strip()[-600:]}" if code != 0 else None


SUITE = "the suite itself is it"
ENGINE = "weft --sf 0.01 --threads 1 --quiet"
TABLE = Table(
    left_out=[
        Entry("docs/guide.md", r"python3 tests/bench/guide\.py .*", "a measurement at scale factor 1"),
        Entry("docs/operate.md", r"ssh .*", "needs another machine"),
        Entry("docs/integrate-your-engine.md", r"tailor record -o engine.tailor -- \./llvm_engine 100",
              "tests/integration/guide/guide_generators.py builds and records this engine"),
        Entry("docs/spark.md", r"(python3 -m venv|pip install|TAILOR_SPARK_SCALE=2) .*", "tests/spark run this program on Spark from PyPI"),
        Entry("docs/postgresql.md", r"apt install -y .* && \./dev build .*", SUITE),
        Entry("docs/postgresql.md", r"cmake --install build --component postgresql .*", "the extension's package has it there"),
        Entry("docs/timestamps.md", r"sudo .*", "loads a kernel module: tests/kernel do it in QEMU"),
        Entry("docs/jvm.md", r"tailor JVM agent", "the name of a component, not a command"),
    ],
    by_options=[
        Entry("*", r"tailor (record|import|diff|sql|export|replay|rate)", "the name of a command that needs an argument"),
        Entry("*", r"tailor (record (-g|-q|-p|--|-- PROGRAM|--memory|--aggregate SECONDS|--marks all|--sample-executions 1/8|--max-overhead (P|1)%)( \.\.\.)?"
                   r"|diff --(fail-if|json)|report --html|report --bounds( SIZE --json)?|report --level line|report --pid PID --rules|import -)", "the value or the command is not said"),
        Entry("*", r"\./dev .*", SUITE),
        Entry("*", r"python3 tests/.*", "a measurement or a test of its own"),
        Entry("*", r"perf (?!report --sort|record -o -|record -k CLOCK_MONOTONIC_RAW --).*", "another tool's"),
        Entry("*", r"(systemctl (?!enable)|journalctl ).*", "needs a systemd that runs tailord"),
        Entry("*", r"tailord (?!--config |--socket |--check-config$).*", "a daemon"),
    ],
    exits=[
        Entry("*", r"tailor doctor.*", (0, 1)),  # what it finds on this host
        Entry("*", r"tailor iterations.*", (0, 3)),  # the queries have no loops
        Entry("*", r"tailor report --iteration N", (3,)),
        Entry("*", r"tailor memory( --json)?", (0, 3)),  # the daemon records no addresses
        Entry("docs/cli.md", r"tailor (list|report|diff) .*(14:00|9c1e55|2c48913c).*", (0, 3)),  # nothing ran at that time, no such query or pod
        Entry("docs/postgresql.md", r"tailor (list|report) .*query_id=.*", (3,)),
        Entry("*", r"tailor diff .*--fail-if .*", (0, 4, 5)),
    ],
    endless=[
        Entry("*", r"tailor web.*", "http://"),
        Entry("docs/cli.md", r"tailor record -p PID \[--seconds S\] .*", "recording process"),
        Entry("docs/postgresql.md", r"tailord --config .*", "engines register at"),
    ],
    as_if=[
        # An engine that works once perf records beside it; both end with it.
        Entry("docs/cli.md", r"tailor record --journal .*",
              {"tailor record": "rm -f perf.data; (tailor record",
               "ENGINE ...": "sh -c 'echo $$ >engine.pid; for i in $(seq 600); do [ -e perf.data ] && break; sleep 0.1; done; "
                             f"exec {ENGINE} --query tpch-1 --repeat 500'; touch engine.ended) >engine.log 2>&1 & "
                             "while ! [ -s engine.pid ]; do sleep 0.1; done"}),
        Entry("docs/cli.md", r"perf record -k CLOCK_MONOTONIC_RAW --.*", {"-p PID": "-p $(cat engine.pid)", "EVENT": "cpu-clock"}),
        Entry("docs/cli.md", r"tailor import perf.data --dictionary .*", {"tailor import": "while ! [ -e engine.ended ]; do sleep 0.1; done; tailor import"}),
        Entry("docs/cli.md", r"perf record -o - .*", {"...": f"-e cpu-clock -- {ENGINE} --query tpch-6 --repeat 20"}),
        Entry("docs/operate.md", r"tailor rate 997 .*", {"812": "PID"}),
        Entry("docs/workflows.md", r"weft explain --workflow FILE.*", {"FILE": "kmeans"}),
        # A daemon that outlives its line, and whose socket is waited for. /run is the test's own.
        Entry("docs/postgresql.md", r"tailord --socket .*",
              {"/tmp/": "/run/", "& sleep 3": ">/run/page.log 2>&1 & echo $! >/run/page.pid; while ! [ -S /run/tailor.sock ]; do sleep 0.1; done"}),
        Entry("docs/postgresql.md", r"(su postgres|TAILOR_STORE=).*", {"/tmp/": "/run/"}),
        Entry("docs/postgresql.md", r"tailord --config .*", {"--config": "--socket own.sock --control own.control --store own.store --config"}),
        # The units are found and enabled. tests/e2e/systemd_unit.py starts them under a systemd of its own.
        Entry("*", r"systemctl enable --now .*", {"enable --now": "--root=/ enable"}),
        # The page shows what it says of a mistake.
        Entry("docs/deploy.md", r"tailord --check-config", {"--check-config": "--check-config >said 2>&1 || [ $? = 2 ] && grep -F "
              "'/etc/tailor/tailord.toml:3:1: there is no option \"frequncy\"; there are: aggregate, callchain, ' said"}),
    ],
    checked=[
        Entry("docs/operate.md", r"metrics-listen.*", config),
        Entry("docs/postgresql.md", r"stacks = .*", config),
        Entry("docs/tailord.md", r"\[(processes|\[triggers)[.\]].*", config),
        Entry("docs/rules.md", r"(engine|\[\[operator).*", rules),
        Entry("docs/security.md", r"\[\[token.*", tokens),
        Entry("docs/tags.md", r"TAILOR_TAG_SCOPE.*| *options.*", in_c),
        Entry("docs/tags.md", r"tailor::TagScope.*", in_cpp),
    ],
    fragments=[
        Entry("docs/integrate-your-engine.md", r".*", "tests/integration/guide builds, runs and profiles every program of the page"),
        Entry("docs/registration-api.md", r"message = .*", "a fragment; tests/integration/versions/plain_client.py is the whole client"),
        Entry("docs/exports.md", r"-- DuckDB.*", "tests/e2e/parquet.py asks DuckDB"),
        Entry("docs/postgresql.md", r"select query_id.*", "tests/postgres/asked.py asks all functions"),
        Entry("docs/tags.md", r"struct tailor_saved_work.*", "a fragment; tests/unit/agent/contract_test.cc saves and restores"),
        Entry("docs/workflows.md", r"// squares.cc.*", "the page's own commands compile it"),
    ],
)

VALUES = {"FILE": "recorded.tailor", "FILE or EXECUTION": "recorded.tailor", "PROFILE": "recorded.tailor", "-o FILE": "-o out.tailor",
          "--html FILE": "--html out.html", "--rules FILE": "--rules duckdb.toml", "replay FILE -o PROFILE": "replay engine.journal -o out.tailor",
          "PID or NAME": "weft", "S": "1", "HZ": "997", "EVENTS": "auto", "N": "1", "LEVEL": "task", "FORMAT": "pprof", "TIME": "-1h",
          "--for TIME": "--for 60s", "OUT": "out.html", "tailor COMMAND": "tailor report", "COMMAND": f"{ENGINE} --query tpch-6",
          "'SELECT ...'": "'SELECT count(*) FROM samples'", "JOURNAL": "engine.journal", "A B": "plan-a.tailor plan-b.tailor",
          "OLD NEW": "plan-a.tailor plan-b.tailor", "DIRECTORY": "tables"}
# Left out without --full, and where nobody may mount.
FULL_ONLY = [
    Entry("*", r"apt install \./.*", "with --full: needs the packages"),
    Entry("docs/postgresql.md", r"(tailord --socket|su postgres|psql|TAILOR_STORE=).*", "with --full: needs the extension's package"),
    Entry("docs/integrate-your-engine.md", r"cmake .*", "with --full: installs a whole build, and builds an agent"),
]
FULL_AS_IF = [Entry("*", r"apt install \./.*", {"apt install": "apt-get install --simulate"})]
VIEW_ONLY = [
    Entry("docs/deploy.md", r"tailord --check-config", "needs /etc/tailor"),
    Entry("*", r"systemctl enable .*|cmake --install .*", "needs an /etc and an /opt that may be changed"),
    Entry("docs/postgresql.md", r"(tailord --socket|su postgres|psql|TAILOR_STORE=).*", "needs a server whose folder has the extension"),
    Entry("docs/jvm.md", r"tailor record .* -- java .*|tailor report profile.tailor.*", "needs /usr/share/tailor"),
]
# Left out where perf does not record.
PERF_ONLY = [Entry("*", r"(perf (report|record -[ko]) .*|tailor record --journal engine.journal -o .*|tailor (import|report) perf\.data.*)", "needs perf")]
# What the pages call a profile of weft.
ALSO = ("q.tailor", "figure-9.tailor", "memory.tailor")
# An execution of it has tens of samples at 4999 Hz, so that also the last one alone has some.
WORK = "select l_linenumber, sum(weft_burn_call(l_orderkey, 150)) from lineitem, orders where o_orderkey = l_orderkey group by l_linenumber"
# Hours of work in one execution: an engine that is stopped in it owes the daemon no message.
LONG = "select sum(weft_burn_call(a.l_orderkey + b.o_orderkey, 4096)) from lineitem a, orders b"


class Scene:
    """A daemon, an engine, and what was recorded of one: what the pages speak of."""

    def __init__(self, folder, env, full, in_view):
        self.folder, self.env, self.full, self.in_view, self.processes = folder, env, full, in_view, []
        self.desk = folder / "desk"
        self.desk.mkdir()

    def sh(self, text, where=None):
        done = subprocess.run(["bash", "-e", "-c", text], cwd=where or self.desk, env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check(done.returncode == 0, f"prepared: {text} {done.stderr.strip()[-500:] if done.returncode else ''}")
        return done.stdout

    def start(self, text, ready):
        """A process that runs in the background, once `ready` holds."""
        process = subprocess.Popen(["bash", "-c", f"exec {text}"], cwd=self.desk, env=self.env, stdin=subprocess.DEVNULL,
                                   stdout=open(self.folder / "log", "a"), stderr=subprocess.STDOUT)
        self.processes.append(process)
        deadline = time.monotonic() + 180
        while not ready():
            check(process.poll() is None and time.monotonic() < deadline, f"{text} runs: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.1)
        return process

    def asked(self, text):
        done = subprocess.run(["bash", "-c", text], cwd=self.desk, env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.stdout if done.returncode == 0 else ""

    def executions(self):
        return json.loads(self.asked("tailor list --json") or '{"executions": []}')["executions"]

    def prepare(self):
        self.sh("weft load-tpch --sf 0.01 && ln -s tpch-sf0.01 $HOME/.cache/weft/tpch-sf1")
        self.sh("tailor record -F 4999 --callchain --memory --journal engine.journal -o recorded.tailor -- "
                f"{ENGINE} --label user=ana --repeat 40 -c '{WORK}'")
        for name in ALSO:
            shutil.copy(self.desk / "recorded.tailor", self.desk / name)
        for plan in "ab":
            self.sh(f"tailor record -F 4999 -o plan-{plan}.tailor -- {ENGINE} --repeat 10 -c '{WORK}'")
        if not perf_tool_denied():
            self.sh(f"perf record -q -e cpu-clock -g -o perf.data -- {ENGINE} --query tpch-6 --repeat 20")
        self.start("tailord --frequency 997", lambda: self.asked("tailor status"))
        self.sh(f"{ENGINE} --label user=ana --repeat 100 -c '{WORK}'")
        check(self.executions(), "the daemon saw executions of an engine")
        seen = max(self.executions(), key=lambda each: each["samples"])
        self.engine = self.start(f'{ENGINE} -c "{LONG}"', lambda: any(each["running"] and each["samples"] > 9 for each in self.executions()))
        self.engine.send_signal(signal.SIGSTOP)
        self.values = {**VALUES, "PID": str(self.engine.pid), "EXECUTION": seen["id"], "ID": seen["id"], "DIGITS": seen["fingerprint"]}

    @contextlib.contextmanager
    def engine_runs(self, text):
        """The engine works while a command needs it, and not for the whole test."""
        if str(self.engine.pid) in text.split():
            self.engine.send_signal(signal.SIGCONT)
            try:
                yield
            finally:
                self.engine.send_signal(signal.SIGSTOP)
        else:
            yield

    def end(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


def any_process(folder, scene):
    (folder / "program.cc").write_text("#include <algorithm>\n#include <vector>\nint main() {\n  std::vector<unsigned> all(1 << 20);\n"
                                       "  unsigned next = 1;\n  for (int round = 0; round < 4; ++round) {\n"
                                       "    for (unsigned& each : all) each = next = next * 1664525 + 1013904223;\n"
                                       "    std::sort(all.begin(), all.end());\n  }\n  return all[0] > all[1];\n}\n")
    scene.sh("c++ -O2 -o program program.cc", folder)


def deploy(folder, scene):
    """What a reader would have there: the packages, and the mistake of the page in the configuration."""
    for package in (scene.folder / "packages").glob("*.deb"):
        shutil.copy(package, folder)
    settings = pathlib.Path("/etc/tailor/tailord.toml")
    if scene.in_view:
        before = settings.read_text()
        settings.write_text("\n\nfrequncy = 99\n" + before)
        return lambda: settings.write_text(before)
    return None


def exports(folder, scene):
    """A Collector: takes what is sent to it."""
    class Takes(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            right = self.path == "/v1development/profiles" and self.headers["Content-Type"] == "application/x-protobuf" and sent
            self.send_response(200 if right else 400)
            self.end_headers()

        def log_message(self, *_):
            pass

    for last in range(1, 255):  # the port is that of the page, so the address is a free one
        with contextlib.suppress(OSError):
            server = http.server.ThreadingHTTPServer((f"127.44.0.{last}", 4318), Takes)
            scene.values["COLLECTOR"] = server.server_address[0]
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return server.shutdown
    return check(False, "one of the loopback's addresses has the port 4318 free")


def integrate(folder, scene):
    """A clone of the sources, and the programs that the page tells to write."""
    for each in ROOT.iterdir():
        if not each.name.startswith(".") and each.name != "build":
            (folder / each.name).symlink_to(each)
    (folder / "build").symlink_to(BUILD)
    text = (ROOT / "docs/integrate-your-engine.md").read_text()
    for name, program in re.findall(r"<!-- program: ([\w.]+\.cc?) -->\n```\w+\n(.*?)\n```\n", text, re.S):
        (folder / name).write_text(program + "\n")


def jvm(folder, scene):
    """A program in classes/, and the agent where a build has it."""
    if not shutil.which("javac", path=scene.env["PATH"]) or (scene.in_view and not pathlib.Path("/usr/share/tailor/tailor-jvm.jar").exists()):
        return "there is no JDK, or was none when Tailor was built"
    (folder / "build/lib").mkdir(parents=True)
    (folder / "build/lib/tailor-jvm.jar").symlink_to("/usr/share/tailor/tailor-jvm.jar")
    (folder / "Main.java").write_text("public class Main {\n  public static void main(String[] words) {\n    long sum = 0;\n"
                                      "    for (int round = 0; round < 20000; ++round) sum += of(round);\n    System.out.println(sum);\n  }\n"
                                      "  static long of(int round) {\n    long sum = round;\n"
                                      "    for (int i = 0; i < 20000; ++i) sum = sum * 31 + (sum ^ i) % 7;\n    return sum;\n  }\n}\n")
    scene.sh("javac -d classes Main.java", folder)


def postgresql(folder, scene):
    """The configuration of the page; and where packages are installed a server, as Debian's package starts one."""
    (folder / "deploy").symlink_to(ROOT / "deploy")
    page = Page("docs/postgresql.md", (ROOT / "docs/postgresql.md").read_text())
    (folder / "tailord.toml").write_text(next(fence.text for fence in page.fences if fence.language == "toml"))
    if not (scene.full and scene.in_view):
        return None
    programs = pathlib.Path("/usr/lib/postgresql/15/bin")
    if not (programs / "initdb").exists():
        return "there is no server of PostgreSQL 15"
    settings = "-c listen_addresses= -c unix_socket_directories=/run/postgresql -c shared_preload_libraries=pg_stat_statements"
    scene.sh("install -d -o postgres /run/postgresql /run/server")
    scene.sh(f"su postgres -c '{programs}/initdb -D /run/server && {programs}/pg_ctl -w -D /run/server -l /run/server/log -o \"{settings}\" start'")
    scene.sh("su postgres -c 'createuser -s root && createdb root && psql -d root -c \"create extension pg_stat_statements\"'")
    return lambda: scene.sh(f"su postgres -c '{programs}/pg_ctl -D /run/server -m fast stop'; kill $(cat /run/page.pid)")


def rule_files(folder, scene):
    """Queries for DuckDB, where the test's Python has it; else a program of which no rule knows anything."""
    text = "print(sum(i * i for i in range(5_000_000)))\n"
    found = importlib.util.find_spec("duckdb")
    if found and scene.asked(f"PYTHONPATH={pathlib.Path(found.origin).parents[1]} python3 -c 'import duckdb; print(1)'"):
        text = (f"import sys\nsys.path.append({str(pathlib.Path(found.origin).parents[1])!r})\nimport duckdb\n"
                "print(duckdb.sql('select sum(a.range * b.range) from range(30000) a join range(30000) b on a.range % 100 = b.range % 100'))\n")
    (folder / "queries.py").write_text(text)


def workflows(folder, scene):
    """The functions and the workflow of the page."""
    if not scene.asked("command -v clang++-19 || ls /usr/lib/llvm-19/bin/clang++"):
        return "no clang 19 is installed"
    page = Page("docs/workflows.md", (ROOT / "docs/workflows.md").read_text())
    (folder / "squares.cc").write_text(next(fence.text for fence in page.fences if fence.language == "cpp"))
    (folder / "squares.wf").write_text(next(fence.text for fence in page.fences if fence.text.startswith("workflow squares")))
    return None


# What a page needs before its fences run: a function of its folder and the scene. It returns what is to be done afterwards, or why
# the commands of its fences cannot run here.
PREPARED = {"docs/any-process.md": any_process, "docs/deploy.md": deploy, "docs/operate.md": deploy, "docs/exports.md": exports,
            "docs/integrate-your-engine.md": integrate, "docs/jvm.md": jvm, "docs/postgresql.md": postgresql, "docs/rules.md": rule_files,
            "docs/workflows.md": workflows}


MADE_UP = r"""
Take `tailor report --no-such-option`, `tailor nonsense`, `weft --nope`, `./dev dance`, `tailor version PLACEHOLDER`, `python3 tests/nothing.py`.
Right are `tailor version`, `tailor report --json` and a [`tag`](x.md).

```sh
true && tailor version
false  # fails
echo 'two
lines' \
  more
tailor version --no-such-option
```

```text
tailor report
```

```toml
frequncy = 1
```

```c
int x;
```
"""
FOUND = ["2: tailor report --no-such-option: tailor report has no option", "2: tailor nonsense: tailor: there is no command",
         "2: weft --nope: weft has no option", "2: ./dev dance: ./dev has no command dance", "2: tailor version PLACEHOLDER: the test has no value for PLACEHOLDER",
         "2: python3 tests/nothing.py: there is no", "7: false: ran as `false`: exit code 1", "11: tailor version --no-such-option: ran as",
         "14: it holds commands", "18: `tailord --check-config page.toml`: exit code 2", "22: nobody checks this c"]


def self_check():
    """The broken twin: mistakes of every kind, each of which must be found; and right lines, of which none may."""
    examples = doctest.testmod(page_commands)
    check(examples.attempted > 5 and examples.failed == 0, "the reader of pages does what its examples say")
    table = Table(by_options=[Entry("*", r"(tailor (report|nonsense)|weft|python3|./dev).*", "")], checked=[Entry("made-up", r"freq.*", config)],
                  left_out=[Entry("*", r"tailor retired .*", "stale")], exits=[Entry("another page", r".*", (0,))])
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(table, {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8"})
        checks.page(Page("made-up", MADE_UP), pathlib.Path(folder), {}, pathlib.Path(folder))
    unlike = [(fault, wanted) for fault, wanted in itertools.zip_longest(checks.faults, FOUND, fillvalue="")
              if not (wanted and fault.startswith(f"made-up:{wanted}"))]
    check(not unlike, f"each of {len(FOUND)} mistakes of a page is found, and nothing else {unlike}")
    check(checks.stale() == ["left_out: *: tailor retired .*", "exits: another page: .*"], f"and stale entries of the table {checks.stale()}")
    with contextlib.suppress(ValueError):
        check(not Page("made-up", "```sh\ntrue\n"), "a fence without an end is refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="from the Debian packages")
    parser.add_argument("--self-check", action="store_true", help="the broken twin alone")
    parser.add_argument("--inside", type=pathlib.Path, help=argparse.SUPPRESS)  # the folder, in the view that main() made
    arguments = parser.parse_args()
    os.chdir(ROOT)  # scripts that pages name are looked for there
    if arguments.inside:
        run_pages(arguments.inside, arguments.full, in_view=True)
        return
    self_check()
    if arguments.self_check:
        return
    if not (BIN / "weft").exists():
        skip("built without LLVM: there is no weft")
    denied = sampling_denied()
    if denied:
        skip(denied)
    if arguments.full and (missing := [tool for tool in TOOLS if shutil.which(tool) is None]):
        skip(f"missing: {', '.join(missing)}")
    if arguments.full and os.geteuid() != 0:
        skip("dpkg installs into a root of its own for root only")
    with tempfile.TemporaryDirectory(prefix="tailor-test-") as folder:
        folder = pathlib.Path(folder)
        if arguments.full:
            root = Root(folder / "root")
            root.dpkg("--install", *packages(folder / "packages").values())
            installed(root.path, "weft")  # of no package
        else:
            installed(folder / "root", "agent", "agent_dev", "cli", "daemon", "jvm", "weft")
        words, why_not = view(folder / "root", folder / "scratch")
        if why_not:
            print(f"without a view of the host in which Tailor lies in /usr: {why_not}")
            run_pages(folder, arguments.full, in_view=False)
        else:
            check(True, "Tailor lies in /usr")
            code = subprocess.run([*words, sys.executable, ROOT / "tests/e2e/documents.py", "--inside", folder, *(["--full"] if arguments.full else [])]).returncode
            sys.exit(code)


def environment(folder, in_view):
    """No word of the build and of the sources, and none of Tailor where the default paths can be had."""
    (folder / "home").mkdir()
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder / "home"), "LANG": "C.UTF-8"}
    if in_view:
        return env
    usr = folder / "root/usr"
    libraries = f"{usr}/lib:{folder / 'root' / LIBRARY}"
    return {**env, "PATH": f"{usr}/bin:{env['PATH']}", "LD_LIBRARY_PATH": libraries, "LIBRARY_PATH": libraries, "CPATH": f"{usr}/include",
            "PKG_CONFIG_PATH": f"{usr}/lib/pkgconfig", "TAILOR_SOCKET": str(folder / "agent.sock"), "TAILOR_CONTROL": str(folder / "control.sock"),
            "TAILOR_STORE": str(folder / "store")}


def run_pages(folder, full, in_view):
    env = environment(folder, in_view)
    scene = Scene(folder, env, full, in_view)
    table = dataclasses.replace(TABLE, left_out=[*([] if full else FULL_ONLY), *([] if in_view else VIEW_ONLY),
                                               *(PERF_ONLY if perf_tool_denied() else []), *TABLE.left_out],
                                as_if=[*TABLE.as_if, *(FULL_AS_IF if full else [])])
    try:
        scene.prepare()
        checks = Checks(table, env, scene.engine_runs)
        for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            page = Page(str(file.relative_to(ROOT)), file.read_text())
            own = folder / "pages" / file.stem
            shutil.copytree(scene.desk, own)
            afterwards = PREPARED[page.name](own, scene) if page.name in PREPARED else None
            try:
                checks.page(page, own, scene.values, scene.desk, not_here=afterwards if isinstance(afterwards, str) else None)
            finally:
                if callable(afterwards):
                    afterwards()
            shutil.rmtree(own)
    finally:
        scene.end()
    checks.summary()
    faults = [*checks.faults, *(f"stale entry of the table: {each}" for each in checks.stale())]
    for fault in faults:
        print(f"FAILED: {fault}")
    check(not faults, f"all pages: {len(faults)} faults")


if __name__ == "__main__":
    main()
