#!/usr/bin/env python3
"""What sampling costs the engine, beside `perf record -e cpu-clock --user-regs=r15` on the same query.

Interleaved runs of the same weft command: alone, under `tailor record`, under `perf record`. The CPU time is
that of weft alone. Printed: the overhead of each against the run alone, and the ratio of the two profilers,
with 95 % intervals over the pairs.
"""
import os
import pathlib
import shutil
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import engine_runs
import paired
from tailor_env import BIN


def main():
    options = engine_runs.parser(__doc__, "tpch-1", "1", "2", "12").parse_args()
    perf = shutil.which("perf")
    if not perf:
        raise SystemExit("perf is not installed (Debian package linux-perf)")
    weft = engine_runs.command(options)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "out")
        quiet = {"TAILOR_DISABLE": "1"}
        for frequency in options.frequencies:
            ours = [BIN / "tailor", "record", "-F", frequency, "-o", data, "--"]
            theirs = [perf, "record", "-q", "-e", "cpu-clock", "-F", frequency, "--user-regs=r15", "-o", data, "--"]
            alone = lambda: paired.metered([], weft, env=quiet)[0]
            tailor = lambda: paired.metered(ours, weft)[0]
            perf_record = lambda: paired.metered(theirs, weft, env=quiet)[0]
            triples = []
            for _ in range(options.pairs):
                triples.append((alone(), tailor(), perf_record()))
            rows = {"tailor record": paired.ratio_interval([(t, a) for a, t, _ in triples]),
                    "perf record": paired.ratio_interval([(p, a) for a, _, p in triples]),
                    "tailor / perf": paired.ratio_interval([(t, p) for _, t, p in triples])}
            for name, value in rows.items():
                print(f"{frequency:6} Hz  {name:14} {value.mean:6.3f}  [{value.low:.3f}, {value.high:.3f}]", flush=True)
                results.append({"frequency": frequency, "what": name, "ratio": value.mean, "low": value.low,
                                "high": value.high, "pairs": options.pairs})
    paired.report("overhead", f"{options.query}, SF {options.sf}, {options.threads} threads, on {paired.machine()}",
                  {"rows": results, "options": vars(options)})


if __name__ == "__main__":
    main()
