"""Nothing is lost silently: in every report, whatever it is of, received = attributed + unattributed + filtered + late, the
losses of the CPUs add up to those of the recording, and both are those of the profile's own samples. Also with a recorder
that stood still for two seconds, and with waits that are not over when the recording is."""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from tailor_env import BIN, all_accounted, check, check_live, run, sampling_denied, skip, undisturbed, until_enough

if reason := sampling_denied():
    skip(reason)


def accounting(*arguments):
    return json.loads(run(BIN / "tailor", *arguments, "--json"))["accounting"]


def adds_up(account):
    losses = ("lost_ring", "lost_hardware", "throttled", "gap_ns")
    return all_accounted(account) and all(account[loss] == sum(cpu[loss] for cpu in account["by_cpu"]) for loss in losses)


def line(*arguments):
    """The accounting as a text shows it: (received, attributed, unattributed, filtered, late, lost)."""
    text = " ".join(run(BIN / "tailor", *arguments, "--ascii").split())
    found = re.search(r"received ([\d,]+) samples = ([\d,]+) attributed \+ ([\d,]+) unattributed \+ ([\d,]+) filtered \+ "
                      r"([\d,]+) late(?: \+ [\d,]+ whose [^;]*)?; lost ([\d,]+)", text)
    return [int(number.replace(",", "")) for number in found.groups()] if found else None


def check_all(profile, what, reports):
    report = json.loads(run(BIN / "tailor", "report", profile, "--json"))
    account = report["accounting"]
    check(adds_up(account), f"{what}: the accounting adds up: {account}")
    broken = {**account, "late": account["late"] + 1}
    check(not adds_up(broken), f"{what}: one sample more would not")
    kept = report["samples"] + sum(source["samples"] for source in report["other_sources"])
    check(kept == account["attributed"] + account["unattributed"], f"{what}: the profile has these {kept} samples")
    wanted = [account[key] for key in ("received", "attributed", "unattributed", "filtered", "late")]
    wanted.append(account["lost_ring"] + account["lost_hardware"])
    for arguments in reports:
        name = " ".join(arguments)
        check(accounting(*arguments, profile) == account, f"{what}: `tailor {name} --json` has the same")
        check(line(*arguments, profile) == wanted, f"{what}: so has its text")
    return account


def record(profile, *options, stall=0):
    """`stall`: for how many times two seconds the recorder stands still."""
    command = [BIN / "tailor", "record", "-o", profile, *options, "--", BIN / "weft", "--sf", "0.05", "--threads", "2",
               "--repeat", str(1200 * stall or 60), "--quiet", "--tpch", "3"]
    recorder = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if stall:
        time.sleep(0.7)
        recorder.send_signal(signal.SIGSTOP)
        time.sleep(2 * stall)
        recorder.send_signal(signal.SIGCONT)
    said = recorder.stderr.read()
    check(recorder.wait(timeout=120) == 0, f"recorded: {said.strip().splitlines()[-2:]}")
    return said


def waits(profile):
    # The shell waits for the first sleep; the second one is still going on when it has ended.
    run(BIN / "tailor", "record", "-e", "off-cpu", "-o", profile, "--", "sh", "-c", "sleep 4 & sleep 1")
    report = json.loads(run(BIN / "tailor", "report", profile, "--source", "off-cpu", "--json"))
    check(adds_up(report["accounting"]), "waits add up as other samples do")
    check_live(2.7e9 < report["weight"] < 4e9, f"three waits of a second, one of them not over: {report['weight'] / 1e9:.2f} s")


def main():
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "p.tailor"
        record(profile, "--memory", "-e", "auto,off-cpu")
        check_all(profile, "as usual", [["report"], ["report", "--level", "task"], ["memory"], ["annotate"]])

        def stalled(work):
            said = record(profile, "--sampler", "perf", "-F", "25000", "--stacks", "none", stall=work)
            return said, check_all(profile, "a recorder that stood still", [["report"], ["annotate"]])

        said, account = until_enough(1, lambda found: found[1]["lost_ring"], stalled, most=8)
        print(f"it lost {account['lost_ring']}, of CPUs {[cpu['cpu'] for cpu in account['by_cpu'] if cpu['lost_ring']]}")
        check("received" in said, "the recorder says so at once")

        undisturbed(lambda: waits(profile))
    return 0


if __name__ == "__main__":
    sys.exit(main())
