"""An engine's host in a hurry: engines that come, work, end and are killed, agents that register again and again, readers of all
kinds, changes of rate, pauses. Looks at what tailord keeps meanwhile: memory, threads, descriptors."""
import http.client
import os
import pathlib
import random
import signal
import socket
import subprocess
import threading
import time
import typing

from live_daemon import cpu_ns
from raw_agent import RawAgent
from tailor_env import BIN, Daemon


class UnixHttp(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


def kept_by(pid):
    """Resident memory (MB), threads and open descriptors of a process."""
    proc = pathlib.Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]) / 1024, int(status["Threads"]), len(os.listdir(proc / "fd"))


class Churn:
    """Threads that do one thing each, over and over, until stop()."""

    def __init__(self, daemon, seed=1):
        self.daemon, self.random = daemon, random.Random(seed)
        self.stopping = threading.Event()
        self.done = {}  # how often, by what
        self.failed = []
        jobs = (self.engine, self.killed_engine, self.agent, self.reader, self.scraper, self.operator)
        self.threads = [threading.Thread(target=self.loop, args=(job,)) for job in jobs]
        for thread in self.threads:
            thread.start()

    def loop(self, job):
        while not self.stopping.is_set():
            try:
                job()
            except Exception as error:  # noqa: BLE001: whatever it is, the soak has failed
                self.failed.append(f"{job.__name__}: {error!r}")
                return
            self.done[job.__name__] = self.done.get(job.__name__, 0) + 1

    def watch(self, seconds, every=0.25, looks=None):
        """Goes on for so long, and ends. Looks at what the daemon keeps meanwhile."""
        process, end = self.daemon.process, time.monotonic() + seconds
        try:
            while time.monotonic() < end and not self.failed and process.poll() is None:
                time.sleep(every)
                if looks is not None:
                    looks.append(kept_by(process.pid))
        finally:
            self.stop()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def weft(self, repeat, **options):
        query = self.random.choice(["tpch-1", "tpch-3", "tpch-6", "tpch-12"])
        return subprocess.Popen([BIN / "weft", "--sf", "0.01", "--threads", str(self.random.choice([1, 2])), "--repeat", str(repeat),
                                 "--quiet", "--query", query], env={**os.environ, **self.daemon.env}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)

    def engine(self):
        if self.weft(20).wait() != 0:
            raise RuntimeError("weft failed")

    def killed_engine(self):
        process = self.weft(3000)  # it ends by itself where nobody is left to kill it
        self.stopping.wait(self.random.uniform(0.1, 1.5))
        process.send_signal(signal.SIGKILL)
        process.wait()

    def agent(self):
        agent = RawAgent(self.daemon.socket)
        for number in range(1, 50):
            agent.plan(number, levels=[200], slot=number)
            agent.code(number, plan=number, base=0x100000 + number * 0x10000, size=4000)
            agent.begin(number, os.urandom(16), [("user", "soak"), ("query", f"select {number}")])
        for number in range(1, 50):
            agent.end(number)
            agent.unload_code(number)
        agent.say(24, b"")
        # A child that another thread forks at this moment holds the connection open until it executes its program. Then the next
        # agent of this process would be one too many.
        agent.socket.shutdown(socket.SHUT_RDWR)
        agent.close()
        self.stopping.wait(0.05)

    def reader(self):
        for arguments in (["list", "--json"], ["status"], ["report", "--by", "hour", "--json"]):
            self.daemon.tailor(*arguments, expect=None)
        self.daemon.tailor("report", "--last", "3", "--json", expect=None)

    def scraper(self):
        connection = UnixHttp(self.daemon.control.parent / "http.sock")
        for target in ("/metrics", "/api/v1/status", "/api/v1/executions?limit=20", "/api/v1/fingerprints", "/api/v1/host", "/nothing"):
            connection.request("GET", target)
            connection.getresponse().read()
        connection.close()
        # A live stream that its reader leaves.
        stream = UnixHttp(self.daemon.control.parent / "http.sock")
        stream.request("GET", "/api/v1/live")
        stream.getresponse().read(64)
        stream.close()
        self.stopping.wait(0.2)

    def operator(self):
        for arguments in (["rate", "499", "--for", "1s"], ["pause"], ["resume"], ["rate", "default"]):
            self.daemon.tailor(*arguments, expect=None)
            self.stopping.wait(0.5)


def allowed_in(seconds):
    """Memory, threads and descriptors. Memory: the allocator keeps what a report needed, in steps of about 10 MB until all its sizes
    were needed once. In a short soak two of them may fall into a third of the time. The others: a store's next file."""
    return (12.0 if seconds >= 120 else 24.0, 2, 6)


def growth(soaked):
    """At rest afterwards against before, because a look while engines work tells as much about that moment as about what stays. Of
    memory no more than the last third of the time has beyond the one before it, by the least of each: a report needs some for a moment,
    and at rest the allocator keeps what the last one needed. A leak is in both."""
    memory, third = [look[0] for look in soaked.looks], len(soaked.looks) // 3
    at_rest = [after - before for after, before in zip(soaked.after, soaked.before)]
    return min(at_rest[0], min(memory[-third:]) - min(memory[-2 * third:-third])), *at_rest[1:]


def is_flat(soaked):
    return all(more <= most for more, most in zip(growth(soaked), soaked.allowed))


# Until files were read that stacks and names need: what is kept of them is bounded, and comes when something first needs it.
WARM_UP = 25
# Samples wait for two seconds, and a rate that was changed under load may still be on its way.
SETTLED, MOST_TO_SETTLE = 5, 40


def kept_at_rest(pid):
    """What a daemon keeps that nobody uses."""
    least, since, begin = kept_by(pid), time.monotonic(), time.monotonic()
    while time.monotonic() < min(since + SETTLED, begin + MOST_TO_SETTLE):
        time.sleep(0.25)
        look = tuple(map(min, least, kept_by(pid)))
        if look[1:] != least[1:]:
            since = time.monotonic()
        least = look
    return least


class Soaked(typing.NamedTuple):
    before: tuple  # what the daemon kept at rest, after the warm-up
    after: tuple  # and at the end
    looks: list  # in between, at equal distances
    done: dict
    failed: list
    cpu: float  # as a part of a core
    allowed: tuple


def soak(seconds, every, options=()):
    with Daemon(frequency=997, options=options) as daemon:
        pid, looks = daemon.process.pid, []
        warm_up = Churn(daemon)
        warm_up.watch(WARM_UP)
        before = kept_at_rest(pid)
        churn, begin, cpu = Churn(daemon, seed=2), time.monotonic(), cpu_ns(pid)
        churn.watch(seconds, every, looks)
        cpu = (cpu_ns(pid) - cpu) / 1e9 / (time.monotonic() - begin) if daemon.process.poll() is None else 0
        alive = daemon.process.poll() is None
        after = kept_at_rest(pid) if alive else before
        code = daemon.stop()
        failed = warm_up.failed + churn.failed + ([] if alive else ["tailord ended"]) + ([] if code == 0 else [f"tailord's exit code: {code}"])
        return Soaked(before, after, looks, churn.done, failed, cpu, allowed_in(seconds))
