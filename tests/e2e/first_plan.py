"""The walking skeleton: weft runs a query under tailord, and `tailor report --last` prints its plan."""
import json

from tailor_env import Daemon, operators, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
with Daemon(frequency=2000) as daemon:
    daemon.weft("--sf", "0.1", "--threads", "2", "--repeat", "5", "--tpch", "3")
    text = daemon.tailor("report", "--last")
    check("lineitem" in text and "%" in text, "the report shows the plan with percentages")
    for word in ("unattributed", "lost", "inferred"):
        check(word in text.lower(), f"the report shows what is {word}")
    check("\x1b" not in text, "no colours where there is no terminal")
    report = json.loads(daemon.tailor("report", "--last", "--json"))
    check(report["samples"] > 20, "the JSON report has samples")
    kinds = {op["kind"] for op in operators(report)}
    check({"scan", "hash_join", "group_by"} <= kinds, f"the plan has scans, joins and a grouping: {sorted(kinds)}")
    annotated = daemon.tailor("annotate", "--last")
    check("%" in annotated and "load" in annotated, "annotate shows IR with percentages")
    listed = json.loads(daemon.tailor("list", "--json"))
    check(len(listed["executions"]) == 5, "the list has the five executions")
