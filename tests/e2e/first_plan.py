"""The walking skeleton: weft runs a query under tailord, and `tailor report --last` prints its plan."""
import json

from tailor_env import Daemon, operators, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
with Daemon(frequency=2000) as daemon:
    daemon.weft("--sf", "0.1", "--threads", "2", "--repeat", "40", "--quiet", "--tpch", "3")
    text = daemon.tailor("report", "--last")
    check("lineitem" in text and "%" in text, "the report shows the plan with percentages")
    for word in ("unattributed", "lost", "inferred"):
        check(word in text.lower(), f"the report shows what is {word}")
    check("\x1b" not in text, "no colours where there is no terminal")
    report = json.loads(daemon.tailor("report", "--last", "40", "--json"))
    check(report["samples"] > 0, "the JSON report has samples")
    kinds = {op["kind"] for op in operators(report)}
    check({"scan", "hash_join", "group_join"} <= kinds, f"the plan has scans and joins: {sorted(kinds)}")
    annotated = daemon.tailor("annotate", "--last", "40")
    check("%" in annotated and "load" in annotated, "annotate shows IR with percentages")
    listed = json.loads(daemon.tailor("list", "--json"))
    check(len(listed["executions"]) == 40, "the list has the forty executions")
