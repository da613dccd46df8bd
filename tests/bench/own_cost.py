#!/usr/bin/env python3
"""The profiler's own CPU time, all of it: reading, decoding, attribution and the profile or store.

The same query of weft runs for half a minute under `tailor record`, beside a `tailord` that samples it, and under
`perf record`, whose file `perf script` then reads. Printed: the CPU time of each profiler, what part of a core that is,
and the bytes that it left on disk.
"""
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import engine_runs
import paired
from tailor_env import BIN, Daemon, run

QUIET = {"TAILOR_DISABLE": "1"}


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of(pid):
    """CPU seconds of a running process, to a hundredth."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def under(prefix, weft, env=None):
    """CPU of the profiler and wall time, of weft behind a profiler."""
    before = cpu_of_children()
    target, wall = paired.metered(prefix, weft, env=env)
    return max(cpu_of_children() - before - target, 0.0), wall


def recorder(hz, weft, folder):
    data = os.path.join(folder, "p.tailor")
    own, wall = under([BIN / "tailor", "record", "-F", hz, "-o", data, "--"], weft)
    return {"what": "tailor record", "cpu": own, "wall": wall, "bytes": os.path.getsize(data)}


def daemon(hz, weft):
    with Daemon(frequency=hz) as tailord:
        before = cpu_of(tailord.process.pid)
        wall = paired.metered([], weft, env=tailord.env)[1]
        run(BIN / "tailor", "list", "--limit", "1", env=tailord.env)  # what it has is written before the store is read
        own = cpu_of(tailord.process.pid) - before
        size = sum(file.stat().st_size for file in tailord.store.rglob("*") if file.is_file())
    return {"what": "tailord", "cpu": own, "wall": wall, "bytes": size}


def perf_record(hz, weft, folder):
    data = os.path.join(folder, "perf.data")
    own, wall = under(["perf", "record", "-q", "-e", "cpu-clock", "-F", hz, "--user-regs=r15", "-o", data, "--"], weft, QUIET)
    before = cpu_of_children()
    subprocess.run(["perf", "script", "-i", data], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return [{"what": "perf record", "cpu": own, "wall": wall, "bytes": os.path.getsize(data)},
            {"what": "perf script of the same", "cpu": cpu_of_children() - before, "wall": wall, "bytes": 0}]


def main():
    parser = engine_runs.parser(__doc__, "tpch-1", "1", "2", None)
    parser.add_argument("--seconds", type=float, default=30, help="how long weft runs, about; --repeat says it exactly")
    options = parser.parse_args()
    if not shutil.which("perf"):
        raise SystemExit("perf is not installed (Debian package linux-perf)")
    if options.repeat is None:
        options.repeat = engine_runs.repeats_for(options, options.seconds)
    weft = engine_runs.command(options)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for hz in options.frequencies:
            for row in (recorder(hz, weft, folder), daemon(hz, weft), *perf_record(hz, weft, folder)):
                row["frequency"] = hz
                row["of_a_core"] = row["cpu"] / row["wall"]
                print(f"{hz:6} Hz  {row['what']:24} {row['cpu']:7.3f} s CPU  {100 * row['of_a_core']:6.2f} % of a core  "
                      f"{row['bytes']:11,} bytes  in {row['wall']:.1f} s", flush=True)
                rows.append(row)
    paired.report("own_cost", f"{options.query}, SF {options.sf}, {options.threads} threads, {options.repeat} executions, "
                              f"on {paired.machine()}", {"rows": rows, "options": vars(options)})


if __name__ == "__main__":
    main()
