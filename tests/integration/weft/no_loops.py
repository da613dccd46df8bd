"""No query that comes with weft is a loop: `tailor iterations` finds none in the times of their samples.

Short pipelines, batches and a host that takes the CPU away at an even pace make bursts of samples, and some of these come at an even
pace by chance. Recordings of a dataflow program, in which there is a loop, are in tests/integration/second_client/iterations.py.
"""
import json
import subprocess
import tempfile

from tailor_env import BIN, check, run, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
QUERIES = [f"tpch-{number}" for number in range(1, 23)] + ["figure-9", "figure-10a", "figure-10b", "sfja"]
chosen = [word for query in QUERIES for word in ("--query", query)]
judged = 0
for threads in (1, 2):
    with tempfile.NamedTemporaryFile(suffix=".tailor") as file:
        run(BIN / "tailor", "record", "-q", "-F", "8000", "-o", file.name, "--",
            BIN / "weft", "--sf", "0.1", "--threads", threads, "--repeat", 2, "--quiet", *chosen)
        executions = json.loads(run(BIN / "tailor", "list", file.name, "--json", "-n", "1000"))["executions"]
        judged += sum(each["samples"] >= 30 for each in executions)
        done = subprocess.run([BIN / "tailor", "iterations", file.name], capture_output=True, text=True)
        check(done.returncode == 3 and "show no loop" in done.stderr,
              f"{threads} threads, {len(executions)} executions: {(done.stdout or done.stderr).strip()[:300]}")
if judged == 0:
    skip("no execution has enough samples to be judged: the host gives too few")
