"""One engine that works in windows, with samples and without in turns: what samples alone cost it.

The same process executes the same compiled query in all windows, with its agent, marks, tags and lineage. Between two windows
`tailor pause` or `tailor resume` changes whether samples are taken of it. So nothing differs but the samples, and windows that
lie next to each other meet the same machine. Whole processes that are run in turns differ by a percent or two for other
reasons, such as where their memory lies.
"""
import os
import pathlib
import subprocess
import time

import paired
from tailor_env import BIN, ROOT

MARKER = "9081726354"  # no query answers that
QUERIES = ROOT / "compiler/weft/queries"


def cpu_seconds(pid):
    """CPU time of a running process, to the nanosecond."""
    return time.clock_gettime((~pid << 3) | 2)  # CPUCLOCK_SCHED of the process, see clock_getcpuclockid(3)


class Weft:
    """A shell of weft that executes one query. A context manager."""

    def __init__(self, daemon, query, sf, seconds):
        self.daemon, self.sf, self.seconds = daemon, sf, seconds
        self.text = (QUERIES / f"{query.replace('tpch-', 'q')}.sql").read_text().strip().rstrip(";") + ";\n"
        self.process, self.paused = None, False

    def start(self, executions):
        command = [BIN / "weft", "--sf", self.sf, "--threads", "1", "--opt", "2", "--repeat", executions]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **self.daemon.env})
        self.paused = False
        self.execute()  # compiles, and brings the data into memory

    def execute(self):
        """CPU seconds of one window."""
        before = cpu_seconds(self.process.pid)
        self.process.stdin.write(f"{self.text}SELECT {MARKER} FROM region WHERE r_regionkey = 0;\n")
        self.process.stdin.flush()
        while (line := self.process.stdout.readline()).strip() != MARKER:
            if not line:
                raise SystemExit("weft has ended")
        return cpu_seconds(self.process.pid) - before

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()

    def __enter__(self):
        """As many executions a window as take about so long."""
        self.start(10)
        each = max(self.execute() / 10, 1e-4)
        self.end()
        self.start(max(round(self.seconds / each), 1))
        return self

    def __exit__(self, *_):
        self.end()

    def window(self, sampled):
        if sampled == self.paused:
            self.daemon.tailor("resume" if sampled else "pause", str(self.process.pid))
            self.paused = not sampled
        return self.execute()


def cost(daemon, query, sf, seconds, pairs):
    """CPU time with samples against without, as paired.ratio_interval() gives it."""
    with Weft(daemon, query, sf, seconds) as weft:
        return paired.ratio_interval(paired.interleaved(lambda: weft.window(True), lambda: weft.window(False), pairs))
