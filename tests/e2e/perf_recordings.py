"""`tailor import` of what `perf record` writes in each of its ways: every sample that `perf script` finds in the same file is in the profile,
with its time, thread, event, weight and place in the code, and no other; what was lost is said, once.

The ways: a file, a directory of several threads, compressed, several files of one recording, groups of events, without times, through a
pipe, what perf inject makes of a file and of code that a jitdump names, a ring that was full, a recorder that was killed, a file that was cut. A way that the perf of this
host has not is skipped with its reason. Without --full it is a short recording in those ways that are read differently. The broken twins are files in which a sample is missing, and in which one is elsewhere.
"""
import collections
import csv
import dataclasses
import io
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

import perf_script
from tailor_env import BIN, BUILD, check, perf_tool_denied, run, sampling_denied, skip

# Two threads that compute, then a child that has what its parent mapped; by CPU time, so that a busy host takes as many samples.
WORK = """
import os, sys, threading, time
until = time.process_time() + float(sys.argv[1])
def work():
    while time.process_time() < until: sorted(str(i) for i in range(300))
other = threading.Thread(target=work)
other.start()
work()
other.join()
child = os.fork()
if child == 0:
    until = time.process_time() + 0.1
    work()
    os._exit(0)
os.waitpid(child, 0)
"""
FULL = "--full" in sys.argv
CLOCK = ["-e", "cpu-clock"]
SAMPLE, PIPE_HEADER, RECORDS, FEATURES = 9, 16, 40, 72  # type of record; bytes; places in the header
ROWS = """SELECT s.time_ns, c.pid, s.tid, c.source AS event, s.weight, p.path, s.code_address FROM samples s JOIN cells c USING (cell)
    LEFT JOIN stacks k ON k.stack = s.stack LEFT JOIN places p ON p.place = k.place"""
RESULT = re.compile(r"tailor: ([\d,]+) samples in .*; ([\d,]+) lost, ([\d,]+) late, ([\d,]+) records could not be read")
skipped = []


def program(seconds=1.0 if FULL else 0.3):
    return ["--", os.path.realpath(sys.executable), "-c", WORK, str(seconds)]


def record(*options, output):
    """None, or why perf cannot record this way."""
    command = ["perf", "record", *options, "-F", "997", "-o", output, *program()]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    return None if done.returncode == 0 else (done.stderr.strip() or f"perf record ended with {done.returncode}")[-300:]


def not_here(way, reason):
    skipped.append(way)
    print(f"SKIP of {way}: {reason}")


def number(text):
    return int(text.replace(",", ""))


class Imported:
    """What the profile has of a recording, as Tailor itself prints it."""

    def __init__(self, data, folder, timed=True):
        profile = folder / "imported.tailor"
        piped = isinstance(data, bytes)
        done = subprocess.run([BIN / "tailor", "import", "-" if piped else data, "--no-find", "-o", profile], input=data if piped else None,
                              capture_output=True, timeout=300)
        self.said = done.stderr.decode()
        check(done.returncode == 0, f"tailor import ends well{': ' + self.said[-500:] if done.returncode else ''}")
        result = RESULT.search(self.said)
        check(result is not None, f"and says what it read{'' if result else ': ' + self.said}")
        self.count, self.lost, self.late, self.unread = map(number, result.groups())
        table = list(csv.DictReader(io.StringIO(run(BIN / "tailor", "export", profile, "--format", "csv"))))
        rows = json.loads(run(BIN / "tailor", "sql", profile, "--json", "-q", ROWS))
        # SQL counts time from the begin of the recording.
        begin = min((int(row["time_ns"]) for row in table), default=0) - min((row["time_ns"] for row in rows), default=0)
        self.samples = sorted(self.sample(row, begin) for row in rows)
        if not timed:
            self.samples = [perf_script.Sample(i, *list(vars(each).values())[1:]) for i, each in enumerate(self.samples)]
        exported = collections.Counter((int(row["time_ns"]), int(row["pid"]), int(row["tid"]), row["source"], int(row["weight"])) for row in table)
        asked = collections.Counter((row["time_ns"] + begin, row["pid"], row["tid"], row["event"], row["weight"]) for row in rows)
        check(exported == asked and sum(asked.values()) == self.count, f"its {self.count} samples are exported and asked for alike")

    @staticmethod
    def sample(row, begin):
        place = (row["code_address"] or 0) % 2**64
        path = row["path"] or ""
        return perf_script.Sample(row["time_ns"] + begin, row["pid"], row["tid"], row["event"], row["weight"], os.path.basename(path), place)


def differences(ours, theirs):
    """Samples that only one of both has, as (ours, theirs)."""
    ours, theirs = collections.Counter(ours), collections.Counter(theirs)
    return list((ours - theirs).elements()), list((theirs - ours).elements())


def anywhere(samples):
    """The same without their places."""
    return [dataclasses.replace(each, file="", place=0) for each in samples]


def judge(way, data, folder, timed=True, expected=None, events=("cpu-clock",), lost=None, places=True):
    """Compares all samples; `expected` and `lost`: what perf says where perf cannot read the file itself. `places`: also where they were. What
    other programs of the host map over their own code has rules of its own."""
    if expected is None:
        theirs = perf_script.read(data, timed)
        check(not theirs.error and theirs.samples, f"{way}: perf script finds {len(theirs.samples)} samples {theirs.error}")
        expected = theirs.samples
        in_files = sum(each.file != "" for each in expected)
        check(in_files > 0, f"{way}: {in_files} of them have a place in a file")
    ours = Imported(data, folder, timed)
    more, fewer = differences(ours.samples, expected) if places else differences(anywhere(ours.samples), anywhere(expected))
    found = f": {len(more)} more {more[:3]}, {len(fewer)} fewer {fewer[:3]}" if more or fewer else ""
    check(not found, f"{way}: each of the {len(expected)} samples of perf is there, with time, thread, event, weight"
                     f"{' and place' if places else ''}, and no other{found}")
    check({each.event for each in expected} == set(events), f"{way}: of all of {list(events)}")
    lost = max(perf_script.losses(data)) if lost is None else lost  # a busy host loses some in every way
    check((ours.lost, ours.late, ours.unread) == (lost, 0, 0),
          f"{way}: {ours.lost} lost ({lost} by perf), {ours.late} late, {ours.unread} that could not be read")
    return ours


def simple(way, folder, *options, timed=True, events=("cpu-clock",), places=True):
    """A way whose result is one file or directory; None where there is none."""
    data = folder / f"{way.replace(' ', '_')}.data"
    if reason := record(*options, output=data):
        return not_here(way, reason)
    judge(way, data, folder, timed=timed, events=events, places=places)
    return data


def directory(folder):
    data = simple("a directory", folder, "--threads", *CLOCK)
    if data is None:
        return
    parts = [each for each in data.iterdir() if each.name.startswith("data.")]
    check(len(parts) > 1, f"a directory: it has {len(parts)} files of records")
    # The broken twin: one of them is not there.
    whole = perf_script.read(data).samples
    largest = max(parts, key=lambda each: each.stat().st_size)
    largest.rename(folder / "away")
    more, fewer = differences(Imported(data, folder).samples, whole)
    check(fewer, f"a directory: its samples are in them, {len(fewer)} differ without {largest.name}")


def switched(folder):
    way = "several files"
    place = folder / "switched"
    place.mkdir()
    process = recorder("--switch-output=signal", output=place / "perf.data", seconds=100)
    wait_for(lambda: list(place.iterdir()), process, f"{way}: perf records")

    def two_are_full():  # perf passes over signals that come before it is ready
        time.sleep(0.7)
        process.send_signal(signal.SIGUSR2)
        time.sleep(0.7)
        return len(list(place.glob("perf.data.*"))) >= 2

    wait_for(two_are_full, process, f"{way}: perf begins other files")
    process.send_signal(signal.SIGINT)
    process.wait(timeout=120)
    files = sorted(place.iterdir())
    check(len(files) > 2, f"{way}: perf wrote {[file.name for file in files]}")
    each_file = [{(each.time, each.tid) for each in judge(f"{way}, {file.name}", file, folder).samples} for file in files]
    check(sum(map(len, each_file)) == len(set().union(*each_file)), f"{way}: no sample is in two of them")


def injected(folder, plain):
    for options in (["-b"], ["-j"], ["-s"]):
        way = f"perf inject {options[0]}"
        data = folder / "injected.data"
        done = subprocess.run(["perf", "inject", *options, "-i", plain, "-o", data], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            not_here(way, done.stderr.strip()[-300:])
            continue
        ours = judge(way, data, folder)
        check(ours.samples == Imported(plain, folder).samples, f"{way}: the same samples as those of the file that it was made of")


def names_in_generated_code(data, folder):
    """[(time, tid, function, file)] as perf inject --jit names it. Only the profile says it: the files are away when it is asked."""
    profile = folder / "generated.tailor"
    run(BIN / "tailor", "import", data, "--no-find", "-o", profile)
    files = list(folder.glob("jitted-*.so"))
    for file in files:
        file.rename(file.with_suffix(".away"))
    rows = csv.DictReader(io.StringIO(run(BIN / "tailor", "export", profile, "--format", "csv", env={"TAILOR_SYMBOL_CACHE": "off"}), newline=""))
    found = [(int(row["time_ns"]), int(row["tid"]), row["function"], row["object"]) for row in rows if row["object"].startswith("jitted-")]
    for file in files:
        file.with_suffix(".away").rename(file)
    return found


def generated_code(folder):
    """Code of a compiler in the process: three functions, one after the other at one address, which a jitdump names."""
    way = "perf inject --jit"
    plain, data = folder / "jit.data", folder / "jit_injected.data"
    command = ["perf", "record", "-k", "1", *CLOCK, "-F", "997", "-o", plain, "--", BUILD / "targets" / "jit_process", "dump", folder]
    done = subprocess.run(command, input="\n", capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        return not_here(way, done.stderr.strip()[-300:])
    done = subprocess.run(["perf", "inject", "--jit", "-i", plain, "-o", data], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode != 0 or not list(folder.glob("jitted-*.so")):
        return not_here(way, done.stderr.strip()[-300:] or "this perf makes no files of a jitdump")
    judge(way, data, folder)
    theirs = [each for each in perf_script.names(data) if each[3].startswith("jitted-")]
    ours = names_in_generated_code(data, folder)
    more, fewer = differences(ours, theirs)
    check(theirs and not more and not fewer, f"{way}: all {len(theirs)} samples in generated code have the name that perf gives: {more[:3]} {fewer[:3]}")
    named = collections.Counter(name for _, _, name, _ in ours)
    check(named["one \x1b[31m"] > 0 and named["two"] > 0, f"{way}: {dict(named)}")
    # The broken twins: names that are exchanged, and a file of which perf inject has made nothing.
    exchanged = {"two": "one \x1b[31m", "one \x1b[31m": "two"}
    more, fewer = differences(ours, [(time, tid, exchanged.get(name, name), file) for time, tid, name, file in theirs])
    check(len(more) == named["two"] + named["one \x1b[31m"], f"{way}, the broken twin: {len(more)} names that are exchanged are found out")
    check(not names_in_generated_code(plain, folder), f"{way}, the broken twin: the file that it was made of names none of them")
    return None


def piped(folder, way, *options):
    command = ["perf", "record", *options, *CLOCK, "-F", "997", "-o", "-", *program()]
    done = subprocess.run(command, capture_output=True, timeout=300)
    if done.returncode != 0 or len(done.stdout) <= PIPE_HEADER:
        return not_here(way, done.stderr.decode().strip()[-300:])
    judge(way, done.stdout, folder)
    # Now while it is recorded: whether all comes through a pipe that is slow.
    profile = folder / "piped.tailor"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorder, \
            subprocess.Popen(["tee", folder / "teed.data"], stdin=recorder.stdout, stdout=subprocess.PIPE) as tee:
        imported = subprocess.run([BIN / "tailor", "import", "-", "-o", profile], stdin=tee.stdout, capture_output=True, text=True, timeout=300)
    samples = len(perf_script.read((folder / "teed.data").read_bytes()).samples)
    found = RESULT.search(imported.stderr)
    check(imported.returncode == 0 and found and number(found[1]) == samples > 0,
          f"{way}: perf record -o - | tailor import - has all {samples} samples: {imported.stderr.strip()[-200:]}")
    return None


def recorder(*options, output, seconds, frequency=997):
    command = ["perf", "record", *options, *CLOCK, "-F", str(frequency), "-o", output, *program(seconds)]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def wait_for(condition, process, what):
    until = time.monotonic() + 60
    while not (held := condition()) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    check(held, what)


def larger_than(file, size):
    return lambda: file.exists() and file.stat().st_size > size


def lossy(folder, way, *options):
    """The recorder does not read for a while, and a ring is full."""
    data = folder / f"{way.replace(' ', '_')}.data"
    process = recorder("-m", "1", *options, output=data, seconds=100, frequency=5000)
    told = data / "data" if "--threads" in options else data
    wait_for(larger_than(told, 0), process, f"{way}: perf records")
    time.sleep(0.5)
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.7)
    process.send_signal(signal.SIGCONT)
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=120)
    told, counted = perf_script.losses(data)
    check(told > 0, f"{way}: the kernel told of {told} lost samples, and perf counted {counted}")
    ours = judge(way, data, folder)
    check(("no record tells" in ours.said) == (counted > told), f"{way}: what only perf told of is said")


class Records:
    """The samples of one event in a file, as bytes: IP, thread and time come first."""

    def __init__(self, content):
        self.bytes = bytearray(content)
        self.begin, size = struct.unpack_from("<QQ", self.bytes, RECORDS)
        self.end = self.begin  # of the last whole record
        self.at = []  # where samples begin
        until = min(self.begin + size, len(content)) if size else len(content)
        while self.end + 8 <= until:
            kind, _, size = struct.unpack_from("<IHH", self.bytes, self.end)
            if size < 8 or self.end + size > until:
                break
            if kind == SAMPLE:
                self.at.append(self.end)
            self.end += size

    def repaired(self):
        """The same records in a file that says how many they are, and that nothing follows them: perf reads no others."""
        out = bytearray(self.bytes[:self.end])
        struct.pack_into("<Q", out, RECORDS + 8, self.end - self.begin)
        struct.pack_into("<QQQQ", out, FEATURES, 0, 0, 0, 0)
        return bytes(out)

    def key(self, at):
        """(time, tid)"""
        _, _, tid, when = struct.unpack_from("<QIIQ", self.bytes, at + 8)
        return when, tid


def judge_damaged(way, folder, content, words):
    """A file without its end."""
    data, repaired = folder / "damaged.data", folder / "repaired.data"
    data.write_bytes(content)
    records = Records(content)
    repaired.write_bytes(records.repaired())
    theirs = perf_script.read(repaired)
    check(sorted((each.time, each.tid) for each in theirs.samples) == sorted(map(records.key, records.at)) and records.at,
          f"{way}: it holds {len(records.at)} whole samples, for perf as well {theirs.error}")
    ours = judge(way, data, folder, expected=theirs.samples, lost=max(perf_script.losses(repaired)))
    check(words in ours.said, f"{way}: it is said")


def killed(folder):
    way = "a recorder that was killed"
    data = folder / "killed.data"
    process = recorder("-m", "1", output=data, frequency=2000, seconds=100)
    wait_for(larger_than(data, 30_000), process, f"{way}: perf has written some")
    os.killpg(process.pid, signal.SIGKILL)  # with the program that it records
    process.wait()
    judge_damaged(way, folder, data.read_bytes(), "was it killed")


def cut(folder, plain):
    content = plain.read_bytes()
    records = Records(content)
    for part in (0.5, 0.95):
        end = records.at[int(len(records.at) * part)] + 12  # within a sample
        judge_damaged(f"a file that was cut at {part:.0%}", folder, content[:end], "the file was cut")


def twins(folder, plain):
    """Files that differ from what perf reads by one sample: none of them may pass."""
    theirs = perf_script.read(plain).samples
    records = Records(plain.read_bytes())
    in_the_middle = records.at[len(records.at) // 2]
    twin = folder / "twin.data"
    missing = bytearray(records.bytes)
    struct.pack_into("<I", missing, in_the_middle, 68)  # perf's "all rings were read"
    twin.write_bytes(missing)
    more, fewer = differences(Imported(twin, folder).samples, theirs)
    check((len(more), len(fewer)) == (0, 1) and (fewer[0].time, fewer[0].tid) == records.key(in_the_middle),
          f"the broken twin, without a sample: it is found out {more} {fewer}")
    elsewhere = bytearray(records.bytes)
    elsewhere[in_the_middle + 8] ^= 1
    twin.write_bytes(elsewhere)
    more, fewer = differences(Imported(twin, folder).samples, theirs)
    check((len(more), len(fewer)) == (1, 1) and more[0].time == fewer[0].time and more[0].place != fewer[0].place,
          f"the broken twin, a sample elsewhere: it is found out {more} {fewer}")


def without_time(folder):
    options = ["--per-thread", "--no-timestamp"]
    simple("without time", folder, *options, *CLOCK, timed=False)
    simple("a group without time", folder, *options, "-e", "{cpu-clock,task-clock}:S", timed=False, events=("cpu-clock", "task-clock"))


def all_others(folder, plain):
    both, three = ("cpu-clock", "task-clock"), ("cpu-clock", "task-clock", "page-faults")
    simple("compressed", folder, "-z", *CLOCK)
    simple("a compressed directory", folder, "--threads", "-z", *CLOCK)
    switched(folder)
    simple("a group", folder, "-e", "{cpu-clock,task-clock}", events=both)
    simple("all CPUs by a group", folder, "-a", "-e", "{cpu-clock,task-clock,page-faults}:S", events=three, places=False)
    simple("callers", folder, "-g", *CLOCK)
    simple("build ids in mappings", folder, "--buildid-mmap", *CLOCK)
    simple("mappings at the end", folder, "--tail-synthesize", *CLOCK)
    simple("asynchronous writing", folder, "--aio", *CLOCK)
    without_time(folder)
    piped(folder, "a pipe")
    injected(folder, plain)
    generated_code(folder)
    lossy(folder, "a full ring of a directory", "--threads")


def main():
    with tempfile.TemporaryDirectory(prefix="tailor-perf-") as name:
        folder = pathlib.Path(name)
        plain = simple("a file", folder, *CLOCK)
        check(plain is not None, "perf records")
        twins(folder, plain)
        directory(folder)
        three = ("cpu-clock", "task-clock", "page-faults")
        simple("a group that its leader samples", folder, "-e", "{cpu-clock,task-clock,page-faults}:S", events=three)
        piped(folder, "a compressed pipe", "-z")
        lossy(folder, "a full ring")
        killed(folder)
        cut(folder, plain)
        if FULL:
            all_others(folder, plain)
    if skipped:
        print(f"not judged here: {', '.join(skipped)}")
    return 0


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    if reason := perf_tool_denied():
        skip(reason)
    sys.exit(main())
