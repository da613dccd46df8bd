"""What this host took from a test while it measured: a figure that a busy host can spoil is judged only where it did not.

Of all CPUs: time that the hypervisor gave to others (steal), and time that processes used which are not the test's. Of the threads
that are measured: how long they stood in the run queue, and how often they were put off their CPU. Of the control group: how long it
was throttled.
"""
import ctypes
import dataclasses
import os
import pathlib
import resource
import sys
import time

TICK = os.sysconf("SC_CLK_TCK")
# Shares of the time from which on a try does not count.
MOST_STEAL, MOST_FOREIGN, MOST_WAITED = 0.01, 0.05, 0.10
SHORT = 0.03  # seconds; less than that is the coarseness of the kernel's own counts


def adopt():
    """Makes this process the parent of daemons that it starts: what they use is the test's own. They are reaped when it ends."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


class Unsure(SystemExit):
    """A figure that is wrong, which may be the host's fault."""


def check_live(condition, text):
    """As check(), of a figure that a busy host can spoil: within undisturbed() it counts only where the host did not disturb."""
    if condition:
        print(f"ok: {text}", flush=True)
        return
    print(f"FAILED: {text}", flush=True)
    raise Unsure(1)


def cpu_times():
    """Seconds that all CPUs were busy, and seconds that were stolen from them."""
    user, nice, system, _, _, irq, softirq, steal = map(int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + softirq) / TICK, steal / TICK


def stat_of(pid):
    """The parent, and seconds of CPU time of a process and of the children that it has waited for; None if it is gone."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), sum(map(int, fields[11:15])) / TICK


def own_times():
    """Seconds of CPU time that this process and its descendants have used so far."""
    processes = {int(name): stat for name in os.listdir("/proc") if name.isdigit() and (stat := stat_of(name))}
    ours = {os.getpid()}
    while found := {pid for pid, (parent, _) in processes.items() if parent in ours and pid not in ours}:
        ours |= found
    return sum(processes[pid][1] for pid in ours)


def queue_of(pids):
    """Seconds that the threads of these processes ran and stood in the run queue, and how often they were put off a CPU."""
    ran, waited, switches = 0, 0, 0
    for pid in pids:
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
            try:
                first, second = map(int, (task / "schedstat").read_text().split()[:2])
                status = (task / "status").read_text()
            except (OSError, ValueError):
                continue
            ran, waited = ran + first / 1e9, waited + second / 1e9
            switches += int(status.rpartition("nonvoluntary_ctxt_switches:")[2].split()[0])
    return ran, waited, switches


def throttled():
    """Seconds that the test's control group was not let run."""
    try:
        group = next(line.split("::", 1)[1].strip() for line in open("/proc/self/cgroup") if line.startswith("0::"))
        lines = pathlib.Path("/sys/fs/cgroup" + group, "cpu.stat").read_text().split()
        return int(lines[lines.index("throttled_usec") + 1]) / 1e6
    except (OSError, StopIteration, ValueError):
        return 0.0


@dataclasses.dataclass
class Taken:
    """What was taken in a time; shares of all CPUs' time, but `waited`, which is one of the threads' own."""
    seconds: float
    steal: float
    foreign: float
    waited: float
    switches: int
    throttled: float

    def disturbed(self):
        """Whether it is enough to spoil a figure."""
        least = SHORT / max(self.seconds, SHORT)
        return (self.steal > max(MOST_STEAL, least) or self.foreign > max(MOST_FOREIGN, least) or self.waited > MOST_WAITED or
                self.throttled > 0)

    def __str__(self):
        return (f"in {self.seconds:.1f} s the host stole {self.steal:.1%} of the CPUs' time, others used {self.foreign:.1%}, the "
                f"threads stood in the run queue for {self.waited:.1%} of theirs and were put off a CPU {self.switches} times, "
                f"throttled for {self.throttled:.1f} s")


class Watch:
    """Begins when it is made. `pids`: whose threads are measured. What this process starts counts as the test's own (see adopt())."""

    def __init__(self, pids=()):
        self.pids = list(pids)
        self.begin = self.now()

    def now(self):
        return time.monotonic(), *cpu_times(), own_times(), *queue_of(self.pids), throttled(), \
            resource.getrusage(resource.RUSAGE_CHILDREN).ru_nivcsw

    def taken(self):
        seconds, busy, steal, own, ran, waited, switches, stopped, of_children = (b - a for a, b in zip(self.begin, self.now()))
        whole = max(seconds, 1e-3) * (os.cpu_count() or 1)
        return Taken(seconds, steal / whole, max(0.0, busy - own) / whole, max(0.0, waited) / max(ran + waited, 1e-3),
                     max(0, switches) + of_children, stopped)


def undisturbed(attempt, pids=(), tries=4, patience=150, watch=Watch):
    """attempt(), and what it gives. Where one of its check_live() fails while the host disturbed it, it is made again; after some
    tries the test skips and says what the host took. Anything else that fails has failed. No try begins later than `patience`
    seconds from now: ctest's time-out lies above that and one try."""
    taken, begin, made = None, time.monotonic(), 0
    while made < tries and (made == 0 or time.monotonic() < begin + patience):
        made += 1
        watched = watch(pids)
        try:
            return attempt()
        except Unsure:
            taken = watched.taken()
            if not taken.disturbed():
                print(f"not disturbed: {taken}")
                raise
            print(f"this try does not count: {taken}", flush=True)
    print(f"SKIP: disturbed in each of {made} tries, in the last one: {taken}")
    sys.exit(77)
