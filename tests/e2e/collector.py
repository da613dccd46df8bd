"""OTLP profiles pass through an OpenTelemetry Collector: it takes them by HTTP, and what it sends on is what was sent to it.

The Collector (tests/targets/collector) is built from Go modules. It listens on the loopback device alone, and sends on to this
test. The profile is replayed from a journal."""
import http.server
import json
import lzma
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import otlp
from free_port import free_port
from tailor_env import BIN, ROOT, check, run, skip

SOURCE = ROOT / "tests/targets/collector"
PATH = "/v1development/profiles"
CONFIG = """
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:%d
exporters:
  otlp_http:
    profiles_endpoint: http://127.0.0.1:%d%s
    compression: none
    retry_on_failure:
      enabled: false
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    profiles:
      receivers: [otlp]
      exporters: [otlp_http]
"""


def built(folder):
    missing = [name for name in ("go.mod", "go.sum", "main.go") if not (SOURCE / name).is_file()]
    check(not missing, f"the sources of the Collector are all there {missing}")
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if not go:
        skip("go is not installed")
    program = folder / "collector"
    env = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false"}
    try:
        made = subprocess.run([go, "build", "-o", program, "."], cwd=SOURCE, env=env, capture_output=True, text=True, timeout=1500)
    except subprocess.TimeoutExpired:
        skip("the Collector was not built in 25 minutes")
    if made.returncode != 0:
        skip(f"the Collector cannot be built here: {made.stderr.strip().splitlines()[-1]}")
    return program


class Backend(http.server.BaseHTTPRequestHandler):
    """What the Collector sends on."""
    heard = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Backend.heard.append((self.path, body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.end_headers()

    def log_message(self, *_):
        pass


def answer(port, body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{PATH}", data=body, headers={"Content-Type": "application/x-protobuf"})
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code


def wait_until_open(port, process, log):
    for _ in range(600):
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    check(False, f"the Collector runs: {log.read_text()[-2000:]}")


def judge(port, exported, report):
    check(answer(port, exported) == 200, f"the Collector takes {len(exported)} bytes")
    check(answer(port, exported[:-1]) == 400, "and not if one is missing")
    # The Collector answers before it has sent them on.
    for _ in range(600):
        if Backend.heard:
            break
        time.sleep(0.1)
    check([path for path, _ in Backend.heard] == [PATH], "it has sent them on")
    data, sent = (otlp.ProfilesData.FromString(each) for each in (Backend.heard[0][1], exported))
    # The Collector writes the attributes of a process in another way.
    check(otlp.profiles(data) == otlp.profiles(sent), "profiles and samples are as they were")
    same = [name for name in ("mapping", "location", "function", "stack") if getattr(data.dictionary, f"{name}_table")[1:] ==
            getattr(sent.dictionary, f"{name}_table")[1:]]
    check(len(same) == 4, f"and so are the tables {same}")
    check(not otlp.strays(data), "every index still leads to an entry")
    otlp.judge_times(data)
    otlp.judge_sums(data, report)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = built(folder)
        raw, profile, output = folder / "journal", folder / "profile.tailor", folder / "profile.otlp"
        raw.write_bytes(lzma.decompress(otlp.JOURNAL.read_bytes()))
        run(BIN / "tailor", "replay", raw, "-o", profile)
        run(BIN / "tailor", "export", profile, "--format", "otlp", "-o", output)
        report = json.loads(run(BIN / "tailor", "report", profile, "--json"))
        backend = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
        threading.Thread(target=backend.serve_forever, daemon=True).start()
        port, log, config = free_port(), folder / "log", folder / "config.yaml"
        config.write_text(CONFIG % (port, backend.server_address[1], PATH))
        with log.open("w") as to:
            collector = subprocess.Popen([program, "--config", config, "--feature-gates=service.profilesSupport"], stdout=to, stderr=to)
        try:
            wait_until_open(port, collector, log)
            judge(port, output.read_bytes(), report)
        finally:
            collector.terminate()
            collector.wait(60)
            backend.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
