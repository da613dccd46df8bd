"""What earlier versions wrote is read for ever: the profile of each tagged version says what it said then, and its journal
replays to a profile that says the same. tests/fixtures/record_version.py makes the files of a version."""
import hashlib
import json
import lzma
import pathlib
import subprocess
import sys
import tempfile

from recorded_journals import rows
from tailor_env import BIN, ROOT, check, run


def said(profile):
    return rows(json.loads(run(BIN / "tailor", "report", profile, "--json")))


def differences(wanted, now):
    return "".join(f"; {key} was {wanted[key]}, is {now.get(key)}" for key in wanted
                   if key != "profile_sha256" and wanted[key] != now.get(key))


versions = sorted(path.parent for path in (ROOT / "tests/fixtures").glob("*/recording.json"))
check(versions, "there are older versions")
for version in versions:
    wanted = json.loads((version / "recording.json").read_text())
    stored = version / "recording.tailor"
    check(hashlib.sha256(stored.read_bytes()).hexdigest() == wanted["profile_sha256"], f"{version.name}: as it was written")
    wrong = differences(wanted, said(stored))
    check(not wrong, f"{version.name}: its profile reads as it did{wrong}")
    with tempfile.TemporaryDirectory() as folder:
        journal, again = pathlib.Path(folder) / "journal", pathlib.Path(folder) / "again.tailor"
        journal.write_bytes(lzma.decompress((version / "recording.journal.xz").read_bytes()))
        run(BIN / "tailor", "replay", journal, "-o", again)
        wrong = differences(wanted, said(again))
        same = "byte for byte" if again.read_bytes() == stored.read_bytes() else "in other bytes"
        check(not wrong, f"{version.name}: its journal replays to the same numbers, {same}{wrong}")
        # The comparison can fail: a profile with a changed byte is refused, or says something else.
        damaged = bytearray(stored.read_bytes())
        damaged[len(damaged) // 2] ^= 0x10
        again.write_bytes(damaged)
        done = subprocess.run([BIN / "tailor", "report", again, "--json"], capture_output=True, text=True)
        check(done.returncode != 0 or differences(wanted, rows(json.loads(done.stdout))),
              f"{version.name}: a damaged profile does not pass")
sys.exit(0)
