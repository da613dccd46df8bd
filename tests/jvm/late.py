"""HotSpot tells of code seconds after it began to run: its samples have waited as addresses, and reports name them."""
import tempfile

from jvm_env import LATE_EVENTS, java, record, report, samples_of, time_of
from tailor_env import all_accounted, at_least, check, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)

# Three times this many ms of CPU time, one after the other; samples wait for 200 ms. The program runs for longer than all of them.
FLAGS = (f"-agentpath:{LATE_EVENTS}=700",)


def once(work):
    with tempfile.TemporaryDirectory() as folder:
        truth, profile, said = record(folder, *java("JvmShares", 8000 * work, flags=FLAGS))
        return truth, report(profile), said


def rows_of_program(measured):
    return [row for plan in measured[1]["plans"] for row in plan["operators"] if row["name"].startswith("JvmShares.")]


def of_program(measured):
    return sum(row["samples"] for row in rows_of_program(measured))


def unknown(measured):
    return sum(row["samples"] for row in measured[1]["unattributed_rows"] if row["key"] != "not_registered")


# However few are named.
truth, found, said = measured = until_enough(1000, lambda each: of_program(each) + unknown(each), once)
check("told late" in said, "the JVM told of code late")
named, nameless = of_program(measured), unknown(measured)
check(at_least(named, named + nameless, 0.95), f"{named:.0f} samples of the program have their method, {nameless:.0f} are of code that nobody knows")
spent = truth["heavy"] + truth["light"]
interpreted = time_of(row for row in found["component_rows"] if row["name"] == "JVM interpreter")
program = time_of(rows_of_program(measured)) + interpreted
check(abs(program - spent) < 0.15 * spent,
      f"{program / 1e6:.0f} ms of samples, {interpreted / 1e6:.0f} of them in the interpreter; by its clock {spent / 1e6:.0f}")
heavy = samples_of(found, "JvmShares.heavy")
check(at_least(heavy, named, truth["heavy"] / spent - 0.1), f"{heavy:.0f} of them are the heavy method's, by its clock {truth['heavy'] / spent:.1%}")
accounting = found["accounting"]
check(accounting["messages_rejected"] == 0, "the daemon refuses nothing that the agent says")
check(all_accounted(accounting), "samples that got a name later are counted once")
