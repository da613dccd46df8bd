"""Where perf is denied, the blocker and the remedy are named, and the command still has its exit code."""
import json
import shutil
import subprocess
import sys
import tempfile

import host_allows
from tailor_env import BIN, BUILD, check, run, sampling_denied, skip

blocked = subprocess.run([str(BUILD / "targets/no_perf"), str(BIN / "tailor"), "record", "-o", "/dev/null", "--", "true"],
                         capture_output=True, text=True)
check(blocked.returncode not in (0, 77), f"recording fails (exit code {blocked.returncode})")
text = blocked.stderr.lower()
check("perf_event_open" in text or "perf_event" in text, "the error names what was denied")
check("seccomp" in text or "cap_perfmon" in text or "perf_event_paranoid" in text, "and what to change")
nobody = subprocess.run([str(BIN / "tailor"), "report", "/nonexistent.tailor"], capture_output=True, text=True)
check(nobody.returncode != 0 and "/nonexistent.tailor" in nobody.stderr, "a missing file is named")

# Where the kernel refuses BPF, perf takes the samples and the recording says so; who asks for BPF alone is told why not.
if reason := sampling_denied():
    skip(reason)
CAPSH = shutil.which("capsh", path="/usr/sbin:/sbin:/usr/bin:/bin")
if CAPSH is None:
    skip("capsh is missing (package libcap2-bin): not tried without CAP_BPF")


def without_bpf(*options):
    with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
        command = [str(BIN / "tailor"), "record", *options, "-o", profile.name, "--", "sh", "-c",
                   "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]
        return subprocess.run([CAPSH, "--drop=cap_bpf,cap_perfmon,cap_sys_admin", "--shell=/usr/bin/env", "--", *command],
                              capture_output=True, text=True)


fallen_back = without_bpf()
if fallen_back.returncode != 0 and "BPF" not in fallen_back.stderr:
    asked = subprocess.run([CAPSH, "--drop=cap_bpf,cap_perfmon,cap_sys_admin", "--shell=/usr/bin/env", "--", sys.executable, host_allows.__file__],
                           capture_output=True, text=True)
    if asked.returncode != 0:
        skip(f"perf is denied too without these capabilities: {asked.stdout.strip()}")
check(fallen_back.returncode == 0, "without CAP_BPF the command is recorded all the same"
      + (f": {fallen_back.stderr[-500:]}" if fallen_back.returncode else ""))
said = " ".join(fallen_back.stderr.split())
check("sampled by perf, though BPF would see more" in said, "by perf, and the recording says why")
check("cpu-clock by perf" in said and "cpu-clock by BPF" not in said, "and names the row it took")
refused = without_bpf("--sampler", "bpf")
check(refused.returncode == 1 and "bpf" in refused.stderr.lower(), f"--sampler bpf fails ({refused.returncode}): {refused.stderr.strip()}")

# Without the right to sample the kernel its time is not zero: it is said how much there was.
with tempfile.TemporaryDirectory() as folder:
    profile = f"{folder}/user.tailor"
    done = subprocess.run([CAPSH, "--drop=cap_bpf,cap_perfmon,cap_sys_admin", "--shell=/usr/bin/env", "--", str(BIN / "tailor"), "record",
                           "-o", profile, "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=300000"], capture_output=True, text=True)
    check(done.returncode == 0, "a command that works in the kernel is recorded")
    report = json.loads(run(BIN / "tailor", "report", profile, "--json"))
    if report["recording"]["kernel_sampled"]:
        skip("the kernel may be sampled without these capabilities (kernel.perf_event_paranoid): nothing to be said")
    unsampled, used = (report["recording"][key] for key in ("kernel_unsampled_ns", "cpu_used_ns"))
    check(report["all"]["kernel_weight"] == 0 and unsampled > used, f"kernel {unsampled / 1e6:.0f} ms, sampled of {used / 1e6:.0f} ms")
    text = run(BIN / "tailor", "report", profile)
    check(text.startswith("Kernel time was not sampled: it was") and "kernel 0.0 %" not in text, f"the report begins with it: {text.splitlines()[0]}")
