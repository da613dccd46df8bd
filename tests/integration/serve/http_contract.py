"""The HTTP interface keeps its contract: schemathesis makes requests of every kind from openapi.json, good and bad, and
checks statuses, content types and shapes of the answers. `tailor web` serves a profile that a recorded journal gives.

  http_contract.py TAILOR JOURNAL.xz [--examples N]

live_contract.py asks a daemon, with its sessions and metrics.
"""
import argparse
import json
import lzma
import pathlib
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from contract import breaks_contract


def check(condition, text):
    if not condition:
        print(f"FAILED: {text}")
        sys.exit(1)
    print(f"ok: {text}")


def status_of(opener, url, **options):
    try:
        return opener.open(urllib.request.Request(url, **options), timeout=30).status
    except urllib.error.HTTPError as answer:
        return answer.code


def check_door(base, start):
    """The token of the link opens one session; without it nothing is shown. Returns the header that has its secret."""
    stranger = urllib.request.build_opener()
    check(status_of(stranger, base + "/api/v1/status") == 401, "who has no session is turned away")
    check(status_of(stranger, base + "/") == 200, "the page itself is open")
    link = {"Authorization": f"Bearer {start}"}
    opened = stranger.open(urllib.request.Request(base + "/api/v1/session", method="POST", headers=link), timeout=30)
    check(not opened.headers["Set-Cookie"], "no cookie, which other ports would get")
    secret = f"Bearer {json.load(opened)['session']}"
    check(status_of(stranger, base + "/api/v1/session", method="POST", headers=link) == 401, "the link works once")
    guest = urllib.request.build_opener()
    guest.addheaders = [("Authorization", secret)]
    check(status_of(guest, base + "/api/v1/status") == 200, "the session opens the interface")
    check(status_of(guest, base + "/api/v1/status", headers={"Host": "evil.example"}) == 403, "another Host is denied")
    check(status_of(guest, base + "/api/v1/status", headers={"Origin": "http://evil.example"}) == 403,
          "a page of another origin is denied")
    check(status_of(guest, base + "/api/v1/status", method="DELETE") == 405, "a method that is not declared gets 405")
    return guest, f"Authorization: {secret}"


def check_sums(guest, base):
    """The views of one profile agree with each other."""
    def get(path):
        return json.load(guest.open(f"{base}/api/v1/{path}", timeout=60))
    profile = get("executions/all/profile")
    for lanes in ("all", "pipeline", "thread"):
        line = get(f"executions/all/timeline?lanes={lanes}&buckets=50")
        weight = sum(sum(series["weights"]) for series in line["lanes"][0]["series"])
        check(abs(weight - profile["weight"]) <= 1e-6 * profile["weight"], f"the time line by {lanes} has all the cost")
    flame = get("executions/all/flame")
    check(abs(flame["root"]["weight"] - profile["weight"]) <= 1e-6 * profile["weight"], "the flame tree has all the cost")
    samples = get("executions/all/samples")
    check(samples["count"] >= profile["samples"], "all samples come as columns")
    listing = get("executions/all/listing")
    check(any(line["samples"] for line in listing["lines"]), "lines of IR have costs")
    listed = get("executions?limit=1")
    one = get(f"executions/{listed['executions'][0]['id']}/profile")
    check(one["samples"] > 0, "an execution of the list has its own profile")
    bundle = get("executions/all/bundle")
    check(bundle["responses"]["executions/all/profile"]["samples"] == profile["samples"], "the bundle has the same profile")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tailor")
    parser.add_argument("journal", type=pathlib.Path)
    parser.add_argument("--examples", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        journal, profile = pathlib.Path(folder) / "journal", pathlib.Path(folder) / "profile.tailor"
        journal.write_bytes(lzma.decompress(arguments.journal.read_bytes()))
        subprocess.run([arguments.tailor, "replay", journal, "-o", profile], check=True, capture_output=True)
        server = subprocess.Popen([arguments.tailor, "web", "--no-browser", profile], stdout=subprocess.PIPE, text=True)
        try:
            base, start = server.stdout.readline().strip().split("/#start=")
            guest, header = check_door(base, start)
            check_sums(guest, base)
            found = breaks_contract(base, header, arguments.examples, without=("/api/v1/session", "/metrics"))
            print(found)
            check(not found, "schemathesis finds no answer that breaks the contract")
        finally:
            server.terminate()
            check(server.wait(30) == 0, "the server ends when it is told to")


if __name__ == "__main__":
    main()
