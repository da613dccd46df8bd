"""What the tests judge by: bounds of chance against the exact binomial, and which tries count, with a host that is played."""
import contextlib
import io
import math

import disturbance
from chance import FALSE_ALARM, about, at_least, by_chance, edge, of_count, same
from disturbance import Taken, check_live
from tailor_env import SKIP, check


def log_binomial(k, n, p):
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)


def alarms(n, p, is_right):
    """The exact chance that a check of n samples fails though p is true."""
    return sum(math.exp(log_binomial(k, n, p)) for k in range(n + 1) if not is_right(k, n))


for n in (1, 3, 20, 100, 400, 2000):
    for p in (0.002, 0.02, 0.125, 0.25, 0.5, 0.9, 0.99, 0.995):
        low = alarms(n, p, lambda k, n: at_least(k, n, p))
        off = alarms(n, p, lambda k, n: about(k, n, p, 0))
        if low > FALSE_ALARM or off > FALSE_ALARM:
            check(False, f"{n} samples, share {p}: false alarms of at_least {low:.2g}, of about {off:.2g}")
check(True, f"false alarms of at_least and about are rarer than {FALSE_ALARM}, by the exact binomial")
# The bounds before, three standard deviations, are the twin.
three = alarms(100, 0.99, lambda k, n: k / n >= 0.99 - 3 * math.sqrt(0.99 * 0.01 / n))
check(three > 1000 * FALSE_ALARM, f"three standard deviations are wrong more often: {three:.2g}")


def poisson(n, is_right):
    """The exact chance that a check of a number around n fails."""
    return sum(math.exp(-n + k * math.log(n) - math.lgamma(k + 1)) for k in range(int(n * 4) + 60) if not is_right(k))


for n in (3, 30, 300, 3000):
    check(poisson(n, lambda k: abs(k / n - 1) <= of_count(n)) < FALSE_ALARM, f"a number of about {n} is within {of_count(n):.1%}")

# They can fail: with enough samples a share that is wrong is found wrong.
for n, share, wrong in ((500, 0.95, 0.8), (500, 0.25, 0.4), (2000, 0.5, 0.58), (1000, 0.98, 0.93)):
    missed = 1 - alarms(n, wrong, lambda k, n: at_least(k, n, share) if wrong < share else about(k, n, share, 0))
    check(missed < 0.15, f"{n} samples of {wrong}: taken for {share} with a chance of {missed:.2g}")
check(not at_least(0, 0, 0.5) and not about(0, 0, 0.5, 1), "no samples are no answer")
check(edge(100, 0.5, True) > 0.5 > edge(100, 0.5, False) and by_chance(0.5, 1) == 0.5, "bounds lie on their sides, and in [0, 1]")
check(same(50, 200, 120, 400) and not same(50, 200, 300, 400), "two shares of one thing, and of two")


class Played:
    """A Watch on a host that takes what it is told to, try by try."""

    def __init__(self, *steal):
        self.steal = list(steal)

    def __call__(self, pids):
        return self

    def taken(self):
        return Taken(10.0, self.steal.pop(0), 0.0, 0.0, 0, 0.0)


def ended(rights, steal, hard=False, **options):
    """How undisturbed() ends whose tries are right or not: (exit code or what it gives, tries)."""
    rights, made = list(rights), []

    def attempt():
        made.append(1)
        right = rights.pop(0)
        if hard:
            check(right, "a fault that no host excuses")
        check_live(right, "a figure")
        return "done"

    try:
        with contextlib.redirect_stdout(io.StringIO()):  # its words would look like those of a test that fails or skips
            return disturbance.undisturbed(attempt, watch=Played(*steal), **options), len(made)
    except SystemExit as end:
        return end.code, len(made)


check(ended([True], [0.5]) == ("done", 1), "a try that is right counts, whatever the host took")
check(ended([False], [0.0]) == (1, 1), "a wrong one on a quiet host has failed")
check(ended([False, True], [0.5, 0.0]) == ("done", 2), "a wrong one on a disturbed host is repeated")
check(ended([False, False], [0.5, 0.0]) == (1, 2), "and fails if it is wrong again when it is quiet")
check(ended([False] * 4, [0.5] * 4) == (SKIP, 4), "always disturbed: the test skips")
check(ended([False] * 4, [0.5] * 4, patience=0) == (SKIP, 1), "or when its time is over")
check(ended([False], [0.5], hard=True) == (1, 1), "what is no figure fails at once")

quiet = Taken(10.0, 0.0, 0.0, 0.0, 3, 0.0)
check(not quiet.disturbed(), "a quiet host")
for name, value in (("steal", 0.02), ("foreign", 0.2), ("waited", 0.3), ("throttled", 0.1)):
    check(Taken(**{**quiet.__dict__, name: value}).disturbed(), f"{name} disturbs")
watch = disturbance.Watch()
end = watch.begin[0] + 0.2
while disturbance.time.monotonic() < end:
    pass
taken = watch.taken()
check(taken.seconds >= 0.2 and 0 <= taken.foreign <= 1 and 0 <= taken.steal <= 1, f"the host itself can be asked: {taken}")
