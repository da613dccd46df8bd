"""Debian's Prometheus scrapes a live tailord: every query of the dashboard, of its panels and its annotations, gives data, and so does
a rule. A week before it there are counters, too.
"""
import json
import tempfile
import time
import urllib.request

import prometheus
from free_port import free_port
from metrics import FREQUENCY, load
from prometheus import Prometheus
from tailor_env import ROOT, Daemon, check, sampling_denied, skip

WEEK = 7 * 86400
PATIENCE = 180  # seconds


def of_a_week_ago(metrics_port):
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
    return lines


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


def check_queries(server, daemon):
    wanted = queries()
    deadline = time.monotonic() + PATIENCE
    while wanted and time.monotonic() < deadline:
        load(daemon)
        for name, expression in list(wanted.items()):
            try:
                if server.query(expression):
                    del wanted[name]
            except OSError:  # it is not ready yet
                break
    check(not wanted, f"every panel has data (without: {sorted(wanted)})")
    check(not server.query("sum(rate(tailor_no_such_metric_total[20s]))"), "one of a metric that is not there has none")


def main():
    if reason := sampling_denied():
        skip(reason)
    if prometheus.missing():
        skip("Prometheus (Debian's package prometheus) is not installed")
    port = free_port()
    options = ["--metrics-listen", f"127.0.0.1:{port}", "--event", "auto,off-cpu"]
    with Daemon(frequency=FREQUENCY, options=options) as daemon, tempfile.TemporaryDirectory() as folder:
        load(daemon)
        daemon.report("--last", "1")  # metrics tell what was attributed, and a report has everything up to now attributed first
        server = Prometheus(folder, ROOT / "deploy/prometheus", port)
        server.backfill(of_a_week_ago(port))
        with server:
            check_queries(server, daemon)


if __name__ == "__main__":
    main()
