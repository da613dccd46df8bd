"""/metrics of a live tailord under load: its sums are those of a report, its labels are bounded, and no literal of a query
is anywhere.
"""
import base64
import gzip
import http.client
import importlib.util
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
import urllib.request

from free_port import free_port
from tailor_env import BIN, Daemon, by_chance, check, sampling_denied, skip

CANARY = "canary4711"
FREQUENCY = 1000
LINE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? ([-+0-9.eE]+|NaN)$')


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("tailor")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def get(path, target):
    connection = UnixConnection(path)
    connection.request("GET", target)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def sums(text):
    out = {}
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            out[match[1]] = out.get(match[1], 0) + float(match[3])
    return out


def first_events(path, seconds=3, patience=60):
    """What the live stream tells in its first seconds, and until it has told of an execution."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect(str(path))
        stream.sendall(b"GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        def told():
            return b"event: status" in text and b"event: execution" in text

        text, begin = b"", time.monotonic()
        while (left := begin + (seconds if told() else patience) - time.monotonic()) > 0:
            stream.settimeout(left)
            try:
                got = stream.recv(1 << 16)
            except TimeoutError:
                break
            if not got:
                break
            text += got
    check(told(), "the live stream tells of executions")
    return text.decode(errors="replace")


def exports(daemon):
    """What each format of `tailor export` holds, as text. The strings of Parquet are packed: DuckDB reads them."""
    out = {}
    for form in ("csv", "folded", "otlp", "pprof", "perfetto", "speedscope", "firefox", "parquet"):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "out")
            daemon.tailor("export", "--last", "10", "--format", form, "-o", file)
            if form != "parquet":
                out[f"tailor export --format {form}"] = unpacked(file.read_bytes()).decode(errors="replace")
            elif importlib.util.find_spec("duckdb"):
                import duckdb
                tables = sorted(file.glob("*.parquet"))
                check(tables, f"{len(tables)} tables of Parquet")
                out["tailor export --format parquet"] = "\n".join(str(duckdb.sql(f"select columns(*)::varchar from '{table}'").fetchall()) for table in tables)
    return out


def unpacked(data):
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def bug_report(daemon):
    file = pathlib.Path(daemon.folder.name).parent / f"{os.getpid()}-bugreport.tar.gz"
    try:
        daemon.tailor("bugreport", "-o", file, "--log", pathlib.Path(daemon.folder.name, "log"))
        with tarfile.open(file) as bundle:
            return "\n".join(bundle.extractfile(part).read().decode(errors="replace") for part in bundle.getmembers() if part.isfile())
    finally:
        file.unlink(missing_ok=True)


def outputs_of(daemon, web):
    """Everything that shows queries, by its name."""
    out = {}
    for target in ("executions", "status", "fingerprints", "host?since=0", "history", "tag-cost", "plan-changes", "executions/last/profile",
                   "executions/last/bundle"):
        status, out[target] = get(web, f"/api/v1/{target}")
        check(status == 200, f"{target} over the UNIX socket")
    check(any(row["samples"] for row in json.loads(out["executions"])["executions"]), "executions have samples")
    out["live"] = first_events(web)
    for words in ("list --json", "list", "report --last 10 --json", "report --by hour --json", "report --by day", "status --json"):
        out[f"tailor {words}"] = daemon.tailor(*words.split())
    for table in ("executions", "plans", "components", "cells"):
        out[f"tailor sql: {table}"] = daemon.tailor("sql", "--last", "10", "-q", f"SELECT * FROM {table}")
    out |= exports(daemon)
    out["tailor bugreport"] = bug_report(daemon)
    out["the HTML report"] = html_report(daemon)
    return out


def history_agrees(port, web):
    """Whether the history has the sums of the metrics, and both as text."""
    status, text = get(web, "/api/v1/history?limit=1000")
    check(status == 200, "the history is there")
    history = {}
    for row in json.loads(text)["rows"]:
        if row["unit"] == "ns_on_cpu":
            history[row["what"]] = history.get(row["what"], 0) + row["weight"] * 1e-9
    have = sums(urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30).read().decode())
    metrics = {what: have[f"tailor_{what}_cpu_seconds_total"] for what in ("operator", "component", "unattributed")}
    agrees = all(abs(history.get(what, 0) - metric) <= 1e-6 * have["tailor_cpu_seconds_total"] for what, metric in metrics.items())
    return agrees, f"the history has the sums of the metrics: {history}, {metrics}"


def check_sums(daemon, port, web):
    # A report has everything up to now attributed first; metrics tell what was attributed.
    report = daemon.report("--last", "100000")
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30).read().decode()
    have = sums(text)
    parts = have["tailor_operator_cpu_seconds_total"] + have["tailor_component_cpu_seconds_total"] + \
        have["tailor_unattributed_cpu_seconds_total"]
    check(abs(parts - have["tailor_cpu_seconds_total"]) < 1e-6 * parts, "operators, components and unattributed are the whole")
    # The report is of executions; what was sampled around them is in the metrics too.
    inside = report["operators"]["weight"] * 1e-9
    outside = have["tailor_operator_cpu_seconds_total"]
    samples = outside * FREQUENCY
    check(abs(inside - outside) <= (0.002 + by_chance(0.002, samples)) * outside, f"operators cost {outside:.3f} s, and {inside:.3f} s in the report")
    # The sums of hours and days are of everything, also of what was sampled around executions. What was sampled last comes to one
    # of both first.
    deadline = time.monotonic() + 60
    while not (told := history_agrees(port, web))[0] and time.monotonic() < deadline:
        time.sleep(0.2)
    check(*told)
    series = sum(line.startswith("tailor_operator_cpu_seconds_total{") for line in text.splitlines())
    check(0 < series <= 202, f"{series} series of operators")
    return text


def load(daemon):
    daemon.weft("--sf", "0.1", "--threads", "1", "--repeat", "3", "--quiet", "--tpch", "1", "--tpch", "6")
    # One query to its engine, which runs it by another plan each time.
    for number in ("1", "6"):
        daemon.weft("--sf", "0.1", "--threads", "1", "--quiet", "--tpch", number, "--label", "fingerprint=changing")


def run_canary(daemon):
    daemon.weft("--sf", "0.1", "--threads", "1", "--repeat", "10", "--quiet",
                "-c", f"select count(*) from orders where o_comment like '%{CANARY}%'")


def has_canary(daemon):
    """Of all files of the daemon, its log and journal among them."""
    files = [path for path in pathlib.Path(daemon.folder.name).rglob("*") if path.is_file()]
    return any(CANARY.encode() in path.read_bytes() for path in files)


# These show texts of queries as they are kept. Overviews remove literals whatever was kept.
SHOW_TEXTS = {"executions", "executions/last/bundle", "live", "tailor list --json", "the HTML report"}


def check_that_canaries_are_found(folder):
    """The broken twin: a daemon that keeps literals."""
    web = folder / "twin.sock"
    with Daemon(frequency=1000, options=["--keep-literals", "--http", web]) as daemon:
        run_canary(daemon)
        outputs = outputs_of(daemon, web)
        check(has_canary(daemon), "where literals are kept the search finds the canary")
        found = {name for name, text in outputs.items() if CANARY in text}
        wanted = {name for name in SHOW_TEXTS if outputs[name]}
        check(found >= wanted, f"and in {sorted(found)} (wanted: {sorted(wanted)})")


def check_canary(daemon, outputs):
    check(not has_canary(daemon), "no file of the daemon holds the literal")
    for name, text in outputs.items():
        check(CANARY not in text, f"{name} does not hold the literal")


def html_report(daemon):
    page = pathlib.Path(daemon.folder.name, "report.html")
    made = subprocess.run([str(BIN / "tailor"), "report", "--last", "10", "--html", str(page)], capture_output=True, text=True,
                          env={**os.environ, **daemon.env})
    if made.returncode != 0:
        check("built without the web page" in made.stderr, f"tailor report --html writes a page: {made.stderr}")
        return ""
    text = page.read_text()
    packed = re.search(r'<script type="application/gzip" id="tailor-bundle">([^<]+)<', text)
    check(packed is not None, "the HTML report has its data")
    data = gzip.decompress(base64.b64decode(packed[1])).decode()
    check("/profile" in data, "and they can be read")
    return text + data


def main():
    if reason := sampling_denied():
        skip(reason)
    folder = pathlib.Path(tempfile.mkdtemp())
    check_that_canaries_are_found(folder)
    port, web, journal = free_port(), folder / "http.sock", folder / "journal"
    options = ["--metrics-listen", f"127.0.0.1:{port}", "--http", web, "--journal", journal]
    with Daemon(frequency=FREQUENCY, options=options) as daemon:
        load(daemon)
        run_canary(daemon)
        metrics = check_sums(daemon, port, web)
        check_canary(daemon, {"metrics": metrics, **outputs_of(daemon, web)})
    check(CANARY.encode() not in journal.read_bytes(), "the journal does not hold the literal")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
