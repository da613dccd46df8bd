#!/usr/bin/env python3
"""What stacks cost: adaptive ones (BPF decides which samples need one) against one with every sample, and against none.

Interleaved runs of the same weft command: alone; BPF without stacks, with adaptive ones, with one per sample; perf
without stacks and with one per sample. CPU time of weft alone, against the run alone, with 95 % intervals; the recorder's
own CPU time as a share of one core; and how the samples were attributed, so that the ways of tag recovery can be compared
with what they bring. (The paper: 529 % for call stacks with every sample.)
"""
import collections
import json
import os
import pathlib
import resource
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import engine_runs
import paired
from tailor_env import BIN, run

WAYS = {f"{source}, {stacks}": ["--sampler", source, "--stacks", stacks]
        for source, stacks in [("bpf", "none"), ("bpf", "adaptive"), ("bpf", "always"), ("perf", "none"), ("perf", "always")]}


def metered(prefix, weft):
    """CPU seconds of weft, and those of the recorder as a share of the time that passed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    engine, wall = paired.metered(prefix, weft)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return engine, max(0, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - engine) / wall


def main():
    options = engine_runs.parser(__doc__, "tpch-18", "0.1", "1", "40").parse_args()
    weft = engine_runs.command(options)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "out")
        for frequency in options.frequencies:
            pairs, own = ({name: [] for name in WAYS} for _ in range(2))
            found = {name: collections.Counter() for name in WAYS}
            for _ in range(options.pairs):
                alone = paired.metered([], weft, env={"TAILOR_DISABLE": "1"})[0]
                for name, way in WAYS.items():
                    engine, recorder = metered([BIN / "tailor", "record", *way, "-F", frequency, "-o", data, "--"], weft)
                    pairs[name].append((engine, alone))
                    own[name].append(recorder)
                    found[name].update(json.loads(run(BIN / "tailor", "report", data, "--json"))["by"])
            for name in WAYS:
                value, recorder = paired.ratio_interval(pairs[name]), paired.Interval(own[name])
                total = sum(found[name].values())
                by = {how: round(samples / total, 5) for how, samples in found[name].items()}
                print(f"{frequency:6} Hz  {name:14} {value.mean:6.3f}  [{value.low:.3f}, {value.high:.3f}]  own "
                      f"{recorder.mean:.2%} of a core, unattributed {by.get('unattributed', 0):.2%}", flush=True)
                rows.append({"frequency": frequency, "way": name, "ratio": value.mean, "low": value.low,
                             "high": value.high, "pairs": options.pairs, "own_share": recorder.mean, "by": by})
    paired.report("stacks", f"{options.query}, SF {options.sf}, {options.threads} threads, on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})


if __name__ == "__main__":
    main()
