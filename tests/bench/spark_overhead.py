"""What sampling costs Spark, in CPU time of its JVM for the same work.

    python3 tests/bench/spark_overhead.py toggled --rounds 20     # within one JVM
    python3 tests/bench/spark_overhead.py forks --pairs 30        # agent and settings against none
    python3 tests/bench/spark_overhead.py start --pairs 10        # what the agent costs at the begin

JVMs differ by some 10 % from run to run, by what their compilers do. So `toggled` compares slices of one warm JVM that has
the agent: paused, and sampled at each rate, in rounds of shuffled order. A slice is one execution of each query.

`forks` compares JVMs with the agent, sampled at the first rate, with JVMs that have none, each with its own warm-up. Its
interval is wide: publish it as it is. `start` does the same from the begin of a JVM to the end of its first queries, without
a warm-up; most of what the agent tells of code, it tells then.
"""
import argparse
import pathlib
import random
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from spark_work import Spark
from tailor_env import BUILD, Daemon

JAR = BUILD / "lib" / "tailor-jvm.jar"
NOWHERE = {"TAILOR_SOCKET": "/nonexistent/agent.sock"}


class Slices:
    """A warm JVM under a daemon, and what one slice of its work takes."""

    def __init__(self, options, daemon, spark):
        self.options, self.daemon, self.spark, self.paused = options, daemon, spark, False

    def mode(self, frequency):
        """0: paused."""
        if frequency and self.paused:
            self.daemon.tailor("resume", self.spark.pid)
        if frequency:
            self.daemon.tailor("rate", frequency, "--pid", self.spark.pid)
        elif not self.paused:
            self.daemon.tailor("pause", self.spark.pid)
        self.paused = not frequency

    def work(self):
        before = self.spark.cpu_ns()
        for query in self.options.queries:
            self.spark.run(query, self.options.times)
        return self.spark.cpu_ns() - before


def daemon_of(options):
    return Daemon(frequency=options.frequencies[0], options=["--max-frequency", max(options.frequencies)])


def spark_of(options, data, env, agent=True):
    settings = f"-javaagent:{JAR}" if agent else ""
    return Spark(options.version, data, options.queries, settings, env={**env, "TAILOR_SPARK_LINEITEMS": options.lineitems})


def toggled(options, data):
    modes = [0, *options.frequencies]
    times = {mode: [] for mode in modes}
    with daemon_of(options) as daemon, spark_of(options, data, daemon.env) as spark:
        slices = Slices(options, daemon, spark)
        for _ in range(options.warmup):
            slices.work()
        for done in range(options.rounds):
            for mode in random.sample(modes, len(modes)):
                slices.mode(mode)
                times[mode].append(slices.work())
            print(f"{done + 1}: " + ", ".join(f"{mode} Hz {values[-1] / 1e9:.3f} s" for mode, values in times.items()), file=sys.stderr, flush=True)
    return {f"{mode} Hz / paused": paired.ratio_interval(list(zip(times[mode], times[0]))) for mode in options.frequencies}


def fork(options, data, agent):
    """CPU time of one slice in a JVM of its own."""
    with daemon_of(options) as daemon, spark_of(options, data, daemon.env if agent else NOWHERE, agent) as spark:
        slices = Slices(options, daemon, spark)
        for _ in range(options.warmup):
            slices.work()
        before = spark.cpu_ns()
        for _ in range(options.rounds):
            slices.work()
        return spark.cpu_ns() - before


def start(options, data, agent):
    """CPU time from the begin of a JVM until each query has run once."""
    with daemon_of(options) as daemon, spark_of(options, data, daemon.env if agent else NOWHERE, agent) as spark:
        Slices(options, daemon, spark).work()
        return spark.cpu_ns()


def pairs_of(options, data, measure):
    def progress(done, pairs):
        print(f"{done} of {pairs} pairs", file=sys.stderr, flush=True)

    return paired.ratio_interval(paired.interleaved(lambda: measure(options, data, True), lambda: measure(options, data, False), options.pairs,
                                                    warmup=0, progress=progress))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("toggled", "forks", "start"))
    parser.add_argument("--version", default="3.5.9", help="of PySpark")
    parser.add_argument("--queries", nargs="+", default=["q1", "q3", "q6", "q9", "q18"])
    parser.add_argument("--lineitems", type=int, default=600_000)
    parser.add_argument("--times", type=int, default=1, help="executions of each query in a slice")
    parser.add_argument("--frequencies", type=int, nargs="+", default=[99, 999])
    parser.add_argument("--rounds", type=int, default=20, help="toggled: of one slice of each mode; forks: slices that are measured")
    parser.add_argument("--pairs", type=int, default=30, help="forks, start: of JVMs")
    parser.add_argument("--warmup", type=int, default=8, help="slices before")
    parser.add_argument("--short", action="store_true", help="so little that it only shows whether this works")
    options = parser.parse_args()
    if options.short:
        options.queries, options.rounds, options.pairs, options.warmup, options.lineitems = ["q6"], 2, 2, 1, 40_000
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "data"
        if options.what == "toggled":
            rows = toggled(options, data)
        else:
            rows = {f"agent, {options.frequencies[0]} Hz / none": pairs_of(options, data, {"forks": fork, "start": start}[options.what])}
    for name, value in rows.items():
        print(f"{name:24} {value.mean:.4f}  [{value.low:.4f}, {value.high:.4f}]  {value.count} pairs")
    paired.report(f"spark_overhead_{options.what}", f"Spark {options.version}, {' '.join(options.queries)}, on {paired.machine()}",
                  {"rows": [{"what": name, "ratio": value.mean, "low": value.low, "high": value.high, "pairs": value.count}
                            for name, value in rows.items()], "options": vars(options)})


if __name__ == "__main__":
    main()
