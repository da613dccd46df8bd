"""Classes that come and go: their code is found while it lives, places are used again, and nothing grows.

churn.py SECONDS [COLLECTOR ...]: with each garbage collector of these (default: G1), in a code cache of 16 MB.
churn.py SECONDS compiled [COLLECTOR ...]: nothing is interpreted, so each method has what the clock says; in a code cache that holds
all code.
"""
import sys
import tempfile

from jvm_env import check_owned, java, record, report, rows_of, time_of
from tailor_env import check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)

seconds, collectors = float(sys.argv[1]), sys.argv[2:]
compiled = collectors[:1] == ["compiled"]
collectors = collectors[compiled:] or ["G1"]


def time_in(functions, name):
    """The CPU time in a function of any name and in what it called, in ns."""
    return sum(row["total"]["weight"] for row in functions["functions"] if row["name"] == name)


def check_times(said, found, functions):
    """Each generation begins in the interpreter, and the clock counts its own calls as well. That time is of one method or the
    other, and nobody knows of which one: a method has no more than the clock says, and no less than is left when all of that is
    its own."""
    by_method = {name: time_of(rows_of(found, f"JvmChurn${name}.applyAsLong")) for name in ("Odd", "Even")}
    by_clock = {"Odd": said["odd"] + said["firstOdd"], "Even": said["even"] + said["firstEven"]}
    of_either = time_in(functions, "Interpreter") + time_of(rows_of(found, "sun.management.ThreadImpl.getThreadTotalCpuTime0"))
    interval = found["weight"] / found["samples"]

    def slack(time):
        """Three points of that time, and five deviations of the time of as many samples."""
        return 0.03 * time + 5 * (time * interval) ** 0.5

    for name, clock in by_clock.items():
        method = by_method[name]
        text = f"{name} has {method / 1e9:.2f} s, by the clock {clock / 1e9:.2f}, and {of_either / 1e9:.2f} are of either"
        check(method <= clock + slack(clock) and method + of_either >= clock - slack(clock), text)
    methods, clock = sum(by_method.values()), sum(by_clock.values())
    text = f"both and what is of either have {(methods + of_either) / 1e9:.2f} s, by the clock {clock / 1e9:.2f}"
    check(methods <= clock + slack(clock) and methods + of_either >= clock - slack(clock), text)


def check_times_of_compiled(said, found, functions):
    """Each method is within three points of the thread's clock, above and below. From the clock goes what its own readings take:
    the program measures that with nothing between two readings, as often as it measures a method. The first calls of a method are
    measured apart: they begin in the interpreter and link, so nobody knows how much of their time is the method's own."""
    measured = {"Odd": said["odd"] - said["reading"], "Even": said["even"] - said["reading"]}
    at_first = {"Odd": said["firstOdd"], "Even": said["firstEven"]}
    methods = {name: time_of(rows_of(found, f"JvmChurn${name}.applyAsLong")) for name in measured}
    interval = found["weight"] / found["samples"]

    def agrees(name, method):
        slack = 0.03 * sum(measured.values()) + 5 * (measured[name] * interval) ** 0.5
        return measured[name] - slack <= method <= measured[name] + at_first[name] + slack

    around = {"main": rows_of(found, "JvmChurn.main"), "the clock": rows_of(found, "sun.management.ThreadImpl.getThreadTotalCpuTime0")}
    beside = ", ".join(f"{name} {time_of(rows) / 1e9:.2f} s" for name, rows in around.items())
    print(f"A reading of the clock is {said['reading'] / 1e9:.2f} s in all. Around the methods: {beside}, "
          f"the interpreter {time_in(functions, 'Interpreter') / 1e9:.2f} s")
    for name, method in methods.items():
        check(agrees(name, method), f"{name} has {method / 1e9:.2f} s, by the clock {measured[name] / 1e9:.2f}, "
                                    f"and at most {at_first[name] / 1e9:.2f} of its first calls")
    # The twin: each method has the time of the other one.
    check(not agrees("Odd", methods["Even"]) and not agrees("Even", methods["Odd"]), "times of the wrong method are found out")


def judge(collector, mode=("-XX:ReservedCodeCacheSize=16m",), times=check_times):
    flags = ("-Xmx256m", f"-XX:+Use{collector}GC", *mode)
    with tempfile.TemporaryDirectory() as folder:
        said, profile, _ = record(folder, *java("JvmChurn", seconds, flags=flags))
        found, functions = report(profile), report(profile, "--level", "function")
    loads, unloads, dropped, live, plans = said["now"][:5]
    check(said["generations"] >= 1,
          f"{collector}: {said['generations']} generations of two classes, {loads} pieces of code loaded, {unloads} unloaded")
    check(dropped == 0, "none was dropped")
    check(unloads > 0, "code is unloaded with its classes")
    # What the JVM frees in bursts may be there once more; what grows with every generation is more than that.
    check(live <= 2 * said["then"][3] + 200 and plans <= said["then"][4] + 2,
          f"half-way it was {said['then'][3]} pieces in {said['then'][4]} dictionaries, at the end {live} in {plans}")
    times(said, found, functions)
    check_owned(found, 0.02)
    check(found["accounting"]["messages_rejected"] == 0, "the daemon refuses nothing that the agent says")


for each in collectors:
    if compiled:
        judge(each, ("-Xcomp", "-XX:ReservedCodeCacheSize=128m"), check_times_of_compiled)
    else:
        judge(each)
