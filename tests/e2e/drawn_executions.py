"""--sample-executions: a share of the executions is sampled, and what all of them cost is known within its interval.

By BPF, which drops samples of the others where they are taken, and by perf, where the daemon drops them."""
import filecmp
import json
import pathlib
import subprocess
import tempfile

from live_daemon import refused
from tailor_env import BIN, Daemon, about, all_accounted, at_least, bpf_denied, check, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)

SHARE = 0.25
# Drawn executions that have samples. The standard error of what all took is then 10 % at most, so that what was sampled, not scaled, is
# more than seven of them away.
ENOUGH = 150


def recorded(folder, sampler, executions):
    """A recording of so many executions: profile, journal, and what weft says that they took of the CPU."""
    profile, journal, times = (pathlib.Path(folder) / f"{sampler}.{kind}" for kind in ("tailor", "journal", "json"))
    run(BIN / "tailor", "record", "-F", 1999, "--sampler", sampler, "--sample-executions", "1/4", "--journal", journal, "-o", profile,
        "--", BIN / "weft", "--sf", "0.05", "--threads", "2", "--repeat", executions, "--quiet", "--timing-json", times,
        "--query", "tpch-18", "--query", "tpch-1")
    return profile, journal, sum(each["cpu_ns"] for each in json.loads(times.read_text())["executions"])


def executions_of(*arguments):
    return json.loads(run(BIN / "tailor", "list", *arguments, "--limit", 100000, "--json"))["executions"]


def misses(estimate, truth):
    """How far the estimate is from the truth, in standard errors."""
    return (estimate["weight"] - truth) / ((estimate["high"] - estimate["low"]) / (2 * 1.959964))


with tempfile.TemporaryDirectory() as folder:
    for sampler in ("bpf", "perf"):
        if sampler == "bpf" and bpf_denied():
            print("not checked: BPF, which is not permitted here")
            continue
        profile, journal, truth = until_enough(
            ENOUGH, lambda made: sum(row["drawn"] and row["samples"] > 0 for row in executions_of(made[0])),
            lambda work: recorded(folder, sampler, 350 * work))
        rows = executions_of(profile)
        drawn = [row for row in rows if row["drawn"]]
        check(about(len(drawn), len(rows), SHARE, 0),
              f"{sampler}: {len(drawn)} of {len(rows)} executions are drawn")
        check(all(row["samples"] == 0 for row in rows if not row["drawn"]), f"{sampler}: others have no samples")
        report = json.loads(run(BIN / "tailor", "report", profile, "--json"))
        account = report["accounting"]
        check(all_accounted(account), f"{sampler}: the sums add up")
        check(account["not_drawn"] > account["attributed"] / 2, f"{sampler}: {account['not_drawn']} samples are not drawn")
        used, sampled = report["recording"]["cpu_used_ns"], report["recording"]["cpu_sampled_ns"]
        check(at_least(sampled / 5e5, used / 5e5, 0.85) and sampled < 1.15 * used,
              f"{sampler}: kept and dropped samples stand for {sampled / used:.1%} of the time that was used")
        estimate = report["drawn"]["estimate"]
        check(abs(misses(estimate, truth)) < 5, f"{sampler}: all executions took {truth / 1e9:.2f} s, estimated are "
              f"{estimate['weight'] / 1e9:.2f} s [{estimate['low'] / 1e9:.2f}, {estimate['high'] / 1e9:.2f}]")
        # Twin: what was sampled, as if it were all.
        check(abs(misses({**estimate, "weight": report["drawn"]["weight"]}, truth)) > 4, f"{sampler}: not scaled it would be too little")
        # Samples of one execution are alike: here each of two queries has operators of its own, and some samples on any host.
        check(0 < report["sample_worth"] < 1 and report["effective_samples"] < report["samples"],
              f"{sampler}: a sample is worth {report['sample_worth']:.2f}")
        one_run = next(row["id"] for row in drawn if row["samples"] > 0)
        alone = json.loads(run(BIN / "tailor", "report", profile, "--execution", one_run, "--json"))
        check("sample_worth" not in alone, f"{sampler}: of one execution samples alone count")
        said = run(BIN / "tailor", "report", profile)
        check("A share of the executions is sampled" in said and "95 % range" in said, f"{sampler}: the report says so")
        check("drawn" in run(BIN / "tailor", "list", profile), "and so does the list")
        one, two = pathlib.Path(folder) / "one.tailor", pathlib.Path(folder) / "two.tailor"
        for to in (one, two):
            run(BIN / "tailor", "replay", journal, "-o", to)
        check(filecmp.cmp(one, two, shallow=False), f"{sampler}: two replays of the journal are the same")
        again = json.loads(run(BIN / "tailor", "report", one, "--json"))
        check(all(again[key] == report[key] for key in ("samples", "weight", "drawn", "accounting")), "and are the recording")

with Daemon(frequency=997, options=["--sample-executions", "10%"]) as daemon:
    # Long enough that some of the executions that are drawn have samples on a fast host, too.
    daemon.weft("--sf", "0.1", "--threads", "2", "--repeat", "200", "--quiet", "--query", "tpch-1")
    rows = json.loads(daemon.tailor("list", "--limit", 1000, "--json"))["executions"]
    left_out = next(row for row in rows if not row["drawn"])
    check("none of these was drawn" in refused(daemon, "report", left_out["id"], code=3), "a report of one that is not drawn says so")
    check("not_drawn" in json.dumps(daemon.report()["accounting"]), "the daemon's report has the count")
    components = daemon.report("--pid", left_out["pid"])["component_rows"]
    check(any(row["name"] in ("compile", "parse", "optimise", "start") for row in components), "work outside of executions is sampled")
refusal = subprocess.run([BIN / "tailor", "record", "--sample-executions", "0", "-o", "/dev/null", "--", "true"], capture_output=True, text=True)
check(refusal.returncode == 2 and "1/8" in refusal.stderr, refusal.stderr.strip().splitlines()[-1])
