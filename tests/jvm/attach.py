"""The agent attached to a JVM that runs: methods are found, their lines are marked inferred, and the agent says so. Wrong options
and a missing daemon do not keep a program from running."""
import subprocess
import tempfile

from jvm_env import CLASSES, JAR, JAVA, java, record, report, samples_of
from tailor_env import at_least, check, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)


# What was compiled before goes on to run.
APART = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,JvmShares.heavy", "-XX:CompileCommand=dontinline,JvmShares.light")


def once(work):
    with tempfile.TemporaryDirectory() as folder:
        _, profile, said = record(folder, JAVA, *APART, "--add-modules", "jdk.attach", "-Djdk.attach.allowAttachSelf=true", "-cp", str(CLASSES), "JvmAttached",
                                  str(JAR), str(2000 * work))
        return report(profile), said


def both(measured):
    return sum(samples_of(measured[0], f"JvmShares.{name}") for name in ("heavy", "light"))


found, said = until_enough(500, both, once)
check("safepoints only" in said, "a late attach says that it is less precise")
rows = [row for plan in found["plans"] for row in plan["operators"] if row["name"] in ("JvmShares.heavy", "JvmShares.light")]
inferred, weight = (sum(row[key] for row in rows) for key in ("inferred_weight", "weight"))
check(inferred > 0.5 * weight, f"{inferred / weight:.1%} of the methods' time is marked inferred")

done = subprocess.run(java("JvmShares", 10, options="no=such"), capture_output=True, text=True, timeout=60)
check(done.returncode == 0 and "heavy" in done.stdout and "unknown option 'no=such'" in done.stderr, f"a wrong option: {done.stderr.strip()}")
