"""What an installation gives Prometheus and Grafana is sound: promtool checks configuration and rules, evaluates the
rules on made-up series, and parses every query of the dashboard.

  prometheus_rules.py PROMTOOL DEPLOY
"""
import json
import pathlib
import subprocess
import sys
import tempfile

VARIABLES = {"$__rate_interval": "1m", "$instance": ".*", "$fingerprint": ".*"}


def expressions(dashboard):
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for annotation in dashboard["annotations"]["list"]:
        yield annotation["name"], annotation["expr"]


def run(*command):
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True)
    if done.returncode != 0:
        print("FAILED:", *command, done.stdout, done.stderr, sep="\n")
        sys.exit(1)
    print("ok:", *command[1:3])


def main():
    promtool, deploy = sys.argv[1], pathlib.Path(sys.argv[2])
    if "NOTFOUND" in promtool:
        print("SKIP: promtool (Debian's package prometheus) is not installed")
        sys.exit(77)
    run(promtool, "check", "config", deploy / "prometheus/tailor.yml")
    run(promtool, "check", "rules", deploy / "prometheus/tailor.rules.yml")
    run(promtool, "test", "rules", deploy / "prometheus/tailor.rules_test.yml")
    dashboard = json.loads((deploy / "grafana/tailor.json").read_text())
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids)), "panels have numbers of their own"
    rules = []
    for number, (title, expression) in enumerate(expressions(dashboard)):
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        rules.append({"record": f"panel:{number}", "expr": expression})
    # promtool 2.42 parses queries as rules only.
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump({"groups": [{"name": "panels", "rules": rules}]}, file)
        file.flush()
        run(promtool, "check", "rules", file.name)
    print(f"ok: {len(rules)} queries of the dashboard")


if __name__ == "__main__":
    main()
