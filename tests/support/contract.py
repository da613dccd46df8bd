"""schemathesis holds a server to the contract of the HTTP interface (daemon/serve/openapi.json)."""
import pathlib
import subprocess
import sys
import tempfile

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method"
# A stream of live events has no end. 503 is for deadlines, which requests choose. 500 is a defect.
CONFIG = """max-stream-events = 3
[checks]
not_a_server_error.expected-statuses = [200, 204, 400, 401, 403, 404, 405, 414, 429, 503]
"""


def breaks_contract(base, header, examples, without=(), timeout=1200):
    """What it finds in requests of every kind, good and bad, to the server at this address: its report, "" for nothing. `without`: paths
    that are not asked."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "schemathesis.toml")
        config.write_text(CONFIG)
        left_out = [word for path in without for word in ("--exclude-path", path)]
        done = subprocess.run(
            [pathlib.Path(sys.executable).parent / "schemathesis", "--config-file", config, "run", base + "/api/v1/openapi.json",
             "--header", header, "--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples", str(examples),
             *left_out, "--seed", "1", "--no-color"],
            capture_output=True, text=True, timeout=timeout, cwd=folder)
    return "" if done.returncode == 0 else done.stdout[-8000:] + done.stderr[-2000:] + f"exit code {done.returncode}"
