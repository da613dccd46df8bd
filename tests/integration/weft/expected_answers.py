"""weft's answers at scale factor 0.01 against answers of DuckDB that are kept with the test (expected_sf0.01.json,
written by answers.py --write): for every query the number of rows, and the first forty in order."""
import json
import pathlib

from reference import differences, load_weft, rows_of_weft, sort_key
from tailor_env import check

load_weft("0.01")
expected = json.loads((pathlib.Path(__file__).parent / "expected_sf0.01.json").read_text())
for name, answer in expected.items():
    rows = sorted(rows_of_weft("--query", name, "--sf", "0.01", "--threads", "2"), key=sort_key)
    found = differences(rows[:40], answer["first"])
    check(len(rows) == answer["rows"] and not found, f"{name}: {len(rows)} rows {found[:2] if found else 'as expected'}")
check(len(expected) == 24, "all 24 queries were asked")
