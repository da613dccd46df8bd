"""A cost injected at one place of the SFJA query is found in the operator that bears it.

The bias, with its interval, is a benchmark (tests/bench/oracle.py); here only the operator is asserted. The
broken twin swaps two owners in the report, and must be found wrong.
"""
from oracle import BEARER, Runner, query
from tailor_env import Daemon, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)


def found(plain, altered):
    """The operator whose time grew the most."""
    growth = {}
    for run, sign in ((altered, 1), (plain, -1)):
        for operator, ns in run["operators"].items():
            growth[operator] = growth.get(operator, 0) + sign * ns
    return max(growth, key=growth.get)


def swapped(run, one, other):
    exchange = {one: other, other: one}
    return {"operators": {exchange.get(operator, operator): ns for operator, ns in run["operators"].items()}}


with Daemon(frequency=2000) as daemon:
    runner = Runner(daemon, "0.05", 2, 10)
    for where, bearer in BEARER.items():
        for variant in ("inline", "call"):
            plain = runner(query(where, variant))
            altered = runner(query(where, variant, 200))
            check(found(plain, altered) == bearer, f"{where}, {variant}: found in {bearer}")
            wrong = next(o for o in plain["operators"] if o.startswith("group_by"))
            check(found(swapped(plain, bearer, wrong), swapped(altered, bearer, wrong)) != bearer,
                  f"{where}, {variant}: with two owners swapped the check fails")
