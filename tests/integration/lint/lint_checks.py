"""What ./dev lint checks of the tree's own rules: each check passes on this tree, and finds a fault that is planted in a copy."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tailor_env import ROOT, check, skip

# The check, the file in which the fault is planted, the fault, and what the check must say. A fault is a line at the end of
# the file, or a text in place of another.
FAULTS = [
    ("check_folders.py", "daemon/query/reports/plan_report.cc", '#include "daemon/session/recorder.h"\n', "daemon/query/reports/plan_report.cc"),
    ("check_folders.py", "daemon/query/reports/plan_report.cc", '#include "viewer/cli/terminal.h"\n', "daemon/query/reports/plan_report.cc"),
    ("check_folders.py", "daemon/elsewhere/new.cc", "int x;\n", "daemon/elsewhere"),
    ("check_folders.py", "daemon/clock/CMakeLists.txt", (" DEPS ", " DEPS tailor_query "), "tailor_query"),
    ("check_folders.py", "daemon/query/reports/plan_report.cc", "int session = 0;\n", "session"),
    ("check_folders.py", "viewer/cli/web_command.cc", ("service.visit({}", "library->visit({}"), "asks a serve::Service"),
    ("check_folders.py", "viewer/cli/ab_command.cc", ("service.file_state_of_time(", "serve::file_state_of_time(*library, "), "asks a serve::Service"),
    ("check_folders.py", "docs/ARCHITECTURE.md", ("| `agent/postgres/` |", "| `agent/elsewhere/` |"), "agent/postgres is not in the table"),
    ("check_folders.py", "viewer/cli/CMakeLists.txt", ("tailor_render tailor_import ", "tailor_render "), "does not link tailor_import"),
    ("check_folders.py", "agent/postgres/walk.c", '#include "plans.h"\n', "agent/postgres: walk uses itself"),
    ("check_folders.py", "daemon/pipeline/losses.h", '#include "daemon/pipeline/pipeline.h"\n', "daemon/pipeline: losses uses itself"),
    ("check_folders.py", "tests/unit/profile/planted_test.cc", '#include "daemon/session/recorder.h"\n', "tests/unit/profile may not include"),
    ("check_folders.py", "tests/unit/elsewhere/planted_test.cc", "int x;\n", "tests/unit/elsewhere: there is no folder"),
    ("check_folders.py", ".dev/check_folders.py", ('"proto/tailor", "agent/postgres", "kmod"}', '"proto/tailor", "kmod"}'), "agent/postgres: there is no folder"),
    ("check_folders.py", "tests/unit/redact/CMakeLists.txt", ("DEPS tailor_redact", "DEPS tailor_base"), "and does not link tailor_redact"),
    ("check_folders.py", "agent/CMakeLists.txt", "target_link_libraries(tailor_agent PRIVATE tailor_session)\n", "agent may not link tailor_session"),
    ("check_folders.py", "deploy/CMakeLists.txt", "add_executable(x x.cc)\n", "deploy builds no library"),
    ("check_folders.py", "agent/jvm/java/tailor/jvm/Options.java", "import tailor.jvm.spark.Queries;\n", "tailor.jvm may not import tailor.jvm.spark"),
    ("check_folders.py", "viewer/web/src/model/day.ts", 'import { h } from "../ui/load.ts";\n', "model may not import ../ui/load.ts"),
    ("check_links.py", "docs/tags.md", "[x](nowhere.md)\n", "docs/tags.md"),
    ("check_links.py", "docs/tags.md", "[x](capture.md#no-such-place)\n", "docs/tags.md"),
    ("check_errors.py", "daemon/query/reports/plan_report.cc", 'tailor::Error planted() { return tailor::Error{"no kind"}; }\n', "plan_report.cc"),
    ("check_api.py", "docs/http-api.md", "| `GET nowhere` | x |\n", "/api/v1/nowhere"),
    ("check_api.py", "docs/http-api.md", ("`many=slices`", "`slices`"), "the parameter many"),
    ("check_api.py", "viewer/web/src/data/types.ts", ("  plan_name: string;", "  plan_name: number;"), "plan_name: is number"),
    ("check_api.py", "viewer/web/src/data/types.ts", "export interface Timeline {\n  nothing: number;\n}\n", "Timeline.nothing"),
    ("check_api.py", "daemon/serve/openapi.json", ('"cpu_used_ns"', '"cpu_taken_ns"'), "cpu_used_ns: may be missing"),
    ("check_api.py", "daemon/serve/openapi.json", ('"/api/v1/history"', '"/api/v1/histories"'), "/api/v1/histories"),
    ("check_tables.py", "daemon/query/reports/cost_columns.cc", ('    {"weight",', '    {"spare", nullptr},\n    {"weight",'), "the column spare"),
    ("check_tables.py", "docs/report-json.md", ("`kernel_weight`, ", ""), "docs/report-json.md: the column kernel_weight"),
    ("check_tables.py", "docs/report-json.md", ("`skew`, ", ""), "docs/report-json.md: the column skew"),
    ("check_tables.py", "daemon/serve/openapi.json", ('"skew_low": {', '"skew_least": {'), "Cost: the column skew_low"),
    ("check_tables.py", "viewer/web/src/data/types.ts", ("  shared_weight: number;\n", ""), "types.ts: Cost: the column shared_weight"),
    ("check_tables.py", "daemon/serve/openapi.json", ('"share_high", "samples"', '"samples"'), "Cost requires"),
    ("check_tables.py", "daemon/export/export_formats.cc", ('    {"pprof",', '    {"pcap", nullptr},\n    {"pprof",'), "the format pcap"),
    ("check_tables.py", "docs/exports.md", ("| `pprof` |", "| `proof` |"), "there is no format proof"),
    ("check_words.py", "docs/tags.md", "\nBoth are told apart here.\n", "told apart"),
    ("check_words.py", "docs/tags.md", "\nIt is open. Who can connect to it can ask.\n", "name the subject"),
    ("check_words.py", "docs/tags.md", "\n" + "word " * 31 + "end.\n", "32 words"),
    ("check_words.py", "daemon/query/reports/plan_report.cc", "// It was put aside.\n", "put aside"),
    ("check_words.py", "viewer/web/src/ui/trust.tsx", ("which executions lost samples is not known", "losses are not told apart"), "told apart"),
    ("check_words.py", "daemon/store/sums_block.cc", ("this many samples", "so many samples"), "so many"),
    ("check_version.py", "viewer/cli/main.cc", "// {version}\n", "viewer/cli/main.cc"),
    ("../tests/bench/figures.py", "docs/benchmarks.md", (" ms |", " s |"), "benchmarks.md"),
    ("../tests/bench/figures.py", "docs/benchmarks/report.jsonl", "{}\n", "report.jsonl"),
]


def git(tree, *arguments):
    return subprocess.run(["git", "-C", tree, *arguments], capture_output=True, text=True, check=True).stdout


def run_check(tree, name):
    """Exit code, and what was printed."""
    more = ["--check"] if name.endswith("figures.py") else []
    done = subprocess.run([sys.executable, str((tree / ".dev" / name).resolve()), *more], cwd=tree, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def copy_of_tree(tree):
    for name in filter(None, git(ROOT, "ls-files", "-z").split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
    git(tree, "init", "-q")
    git(tree, "add", "-A")


def with_fault(text, fault):
    if isinstance(fault, tuple):
        check(fault[0] in text, f"there is a place for the fault {fault[1]!r}")
        return text.replace(*fault, 1)
    return text + fault.replace("{version}", VERSION)


VERSION = next(line.split()[2] for line in (ROOT / "CMakeLists.txt").read_text().splitlines() if line.startswith("project(tailor VERSION"))
if subprocess.run(["git", "-C", ROOT, "rev-parse"], capture_output=True).returncode != 0:
    skip("this tree is no clone, and the checks ask git for its files")
with tempfile.TemporaryDirectory() as folder:
    tree = pathlib.Path(folder)
    copy_of_tree(tree)
    for name in dict.fromkeys(name for name, *_ in FAULTS):
        code, said = run_check(tree, name)
        check(code == 0, f"{name} passes on this tree: {said.strip().splitlines()[-1:]}")
    for name, file, fault, words in FAULTS:
        path = tree / file
        before = path.read_text() if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(with_fault(before or "", fault))
        git(tree, "add", "-A")
        code, said = run_check(tree, name)
        check(code != 0 and words in said, f"{name} finds what was planted in {file}: {fault!r}")
        path.unlink() if before is None else path.write_text(before)
        git(tree, "add", "-A")
