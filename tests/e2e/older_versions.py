"""What earlier versions wrote is read for ever: the profile of each tagged version says what it said then, its journal replays to a
profile that says the same, and so does its store, which a tailord goes on with. tests/fixtures/record_version.py makes the files of a
version, but for the store: store.tar.xz is what that version's StoreWriter made of the calls that its reader gave for the profile."""
import hashlib
import json
import lzma
import pathlib
import subprocess
import sys
import tarfile
import tempfile

from catalogue_rows import seal
from recorded_journals import rows
from tailor_env import BIN, ROOT, Daemon, check, run


def said(profile):
    return rows(json.loads(run(BIN / "tailor", "report", profile, "--json")))


def differences(wanted, now):
    return "".join(f"; {key} was {wanted[key]}, is {now.get(key)}" for key in wanted
                   if key != "profile_sha256" and wanted[key] != now.get(key))


def segments(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.suffix in (".data", ".dictionary")}


def check_store(version, wanted):
    """Its store, before and after a tailord of this version has taken it over."""
    daemon = Daemon(options=("--keep-days", "0"))
    with tarfile.open(version / "store.tar.xz") as packed:
        packed.extractall(daemon.store, filter="data")
    before = segments(daemon.store)

    def executions():
        return [row["id"] for row in json.loads(daemon.tailor("list", "--store", daemon.store, "--json"))["executions"]]

    def check_reports(state):
        for execution in known:
            of_store = rows(json.loads(daemon.tailor("report", "--store", daemon.store, "-x", execution, "--json")))
            of_file = rows(json.loads(run(BIN / "tailor", "report", version / "recording.tailor", "-x", execution, "--json")))
            of_file.pop("losses")  # of the recording
            wrong = differences(of_file, of_store)
            check(not wrong, f"{version.name}: its store says what its profile says, {state}{wrong}")

    known = executions()
    check(known, f"{version.name}: its store has {len(known)} executions")
    check_reports("as it was written")
    daemon.start()
    sums = json.loads(daemon.tailor("report", "--by", "day", "--json"))
    daemon.stop()
    weight = sum(event["weight"] for event in sums["events"] if event["unit"] == "ns_on_cpu")
    check(abs(weight - wanted["all"]["weight"]) < 1, f"{version.name}: the history has all of it: {weight / 1e6:.3f} ms")
    after = segments(daemon.store)
    check(before and all(after.get(name) == digest for name, digest in before.items()), f"{version.name}: tailord changes none of its segments")
    catalogue = (daemon.store / "catalogue.sqlite").read_bytes()
    check(seal(catalogue) == catalogue, "tailord gives its catalogue checksums")
    check(not list(daemon.store.glob("*.bad")) and executions() == known, "and puts nothing aside")
    check_reports("after tailord used it")
    daemon.log.close()
    daemon.folder.cleanup()


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
    check_store(version, wanted)
sys.exit(0)
