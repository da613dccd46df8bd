"""weft's answers at scale factor 0.01 against answers of DuckDB that are kept with the test (expected_sf0.01.json,
written by answers.py --write): for every query the number of rows, and the first forty in order."""
import json
import pathlib
import subprocess

from answers import differences, rows_of_weft
from tailor_env import BIN, check, skip

loaded = subprocess.run([str(BIN / "weft"), "--sf", "0.01", "load-tpch"], capture_output=True, text=True)
if loaded.returncode != 0:
    skip(loaded.stderr.strip())
expected = json.loads((pathlib.Path(__file__).parent / "expected_sf0.01.json").read_text())
for name, answer in expected.items():
    rows = rows_of_weft(name, "--sf", "0.01", "--threads", "2")
    found = differences(rows[:40], answer["first"])
    check(len(rows) == answer["rows"] and not found, f"{name}: {len(rows)} rows {found[:2] if found else 'as expected'}")
check(len(expected) == 24, "all 24 queries were asked")
