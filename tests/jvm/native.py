"""Time in native code belongs to the Java method that called it, though the native frame is larger than what is sampled of a stack."""
import tempfile

from jvm_env import java, record, report, rows_of, time_of
from tailor_env import at_least, bpf_denied, check, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)


def measure(*options):
    def once(work):
        with tempfile.TemporaryDirectory() as folder:
            truth, profile, said = record(folder, *java("JvmNative", 500 * work), options=options)
            return truth, report(profile), said
    return once


def expected(measured):
    return measured[0]["reads"] / measured[1]["source"]["period"]


def of_reads(found):
    """The time of the methods that read: the native one, and what calls it."""
    return sum(time_of(rows_of(found, name)) for name in ("java.io.FileInputStream.readBytes", "java.io.FileInputStream.read", "JvmNative.sum"))


def identified(measured):
    """Whether of the time that the program's clock measured at least 9 parts of 10 are the methods'. The first ones ran in the
    interpreter."""
    ns, whole = of_reads(measured[1]), measured[0]["reads"]
    print(f"{ns / 1e6:.0f} ms of samples are the methods', by the program's clock they are {whole / 1e6:.0f}")
    return at_least(min(ns / whole, 1) * expected(measured), expected(measured), 0.9)


measured = until_enough(1000, expected, measure())
found = measured[1]
if "tags are in memory slots" in measured[2] or not found["accounting"].get("stacks", 1):
    check(bpf_denied(), "BPF is allowed, so it reads the anchors")
    skip(f"no BPF here: {bpf_denied()}")
check(identified(measured), "time in native code is the method's that called it")
runtime = sum(row["samples"] for row in found["component_rows"] if row["name"] == "JVM runtime")
unknown = sum(row["samples"] for row in found["unattributed_rows"] if row["key"] != "not_registered")
print(f"{runtime:.0f} samples of the JVM's runtime, {unknown:.0f} unattributed")
check(found["accounting"]["messages_rejected"] == 0, "the daemon refuses nothing that the agent says")
# perf reads no anchor: without it the check fails.
check(not identified(measure("--sampler", "perf")(1)), "without the anchor they are not found")
