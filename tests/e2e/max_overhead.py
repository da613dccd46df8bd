"""Sampling bounded in what it costs: the period follows from what a sample costs here, is drawn anew while the
command runs, and the samples still add up to its CPU time."""
import json
import pathlib
import re
import subprocess
import tempfile

from tailor_env import BIN, BUILD, check, check_live, run, sampling_denied, skip, undisturbed

if reason := sampling_denied():
    skip(reason)

def attempt():
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "p.tailor"
        # Through a shell: the thread that works is not that of the process which was attached.
        done = subprocess.run([BIN / "tailor", "record", "--max-overhead", "1%", "-F", "20000", "-o", profile, "--", "sh", "-c",
                               f"{BUILD}/targets/busy_threads 3 3000; true"], capture_output=True, text=True, timeout=200)
        check(done.returncode == 0, f"the recording ended well {done.stderr[-1000:] if done.returncode else ''}")
        report = json.loads(run(BIN / "tailor", "report", "--json", profile))
    words = re.search(r"a sample costs ([0-9.]+) us here, one every ([0-9]+) ns: ([0-9.]+) %", done.stderr)
    check(words, "the profile says what a sample costs")
    cost, period, share = float(words[1]) * 1000, int(words[2]), float(words[3])
    check(share <= 1.0, f"a sample of {cost:.0f} ns every {period} ns costs {share} % (at most 1 %)")
    # The cost is told in tenths of a microsecond.
    check(period <= 50_000 or period >= 0.98 * (cost - 50) / 0.01, "it is not taken more often than its cost allows")
    check("itself used" in done.stderr, "the recorder's own CPU time is reported")
    used = sum(int(line.split()[1]) for line in done.stdout.splitlines())
    check_live(0.93 * used < report["weight"] < 1.07 * used,
               f"samples stand for {report['weight'] / 1e9:.2f} s, the command used {used / 1e9:.2f} s of CPU time")


undisturbed(attempt)
