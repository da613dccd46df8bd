#!/usr/bin/env python3
"""What stacks cost the engine: adaptive ones (BPF decides which samples need one) against one with every sample.

Interleaved runs of the same weft command: alone; BPF without stacks, with adaptive ones, with one per sample; perf
with one per sample. CPU time of weft alone, against the run alone, with 95 % intervals; and how the samples of one
recording each were attributed, so that the two ways of tag recovery can be compared with what they bring. (The paper:
529 % for call stacks with every sample.)
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from tailor_env import BIN, run

WAYS = {"bpf, no stacks": ["--source", "bpf"], "bpf, adaptive": ["--source", "bpf", "--stacks", "adaptive"],
        "bpf, always": ["--source", "bpf", "--stacks", "always"],
        "perf, always": ["--source", "perf", "--stacks", "always"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--query", default="tpch-18")
    parser.add_argument("--sf", default="0.1")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--repeat", default="40")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--frequencies", type=int, nargs="+", default=(1000, 10000))
    options = parser.parse_args()
    weft = [BIN / "weft", "--sf", options.sf, "--threads", options.threads, "--repeat", options.repeat, "--opt", "2", "--quiet",
            "--query", options.query]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "out")
        for frequency in options.frequencies:
            record = {name: [BIN / "tailor", "record", *way, "-F", frequency, "-o", data, "--"] for name, way in WAYS.items()}
            pairs = {name: [] for name in WAYS}
            for _ in range(options.pairs):
                alone = paired.metered([], weft, env={"TAILOR_DISABLE": "1"})[0]
                for name, prefix in record.items():
                    pairs[name].append((paired.metered(prefix, weft)[0], alone))
            for name in WAYS:
                value = paired.ratio_interval(pairs[name])
                run(*record[name], *weft)
                report = json.loads(run(BIN / "tailor", "report", data, "--json"))
                found = report["by"]
                print(f"{frequency:6} Hz  {name:16} {value.mean:6.3f}  [{value.low:.3f}, {value.high:.3f}]  {found}", flush=True)
                rows.append({"frequency": frequency, "way": name, "ratio": value.mean, "low": value.low,
                             "high": value.high, "pairs": options.pairs, "evidence": found})
    paired.report("stacks", f"{options.query}, SF {options.sf}, {options.threads} threads, on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})


if __name__ == "__main__":
    main()
