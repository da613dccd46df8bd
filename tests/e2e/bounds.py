"""What a query must move: weft says how its operators use memory and how many rows passed, and the report computes the bytes.

The broken twin is a weft that counts no rows: of columns that only some rows read, and of joins, nothing may be predicted then.
"""
import json
import pathlib
import tempfile

from tailor_env import BIN, check, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)


def recorded(profile, query, *options):
    """The report of a query of TPC-H, with enough samples that its plan is in it."""
    def measure(work):
        run(BIN / "tailor", "record", "-o", profile, "--", BIN / "weft", "--sf", "0.1", "--threads", "1", "--quiet",
            "--query", f"tpch-{query}", *options, "--repeat", str(20 * work))
        # Exit code 3: no sample yet is of the plan.
        text = run(BIN / "tailor", "report", "--bounds", "1M", "--json", profile, expect=(0, 3))
        return json.loads(text) if text.strip() else {"plans": []}

    return until_enough(1, lambda found: len(found["plans"]), measure)


def check_scan(report):
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


def check_times(profile):
    """At twice the bandwidth the bytes take half the time, and the distance is twice as long."""
    slow, fast = (json.loads(run(BIN / "tailor", "report", "--bounds", "1M", "--bandwidth", rate, "--json", profile))["plans"][0]
                  for rate in ("1", "2"))
    check(slow["not_measured"] == "", "all executions ended, and are counted")
    whole, faster = slow["whole"], fast["whole"]
    check(whole["least_bytes"] > 0 and abs(whole["memory_ns"] / whole["least_bytes"] - 1) < 1e-9, "a byte takes a nanosecond at 1 GB a second")
    check(abs(faster["memory_ns"] * 2 / whole["memory_ns"] - 1) < 1e-9, "and half of that at 2 GB")
    check(abs(faster["distance"] / whole["distance"] / 2 - 1) < 1e-9, "the distance grows with the bandwidth")
    crawling = json.loads(run(BIN / "tailor", "report", "--bounds", "1M", "--bandwidth", "0.001", "--json", profile))["plans"][0]
    check(crawling["whole"]["bound_by"] == "memory", "with a thousandth of that, memory is what it waits for")
    text = run(BIN / "tailor", "report", "--bounds", "1M", "--bandwidth", "1", profile)
    check("bound by" in text and "the whole plan" in text, "the text has the times")


def check_join(report):
    """TPC-H 14 joins lineitem with part. Their keys are never null."""
    rows = [row for row in report["plans"][0]["rows"] if row["region"].startswith("join ")]
    directory = [row for row in rows if row["region"] == "join directory"]
    slots = {row["items"] for row in directory if "unknown" not in row}
    check(len(directory) == 3 and len(slots) == 1, f"the directory is zeroed, filled and probed: {slots} slots")
    built = [row for row in rows if row["region"] == "join build" and row["writes"] and not row["reads"]]
    check(len(built) == 1 and "unknown" not in built[0], "the rows of the build side are counted")
    count = built[0]["items"]
    check(slots == {1 << (count * 3 // 2 - 1).bit_length()}, f"{count} rows have {slots} slots, as many as the engine makes")


with tempfile.TemporaryDirectory() as folder:
    profile = pathlib.Path(folder) / "bounds.tailor"
    report = recorded(profile, 6, "--count-rows")
    check(report["cache_bytes"] == 1 << 20 and report["line_bytes"] == 64, "the cache is the one that was asked for")
    check_scan(report)
    check_times(profile)
    text = run(BIN / "tailor", "report", "--bounds", "1M", profile)
    check("1.0 MiB" in text and "Computed, not measured" in text, "the text says what it is")
    check_join(recorded(profile, 14, "--count-rows"))

    uncounted = recorded(profile, 6)
    rows = [row for row in uncounted["plans"][0]["rows"] if row["pattern"] == "conditional"]
    check(all("not known" in row.get("unknown", "") for row in rows), "without counted rows nothing is made up")
    uncounted = recorded(profile, 14)
    rows = [row for row in uncounted["plans"][0]["rows"] if row["region"].startswith("join ")]
    check(rows and all("unknown" in row for row in rows), "nor of a join")
