"""Names of queries and tables that are not meant well: reports stay readable and complete, and nothing is refused."""
import json
import pathlib
import subprocess
import sys
import tempfile

from spark_env import C1_ALONE, HERE, JAR, environment, python_of, record, report
from tailor_env import BIN, check, sampling_denied, skip

LONG = 1_000_000
NAMES = {
    "newlines and control bytes": "first\\nsecond\\r\\u001b[2J\\u001b]0;x\\u0007\\u0000\\u009b31m",
    "markup": "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)>",
    "halves of pairs": "\\uD800 high \\uDC00\\uD800 turned \\uDFFF",
    "a character beyond 16 bits": "\\uD83D\\uDCCA sales",
    "quotes and patterns": "'\"`$(id)${x}%s%n{}[]{\"a\": 1}",
    "a million letters": "x" * LONG,
    "only blanks": "\\u0020\\t\\n",
}


def printed(*arguments):
    return subprocess.run([str(BIN / "tailor"), *map(str, arguments)], capture_output=True, check=True).stdout


def is_plain(text):
    text.decode()
    return not any(byte < 32 and byte != 10 or byte == 127 for byte in text) and b"\xc2\x9b" not in text


def main():
    if reason := sampling_denied():
        skip(reason)
    with tempfile.TemporaryDirectory(prefix="tailor-spark-") as name:
        folder = pathlib.Path(name)
        (folder / "names").write_text("\n".join(NAMES.values()) + "\n")
        profile, page = folder / "profile.tailor", folder / "page.html"
        record(profile, [python_of(sys.argv[1]), HERE / "hostile_queries.py", folder / "names", 3], environment(f"{C1_ALONE} -javaagent:{JAR}"))
        found = report(profile)
        executions = json.loads(printed("list", profile, "-n", 1000, "--json"))["executions"]
        texts = {view: printed(*view.split(), profile) for view in ("list", "report", "report --level line")}
        printed("report", "--html", page, profile)
        html = page.read_text()

    queries = [each for each in executions if each["plan_name"].startswith("SQL execution")]
    check(len(queries) >= 4 * len(NAMES), f"{len(queries)} executions were recorded of {len(NAMES)} names")
    names = [each["plan_name"] for each in queries]
    for wanted in (": first", ": </script><script>", ": '\"`$(id)${x}", ": \U0001F4CA sales", ": ? high ?? turned ?"):
        check(any(wanted in name for name in names), f"a name holds {wanted!r}")
    check(all("\n" not in name and len(name) <= 200 for name in names), "no name has more than 200 letters, or a second line")
    longest = max(len(each["labels"].get("query", "")) for each in queries)
    check(1000 < longest < LONG, f"of a million letters {longest} are kept")
    scans = [operator["name"] for plan in found["plans"] for operator in plan["operators"] if "\U0001F4CA" in operator["name"]]
    print(f"operators that name the table: {scans}")
    for view, text in texts.items():
        check(is_plain(text), f"`tailor {view}` has no control characters, and is UTF-8")
    check("<script>alert(1)" not in html and "<img src=x" not in html, "a page has no markup of theirs")
    account = found["accounting"]
    check(account["messages_rejected"] == 0 and account["messages_dropped"] == 0, "nothing is refused or dropped")


if __name__ == "__main__":
    main()
