"""/metrics of a live tailord under load: its sums are those of a report, its labels are bounded, and no literal of a query
is anywhere. With --prometheus Debian's Prometheus scrapes it, and every query of the dashboard and every rule gives data.
"""
import argparse
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from tailor_env import BIN, ROOT, Daemon, check, sampling_denied, skip

CANARY = "canary4711"
LINE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? ([-+0-9.eE]+|NaN)$')


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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


def check_sums(daemon, port):
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
    check(abs(inside - outside) <= 0.002 * outside, f"operators cost {outside:.3f} s, and {inside:.3f} s in the report")
    series = sum(line.startswith("tailor_operator_cpu_seconds_total{") for line in text.splitlines())
    check(0 < series <= 202, f"{series} series of operators")
    return text


def run_canary(daemon):
    daemon.weft("--sf", "0.1", "--threads", "1", "--repeat", "10", "--quiet",
                "-c", f"select count(*) from orders where o_comment like '%{CANARY}%'")


def has_canary(daemon):
    """Of all files of the daemon, its log and journal among them."""
    files = [path for path in pathlib.Path(daemon.folder.name).rglob("*") if path.is_file()]
    return any(CANARY.encode() in path.read_bytes() for path in files)


def check_that_canaries_are_found():
    """The broken twin: a daemon that keeps literals."""
    with Daemon(frequency=1000, options=["--keep-literals"]) as daemon:
        run_canary(daemon)
        daemon.report("--last", "10")
        check(has_canary(daemon), "where literals are kept the search finds the canary")


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
    return page.read_text()


def query(port, expression):
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    return json.load(urllib.request.urlopen(url, timeout=30))["data"]["result"]


def check_prometheus(daemon, metrics_port, load):
    if shutil.which("prometheus") is None:
        skip("Prometheus (Debian's package prometheus) is not installed")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / "deploy/prometheus/tailor.rules.yml", folder)
        text = (ROOT / "deploy/prometheus/tailor.yml").read_text()
        text = text.replace("127.0.0.1:9187", f"127.0.0.1:{metrics_port}").replace("15s", "1s")
        rules = pathlib.Path(folder, "tailor.rules.yml")
        rules.write_text(rules.read_text().replace("interval: 15s", "interval: 1s"))
        pathlib.Path(folder, "tailor.yml").write_text(text)
        port = free_port()
        prometheus = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/tailor.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            dashboard = json.loads((ROOT / "deploy/grafana/tailor.json").read_text())
            wanted = {}
            for panel in dashboard["panels"]:
                for target in panel.get("targets", []):
                    expression = target["expr"].replace("$__rate_interval", "20s").replace("$instance", ".*")
                    # There was no week before, and what is not recorded has no series.
                    if "offset 1w" in expression or "off_cpu" in expression:
                        continue
                    wanted[f"{panel['title']}: {expression}"] = expression.replace("$fingerprint", ".*").replace("[5m]", "[20s]")
            wanted["rule"] = "tailor:query_cpu:rate5m"
            deadline = time.monotonic() + 180
            while wanted and time.monotonic() < deadline:
                load()
                for name, expression in list(wanted.items()):
                    try:
                        if query(port, expression):
                            del wanted[name]
                    except OSError:
                        break
            check(not wanted, f"every panel has data (without: {sorted(wanted)})")
        finally:
            prometheus.terminate()
            prometheus.wait(timeout=60)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prometheus", action="store_true")
    arguments = parser.parse_args()
    if reason := sampling_denied():
        skip(reason)
    check_that_canaries_are_found()
    port = free_port()
    web = pathlib.Path(tempfile.mkdtemp()) / "http.sock"
    journal = web.parent / "journal"
    options = ["--metrics-listen", f"127.0.0.1:{port}", "--http", web, "--journal", journal]
    with Daemon(frequency=1000, options=options) as daemon:
        def load():
            daemon.weft("--sf", "0.1", "--threads", "1", "--repeat", "3", "--quiet", "--tpch", "1", "--tpch", "6")
        load()
        run_canary(daemon)
        text = check_sums(daemon, port)
        outputs = {"metrics": text}
        for target in ("/api/v1/executions", "/api/v1/status", "/api/v1/fingerprints", "/api/v1/executions/last/profile"):
            status, outputs[target] = get(web, target)
            check(status == 200, f"{target} over the UNIX socket")
        outputs["tailor list"] = daemon.tailor("list", "--json")
        outputs["tailor report"] = daemon.tailor("report", "--last", "10", "--json")
        outputs["tailor status"] = daemon.tailor("status", "--json")
        outputs["the HTML report"] = html_report(daemon)
        check(any(row["samples"] for row in json.loads(outputs["/api/v1/executions"])["executions"]), "executions have samples")
        check_canary(daemon, outputs)
        if arguments.prometheus:
            check_prometheus(daemon, port, load)
    check(CANARY.encode() not in journal.read_bytes(), "the journal does not hold the literal")
    shutil.rmtree(web.parent)


if __name__ == "__main__":
    main()
