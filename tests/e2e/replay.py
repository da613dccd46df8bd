"""A recorded run replays to a byte-identical profile; one journal per query."""
import filecmp
import pathlib
import tempfile

from tailor_env import BIN, check, run, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
with tempfile.TemporaryDirectory() as folder:
    for query in ["tpch-1", "tpch-3", "tpch-6", "tpch-18", "figure-9", "sfja"]:
        live, journal, again = (pathlib.Path(folder) / f"{query}.{x}" for x in ("tailor", "journal", "again"))
        run(BIN / "tailor", "record", "-F", "1000", "-o", live, "--journal", journal, "--", BIN / "weft", "--sf", "0.1",
            "--threads", "2", "--repeat", "3", "--quiet", "--query", query)
        run(BIN / "tailor", "replay", journal, "-o", again)
        check(live.stat().st_size > 1000 and filecmp.cmp(live, again, shallow=False), f"{query}: byte-identical")
    damaged = pathlib.Path(folder) / "damaged"
    data = bytearray(journal.read_bytes())
    data[len(data) // 2] ^= 0x55
    damaged.write_bytes(data)
    other = pathlib.Path(folder) / "other"
    run(BIN / "tailor", "replay", damaged, "-o", other, expect=None)
    check(not other.exists() or not filecmp.cmp(live, other, shallow=False),
          "a damaged journal does not replay to the same profile")
