"""A table of parts against costs that are known, and its broken twins: turns in an order that is always the same, and a part that
goes with another and is compared with all."""
import random

import ablation
from tailor_env import check

PARTS = {"without walk": 0.03, "without messages": 0.01, "without nothing": 0.0, "without leaves": 0.02}
# A walk finds the leaves: without them there is none.
WHOLES = {"without walk": "without leaves"}
ROUNDS = 800


class Engine:
    """Costs what its parts cost, with noise. Each turn of a round costs more than the one before, as on a host that gets warm."""

    def __init__(self, seed):
        self.random, self.turns = random.Random(seed), 0

    def turn(self, mode):
        cost = 1e6
        for part, share in PARTS.items():
            cost *= 1 + (0 if mode == "off" or part in (mode, WHOLES.get(mode)) else share)
        place = self.turns % (len(PARTS) + 3)
        self.turns += 1
        return cost * (1 + 0.01 * place) * self.random.gauss(1, 0.01)


def measured(seed, draw, wholes=None):
    modes = [ablation.ALL, *PARTS, "off", ablation.AGAIN]
    costs = ablation.in_turns(modes, ROUNDS, Engine(seed).turn, draw=draw)
    return dict(ablation.table({"work": costs}, list(PARTS), "off", WHOLES if wholes is None else wholes))


def wrong(table):
    """How many intervals miss what is true by more than a third of the smallest part that costs anything."""
    truth = {"part: walk": 1.03, "part: messages": 1.01, "part: nothing": 1.0, "part: leaves": 1.02,
             "everything": 1.03 * 1.01 * 1.02, "control, all against all": 1.0}
    check(set(table) == set(truth), f"rows {sorted(table)}")
    return [what for what, value in truth.items()
            if not table[what].low - 0.0033 <= value <= table[what].high + 0.0033]


def main():
    for seed in range(10):
        drawn = random.Random(1000 + seed)
        table = measured(seed, drawn.sample)
        check(not wrong(table), f"seed {seed}: {wrong(table)} are not what they cost")
        check(table["part: walk"].low > 1.015, "a part of 3 % is seen")
        check(table["everything"].count == ROUNDS, "every round is a pair")
        check(wrong(measured(seed, drawn.sample, wholes={})) == ["part: walk"],
              f"seed {seed}: a part took the cost of another, and nothing saw it")
        check(wrong(measured(seed, lambda modes, _: modes)), f"seed {seed}: the order of turns was taken for a cost, and nothing saw it")
    costs = ablation.in_turns(["all"], 1000, lambda _: 1, seconds=1e-9)
    check(len(costs["all"]) < 1000, "no round begins after the time is up")
    print("costs of parts are what they are")


if __name__ == "__main__":
    main()
