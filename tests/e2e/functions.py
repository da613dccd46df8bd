"""A program that nobody instrumented: functions, libraries, kernel and call graph, at least what perf shows of the same
recording. The program is Python, with DuckDB where that is installed.

The same perf.data is read by perf report and by tailor report: every function has as many samples in both. Then the
program runs under tailor record: call chains lead to it, and the parts that perf found are found again within chance."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from tailor_env import BIN, check, run, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
if subprocess.run(["perf", "--version"], capture_output=True).returncode != 0:
    skip("perf is not installed")

WORK = r"""
import json, sys, zlib
try:
    import duckdb
    con = duckdb.connect()
    con.execute("create table l as select (i*7919)%20000 as k, i%100 as g, i*0.5 as v from range(200000) t(i)")
    query = lambda: con.execute("select g, sum(v) from l where v > 10 group by g order by 2").fetchall()
except ImportError:
    query = lambda: sorted(range(20000), key=lambda i: -i)
text = json.dumps(list(range(20000))).encode()
for i in range(int(sys.argv[1])):
    query()
    zlib.compress(text * 4, 6)
    json.loads(text)
"""


def perf_rows(data, strip=None):
    """(object, function) -> samples, as perf report has them."""
    out = run("perf", "report", "-i", data, "--no-children", "-g", "none", "--sort", "dso,sym", "-n", "--stdio", "-q", "-t", "|",
              "--percent-limit", "0")
    rows = {}
    for line in out.splitlines():
        parts = [part.strip() for part in line.split("|", 3)]
        if len(parts) != 4 or not parts[0].endswith("%"):
            continue
        name = re.sub(r"^\[.\] ", "", parts[3])
        rows[(parts[2], name)] = rows.get((parts[2], name), 0) + int(parts[1])
    return rows


def tailor_rows(profile, *options):
    report = json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json", *options))
    rows = {}
    for row in report["functions"]:
        rows[(row["object"], row["name"])] = rows.get((row["object"], row["name"]), 0) + row["samples"]
    return report, rows


def named(rows):
    """The samples that have a function's name, by function alone: modules and the kernel are called differently."""
    out = {}
    for (_, name), samples in rows.items():
        if name.startswith("0x") or name.startswith("[unknown]"):
            continue
        out[name] = out.get(name, 0) + samples
    return out


def common(ours, theirs):
    return sum(min(ours.get(name, 0), samples) for name, samples in theirs.items())


def compare_with_perf(folder, script):
    data = folder / "perf.data"
    run("perf", "record", "-q", "-F", "997", "-e", "cpu-clock", "-g", "-o", data, "--", sys.executable, script, "8", timeout=200)
    theirs = named(perf_rows(data))
    report, rows = tailor_rows(data)
    ours = named(rows)
    total = report["samples"]
    check(sum(rows.values()) == total, f"functions add up to all {total} samples")
    perf_total = sum(theirs.values())
    check(common(ours, theirs) >= 0.97 * perf_total,
          f"of perf's {perf_total} samples with a name {common(ours, theirs):.0f} have the same one here")
    check(sum(ours.values()) >= 0.99 * perf_total, f"no fewer have a name: {sum(ours.values()):.0f}")
    largest = [name for name, samples in sorted(theirs.items(), key=lambda item: -item[1])[:10]]
    missing = [name for name in largest if abs(ours.get(name, 0) - theirs[name]) > 0.02 * theirs[name]]
    check(len(missing) <= 1, f"the ten largest functions have the same samples (others: {missing})")
    check(any(row["kind"] == "kernel" and row["named"] for row in report["functions"]), "the kernel's functions have names")
    check(report["with_call_chain"] > 0.3 and len(report["calls"]) > 5, "and there is a call graph")
    # The broken twin: names of another function would be noticed.
    names = list(theirs)
    wrong = {names[i]: ours.get(names[(i + 1) % len(names)], 0) for i in range(len(names))}
    check(common(wrong, theirs) < 0.97 * perf_total, "names moved by one function are noticed")
    return theirs, perf_total


def compare_compressed(folder, script):
    plain, packed = folder / "pipe.data", folder / "packed.data"
    command = f"perf record -q -F 997 -e cpu-clock -g -o - -- {sys.executable} {script} 2 > {plain}"
    run("sh", "-c", command, timeout=200)
    piped = sum(perf_rows(plain).values())
    check(piped > 0 and tailor_rows(plain)[0]["samples"] == piped, f"a recording in pipe mode is read: {piped} samples in both")
    done = subprocess.run(["perf", "record", "-q", "-z", "-F", "997", "-e", "cpu-clock", "-g", "-o", str(packed), "--", sys.executable,
                           str(script), "2"], capture_output=True, text=True, timeout=200)
    if done.returncode != 0:
        print(f"not tried: perf record -z: {done.stderr.strip()[-200:]}")
        return
    theirs = sum(perf_rows(packed).values())
    check(tailor_rows(packed)[0]["samples"] == theirs, f"a compressed one too: {theirs} samples in both")
    profile = folder / "imported.tailor"
    run(BIN / "tailor", "import", packed, "-o", profile)
    check(tailor_rows(profile)[1] == tailor_rows(packed)[1], "imported it says the same")


def record(folder, script, theirs, perf_total):
    profile = folder / "own.tailor"
    run(BIN / "tailor", "record", "--callchain", "-F", "997", "-o", profile, "--", sys.executable, script, "8", timeout=200)
    report, rows = tailor_rows(profile)
    ours = named(rows)
    total = report["samples"]
    for name, samples in sorted(theirs.items(), key=lambda item: -item[1])[:5]:
        share, expected = ours.get(name, 0) / total, samples / perf_total
        # Two runs, each with its own chance; 5 standard errors, and what runs differ by themselves.
        room = 5 * (expected * (1 - expected) * (1 / total + 1 / perf_total)) ** 0.5 + 0.03 + 0.5 * expected
        check(abs(share - expected) <= room, f"{name}: {share:.3f} of the time here, {expected:.3f} under perf")
    text = run(BIN / "tailor", "report", profile)
    check("call graph" in text and "library" in text, "the report of such a process lists functions by itself")
    check(report["with_call_chain"] > 0.3, "samples have callers")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        script = folder / "work.py"
        script.write_text(WORK)
        theirs, total = compare_with_perf(folder, script)
        compare_compressed(folder, script)
        record(folder, script, theirs, total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
