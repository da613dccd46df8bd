"""What `perf script` says of a recording: its samples with the file and the place in it that each was in, and its losses.

perf prints the addresses of samples, and what was mapped and when. The place in a file follows from both.
"""
import collections
import dataclasses
import os
import re
import subprocess

KERNEL_BEGINS = 1 << 63
PID_TID = re.compile(r"\s*(-?\d+)/(-?\d+)\s+(?:(\d+)\.(\d+):\s*)?(.*)")
SAMPLE = re.compile(r"(\d+)\s+(\S+):\s+([0-9a-f]+)\s*$")
MMAP = re.compile(r"PERF_RECORD_MMAP2? (-?\d+)/-?\d+: \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0).*\]: (\S+) (.*)")
FORK = re.compile(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)")
EXEC = re.compile(r"PERF_RECORD_COMM exec: .*:(\d+)/\d+$")
NAMED = re.compile(r"\s*(-?\d+)/(-?\d+)\s+(\d+)\.(\d+):\s+\S+:\s+[0-9a-f]+ (.*) \((.*)\)\s*$")
LOST = re.compile(r"PERF_RECORD_LOST: id:\d+: lost:(\d+)|PERF_RECORD_LOST_SAMPLES:.* lost samples :(\d+)")


@dataclasses.dataclass(frozen=True, order=True)
class Sample:
    time: int  # ns; without times the place in the file among samples
    pid: int
    tid: int
    event: str
    weight: int
    file: str  # "": in none
    place: int  # in its file, else its address


@dataclasses.dataclass
class Script:
    samples: list  # in the order of perf
    error: str  # what perf says if it cannot read the file; else ""


def _place(maps, address):
    """The newest that was mapped there."""
    for begin, size, offset, path in reversed(maps):
        if begin <= address < begin + size:
            in_file = path == "[vdso]" or path.startswith("/") and not path.startswith("//")
            return (path, address - begin + offset) if in_file else ("", address)
    return "", address


def read(data, timed=True):
    """`data`: a path, or bytes that perf reads from a pipe. `timed`: its records have times."""
    fields = "pid,tid,time,period,event,ip" if timed else "pid,tid,period,event,ip"
    piped = isinstance(data, bytes)
    done = subprocess.run(["perf", "script", "--ns", "-G", "-F", fields, "--show-mmap-events", "--show-task-events", "-i",
                           "-" if piped else str(data)], input=data if piped else None, capture_output=True, timeout=300)
    samples, maps = [], collections.defaultdict(list)
    for line in done.stdout.decode(errors="replace").splitlines():
        if not (at := PID_TID.match(line)):
            continue
        pid, tid, seconds, nanoseconds, what = at.groups()
        if found := SAMPLE.match(what):
            address = int(found[3], 16)
            file, place = ("", address) if address >= KERNEL_BEGINS else _place(maps[int(pid)], address)
            time = int(seconds) * 10**9 + int(nanoseconds) if timed else len(samples)
            samples.append(Sample(time, int(pid), int(tid), found[2], int(found[1]), os.path.basename(file), place))
        elif found := MMAP.match(what):
            maps[int(found[1])].append((int(found[2], 16), int(found[3], 16), int(found[4], 16), found[6]))
        elif found := FORK.search(what):
            if found[1] != found[2]:
                maps[int(found[1])] = list(maps[int(found[2])])
        elif found := EXEC.search(what):
            maps[int(found[1])] = []
    return Script(samples, "" if done.returncode == 0 else done.stderr.decode(errors="replace").strip()[-300:])


def names(data):
    """[(time in ns, tid, name of the function, file)] of all samples whose function perf knows."""
    done = subprocess.run(["perf", "script", "--ns", "-G", "-F", "pid,tid,time,event,ip,sym,dso", "-i", data], capture_output=True, timeout=300)
    out = []
    for line in done.stdout.decode(errors="replace").split("\n"):
        if (at := NAMED.match(line)) and at[5] != "[unknown]":
            out.append((int(at[3]) * 10**9 + int(at[4]), int(at[2]), at[5], os.path.basename(at[6])))
    return out


def losses(data):
    """Of a path, or bytes that perf reads from a pipe: lost records, as the kernel told of them, and as perf counted them at its end (0: it does not); both are the same losses."""
    piped = isinstance(data, bytes)
    done = subprocess.run(["perf", "script", "-D", "-i", "-" if piped else str(data)], input=data if piped else None, capture_output=True, timeout=300)
    found = LOST.findall(done.stdout.decode(errors="replace"))
    return sum(int(told) for told, _ in found if told), sum(int(counted) for _, counted in found if counted)
