"""`tailor top` on a running daemon: its table is the list of executions added up, and on a terminal keys lead from a query to its
plan to its code and back.
"""
import json
import os
import pty
import select
import subprocess
import time

import pyte
from tailor_env import BIN, Daemon, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
TAILOR = BIN / "tailor"
FILE_HEADER, BLOCK_HEADER, SAMPLES = 32, 32, 4  # docs/profile-format.md


class Screen:
    """A program on a terminal of 30 lines and 100 columns."""

    def __init__(self, *command, env):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(env, TERM="linux", LINES="30", COLUMNS="100", LC_ALL="C.UTF-8")
            os.execv(command[0], [str(each) for each in command])
        self.screen = pyte.Screen(100, 30)
        self.stream = pyte.ByteStream(self.screen)

    def shows(self, text, seconds=60):
        """Whether the text is on the screen within that time."""
        end = time.monotonic() + seconds
        while text not in "\n".join(self.screen.display) and time.monotonic() < end:
            if not select.select([self.terminal], [], [], 0.2)[0]:
                continue
            try:
                self.stream.feed(os.read(self.terminal, 65536))
            except OSError:  # it has ended
                break
        return text in "\n".join(self.screen.display)

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def end(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


with Daemon(2000) as daemon:
    for query in ("figure-9", "tpch-6"):
        daemon.weft("--sf", "0.05", "--threads", "1", "--repeat", "10", "--quiet", "--query", query)
    answer = json.loads(daemon.tailor("top", "--json", "--window", "3600"))
    rows = {row["name"]: row for row in answer["fingerprints"]}
    check({"figure-9", "tpch-6"} <= rows.keys(), f"both queries are there: {sorted(rows)}")
    listed = json.loads(daemon.tailor("list", "--json", "-n", "1000"))
    listed = listed if isinstance(listed, list) else listed["executions"]
    for name in ("figure-9", "tpch-6"):
        own = [each for each in listed if each["plan_name"] == name]
        cpu = sum(each["cpu_ns"] for each in own)
        check(rows[name]["executions"] == len(own) == 10 and abs(rows[name]["cpu_ns"] - cpu) < 1,
              f"{name}: {rows[name]['cpu_ns']:.0f} ns in {rows[name]['executions']} runs is what the list says")
    # Where nothing is chosen, a report is of all runs of the query that ran last.
    newest = next((each for each in listed if each["samples"] > 0), None)
    if newest:
        own = [each for each in listed if each["fingerprint"] == newest["fingerprint"]]
        report = daemon.report()
        check(len(report["plans"]) == 1 and report["samples"] == sum(each["samples"] for each in own),
              f"a bare report has the {report['samples']} samples of {len(own)} runs, in one plan")
        check(report["plans"][0]["executions"] == sum(each["samples"] > 0 for each in own), "of each that has some")
        check(f"all {len(own)} runs of the query" in daemon.tailor("report"), "and says so")
        check(daemon.report(newest["id"])["samples"] == newest["samples"], "one run is a choice from there")
    once = daemon.tailor("top", "--once", "--window", "3600", "--filter", "TPCH")
    check("tpch-6" in once and "figure-9" not in once and "cores" in once, "--once prints the table, --filter chooses")

    for name in ("tpch-6", "figure-9"):
        found = json.loads(daemon.tailor("top", "--json", "--window", "3600", "-n", "1", "--filter", name))["fingerprints"]
        check([row["name"] for row in found] == [name], f"--filter finds {name} whatever is above the limit: {[row['name'] for row in found]}")

    screen = Screen(TAILOR, "top", "--window", "3600", "--filter", "figure", env=daemon.env)
    check(screen.shows("figure-9") and screen.shows("by CPU time"), "a terminal gets a screen")
    for keys, text in (("s", "by runs"), ("\r", "Hash join"), ("\r", "the code, line by line"), ("\x7f", "All runs of the query"),
                       ("l", "The last run of the query"), ("l", "These are all 10 runs of the query"), ("\x7f", "by runs"),
                       ("/", "filter:"), ("tpch\r", "queries that ran"), ("s", "by mean elapsed time")):
        screen.press(keys)
        check(screen.shows(text), f"{keys!r} shows {text!r}")
    for keys, text in (("/", "filter:"), ("figure", "filter: figure"), ("\x1b", "arrows: choose")):
        screen.press(keys)
        check(screen.shows(text), f"{keys!r} shows {text!r}")
    check(screen.shows('with "tpch"'), "Escape leaves the filter as it was")
    screen.press("q")
    check(screen.end() == 0, "q ends it")

    # One flipped bit in the newest samples: the list does not read them, and says it all the same.
    daemon.stop()
    for segment in sorted(daemon.store.glob("*.data"), reverse=True):
        data, at, places = bytearray(segment.read_bytes()), FILE_HEADER, []
        while at < len(data):
            stored = int.from_bytes(data[at + 8:at + 12], "little")
            if data[at + 4] == SAMPLES:
                places.append(at + BLOCK_HEADER + stored // 2)
            at += BLOCK_HEADER + stored
        if places:
            break
    arguments = ("--window", "86400")
    for damaged in (False, True):
        if damaged:
            data[places[-1]] ^= 1
            segment.write_bytes(data)
        for more in (["--once"], ["--json"]):
            done = subprocess.run([TAILOR, "top", *more, *arguments], env=daemon.env, capture_output=True, text=True)
            check(done.returncode == 0 and ("is damaged" in done.stderr) == damaged, f"top {more[0]} of a store that is {'' if damaged else 'not '}damaged: {done.stderr.strip()[:200]!r}")
        for command in (["list"], ["ab"], ["report", "--by", "hour"]):
            for more in ([], ["--json"]):
                done = subprocess.run([TAILOR, *command, *more], env=daemon.env, capture_output=True, text=True)
                check(done.returncode == 0 and ("is damaged" in done.stderr) == damaged,
                      f"{command[0]} {' '.join(more)} of a store that is {'' if damaged else 'not '}damaged: {done.stderr.strip()[:200]!r}")
            file = json.loads(done.stdout)["file"]
            check((file["damaged_spots"] > 0) == damaged and ("is damaged" in file["text"]) == damaged, f"and its JSON: {file}")
        screen = Screen(TAILOR, "top", *arguments, env=daemon.env)
        check(screen.shows("figure-9") and screen.shows("is damaged", 60 if damaged else 1) == damaged, "and on a terminal")
        screen.press("q")
        check(screen.end() == 0, "q ends it")
    data[0] ^= 1  # it says what the file is
    segment.write_bytes(data)
    done = subprocess.run([TAILOR, "top", "--once", *arguments], env=daemon.env, capture_output=True, text=True)
    check(done.returncode == 0 and "figure-9" in done.stdout and segment.name in done.stderr, f"the list is shown beside a segment that cannot be read: {done.stderr.strip()[:200]!r}")
