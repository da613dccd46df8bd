#!/usr/bin/env python3
"""What big profiles take: the first picture of the web page, and `tailor report`.

The goals are one second for the page's summary of 10 million samples, from the start of `tailor web` on and while the page loads
the samples themselves, and two seconds for a report of 100 million samples. In a browser the goals are 100 ms for a zoom and 500 MB
for what the page's JavaScript keeps (big_page.mjs; it needs Chromium and the page). The profiles are made anew
(build/bench-programs/many_samples).
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
from report import measured
from tailor_env import BIN

MAKE = paired.BUILD / "bench-programs/many_samples"


def made(folder, millions):
    file = os.path.join(folder, f"{millions:g}.tailor")
    if not os.path.exists(file):
        subprocess.run([MAKE, str(round(millions * 1_000_000)), file], check=True)
    return file


def memory_peak(pid):
    """Megabytes."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)) / 1024


def first_picture(file):
    """Seconds from the start of `tailor web` to the summary, as the page asks for it beside the samples; and until everything
    was answered; and the server's memory (MB)."""
    begin = time.monotonic()
    server = subprocess.Popen([BIN / "tailor", "web", file, "--no-browser"], stdout=subprocess.PIPE, text=True)
    try:
        base, start = server.stdout.readline().strip().split("/#start=")
        client = urllib.request.build_opener()
        door = urllib.request.Request(base + "/api/v1/session", method="POST", headers={"Authorization": f"Bearer {start}"})
        client.addheaders = [("Authorization", f"Bearer {json.load(client.open(door))['session']}")]
        base += "/api/v1/executions/all/"

        slices = []
        beside = threading.Thread(target=lambda: slices.append(json.loads(client.open(base + "samples?many=slices&timeout_ms=60000").read())))
        beside.start()
        summary = json.loads(client.open(base + "profile").read())
        picture = time.monotonic() - begin
        beside.join()
        if not summary["plans"] or not slices or slices[0]["total"] != summary["samples"]:
            raise SystemExit("the summary has no plan, or the slices lack samples")
        print(f"{slices[0]['count']} sums over slices of {slices[0]['slice_ns'] / 1e6:.1f} ms", flush=True)
        return picture, time.monotonic() - begin, memory_peak(server.pid)
    finally:
        server.terminate()
        server.wait()


def of_node(script, *arguments):
    """The last line that a script of this folder prints, from JSON; None where there is no browser."""
    root = pathlib.Path(__file__).resolve().parents[2]
    node = os.environ.get("TAILOR_NODE") or shutil.which("node", path=f"{root}/.dev/cache/venv/bin:{os.environ['PATH']}")
    if node is None:
        print("no figures of a browser: there is no node")
        return None
    done = subprocess.run([node, pathlib.Path(__file__).with_name(script), *arguments], capture_output=True, text=True)
    if done.returncode == 77:
        print(f"no figures of a browser: {done.stderr.strip()}")
        return None
    if done.returncode != 0:
        raise SystemExit(f"{script} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def in_browser(file):
    """What the page itself takes, in milliseconds and MB, and the server's memory; None where there is no browser."""
    server = subprocess.Popen([BIN / "tailor", "web", file, "--no-browser"], stdout=subprocess.PIPE, text=True)
    try:
        page = of_node("big_page.mjs", server.stdout.readline().strip())
        return page and {**page, "server_megabytes": memory_peak(server.pid)}
    finally:
        server.terminate()
        server.wait()


def browser_lines(page):
    if page is None:
        return ""
    part = "too many samples" if page["part_ms"] is None else f"{page['part_ms'] / 1000:.1f} s"
    return (f"in Chromium: plan after {page['picture_ms'] / 1000:.2f} s, views over time after {page['over_time_ms'] / 1000:.2f} s, a zoom "
            f"{page['zoom_ms']:.0f} ms (slowest {page['slowest_zoom_ms']:.0f}), a hundredth one by one: {part}, {page['heap_megabytes']:.0f} MB\n")


def medians(runs):
    return (sorted(column)[len(runs) // 2] for column in zip(*runs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page-millions", type=float, default=10)
    parser.add_argument("--report-millions", type=float, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", help="where the profiles are, or are left (default: made and removed)")
    parser.add_argument("--make", action="store_true", help="only make them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = options.folder or own
        if options.make:
            return print(made(folder, options.page_millions), made(folder, options.report_millions))
        file = made(folder, options.page_millions)
        picture, everything, web_memory = medians([first_picture(file) for _ in range(options.runs)])
        page = in_browser(file)
        file = made(folder, options.report_millions)
        megabytes = os.path.getsize(file) / 1e6
        runs = [measured([BIN / "tailor", "report", file]) for _ in range(options.runs + 1)][1:]
    cpu, wall, memory = medians(runs)
    paired.report("big_profiles",
                  f"{options.page_millions:g} M samples: summary after {picture:.2f} s, slices of time after {everything:.2f} s, "
                  f"{web_memory:.0f} MB\n{browser_lines(page)}{options.report_millions:g} M samples, {megabytes:.0f} MB: report in {wall:.2f} s "
                  f"(CPU {cpu:.2f} s), {memory:.0f} MB (medians of {len(runs)}), on {paired.machine()}",
                  {"rows": [{"name": f"page of {options.page_millions:g} M samples", "summary_seconds": picture,
                             "everything_seconds": everything, "megabytes": web_memory},
                            *([{"name": f"page of {options.page_millions:g} M samples in Chromium", **page}] if page else []),
                            {"name": f"report of {options.report_millions:g} M samples", "wall": wall, "cpu": cpu,
                             "megabytes": memory, "file_megabytes": megabytes}],
                   "options": vars(options)})


if __name__ == "__main__":
    main()
