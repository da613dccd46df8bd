"""Work split between two methods that HotSpot compiles into one: found as the program's own clock measured it."""
import tempfile

import jvm_env
from jvm_env import check_owned, java, record, report, rows_of, samples_of, time_of
from tailor_env import about, check, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)

# HotSpot's own choice as a rule, but not on every run.
INLINE = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=inline,JvmShares.heavy", "-XX:CompileCommand=inline,JvmShares.light")
SLACK = 0.03  # of what the clock's own calls take and where a period ends


def measure(jar):
    def once(work):
        with tempfile.TemporaryDirectory() as folder:
            truth, profile, _ = record(folder, *java("JvmShares", 2000 * work, jar=jar, flags=INLINE))
            return truth, report(profile), report(profile, "--level", "line"), report(profile, "--level", "frame")
    return once


def of_program(measured):
    """Samples of all of the program's own methods, whichever."""
    return sum(row["samples"] for plan in measured[1]["plans"] for row in plan["operators"] if row["name"].startswith("JvmShares."))


truth, found, lines, frames = until_enough(1000, of_program, measure(jvm_env.JAR))
heavy, all_of = samples_of(found, "JvmShares.heavy"), of_program((truth, found))
share = truth["heavy"] / (truth["heavy"] + truth["light"])
check(about(heavy, all_of, share, SLACK), f"heavy has {heavy / all_of:.1%} of {all_of:.0f} samples, by its clock {share:.1%}")
inlined = sum(samples_of(frames, f"JvmShares.{name} in JvmShares.run") for name in ("heavy", "light"))
check(inlined > 0.5 * all_of, f"{inlined:.0f} of these ran as parts of another compiled method")
source = (jvm_env.pathlib.Path(__file__).parents[1] / "targets" / "jvm" / "JvmShares.java").read_text().splitlines()
first = next(i for i, text in enumerate(source, 1) if "static long heavy" in text)
loop = sum(samples_of(lines, f"JvmShares.java:{number}") for number in (first + 1, first + 2))
check(loop >= 0.95 * heavy, f"{loop:.0f} of these are on the two lines of its loop")
components = {row["name"]: row["samples"] for row in found["component_rows"]}
check("JVM interpreter" in components, f"beside the compiled code: {components}")
check_owned(found, 0.02)
check(found["accounting"]["messages_rejected"] == 0, "the daemon refuses nothing that the agent says")


def check_times(truth, found):
    """Each method has the CPU time that its thread's clock says, but for three points of both and what chance does: the clock
    counts its own calls, and what ran in the interpreter."""
    both, interval = truth["heavy"] + truth["light"], found["weight"] / found["samples"]
    for name in ("heavy", "light"):
        time, clock = time_of(rows_of(found, f"JvmShares.{name}")), truth[name]
        check(abs(time - clock) <= 0.03 * both + 5 * (clock * interval) ** 0.5,
              f"{name} has {time / 1e6:.0f} ms, by the clock {clock / 1e6:.0f}")


check_times(truth, found)


def right(measured):
    """Whether the heavy method has the time that its clock says, and its share of the program's samples."""
    truth, found = measured[:2]
    heavy, share = rows_of(found, "JvmShares.heavy"), truth["heavy"] / (truth["heavy"] + truth["light"])
    print(f"heavy has {time_of(heavy) / 1e6:.0f} ms of samples, by its clock {truth['heavy'] / 1e6:.0f}")
    return (abs(time_of(heavy) - truth["heavy"]) < 0.15 * truth["heavy"]
            and about(samples_of(found, "JvmShares.heavy"), of_program(measured), share, SLACK))


check(right((truth, found)), "rows are right")
# The twin whose rows are those of other instructions. As much work, however few samples its methods have.
check(not right(measure(jvm_env.BROKEN_JAR)(1)), "shifted rows are found out")
