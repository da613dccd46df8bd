"""Samples of a costly function that was injected into one operator belong to that operator.

Which instructions work for the function is what the JVM says to an agent of the test (tests/targets/spark/burn_ranges.cc).
At least 99.9 % of the samples whose inline stack holds the function must be the operator's: that share itself, nothing is
allowed for chance. Each place has at least 2,000 such samples, so the first wrong one and the second decide nothing: 1,998 of
2,000 are 99.9 %. The twin, whose marks name the next operator, must be found wrong.
"""
import collections
import pathlib
import subprocess
import sys
import tempfile

from spark_env import BURN_RANGES, JAR, TARGETS, TWIN_JAR, command, environment, record
from tailor_env import at_least, check, sampling_denied, skip, until_enough

BEARER = {"burn_filter": "Filter", "burn_join": "BroadcastHashJoin", "burn_sum": "HashAggregate"}
ENOUGH, SHARE = 2000, 0.999  # samples in each place, and of how many of them the operator must be known
PAGE = 4096
LATE = 500_000_000  # ns: so long it may take until a sample finds code of which the JVM has told
TOO_LATE, NOBODY = "nobody, told too late", "nobody"


class Code:
    """Compiled code over time, as the JVM said: of a sample in it, whether and how it works for burn()."""

    def __init__(self, text):
        live, self.pages = {}, {}
        for line in text.splitlines():
            word, time, base, *rest = line.split()
            time, base = int(time), int(base)
            if word == "unload":
                live.pop(base, [0])[0] = time
                continue
            size, ranges = int(rest[0]), [(where, int(first), int(last)) for where, first, last in zip(rest[1::3], rest[2::3], rest[3::3])]
            live[base] = piece = [float("inf"), time, base, size, ranges]  # until when, told when, ...
            for page in range(base // PAGE, (base + size) // PAGE + 1):
                self.pages.setdefault(page, []).append(piece)

    def works_for_burn(self, time, address):
        """"inlined", "apart" or None; and whether the JVM told of the code only after that, or just before.

        Code is there since the piece before it was unloaded.
        """
        for until, told, base, size, ranges in self.pages.get(address // PAGE, []):
            if time < until and 0 <= address - base < size:
                where = next((where for where, first, last in ranges if first <= address - base <= last), None)
                return where, time < told + LATE
        return None, False


def measure(version, scale, *options):
    def once(work):
        """For each query and way of compiling: the samples of burn() by owner."""
        with tempfile.TemporaryDirectory(prefix="tailor-spark-") as name:
            folder = pathlib.Path(name)
            text = " ".join([*options, f"-agentpath:{BURN_RANGES}={folder / 'ranges'}"])
            record(folder / "profile.tailor", command(version, folder / "data", *BEARER), environment(text, TAILOR_SPARK_SCALE=scale * work),
                   frequency=3989)
            code = Code((folder / "ranges").read_text())
            rows = subprocess.run([str(TARGETS / "sample_rows"), str(folder / "profile.tailor")], capture_output=True, text=True,
                                  check=True).stdout
            found = {query: {"inlined": collections.Counter(), "apart": collections.Counter()} for query in BEARER}
            for line in rows.splitlines():
                time, address, _, _, query, owner = line.split("\t")
                where, late = code.works_for_burn(int(time), int(address)) if query in found else (None, False)
                if where:
                    found[query][where][owner or (TOO_LATE if late else NOBODY)] += 1
            return found
    return once


def fewest(found):
    return min(places["inlined"].total() - places["inlined"][TOO_LATE] for places in found.values())


def right(query, owners):
    """Whether the operator has the share of these samples that is demanded."""
    return owners[BEARER[query]] >= SHARE * owners.total()


def likely_right(query, owners):
    """The same of samples that can be so few that one wrong sample would decide."""
    return at_least(owners[BEARER[query]], owners.total(), SHARE)


def main():
    if reason := sampling_denied():
        skip(reason)
    version = sys.argv[1]
    found = until_enough(ENOUGH, fewest, measure(version, 6, f"-javaagent:{JAR}"))
    for query, places in found.items():
        for where, owners in places.items():
            print(f"{query}, burn() {where}: {dict(owners)}")
        # What samples found before the JVM told of the code is nobody's, and must not be an operator's.
        inlined, apart = (collections.Counter({owner: n for owner, n in places[where].items() if owner != TOO_LATE}) for where in places)
        check(right(query, inlined), f"{query}: {inlined[BEARER[query]]} of {inlined.total()} samples whose inline stack holds burn() are {BEARER[query]}'s")
        # Called by the interpreter, nobody knows for whom.
        del apart[NOBODY]
        check(not apart or likely_right(query, apart), f"{query}: {apart[BEARER[query]]} of {apart.total()} samples of burn() below compiled code, too")
    if "twin" in sys.argv[2:]:
        found = until_enough(ENOUGH / 10, fewest, measure(version, 2, f"-javaagent:{TWIN_JAR} -Dtailor.twin=shift"))
        for query, places in found.items():
            check(not right(query, places["inlined"]), f"{query}: with operators shifted by one the check fails: {dict(places['inlined'])}")


if __name__ == "__main__":
    main()
