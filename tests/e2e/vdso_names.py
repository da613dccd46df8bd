"""Code that the kernel itself puts into each process has names of functions: in a recording, in the daemon's, and in a perf.data,
as far as that says which kernel's it is. The twin: a perf.data without build ids, which may be of another kernel."""
import json
import pathlib
import shutil
import subprocess
import tempfile

from tailor_env import BIN, Daemon, check, perf_tool_denied, run, sampling_denied, skip, until_enough

SOURCE = """
#include <stdio.h>
#include <time.h>
static double used(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
int main(int c, char** v) {
  volatile double sink = 0;
  puts("ready"), fflush(stdout);
  for (double end = used(CLOCK_PROCESS_CPUTIME_ID) + c * 0.4; used(CLOCK_PROCESS_CPUTIME_ID) < end;)
    for (int i = 0; i < 100000; i++) sink = used(CLOCK_MONOTONIC);
  return 0;
}
"""
NAMES = ("__vdso_", "__kernel_")


def in_vdso(profile):
    report = json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json"))
    return {row["name"]: row["samples"] for row in report["functions"] if row["object"] == "[vdso]"}


def check_named(found, whose):
    named = sum(samples for name, samples in found.items() if name != "[vdso]")
    check(named > 0 and any(name.startswith(NAMES) for name in found), f"{whose}: functions of the kernel's code have names: {found}")
    check(found.get("[vdso]", 0) <= named / 10, f"{whose}: nearly all samples of it have one: {found}")


def imported(folder, program):
    if reason := perf_tool_denied():
        print(f"not tried: {reason}")
        return
    data = folder / "perf.data"
    subprocess.run(["perf", "record", "-q", "-F", "997", "-e", "cpu-clock:u", "-o", data, "--", program], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    told = subprocess.run(["perf", "buildid-list", "-i", data], capture_output=True, text=True).stdout
    if "[vdso]" not in told:
        print("not tried: this perf does not say which kernel's code it was")
        return
    check_named(in_vdso(data), "perf.data")
    subprocess.run(["perf", "record", "-q", "-B", "-N", "-F", "997", "-e", "cpu-clock:u", "-o", data, "--", program], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    told = subprocess.run(["perf", "buildid-list", "-i", data], capture_output=True, text=True).stdout
    if "[vdso]" not in told:
        check(set(in_vdso(data)) == {"[vdso]"}, "without a build id it may be another kernel's: it has no names")


def main():
    if shutil.which("cc") is None:
        skip("there is no C compiler")
    if "[vdso]" not in pathlib.Path("/proc/self/maps").read_text():
        skip("this kernel gives processes no code of its own")
    with tempfile.TemporaryDirectory(prefix="tailor-vdso-") as name:
        folder = pathlib.Path(name)
        (folder / "program.c").write_text(SOURCE)
        program, profile = folder / "program", folder / "p.tailor"
        run("cc", "-O1", "-o", program, folder / "program.c")
        current = pathlib.Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        clock = current.read_text().strip() if current.exists() else "not known"

        def measure(work):
            run(BIN / "tailor", "record", "-F", "997", "-o", profile, "--", program, *["x"] * (work - 1))
            return in_vdso(profile)

        if clock not in ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page"):
            skip(f"here the clock is read in the kernel ({clock})")
        check_named(until_enough(50, lambda found: sum(found.values()), measure), "tailor record")
        with Daemon(frequency=997) as daemon:
            process = subprocess.Popen([program, *["x"] * 150], stdout=subprocess.PIPE)  # longer than the recorder needs to begin
            process.stdout.readline()
            daemon.tailor("record", "-p", process.pid, "-o", profile, "--seconds", "1")
            process.kill()
            process.wait()
            check_named(in_vdso(profile), "a process that tailord samples")
        imported(folder, program)


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    main()
