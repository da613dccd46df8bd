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


found = until_enough(300, lambda each: samples_of(each, "JvmShares.heavy"), once)
names = {row["name"] for row in found["component_rows"]}
check("JVM compiler C2" in names or "JVM compiler C1" in names, f"compilers are shown as such: {sorted(names)}")
check(found["accounting"]["messages_rejected"] == 0 and found["accounting"]["messages_dropped"] == 0, "nothing is refused or dropped")
