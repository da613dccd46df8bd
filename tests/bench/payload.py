#!/usr/bin/env python3
"""What a sample costs by what it carries, as in Figure 13 of the Tailored Profiling paper.

Interleaved runs of the same work, alone and sampled by capture alone, for each payload (the IP; with the time;
with one register; with a copy of the stack) and rate. Printed: CPU time of the target against that of the run
alone, with 95 % intervals, and the bytes that were read.
"""
import argparse
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import paired

TARGETS = paired.BUILD / "targets"
PAYLOADS = ("ip", "time", "register", "stack")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--millions", default="150", help="rounds of work of each of the two threads")
    parser.add_argument("--frequencies", type=int, nargs="+", default=(1000, 5000, 10000, 25000))
    parser.add_argument("--payloads", nargs="+", default=PAYLOADS, choices=PAYLOADS)
    options = parser.parse_args()
    command = [TARGETS / "fixed_work", "2", options.millions]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "out")
        for hz in options.frequencies:
            for payload in options.payloads:
                pairs, bytes_read = [], 0
                sampled = [TARGETS / "record_command", hz, data, "--payload", payload]
                for _ in range(options.pairs):
                    alone = paired.metered([], command)[0]
                    pairs.append((paired.metered(sampled, command)[0], alone))
                    bytes_read = os.path.getsize(data)
                value = paired.ratio_interval(pairs)
                print(f"{hz:6} Hz  {payload:8} {value.mean:6.3f}  [{value.low:.3f}, {value.high:.3f}]  {bytes_read} bytes",
                      flush=True)
                rows.append({"frequency": hz, "payload": payload, "ratio": value.mean, "low": value.low,
                             "high": value.high, "bytes": bytes_read})
    paired.report("payload", f"{' '.join(map(str, command))}, {options.pairs} pairs each, on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})


if __name__ == "__main__":
    main()
