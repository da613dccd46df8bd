"""Classes that come and go: their code is found while it lives, places are used again, and nothing grows."""
import sys
import tempfile

from jvm_env import java, record, report, samples_of
from tailor_env import about, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)

seconds = float(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    said, profile, _ = record(folder, *java("JvmChurn", seconds, flags=("-Xmx256m", "-XX:ReservedCodeCacheSize=16m")))
    found = report(profile)
loads, unloads, dropped, live, plans = said["now"][:5]
check(said["generations"] >= 1, f"{said['generations']} generations of two classes, {loads} pieces of code loaded, {unloads} unloaded")
check(dropped == 0, "none was dropped")
check(unloads > 0, "code is unloaded with its classes")
# What the JVM frees in bursts may be there once more; what grows with every generation is more than that.
check(live <= 2 * said["then"][3] + 200 and plans <= said["then"][4] + 2,
      f"half-way it was {said['then'][3]} pieces in {said['then'][4]} dictionaries, at the end {live} in {plans}")
odd, even = samples_of(found, "JvmChurn$Odd.applyAsLong"), samples_of(found, "JvmChurn$Even.applyAsLong")
share = said["odd"] / (said["odd"] + said["even"])
# Each generation begins in the interpreter. Those samples are of one of both, and nobody knows of which one: the clock's share
# must lie between what odd has without them and what it has with all of them.
interpreted = sum(row["samples"] for row in found["component_rows"] if row["name"] == "JVM interpreter")
all_of_them = odd + even + interpreted
least, most = odd / all_of_them, (odd + interpreted) / all_of_them
check(least < share or about(odd, all_of_them, share, 0.03), f"odd has at least {least:.1%} of {all_of_them:.0f} samples, by the clock {share:.1%}")
check(most > share or about(odd + interpreted, all_of_them, share, 0.03), f"and at most {most:.1%}, with what was interpreted")
check(found["accounting"]["messages_rejected"] == 0, "the daemon refuses nothing that the agent says")
