"""The views of the terminal on a real query: they add up to the report, a part of the time is a part of the cost, a profile does
not differ from itself, and more work for each execution is found by `tailor diff --fail-if`.
"""
import json
import pathlib
import subprocess
import tempfile
import xml.etree.ElementTree

from tailor_env import BIN, check, run, sampling_denied, skip, until_enough

if reason := sampling_denied():
    skip(reason)
TAILOR = BIN / "tailor"


def tailor(*arguments):
    return json.loads(run(TAILOR, *arguments, "--json"))


def recorded(profile, scale, repeat, *options):
    def measure(work):
        run(TAILOR, "record", *options, "-F", "4000", "-o", profile, "--", BIN / "weft", "--sf", scale, "--threads", "2", "--quiet",
            "--query", "figure-9", "--repeat", str(repeat * work))
        return tailor("report", profile)

    return until_enough(1000, lambda report: report["samples"], measure, most=256)


def near(a, b, part=1e-6):
    return abs(a - b) <= part * max(abs(a), abs(b), 1)


with tempfile.TemporaryDirectory() as folder:
    small, large = pathlib.Path(folder) / "small.tailor", pathlib.Path(folder) / "large.tailor"
    report = recorded(small, "0.01", 100, "--memory")
    whole = report["weight"]

    for lanes in ("all", "pipeline", "thread"):
        line = tailor("timeline", small, "--lanes", lanes)
        sums = [sum(sum(series["weights"]) for series in lane["series"]) for lane in line["lanes"]]
        check(near(sums[0], whole), f"timeline by {lanes}: everything is in the first lane ({sums[0]:.0f} of {whole:.0f})")
        check(len(sums) == 1 or near(sum(sums[1:]), whole), f"timeline by {lanes}: the other lanes add up to it")
    middle = (line["from_ns"] + line["to_ns"]) // 2
    parts = [tailor("timeline", small, *part)["view"]["weight"] for part in (("--to", f"{middle}ns"), ("--from", f"{middle}ns"))]
    check(near(sum(parts), whole) and min(parts) > 0, "two halves of the time are the whole")

    flame = tailor("flame", small)
    check(near(flame["root"]["weight"], whole), "flame: the root is everything")
    folded = run(TAILOR, "flame", small, "--folded").splitlines()
    check(near(sum(float(each.rsplit(" ", 1)[1]) for each in folded), whole, 1e-3), "flame --folded adds up")
    svg = pathlib.Path(folder) / "flame.svg"
    run(TAILOR, "flame", small, "--svg", svg)
    boxes = xml.etree.ElementTree.parse(svg).getroot().findall(".//{http://www.w3.org/2000/svg}rect")
    check(len(boxes) > 10, f"flame --svg is a picture of {len(boxes)} boxes")

    memory = tailor("memory", small)
    by_region = memory["by_region"]
    check(near(sum(row["weight"] for row in by_region), sum(row["weight"] for row in memory["rows"])),
          "memory by region and by operator are the same accesses")
    check(any(row["role"] == "column" for row in by_region) and memory["regions"], "memory: columns and their regions are known")
    known = [row for row in by_region if row["role"] == "column" and row["pattern"] != "unknown"]
    check(not any(row["pattern"] == "random" for row in known), f"no column that is scanned is called random ({len(known)} have a pattern)")
    for command in ("timeline", "flame", "memory"):
        text = run(TAILOR, command, small)
        check(max(map(len, text.splitlines())) <= 120 and "Hash join" in text, f"tailor {command} fits into 120 columns")

    rows = tailor("sql", small, "-q", "SELECT operator, name, sum(weight) AS weight FROM operator_samples GROUP BY operator, name")
    operators = {row["id"]: row["weight"] for plan in report["plans"] for row in plan["operators"] if row["weight"] > 0}
    check(rows and all(near(row["weight"], operators[row["operator"]], 1e-6) for row in rows) and len(rows) == len(operators),
          f"sql: the sums of {len(rows)} operators are those of the report")
    total = tailor("sql", small, "-q", "SELECT sum(weight) AS weight FROM samples JOIN cells USING (cell)")
    check(near(total[0]["weight"], whole), "sql: all samples are there")
    ended = tailor("sql", small, "-q", "SELECT typeof(elapsed_ns) AS kind, count(*) AS count FROM executions GROUP BY 1")
    check(ended and {row["kind"] for row in ended} <= {"integer", "null"}, f"sql: executions have their times: {ended}")
    csv = run(TAILOR, "sql", small, "--csv", "-q", "SELECT 'a,\"b' AS x, 1 AS y").splitlines()
    check(csv == ["x,y", '"a,""b",1'], f"sql --csv is RFC 4180: {csv}")
    for statement in ("DELETE FROM samples", "ATTACH '/tmp/x' AS x", "SELECT 1; SELECT 2", "SELECT nothing", "PRAGMA user_version", "-- none"):
        done = subprocess.run([TAILOR, "sql", small, "-q", statement], capture_output=True, text=True)
        check(done.returncode == 2, f"sql: {statement!r} is refused: {done.stderr.strip()}")

    findings = tailor("doctor", small)
    # How much a busy host gives the sampler is not this test's matter.
    own = [each for each in findings if each["check"] not in ("coverage", "losses")]
    check(all(each["state"] == "ok" for each in own), f"doctor: a good recording: {own}")
    bare, cut = pathlib.Path(folder) / "bare.tailor", pathlib.Path(folder) / "cut.tailor"
    run(TAILOR, "record", "-F", "997", "-o", bare, "--", "python3", "-c", "sum(i * i for i in range(3_000_000))")
    cut.write_bytes(small.read_bytes()[:-200])
    for path, code, expected in ((bare, 1, {"plans": "note", "unattributed": "problem"}), (cut, 0, {"file": "note"})):
        done = subprocess.run([TAILOR, "doctor", path, "--json"], capture_output=True, text=True)
        states = {each["check"]: each["state"] for each in json.loads(done.stdout)}
        check(done.returncode == code and expected.items() <= states.items(), f"doctor: {path.name}: {states}")
    host = subprocess.run([TAILOR, "doctor", "--json"], capture_output=True, text=True)
    states = {each["check"]: each["state"] for each in json.loads(host.stdout)}
    check(states["timer"] == "ok" and states["kernel"] == "ok" and {"BPF", "daemon"} <= states.keys(), f"doctor: this host: {states}")

    same = subprocess.run([TAILOR, "diff", small, small, "--fail-if", "total>0%", "--fail-if", "operator>0%", "--fail-if", "plan"],
                          capture_output=True, text=True)
    check(same.returncode == 0 and "The plans are the same" in same.stdout, "a profile does not differ from itself")
    recorded(large, "0.1", 10)
    # Ten times the rows: an execution costs more, by less than a hundred times.
    grown = subprocess.run([TAILOR, "diff", small, large, "--json", "--fail-if", "total>50%"], capture_output=True, text=True)
    check(grown.returncode == 4 and "the total grew by" in grown.stderr, f"ten times the rows are found: {grown.stderr.strip()}")
    check(json.loads(grown.stdout)["fail_if"][0]["condition"] == "total>50%", "and told in JSON")
    for limit, code in (("total>9900%", 0), ("totl>5%", 2)):
        done = subprocess.run([TAILOR, "diff", small, large, "--fail-if", limit], capture_output=True, text=True)
        check(done.returncode == code, f"--fail-if {limit} ends with {done.returncode}")
    for arguments in (("timeline", small, "--from", "2"), ("timeline", small, "--from", "5s", "--to", "1s"), ("flame", small, "--order", "plans")):
        done = subprocess.run([TAILOR, *arguments], capture_output=True, text=True)
        check(done.returncode == 2 and done.stderr, f"tailor {' '.join(map(str, arguments))} is refused: {done.stderr.strip()[:200]}")
