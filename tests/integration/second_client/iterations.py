"""The iterations of a dataflow loop, by the engine's marks and by the times of samples, against what the program itself
logs: how many there were, and when each began.

Every fifth iteration does what the others do not (the node Leaders), so a report of one iteration shows whether it has
samples of another. The broken twins: a program that marks an iteration when it is over, and logs that are read one
iteration off.
"""
import bisect
import json
import math
import re
import statistics
import tempfile

from built import build, environment
from tailor_env import BIN, check, operators, run, sampling_denied, skip

program = build("llvm19")
if reason := sampling_denied():
    skip(reason)
FREQUENCY = 8000  # the operator with the fewest samples has some 15 in an iteration: none in one of a million
VERTICES = 1_000_000
LONG_ENOUGH = 150e6  # ns, for an iteration of which samples tell: the operator that works last has a small part of it
# By how much nine of ten boundaries may be off: marks in ns, and what samples alone tell, in samples. An iteration ends with the last
# sample of the operator that works last. It has a third of the samples while it works, so behind its last one come 17 of others in
# one of a thousand iterations.
MARKS_OFF, SAMPLES_OFF = 100e3, 17
SPECIAL = 5  # iterations with this divisor look at the leaders
# All iterations do the same, but for the leaders. Where one takes this many times the CPU time of another, the host is slow for a while
# (its memory, its clock), and bursts at such a pace are not beyond chance: the samples alone rightly show no loop then.
UNEVEN = 1.6


class Recording:
    """A run of the program under the recorder, and what the program says of it."""

    def __init__(self, backend, marks, times=1):
        self.name = f"{backend}, marks: {marks}"
        self.file = tempfile.NamedTemporaryFile(suffix=".tailor")
        with tempfile.NamedTemporaryFile("r") as log:
            said = run(BIN / "tailor", "record", "-F", FREQUENCY, "-o", self.file.name, "--", program, backend,
                       VERTICES * times, 4 * VERTICES * times, log.name, marks, env=environment())
            lines = [[int(word) for word in line.split()] for line in log]
        self.begins = {number: (earliest, latest) for number, earliest, latest, _ in lines}
        # What the thread lost of its CPU in an iteration, at most.
        self.lost = max((b[2] - a[2]) - (b[3] - a[3]) for a, b in zip(lines, lines[1:]))
        used = [b[3] - a[3] for a, b in zip(lines, lines[1:])]
        self.uneven = max(used) / max(1, min(used))
        self.count = int(re.search(r"iterations (\d+)", said)[1])
        self.period = (self.begins[self.count][0] - self.begins[1][0]) / (self.count - 1)

    def disturbed(self):
        """Whether the host stopped the thread, or was slow, for long enough to move what samples can tell."""
        return self.lost > 0.25 * self.period or self.uneven > UNEVEN

    def tailor(self, *arguments):
        return json.loads(run(BIN / "tailor", *arguments, self.file.name, "--json"))

    def loop(self, *arguments):
        loops = self.tailor("iterations", *arguments)["loops"]
        check(len(loops) == 1, f"{self.name}: one loop of one execution")
        return loops[0]

    def report(self, *arguments):
        return self.tailor("report", *arguments)

    def sample_times(self):
        """When the samples of the execution were taken, in ns since it began."""
        rows = json.loads(run(BIN / "tailor", "sql", self.file.name, "-q", "SELECT time_ns - begin_ns AS time FROM samples "
                              "JOIN cells USING (cell) JOIN executions USING (pid, execution) ORDER BY time", "--json"))
        return [row["time"] for row in rows]


class Clock:
    """Counts by how much a time is off in nanoseconds. Marks have this clock."""
    unit = "ns"

    def between(self, earlier, later):
        return later - earlier


class SampleClock:
    """Counts by how many samples a time is off: samples know of a boundary only between which of them it lies. How far apart they
    are, the host decides: one that stops a CPU for milliseconds takes no sample meanwhile."""
    unit = "samples"

    def __init__(self, times):
        self.times = times

    def between(self, earlier, later):
        return bisect.bisect_left(self.times, later) - bisect.bisect_right(self.times, earlier)


def errors(loop, begins, clock):
    """By how much the iterations begin elsewhere than the program says; of those that both have."""
    def error(begin, earliest, latest):
        if earliest <= begin <= latest:
            return 0
        return clock.between(begin, earliest) if begin < earliest else clock.between(latest, begin)

    return [error(each["begin_ns"], *begins[each["number"]]) for each in loop["iterations"] if each["number"] in begins]


def agrees(loop, begins, clock, bound):
    """Whether nine of ten begin when the program says."""
    wrong = errors(loop, begins, clock)
    return len(wrong) > 0 and sum(error <= bound for error in wrong) >= 0.9 * len(wrong)


def shifted(begins):
    """The program's log, read one iteration off."""
    return {number + 1: times for number, times in begins.items()}


def leaders(report):
    """Samples of the node that only every fifth iteration needs."""
    return sum(op["samples"] for op in operators(report) if op["name"] == "Leaders")


def only_one(report_of, number, strays=0):
    """Whether the report of an iteration has what that iteration alone did, and those beside it have not."""
    inside = leaders(report_of(number))
    return inside > strays and all(leaders(report_of(n)) <= strays for n in (number - 1, number + 1))


def check_recording(recording, way, clock, bound, strays):
    loop = recording.loop()
    found = [each["number"] for each in loop["iterations"]]
    check(loop["found_by"] == way, f"{recording.name}: found by {way}")
    check(found == list(range(1, recording.count + 1)), f"{recording.name}: {len(found)} iterations, {recording.count} were run")
    wrong = errors(loop, recording.begins, clock)
    check(agrees(loop, recording.begins, clock, bound), f"{recording.name}: they begin when the program says, median "
          f"{statistics.median(wrong):.0f}, at most {max(wrong):.0f} {clock.unit} off, of {recording.period / 1e3:.0f} us")
    check(not agrees(loop, shifted(recording.begins), clock, bound), f"{recording.name}: read one iteration off, the log disagrees")
    reports = {}

    def report_of(number):
        if number not in reports:
            reports[number] = recording.report("--iteration", str(number))
        return reports[number]

    special = [n for n in range(SPECIAL, recording.count, SPECIAL)]
    check(sum(only_one(report_of, number, strays) for number in special) >= 0.9 * len(special),
          f"{recording.name}: reports of one iteration have samples of that one alone: "
          f"{[round(leaders(report_of(n))) for n in range(1, min(recording.count, 11) + 1)]}")
    check(not only_one(lambda number: report_of(number - 1), special[0], strays), f"{recording.name}: those of the ones before do not pass")
    check(not only_one(lambda _: recording.report(), special[0], strays), f"{recording.name}: nor does the report of all")
    by_row = {each["number"]: each["samples"] for each in loop["iterations"]}
    check(all(report["samples"] == by_row[number] for number, report in reports.items()),
          f"{recording.name}: the list of iterations has as many samples of each as its report")
    whole = recording.report()
    inside = sum(by_row.values()) / whole["windows"]["samples"]
    check(0.9 < inside <= 1, f"{recording.name}: {inside:.1%} of the samples of the execution are in iterations")
    return loop


def judged(backend, marks, judge, times=1):
    """A recording of which judge(recording) holds, and what that gives; `times`: of a graph so much larger. A recording is repeated
    only where the program's own clocks say that the host stopped its thread or was slow; None and why where it always does: then boundaries
    cannot be judged."""
    for _ in range(3):
        recording = Recording(backend, marks, times)
        lost = (f"{recording.name}: the thread lost its CPU for at most {recording.lost / 1e3:.0f} us of {recording.period / 1e3:.0f} us; an "
                f"iteration took up to {recording.uneven:.2f} times the CPU time of another")
        try:
            return judge(recording), lost
        except SystemExit:
            print(lost)
            if not recording.disturbed():
                raise
            print("the host was in the way")
    not_judged.append(lost)
    return None, lost


def judge_marked(marked):
    check_recording(marked, "marks", Clock(), MARKS_OFF, 0)
    by_samples = marked.loop("--iterations-from", "samples")
    check(by_samples["found_by"] == "samples", "the same recording's samples can be asked although it has marks")
    return marked


def judge_late(late):
    check(not agrees(late.loop(), late.begins, Clock(), MARKS_OFF), "the broken twin: marked when they are over, they begin elsewhere")
    check(not only_one(lambda number: late.report("--iteration", str(number)), SPECIAL), "and hold another one's samples")


def judge_samples(recording):
    return check_recording(recording, "samples", SampleClock(recording.sample_times()), SAMPLES_OFF, 2)


not_judged = []
marked, _ = judged("emitted", "yes", judge_marked)
judged("emitted", "late", judge_late)
times = max(1, math.ceil(LONG_ENOUGH / marked.period)) if marked else 1
for backend in ("emitted", "llvm", "c"):
    loop, lost = judged(backend, "no", judge_samples, times)
    if loop:
        print(f"{lost}; iterations differ by {loop['spread']:.1%}")
if not_judged:
    skip(f"not judged, three times over: {'; '.join(not_judged)}")
