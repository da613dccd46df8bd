#!/usr/bin/env python3
"""Bare capture beside `perf record`: same event, rate and fields, both writing what they read to a file.

That is not all of Tailor: nothing is decoded, attributed or kept as a profile here. own_cost.py measures the whole.
Printed per rate: the CPU time of the target under each against the target alone, the ratio of the two, with
95 % intervals over interleaved runs, and the CPU time of the profilers themselves.
"""
import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import paired

TARGETS = paired.BUILD / "targets"


def with_profiler_cpu(prefix, command):
    """CPU of the target, CPU of everything that ran around it, and wall time of the target."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    target, wall = paired.metered(prefix, command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return target, max(total - target, 0.0), wall


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--millions", default="150", help="rounds of work of each of the two threads")
    parser.add_argument("--frequencies", type=int, nargs="+", default=(1000, 5000, 10000, 25000))
    options = parser.parse_args()
    perf = shutil.which("perf")
    if not perf:
        raise SystemExit("perf is not installed (Debian package linux-perf)")
    command = [TARGETS / "fixed_work", "2", options.millions]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "out")
        for hz in options.frequencies:
            ours = [TARGETS / "record_command", hz, data]
            theirs = [perf, "record", "-q", "-e", "cpu-clock", "-c", 10**9 // hz, "--user-regs=ip,r13,r15", "-o", data, "--"]
            runs = [(paired.metered([], command)[0], with_profiler_cpu(ours, command), with_profiler_cpu(theirs, command))
                    for _ in range(options.pairs)]
            results = {"bare capture": paired.ratio_interval([(o[0], a) for a, o, _ in runs]),
                       "perf record": paired.ratio_interval([(p[0], a) for a, _, p in runs]),
                       "bare capture / perf record": paired.ratio_interval([(o[0], p[0]) for _, o, p in runs])}
            own = paired.Interval([o[1] for _, o, _ in runs]), paired.Interval([p[1] for _, _, p in runs])
            # Of what is allowed: half of perf record's and 1 % of a core.
            spare = paired.Interval([0.5 * p[1] + 0.01 * o[2] - o[1] for _, o, p in runs])
            for name, value in results.items():
                print(f"{hz:6} Hz  {name:26} {value.mean:6.3f}  [{value.low:.3f}, {value.high:.3f}]", flush=True)
                rows.append({"frequency": hz, "what": name, "ratio": value.mean, "low": value.low, "high": value.high})
            print(f"{hz:6} Hz  own CPU: bare capture      {own[0].mean:.4f} s, perf record {own[1].mean:.4f} s; "
                  f"below half of perf record's + 1 % of a core by {spare.mean:.4f} s "
                  f"[{spare.low:.4f}, {spare.high:.4f}]", flush=True)
            rows.append({"frequency": hz, "what": "own CPU seconds", "capture": own[0].mean, "perf": own[1].mean,
                         "spare": spare.mean, "spare_low": spare.low, "spare_high": spare.high})
        # Two of two hundred threads run: how many samples are lost.
        many = subprocess.run([str(w) for w in (TARGETS / "record_command", 1000, data, TARGETS / "fixed_work", 2, 3000, 198)],
                              capture_output=True, text=True, check=True).stderr.strip()
        print(f"200 threads, two running, 1 kHz: {many}", flush=True)
        rows.append({"what": "200 threads, two running, 1 kHz", "said": many})
    paired.report("capture", f"{' '.join(map(str, command))}, {options.pairs} runs each, on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})


if __name__ == "__main__":
    main()
