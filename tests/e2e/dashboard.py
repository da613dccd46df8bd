"""Debian's Prometheus scrapes a live tailord: every query of the dashboard, of its panels and its annotations, gives data, and so does
a rule. A week before it there are counters, too.
"""
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from free_port import free_port
from metrics import FREQUENCY, load
from tailor_env import ROOT, Daemon, check, sampling_denied, skip

WEEK = 7 * 86400
PATIENCE = 180  # seconds


def query(port, expression):
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    return json.load(urllib.request.urlopen(url, timeout=30))["data"]["result"]


def backfill(metrics_port, folder):
    """The counters of operators as a Prometheus that ran a week ago would have them, for some minutes from a minute before now."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=30).read().decode()
    name = "tailor_operator_cpu_seconds_total"
    series = [line.rpartition(" ")[0] for line in text.splitlines() if line.startswith(name + "{")]
    check(bool(series), f"{len(series)} series of operators to write for the week before")
    start = int(time.time()) - WEEK - 60
    lines = [f"# TYPE {name.removesuffix('_total')} counter"]
    for each in series:
        labels = each[:-1] + f',instance="127.0.0.1:{metrics_port}",job="tailor"}}'
        lines += [f"{labels} {step * 0.5} {start + step * 2}" for step in range(240)]
    exposition = pathlib.Path(folder, "week_ago.txt")
    exposition.write_text("\n".join([*lines, "# EOF", ""]))
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", exposition, f"{folder}/data"], check=True,
                   stdout=subprocess.DEVNULL)


def queries():
    """{name: query} of the dashboard's panels and annotations, and of a rule, with windows that some scrapes fill."""
    dashboard = json.loads((ROOT / "deploy/grafana/tailor.json").read_text())
    found = {}
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$__rate_interval", "20s").replace("$instance", ".*")
            found[f"{panel['title']}: {expression}"] = expression.replace("$fingerprint", ".*").replace("[5m]", "[20s]")
    for annotation in dashboard["annotations"]["list"]:
        found[f"annotation {annotation['name']}"] = annotation["expr"].replace("$instance", ".*")
    return {**found, "rule": "tailor:query_cpu:rate5m"}


def configure(folder, metrics_port):
    """The files of deploy/, with a second between scrapes."""
    rules = (ROOT / "deploy/prometheus/tailor.rules.yml").read_text()
    pathlib.Path(folder, "tailor.rules.yml").write_text(rules.replace("interval: 15s", "interval: 1s"))
    text = (ROOT / "deploy/prometheus/tailor.yml").read_text()
    pathlib.Path(folder, "tailor.yml").write_text(text.replace("127.0.0.1:19187", f"127.0.0.1:{metrics_port}").replace("15s", "1s"))


def check_queries(port, daemon):
    wanted = queries()
    deadline = time.monotonic() + PATIENCE
    while wanted and time.monotonic() < deadline:
        load(daemon)
        for name, expression in list(wanted.items()):
            try:
                if query(port, expression):
                    del wanted[name]
            except OSError:  # Prometheus is not ready yet
                break
    check(not wanted, f"every panel has data (without: {sorted(wanted)})")
    check(not query(port, "sum(rate(tailor_no_such_metric_total[20s]))"), "one of a metric that is not there has none")


def main():
    if reason := sampling_denied():
        skip(reason)
    if not (shutil.which("prometheus") and shutil.which("promtool")):
        skip("Prometheus (Debian's package prometheus) is not installed")
    metrics_port, port = free_port(), free_port()
    options = ["--metrics-listen", f"127.0.0.1:{metrics_port}", "--event", "auto,off-cpu"]
    with Daemon(frequency=FREQUENCY, options=options) as daemon, tempfile.TemporaryDirectory() as folder:
        load(daemon)
        daemon.report("--last", "1")  # metrics tell what was attributed, and a report has everything up to now attributed first
        configure(folder, metrics_port)
        backfill(metrics_port, folder)
        prometheus = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/tailor.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            check_queries(port, daemon)
        finally:
            prometheus.terminate()
            prometheus.wait(timeout=60)


if __name__ == "__main__":
    main()
