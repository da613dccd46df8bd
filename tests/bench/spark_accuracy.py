"""How well the operators of Spark's generated code are told apart, by the formula of the thesis on LLSS (section 5.2).

One query scans, filters, joins and aggregates. An identity function of some cost, busy(), is put into one of its operators.
Spark knows the CPU time T of the stage, so the cost that was injected is t = T - mean T of the reference. The samples say
o = T (s - mean s of the reference) / S, where s are those of the operator and S all of the stage. The error is E = (o - t) / t.

    python3 tests/bench/spark_accuracy.py                              # 5 runs a cell, 20 and 200 Hz: several hours
    python3 tests/bench/spark_accuracy.py --runs 3 --frequencies 200 --costs 200
    python3 tests/bench/spark_accuracy.py --async-profiler libasyncProfiler.so ...

Every run is a JVM of its own. T differs from run to run without any profiler, by what the JVM's compilers make of the code.
So each cell also runs without Tailor: the spread of t there is what no profiler can be blamed for, and no run is left out.
The number of turns of busy() that gives a cost, in per cent of the reference, is found first, and the cost that was reached
is printed. With --async-profiler the library samples the runs of the references, too, and the generated methods with the
most of its samples are printed: in one method it tells no operators apart.
"""
import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from spark_work import Spark
from tailor_env import BIN, BUILD

JAR = BUILD / "lib" / "tailor-jvm.jar"
TEST_JAR = BUILD / "targets" / "spark" / "spark-test.jar"
BEARER = {"filter": "Filter", "join": "BroadcastHashJoin", "aggregate": "HashAggregate"}
SAMPLES = """SELECT c.execution, c.pipeline, coalesce(p.name, c.component, c.reason, c.owner) AS name, sum(coalesce(o.part, 1)) AS samples
    FROM samples s JOIN cells c USING (cell) LEFT JOIN owners o ON o.cell = c.cell AND o.level = 0
    LEFT JOIN operators p ON p.pid = c.pid AND p.plan = c.plan AND p.id = o.id WHERE c.execution <> 0 GROUP BY 1, 2, 3"""


class Run:
    """What one JVM's measured executions took in the stage, and whose its samples are."""

    def __init__(self, cpu, owners):
        self.cpu, self.owners = cpu, owners

    def samples(self):
        return sum(self.owners.values())


def stage_samples(profile, executions):
    """Samples by owner in the stage with the most of them, of the last executions."""
    text = subprocess.run([str(BIN / "tailor"), "sql", str(profile), "--last", str(executions), "--json", "-q", SAMPLES], capture_output=True,
                          text=True, check=True).stdout
    stages = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
    for row in json.loads(text):
        execution, pipeline, name, samples = row.values()
        stages[execution][pipeline][name] += samples
    owners = collections.Counter()
    for of_execution in stages.values():
        owners += max(of_execution.values(), key=lambda each: each.total())
    return owners


def run(options, folder, query, turns, frequency, profiler=""):
    """frequency 0: without Tailor."""
    profile = folder / "p.tailor"
    java = f"-Dtailor.busy={turns}" + (f" -javaagent:{JAR}" if frequency else "")
    if profiler:
        java += f" -agentpath:{profiler}=start,event=ctimer,interval={10**9 // (frequency or 200)},collapsed,file={folder / 'collapsed'}"
    prefix = [BIN / "tailor", "record", "-F", frequency, "-o", profile, "--"] if frequency else []
    env = {"TAILOR_SPARK_SCALE": options.scale, "TAILOR_SPARK_JARS": TEST_JAR, "TAILOR_SOCKET": "/nonexistent/agent.sock"}
    with Spark(options.version, options.data, [f"sfja_{query}"], java, prefix, env) as spark:
        spark.run(f"sfja_{query}", options.warmup)
        stages = spark.run(f"sfja_{query}", options.executions)
    cpu = sum(max(stage["cpu"] for stage in each) for each in stages)
    return Run(cpu / 1e9, stage_samples(profile, options.executions) if frequency else collections.Counter())


def turns_for(options, folder, query, reference, cost):
    """So many that they cost about that per cent of the reference."""
    few = 20
    added = run(options, folder, query, few, 0).cpu - reference
    none = run(options, folder, query, 0, 0).cpu - reference
    each = max((added - none) / few, 1e-9)
    return max(round((reference * cost / 100 - none) / each), 1)


def errors_of(reference, runs, operator):
    """Of each run: (E, cost in parts of the reference)."""
    cpu = statistics.fmean(each.cpu for each in reference)
    samples = statistics.fmean(each.owners[operator] for each in reference)
    found = []
    for each in runs:
        real = each.cpu - cpu
        seen = each.cpu * (each.owners[operator] - samples) / each.samples()
        found.append(((seen - real) / real, real / cpu))
    return found


def spread(values):
    """Mean of the absolute deviations from the mean, in parts of it."""
    middle = statistics.fmean(values)
    return statistics.fmean(abs(value - middle) for value in values) / abs(middle)


def undivided(folder):
    """Of async-profiler's samples in generated code, those by innermost generated method."""
    methods = collections.Counter()
    for line in (folder / "collapsed").read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        generated = [frame for frame in stack.split(";") if "GeneratedIteratorForCodegenStage" in frame]
        if generated:
            methods[generated[-1].split("/")[-1].rpartition("$")[2]] += int(count)
    return methods


def say(text):
    print(text, flush=True)


def measure(options, folder):
    rows = []
    alone = [run(options, folder, "reference", 0, 0).cpu for _ in range(options.runs)]
    say(f"reference without Tailor: {', '.join(f'{each:.2f}' for each in alone)} s, mean deviation {spread(alone):.1%}")
    mean = statistics.fmean(alone)
    turns = {(query, cost): turns_for(options, folder, query, mean, cost) for query in options.operators for cost in options.costs}
    plain = {key: [run(options, folder, key[0], turns[key], 0).cpu - mean for _ in range(options.runs)] for key in turns}
    for frequency in options.frequencies:
        reference = [run(options, folder, "reference", 0, frequency, options.async_profiler) for _ in range(options.runs)]
        shares = collections.Counter()
        for each in reference:
            shares += each.owners
        say(f"{frequency} Hz, reference: " + ", ".join(f"{name} {part / shares.total():.1%}" for name, part in shares.most_common()))
        if options.async_profiler:
            found = undivided(folder)
            say("async-profiler, generated code of the last of these runs by method: " +
                ", ".join(f"{name} {count / found.total():.1%}" for name, count in found.most_common(4)))
        for (query, cost), number in turns.items():
            runs = [run(options, folder, query, number, frequency) for _ in range(options.runs)]
            errors = errors_of(reference, runs, BEARER[query])
            value = paired.Interval([abs(error) for error, _ in errors])
            total = sum(each.samples() for each in runs)
            row = {"frequency": frequency, "operator": query, "cost": statistics.fmean(part for _, part in errors), "error": value.mean,
                   "low": value.low, "high": value.high, "runs": options.runs, "samples": total, "signed": [error for error, _ in errors],
                   "jit": spread(plain[query, cost])}
            rows.append(row)
            say(f"{frequency:4} Hz  {query:10} +{row['cost']:.0%}  mean |E| {value.mean:.1%} [{max(value.low, 0):.1%}, {value.high:.1%}]  "
                f"({', '.join(f'{error:+.1%}' for error in row['signed'])})  {total:.0f} samples; without Tailor the injected time deviates by {row['jit']:.1%}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", default="3.5.9", help="of PySpark")
    parser.add_argument("--runs", type=int, default=5, help="JVMs of each cell")
    parser.add_argument("--frequencies", type=int, nargs="+", default=[20, 200])
    parser.add_argument("--costs", type=int, nargs="+", default=[50, 200, 500], help="what is injected, in per cent of the reference")
    parser.add_argument("--operators", nargs="+", default=list(BEARER), choices=list(BEARER))
    parser.add_argument("--scale", type=float, default=1, help="of the 20 million rows")
    parser.add_argument("--warmup", type=int, default=6, help="executions before those that count")
    parser.add_argument("--executions", type=int, default=60, help="that count, in each run")
    parser.add_argument("--async-profiler", default="", metavar="LIBRARY")
    parser.add_argument("--short", action="store_true", help="so little that it only shows whether this works")
    options = parser.parse_args()
    if options.short:
        options.runs, options.frequencies, options.costs, options.operators = 2, [200], [200], ["filter"]
        options.scale, options.executions = 0.1, 4
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        options.data = folder / "data"
        rows = measure(options, folder)
    paired.report("spark_accuracy", f"Spark {options.version}, {options.runs} runs of each cell, on {paired.machine()}",
                  {"rows": rows, "options": {key: str(value) for key, value in vars(options).items()}})


if __name__ == "__main__":
    main()
