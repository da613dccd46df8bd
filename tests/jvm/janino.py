"""Loops that Janino compiles at run time, as Spark does: methods have their shares by the program's clock, and the lines are right."""
import os
import pathlib
import tempfile

from jvm_env import CLASSES, JAR, JAVA, record, report, samples_of
from tailor_env import ROOT, about, at_least, check, sampling_denied, skip, until_enough

SOURCE = ROOT / "tests" / "targets" / "jvm" / "generated.java.txt"
LOOP = ("for (int i", "x = x *")


def janino():
    """Its jars, as tests/jvm/fetch gets them."""
    folder = pathlib.Path(os.environ.get("TAILOR_CACHE", ROOT / ".dev" / "cache")) / "jdk" / "janino"
    if not (folder / "complete").exists():
        skip("Janino was not fetched: tests/jvm/fetch, or ./dev fetch, gets it from Maven Central")
    return sorted(folder.glob("*.jar"))


if reason := sampling_denied():
    skip(reason)
path = ":".join(map(str, [*janino(), CLASSES]))


def once(work):
    with tempfile.TemporaryDirectory() as folder:
        truth, profile, _ = record(folder, JAVA, f"-javaagent:{JAR}", "-cp", path, "JvmJanino", str(SOURCE), str(40 * work))
        return truth, report(profile), report(profile, "--level", "line")


def both(measured):
    return sum(samples_of(measured[1], f"{name}.applyAsLong") for name in ("Heavy", "Light"))


truth, found, lines = until_enough(600, both, once)
heavy, whole = samples_of(found, "Heavy.applyAsLong"), both((truth, found))
# What still was interpreted is in neither; of the slower method it is more.
interpreted = sum(row["samples"] for row in found["component_rows"] if row["name"] == "JVM interpreter")
share = truth["heavy"] / (truth["heavy"] + truth["light"])
check(about(heavy, whole, share, 0.03 + interpreted / (interpreted + whole)),
      f"Heavy has {heavy / whole:.1%} of {whole:.0f} samples, by its clock {share:.1%}; {interpreted:.0f} samples were interpreted")
working = [number for number, text in enumerate(SOURCE.read_text().splitlines(), 1) if text.strip().startswith(LOOP)]
rows = [row for plan in lines["plans"] for row in plan["components"]]
on_loops = sum(row["samples"] for row in rows if row["name"].rpartition(":")[2] in map(str, working) and not row["name"].startswith("Jvm"))
check(at_least(on_loops, whole, 0.95), f"{on_loops:.0f} of these are on lines {working}, of the loops")
check(found["accounting"]["messages_rejected"] == 0, "the daemon refuses nothing that the agent says")
