"""An engine that compiles its queries into libraries: it loads five of them one after the other at one address (tests/targets/query_libraries.cc).
By address and time together each one has its share of the CPU time, which the program takes by its thread's clock: 7, 13, 20, 27 and 33 %.
`tailor record` says so, and so does what is imported from `perf record`."""
import json
import pathlib
import tempfile

from call_stacks import folded, time_in
from tailor_env import BIN, BUILD, about, at_least, check, perf_tool_denied, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)
TARGETS = BUILD / "targets"
QUERIES = [f"query_{number}" for number in range(5)]
WANTED = 1000  # samples of all five: the smallest share is 7 %
SLACK = 0.02
MILLISECOND = 1_000_000


def command(work):
    return [TARGETS / "query_libraries", TARGETS, str(1.2 * work)]


class Measured:
    """What a profile or perf.data says of the libraries, and what the engine said: by `unit`, the cost of a function in its report."""

    def __init__(self, said, profile, unit):
        self.profile = profile
        self.truth = json.loads(said.splitlines()[-1])
        rows = json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json"))["functions"]
        cost = {"weight": lambda row: row["weight"] / MILLISECOND, "samples": lambda row: row["samples"]}[unit]
        self.all = sum(map(cost, rows))
        self.queries = [sum(cost(row) for row in rows if (row["name"], row["object"]) == (query, f"{query}.so")) for query in QUERIES]

    def count(self):
        return sum(self.queries)


def right(queries, truth):
    """Whether each library has its share."""
    whole, used = sum(queries), sum(truth)
    return whole > 0 and all(about(found, whole, ns / used, SLACK) for found, ns in zip(queries, truth))


def judge(measured, what):
    check(len({each["address"] for each in measured.truth}) == 1, f"{what}: all five libraries were at one address")
    truth = [each["ns"] for each in measured.truth]
    whole = measured.count()
    check(at_least(whole, measured.all, 0.95), f"{what}: {whole:.0f} of {measured.all:.0f} samples have the name of one of them")
    text = ", ".join(f"{found / whole:.1%} of {ns / sum(truth):.1%}" for found, ns in zip(measured.queries, truth))
    check(right(measured.queries, truth), f"{what}: each has its own share: {text}")
    check(not right(measured.queries, truth[::-1]), f"{what}, the twin: shares in the reverse order are found out")
    check(not right([0] * 4 + [whole], truth), f"{what}, the twin: so is all of it for the library that came last")


def recorded(folder, *options):
    profile = folder / "p.tailor"

    def measure(work):
        said = run(BIN / "tailor", "record", "-q", "-F", "997", *options, "-o", profile, "--", *command(work))
        return Measured(said, profile, "weight")

    return until_enough(WANTED, Measured.count, measure)


def judge_chains(measured):
    stacks = folded(measured.profile)
    all_of = sum(time_in(stacks, query) for query in QUERIES)
    whole = sum(time_in(stacks, query, "main") for query in QUERIES)
    check(at_least(whole, all_of, 0.95), f"{whole:.0f} of {all_of:.0f} ms in their functions lead to main()")


def judge_perf(folder):
    """perf's timer has one period: its samples are alike."""
    data, profile = folder / "perf.data", folder / "imported.tailor"

    def measure(work):
        said = run("perf", "record", "-q", "-F", "997", "-e", "cpu-clock", "-o", data, "--", *command(work))
        run(BIN / "tailor", "import", data, "-o", profile)
        return Measured(said, profile, "samples")

    imported = until_enough(WANTED, Measured.count, measure)
    judge(imported, "perf record, imported")
    report = json.loads(run(BIN / "tailor", "report", data, "--level", "function", "--json"))["functions"]
    direct = [sum(row["samples"] for row in report if row["name"] == query) for query in QUERIES]
    check(direct == imported.queries, f"a report on its perf.data says the same: {direct}")


with tempfile.TemporaryDirectory(prefix="tailor-libraries-") as name:
    folder = pathlib.Path(name)
    judge(recorded(folder), "tailor record")
    with_stacks = recorded(folder, "--call-graph", "dwarf")
    judge(with_stacks, "with stacks")
    judge_chains(with_stacks)
    if reason := perf_tool_denied():
        print(f"not tried: {reason}")
    else:
        judge_perf(folder)
