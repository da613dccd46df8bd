"""What each part of something costs: all of it, against all but that part, in turns of shuffled order."""
import random
import time

from paired import ratio_interval

ALL, AGAIN = "all", "all again"


def in_turns(modes, rounds, turn, seconds=0, draw=random.sample):
    """{mode: its cost in each round}. `turn(mode)` gives the cost of one turn. In each round every mode has one, in an order that
    is drawn anew, so that what comes first or last is not always the same. No round begins after so many seconds (0: no limit)."""
    costs = {mode: [] for mode in modes}
    begin = time.monotonic()
    for _ in range(rounds):
        if seconds and time.monotonic() > begin + seconds:
            break
        for mode in draw(modes, len(modes)):
            costs[mode].append(turn(mode))
    return costs


def ratio(works, over, under):
    """Of `over` to `under`, over the rounds of all works: {work: {mode: costs}}."""
    return ratio_interval([pair for costs in works.values() for pair in zip(costs[over], costs[under])])


def table(works, parts, off=None, wholes=None):
    """Rows of (what, interval). `parts` are modes that lack one part; `off` lacks them all. The cost of a part is all of it
    against that mode. `wholes` says for a part that cannot go alone which mode lacks the same but this part: its cost is that mode
    against the part's. The control is all against all: an interval that does not contain 1 says that the others are off by as much."""
    rows = [(f"part: {part.removeprefix('without ')}", ratio(works, (wholes or {}).get(part, ALL), part)) for part in parts]
    if off:
        rows.insert(0, ("everything", ratio(works, ALL, off)))
    return [*rows, ("control, all against all", ratio(works, AGAIN, ALL))]
