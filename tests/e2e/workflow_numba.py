"""A workflow whose functions are Python, compiled by numba: weft reads the LLVM IR of numba 0.61 to 0.63."""
import json
import os
import pathlib
import subprocess
import tempfile

from tailor_env import BIN, check, skip

try:
    import numba
except ImportError:
    skip("numba is not installed")
if not (0, 61) <= tuple(int(part) for part in numba.__version__.split(".")[:2]) <= (0, 63):
    skip(f"numba {numba.__version__} writes IR of another LLVM")


@numba.cfunc("float64(float64)")
def squared(x):
    return x * x


@numba.cfunc("float64(float64, float64)")
def add(a, b):
    return a + b


# Rows are made by C's types; a pointer to the field is the second parameter.
@numba.cfunc("void(int64, CPointer(float64))")
def make(row, x):
    x[0] = row


WORKFLOW = f"""workflow python
udf "squared.ll"
udf "add.ll"
udf "make.ll"
input t(x f64) rows 1000 by "{make.native_name}"()
context total f64
from t
  map "{squared.native_name}"(x) -> y f64
  reduce "{add.native_name}"(y) into total parallel combine "{add.native_name}"
end
show total
"""

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for function in (squared, add, make):
        (folder / f"{function.__name__}.ll").write_text(function.inspect_llvm())
    (folder / "python.wf").write_text(WORKFLOW)
    done = subprocess.run([str(BIN / "weft"), "workflow", str(folder / "python.wf"), "--json"], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "TAILOR_DISABLE": "1"})
    check(done.returncode == 0, f"weft runs functions of numba {numba.__version__} {done.stderr.strip()}")
    total, = json.loads(done.stdout)["contexts"][0]["values"]
    check(total == sum(float(row) ** 2 for row in range(1000)), f"and gives what Python gives: {total}")
