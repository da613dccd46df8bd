"""The steps of docs/operate.md from the packages to a dashboard, with the files that are installed: what the page says is what is done
here. packages.py calls it with a root in which the packages are.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

import prometheus
from free_port import free_port
from host_allows import bpf_denied
from installed_root import LIBRARY
from prometheus import Prometheus
from tailor_env import BIN, ROOT, check, operators, run

LINE = 'metrics-listen = "127.0.0.1:19187"'
PATIENCE = 180  # seconds; of a busy machine
SERVER = pathlib.Path("/usr/lib/postgresql/15")
STATEMENT = "select count(*) from generate_series(1, 2000000) as slow"
HOUR, MINUTE = 3600, 60
USUAL, UNUSUAL = 0.001, 50  # CPUs: far below what an operator takes here, and far above


class Installed:
    """tailord of the root, with its configuration and with the line that the page says. Use as a context manager."""

    def __init__(self, root, settings, folder):
        page = (ROOT / "docs/operate.md").read_text()
        check(LINE in page and f"# {LINE}\n" in settings.read_text(), "the page names a line that the configuration has, commented out")
        self.root, self.folder, self.port = root, folder, free_port()
        own = folder / "own.toml"
        own.write_text(settings.read_text().replace(f"# {LINE}", LINE.replace("19187", str(self.port))))
        names = {"--socket": "agent.sock", "--control": "control.sock", "--store": "store"}
        self.command = [root.path / "usr/bin/tailord", "--config", own, *(str(word) for key, name in names.items() for word in (key, folder / name))]
        self.env = {**os.environ, "LD_LIBRARY_PATH": str(root.path / LIBRARY), "TAILOR_SOCKET": str(folder / "agent.sock"),
                    "TAILOR_CONTROL": str(folder / "control.sock"), "TAILOR_STORE": str(folder / "store")}
        self.daemon = None

    def __enter__(self):
        self.daemon = subprocess.Popen(self.command, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while self.tailor("status").returncode != 0:
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                check(False, "tailord runs")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.wait()

    def tailor(self, *words):
        return subprocess.run([self.root.path / "usr/bin/tailor", *words], env=self.env, capture_output=True, text=True)

    def run_engine(self, times=60):
        engine = [BIN / "weft", "--sf", "0.05", "--threads", "1", "--repeat", str(times), "--quiet", "--query", "tpch-1"]
        subprocess.run(engine, env={**self.env, "LD_LIBRARY_PATH": ""}, check=True, stdout=subprocess.DEVNULL)

    def kinds(self):
        """Of kinds_of(), now: metrics tell what was attributed, and a report has everything up to now attributed first."""
        self.tailor("report", "--last", "1")
        return kinds_of(self.metrics())

    def metrics(self):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60).read().decode()


def see_an_engine(daemon, denied):
    daemon.run_engine()
    said = daemon.tailor("report", "--json")
    names = [row["name"] for row in operators(json.loads(said.stdout))] if said.returncode == 0 else []
    check(names or denied, f"an engine's operators: {names or said.stderr}")
    metrics = daemon.metrics()
    check("tailor_build_info" in metrics and (denied or "tailor_operator_cpu_seconds_total{" in metrics), "and their metrics")


def server_with_extension(daemon):
    """A server of this host's PostgreSQL 15, which loads the extension of the package."""
    os.environ.update(TAILOR_PG_BIN=str(SERVER / "bin"), TAILOR_PG_LIB=str(daemon.root.path / "usr/lib/postgresql/15/lib"))
    # Its user may neither enter the test's folder nor connect otherwise; the unit's socket is open to all.
    daemon.folder.chmod(0o755)
    (daemon.folder / "agent.sock").chmod(0o777)
    sys.path.append(str(ROOT / "tests/postgres"))
    import pg_server
    return pg_server.Server(agent=daemon.folder / "agent.sock", preload="tailor_pg", functions="")


def see_postgresql(daemon):
    """The nodes of a statement, with their CPU time, as the page says it of a server with the extension."""
    reason = bpf_denied() if (SERVER / "bin/initdb").exists() else "there is no server of PostgreSQL 15"
    if reason:
        print(f"not run: {reason}")
        return
    with server_with_extension(daemon) as server:
        deadline, mine = time.monotonic() + PATIENCE, []
        while not mine and time.monotonic() < deadline:
            server.sql(";".join([STATEMENT] * 3))
            rows = json.loads(daemon.tailor("list", "--limit", "1000", "--json").stdout)["executions"]
            mine = [row["id"] for row in rows if row.get("labels", {}).get("database") == "postgres" and row["samples"] > 0]
        check(mine, "a live PostgreSQL has executions with samples")
        nodes = {row["name"]: row["samples"] for row in operators(json.loads(daemon.tailor("report", mine[0], "--json").stdout))}
    check("Aggregate" in nodes and sum(nodes.values()) > 0, f"and its plan has nodes with CPU time: {nodes}")


def kinds_of(metrics):
    """{labels of a query's kind of operators: CPU time so far}, as the recorded rule sums them up."""
    found = {}
    for labels, value in re.findall(r"^tailor_operator_cpu_seconds_total\{(.*)\} (\S+)$", metrics, re.M):
        said = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
        if said["fingerprint"] not in ("retired", "other"):
            key = ",".join(f'{name}="{said[name]}"' for name in ("fingerprint", "operator_kind", "query"))
            found[key] = found.get(key, 0) + float(value)
    return found


def of_the_day_before(kinds, slow, port):
    """What the recorded rule said for a day: little of the operators that are slow now, and much of all others."""
    now, lines = int(time.time()), ["# TYPE tailor:query_operator_cpu:rate5m gauge"]
    for key in kinds:
        lines += [f'tailor:query_operator_cpu:rate5m{{instance="127.0.0.1:{port}",{key}}} {USUAL if key == slow else UNUSUAL} {at}'
                  for at in range(now - 26 * HOUR, now - HOUR, MINUTE)]
    return lines


def be_alerted(daemon, given):
    """TailorOperatorCostsMore, by the installed rules with short times, fires for the operators that cost more than on the day before.
    The twins are all other operators: they cost less than on that day."""
    if prometheus.missing():
        print("not run: Prometheus (Debian's package prometheus) is not installed")
        return
    before = daemon.kinds()
    daemon.run_engine(times=500)
    kinds = daemon.kinds()
    check(kinds, f"operators have metrics: {kinds}")
    slow = max(kinds, key=lambda key: kinds[key] - before.get(key, 0))
    folder = daemon.folder / "prometheus"
    folder.mkdir()
    server = Prometheus(folder, given, daemon.port, times=(("[5m]", "[20s]"), ("for: 10m", "for: 1s")))
    server.backfill(of_the_day_before(kinds, slow, daemon.port))
    with server:
        deadline, fired = time.monotonic() + PATIENCE, []
        while not fired and time.monotonic() < deadline:
            daemon.run_engine(times=1000)
            try:
                fired = server.query('ALERTS{alertname="TailorOperatorCostsMore",alertstate="firing"}')
            except OSError:  # it is not ready yet
                pass
    alerts = {each["metric"]["operator_kind"] for each in fired}
    wanted = re.search(r'operator_kind="([^"]*)"', slow).group(1)
    check(alerts == {wanted}, f"an alert says that {wanted} costs more, and says so of no other: {alerts}")


def to_a_dashboard(root, settings, folder, denied):
    given = root.path / "usr/share/tailor"
    with Installed(root, settings, folder) as daemon:
        see_an_engine(daemon, denied)
        if not denied:
            see_postgresql(daemon)
            be_alerted(daemon, given / "prometheus")
    if not prometheus.missing():
        run("promtool", "check", "config", given / "prometheus/tailor.yml")
        check(True, "Prometheus takes the installed configuration and rules")
    panels = json.loads((given / "grafana/tailor.json").read_text())["panels"]
    check(len(panels) > 5, f"the installed dashboard has {len(panels)} panels")
