"""A cost injected at one place of the SFJA query is found in the operator that bears it.

The bias, with its interval, is a benchmark (tests/bench/oracle.py); here only the operator is asserted. The
broken twin is a build of weft whose dictionary has two owners swapped, and must be found wrong.
"""
from oracle import BEARER, Runner, query
from tailor_env import BIN, Daemon, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)


def found(plain, altered):
    """The operator whose time grew the most."""
    growth = {}
    for run, sign in ((altered, 1), (plain, -1)):
        for operator, ns in run["operators"].items():
            growth[operator] = growth.get(operator, 0) + sign * ns
    return max(growth, key=growth.get)


def swapped(daemon, bearer):
    """weft with the tasks of the bearer and of the group by exchanged."""
    kind, _, consumer = bearer.replace("scan lineitem", "scan").partition(" < ")
    return Runner(daemon, "0.05", 2, 10, twin=(BIN.parent / "targets" / "weft_swapped_owners",
                                               {"TAILOR_TWIN_KIND": kind, "TAILOR_TWIN_CONSUMER": consumer}))


with Daemon(frequency=2000) as daemon:
    runner = Runner(daemon, "0.05", 2, 10)
    for where, bearer in BEARER.items():
        for variant in ("inline", "call"):
            plain = runner(query(where, variant))
            altered = runner(query(where, variant, 200))
            check(found(plain, altered) == bearer, f"{where}, {variant}: found in {bearer}")
            twin = swapped(daemon, bearer)
            check(found(twin(query(where, variant)), twin(query(where, variant, 200))) != bearer,
                  f"{where}, {variant}: with two owners swapped the check fails")
