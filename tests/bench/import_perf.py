#!/usr/bin/env python3
"""What `tailor import` takes for a perf.data of a gigabyte: samples a second, and memory, beside one of an eighth.

The goals are 5 million samples a second, and memory that does not grow with the file. The file is made by hand
(tests/support/perf_file.py): samples of four processes in order, a round after each quarter of a million.
"""
import argparse
import pathlib
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
import perf_file
from report import measured
from tailor_env import BIN

BYTES = 40  # of a sample


def row(folder, samples, runs):
    """Medians of what it takes."""
    data = folder / "perf.data"
    perf_file.write_many(data, samples)
    command = [BIN / "tailor", "import", data, "--no-find", "-o", folder / "out.tailor"]
    cpu, wall, memory = (sorted(column)[runs // 2] for column in zip(*(measured(command) for _ in range(runs))))
    return {"what": f"{samples:,} samples, {data.stat().st_size / 1e6:.0f} MB", "millions_a_second": samples / wall / 1e6,
            "millions_a_cpu_second": samples / cpu / 1e6, "cpu": cpu, "wall": wall, "megabytes": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    samples = options.megabytes * 1_000_000 // BYTES
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = [row(folder, samples // 8, options.runs), row(folder, samples, options.runs)]
    least, most = rows
    paired.report("import_perf", f"{most['what']}: {most['millions_a_second']:.2f} M samples/s, memory {most['megabytes']:.0f} MB, of an eighth of "
                                 f"it {least['megabytes']:.0f} MB (medians of {options.runs}), on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})


if __name__ == "__main__":
    main()
