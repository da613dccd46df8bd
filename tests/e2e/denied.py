"""Where perf is denied, the blocker and the remedy are named, and the command still has its exit code."""
import subprocess

from tailor_env import BIN, BUILD, check

blocked = subprocess.run([str(BUILD / "targets/no_perf"), str(BIN / "tailor"), "record", "-o", "/dev/null", "--", "true"],
                         capture_output=True, text=True)
check(blocked.returncode not in (0, 77), f"recording fails (exit code {blocked.returncode})")
text = blocked.stderr.lower()
check("perf_event_open" in text or "perf_event" in text, "the error names what was denied")
check("seccomp" in text or "cap_perfmon" in text or "perf_event_paranoid" in text, "and what to change")
nobody = subprocess.run([str(BIN / "tailor"), "report", "/nonexistent.tailor"], capture_output=True, text=True)
check(nobody.returncode != 0 and "/nonexistent.tailor" in nobody.stderr, "a missing file is named")
