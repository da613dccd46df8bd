"""Names of classes and methods that a class file may hold: reports stay readable and complete, and nothing crashes."""
import subprocess
import tempfile

from jvm_env import java, record, report
from tailor_env import BIN, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)

with tempfile.TemporaryDirectory() as folder:
    _, profile, _ = record(folder, *java("JvmHostile", 3))
    found = report(profile)
    text = subprocess.run([str(BIN / "tailor"), "report", str(profile)], capture_output=True, check=True).stdout
hot = [row for plan in found["plans"] for row in plan["operators"] if row["name"].startswith("JvmHostile$") and row["samples"] >= 1]
check(len(hot) >= 4, f"methods of hostile names have their samples: {[row['name'] for row in hot]}")
check(not any(byte < 32 and byte != 10 for byte in text), "the text of the report has no control characters")
text.decode()
check(found["accounting"]["messages_rejected"] == 0, "the daemon refuses nothing that the agent says")
