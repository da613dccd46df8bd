"""What a query must move: weft says how its scans use memory and how many rows passed, and the report computes the bytes.

The broken twin is a weft that counts no rows: of columns that only some rows read, nothing may be predicted then.
"""
import json
import pathlib
import tempfile

from tailor_env import BIN, check, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)


def recorded(profile, *options):
    """The report of TPC-H 6, with enough samples that its plan is in it."""
    def measure(work):
        run(BIN / "tailor", "record", "-o", profile, "--", BIN / "weft", "--sf", "0.1", "--threads", "1", "--quiet",
            "--query", 6, *options, "--repeat", str(20 * work))
        # Exit code 3: no sample yet is of the plan.
        silent = report["plans"][0]["silent_operators"]
    check(silent, f"weft's other operators say nothing yet, and the report names them: {silent}")
    text = run(BIN / "tailor", "report", "--bounds", "1M", "--json", profile, expect=(0, 3))
        return json.loads(text) if text.strip() else {"plans": []}

    return until_enough(1, lambda found: len(found["plans"]), measure)


with tempfile.TemporaryDirectory() as folder:
    profile = pathlib.Path(folder) / "q6.tailor"
    report = recorded(profile, "--count-rows")
    check(report["cache_bytes"] == 1 << 20 and report["line_bytes"] == 64, "the cache is the one that was asked for")
    rows = [row for row in report["plans"][0]["rows"] if row["region"].startswith("lineitem.")]
    check(rows and all(row["operator_name"] == "Scan lineitem" and row["reads"] and not row["writes"] for row in rows),
          f"columns are read by the scan: {sorted(row['region'] for row in rows)}")
    whole = [row for row in rows if row["pattern"] == "sequential"]
    check(whole, "the first condition reads a column of each row")
    for row in whole:
        width = row["expected"]["read_bytes"] / row["items"]
        check(any(abs(width - each) < 64 / row["items"] for each in (1, 2, 4, 8, 16)),
              f"{row['region']} is read once, {width:.3f} bytes a row")
    known = [row for row in rows if "unknown" not in row]
    check(all(row["expected"]["read_bytes"] >= row["least"]["read_bytes"] * (1 - 1e-9) for row in known if row["least"]),
          "no cache moves less than the bound")
    check(all(row["unknown"] for row in rows if row not in known), "what is not predicted has a reason")
    silent = report["plans"][0]["silent_operators"]
    check(silent, f"weft's other operators say nothing yet, and the report names them: {silent}")
    text = run(BIN / "tailor", "report", "--bounds", "1M", profile)
    check("say nothing of memory" in text, "the text names operators that say nothing")
    check("1.0 MiB" in text and "Computed, not measured" in text, "the text says what it is")

    uncounted = recorded(profile)
    rows = [row for row in uncounted["plans"][0]["rows"] if row["pattern"] == "conditional"]
    check(all("not known" in row.get("unknown", "") for row in rows), "without counted rows nothing is made up")
