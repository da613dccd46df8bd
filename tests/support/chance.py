"""How far a share of samples can be off by chance alone: bounds that follow from the number of samples.

Every bound is Chernoff's (1952): of n independent samples, each of which is a hit with probability p, a share of q or further away
on that side comes with probability exp(-n * D(q || p)) at most, D being the relative entropy of the two. That holds for every n and
p, also for few samples and for p near 1, where a number of standard deviations says little. A check raises a false alarm less than
once in a million times. Timers that are not independent of themselves (they come evenly) scatter less.
"""
import functools
import math

FALSE_ALARM = 1e-6


def entropy(q, p):
    """D(q || p) of two shares, in nats."""
    if p <= 0 or p >= 1:
        return 0.0 if q == p else math.inf
    return (q * math.log(q / p) if q > 0 else 0.0) + ((1 - q) * math.log((1 - q) / (1 - p)) if q < 1 else 0.0)


@functools.lru_cache(maxsize=4096)
def edge(samples, share, above, alarm=FALSE_ALARM):
    """The furthest share, on one side, that `samples` of `share` have by chance."""
    near, far = share, 1.0 if above else 0.0
    most = math.log(1 / alarm) / max(samples, 1e-9)
    if entropy(far, share) <= most:
        return far
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (middle, far) if entropy(middle, share) <= most else (near, middle)
    return far


def by_chance(share, samples):
    """By how much a share of `samples` can be off by chance, to either side."""
    return max(edge(samples, share, True, FALSE_ALARM / 2) - share, share - edge(samples, share, False, FALSE_ALARM / 2))


def at_least(part, whole, share):
    """Whether `part` of `whole` samples can be `share` of them or more, and are fewer by chance alone."""
    return whole > 0 and part / whole >= edge(whole, share, above=False)


def at_most(part, whole, share):
    """Whether `part` of `whole` samples can be `share` of them or fewer, and are more by chance alone."""
    return whole > 0 and part / whole <= edge(whole, share, above=True)


def about(part, whole, share, slack):
    """Whether `part` of `whole` samples can be `share` of them within `slack`, and within what chance does beside it."""
    return whole > 0 and abs(part / whole - share) <= slack + by_chance(share, whole)


def of_count(samples):
    """By which part of itself a number of about `samples` can be off by chance, to either side, if each comes by itself (Poisson):
    Bernstein's bound, which is a little wider than Chernoff's."""
    most = math.log(2 / FALSE_ALARM)
    samples = max(samples, 1.0)
    return math.sqrt(2 * most / samples) + most / (3 * samples)


def same(part, whole, other_part, other_whole):
    """Whether two shares of samples can be those of one and the same thing: each is off from what both have together by chance."""
    if whole <= 0 or other_whole <= 0:
        return False
    both = (part + other_part) / (whole + other_whole)
    return about(part, whole, both, 0) and about(other_part, other_whole, both, 0)
