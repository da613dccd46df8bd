"""A JVM with 500 threads: nothing is refused, and the one that works is found."""
import tempfile

from jvm_env import java, record, report, samples_of
from tailor_env import check, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)


def once(work):
    with tempfile.TemporaryDirectory() as folder:
        _, profile, _ = record(folder, *java("JvmShares", 1000 * work, 500))
        return report(profile)


def compilers(each):
    return {row["name"] for row in each["component_rows"]} & {"JVM compiler C1", "JVM compiler C2"}


# On a busy host the compilers may have had their short work done before anybody could tell which threads they are.
found = until_enough(300, lambda each: samples_of(each, "JvmShares.heavy") if compilers(each) else 0, once)
check(compilers(found), f"compilers are shown as such: {sorted(row['name'] for row in found['component_rows'])}")
check(found["accounting"]["messages_rejected"] == 0 and found["accounting"]["messages_dropped"] == 0, "nothing is refused or dropped")
