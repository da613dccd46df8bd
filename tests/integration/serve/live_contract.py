"""The HTTP interface of a live tailord keeps its contract: all paths, with live events, sessions, metrics and control, as
http_contract.py asks it of a file. An engine has run, and one runs meanwhile, so that answers have rows. The token may see everything
and control.

  live_contract.py [--examples N]
"""
import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import urllib.request

from contract import breaks_contract
from free_port import free_port
from tailor_env import BIN, Daemon, check, sampling_denied, skip

TOKEN = "contract"
QUERY = ("--sf", "0.1", "--threads", "1", "--quiet", "--tpch", "1")


def written_tokens(folder):
    tokens = pathlib.Path(folder, "tokens.toml")
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    tokens.write_text(f'[[token]]\nname = "contract"\nsha256 = "{digest}"\nsee = "all"\ncontrol = true\n')
    tokens.chmod(0o600)
    return tokens


def get(base, path):
    request = urllib.request.Request(base + path, headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=8)
    arguments = parser.parse_args()
    if reason := sampling_denied():
        skip(reason)
    with tempfile.TemporaryDirectory() as folder:
        base = f"http://127.0.0.1:{(port := free_port())}"
        with Daemon(options=["--listen", f"127.0.0.1:{port}", "--tokens", written_tokens(folder)]) as daemon:
            daemon.weft(*QUERY)
            check(json.loads(get(base, "/api/v1/executions"))["executions"], "there are executions")
            check("tailor_uptime_seconds" in get(base, "/metrics"), "and metrics")
            engine = subprocess.Popen([BIN / "weft", *QUERY, "--repeat", "1000000"], env={**os.environ, **daemon.env},
                                      stdout=subprocess.DEVNULL)
            try:
                found = breaks_contract(base, f"Authorization: Bearer {TOKEN}", arguments.examples, timeout=1500)
                print(found)
                check(not found, "schemathesis finds no answer that breaks the contract")
                check(engine.poll() is None, "the engine went on")
            finally:
                engine.kill()
                engine.wait()
            check(daemon.stop() == 0, "the daemon ends when it is told to")


if __name__ == "__main__":
    main()
