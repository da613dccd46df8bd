#!/usr/bin/env python3
"""Bytes a sample of a whole profile: samples, marks, executions and dictionaries, of a query of weft for a minute.

Goals: at most 10 bytes a sample, and 1 % of a core for the recorder, at 1 kHz with two threads. With --marks all, what the
marks would take.
"""
import json
import os
import pathlib
import struct
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import engine_runs
import paired
from tailor_env import BIN, run

# docs/profile-format.md
KINDS = {1: "META", 2: "PLAN", 3: "CODE", 4: "SAMPLES", 5: "ACTIVITY", 6: "END", 7: "SUMMARY", 8: "SUMS"}
FILE_HEADER, BLOCK_HEADER = 32, 32


def bytes_by_kind(path):
    """What the blocks of a profile take, by their kind, headers included."""
    data = pathlib.Path(path).read_bytes()
    sizes, at = {"file header": FILE_HEADER}, FILE_HEADER
    while at < len(data):
        kind, stored = struct.unpack_from("<4xB3xI", data, at)
        name = KINDS.get(kind, f"kind {kind}")
        sizes[name] = sizes.get(name, 0) + BLOCK_HEADER + stored
        at += BLOCK_HEADER + stored
    return sizes


def main():
    parser = engine_runs.parser(__doc__, "tpch-1", "1", "2", None)
    parser.add_argument("--seconds", type=float, default=60, help="how long weft runs, about; --repeat says it exactly")
    parser.add_argument("--marks", default="spans", choices=("spans", "all"))
    options = parser.parse_args()
    if options.repeat is None:
        options.repeat = engine_runs.repeats_for(options, options.seconds)
    hz = options.frequencies[0]
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "p.tailor")
        wall = paired.metered([BIN / "tailor", "record", "-F", hz, "--marks", options.marks, "-o", data, "--"],
                              engine_runs.command(options))[1]
        report = json.loads(run(BIN / "tailor", "report", data, "--json"))
        sizes = bytes_by_kind(data)
    samples, marks = report["samples"], report["accounting"]["log_records"]
    total = sum(sizes.values())
    own = report["recording"]["own_cpu_ns"] / 1e9
    for kind, size in sorted(sizes.items(), key=lambda each: -each[1]):
        print(f"{kind:12} {size:11,} bytes  {size / samples:7.3f} a sample")
    print(f"{samples:,} samples, {marks / wall:,.0f} marks a second, {report['accounting']['log_records_lost']} of them lost")
    paired.report("profile_size" if options.marks == "spans" else "profile_size_all",
                  f"{total / samples:.2f} bytes a sample, {total:,} in all; the recorder used {own:.3f} s in {wall:.1f} s, "
                  f"{100 * own / wall:.2f} % of a core; {options.query}, SF {options.sf}, {hz} Hz, on {paired.machine()}",
                  {"bytes_a_sample": total / samples, "sizes": sizes, "samples": samples, "own_cpu": own, "wall": wall,
                   "of_a_core": own / wall, "marks_a_second": marks / wall, "options": vars(options)})


if __name__ == "__main__":
    main()
