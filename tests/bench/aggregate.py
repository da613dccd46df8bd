#!/usr/bin/env python3
"""What adding samples up in the kernel saves, against a record per sample.

Interleaved runs of the same engine: alone, under `tailor record --sampler bpf`, and the same with --aggregate. CPU time of
the engine against the run alone, with 95 % intervals; the recorder's own CPU time, against the engine's; the profile's bytes and records;
and the share of the operators in both, which must be the same.

    aggregate.py [...] [-- COMMAND ...]      another engine than weft: build/targets/known_shares 1 60 20
"""
import json
import os
import pathlib
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import engine_runs
import paired
from tailor_env import BIN, run

WAYS = {"a record each": [], "sums of 1 s": ["--aggregate", "1"], "sums of 5 s": ["--aggregate", "5"]}


def main():
    parser = engine_runs.parser(__doc__, "tpch-18", "0.1", "1", "300")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    weft = engine_runs.command(options)
    engine = options.command or weft
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "out")
        for frequency in options.frequencies:
            kept = {name: {"pairs": [], "own": [], "bytes": [], "records": [], "operators": []} for name in WAYS}
            for _ in range(options.pairs):
                alone = paired.metered([], engine, env={"TAILOR_DISABLE": "1"})[0]
                for name, way in WAYS.items():
                    used = paired.metered([BIN / "tailor", "record", "--sampler", "bpf", *way, "-F", frequency, "-o", data,
                                           "--"], engine)[0]
                    report = json.loads(run(BIN / "tailor", "report", data, "--json"))
                    own = report["recording"]["own_cpu_ns"] / report["weight"]
                    for key, value in (("pairs", (used, alone)), ("own", own), ("bytes", os.path.getsize(data)),
                                       ("records", report["samples"]), ("operators", report["operators"]["share"])):
                        kept[name][key].append(value)
            for name, values in kept.items():
                ratio = paired.ratio_interval(values["pairs"])
                mean = {key: sum(values[key]) / len(values[key]) for key in ("own", "bytes", "records", "operators")}
                print(f"{frequency:6} Hz  {name:14} {ratio.mean:6.3f}  [{ratio.low:.3f}, {ratio.high:.3f}]  own {mean['own']:.2%} of "
                      f"that, {mean['records']:.0f} records, {mean['bytes']:.0f} bytes, operators {mean['operators']:.1%}", flush=True)
                rows.append({"frequency": frequency, "way": name, "ratio": ratio.mean, "low": ratio.low, "high": ratio.high,
                             "pairs": options.pairs, **mean})
    paired.report("aggregate", f"{' '.join(map(str, engine))} on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})


if __name__ == "__main__":
    main()
