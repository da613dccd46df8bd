"""weft executes a file of statements, all of them different, in memory that hardly grows with their number. What stays of a
finished statement is its text and its times, not its plan and its code. The twin is a weft that is told to keep these."""
import os
import pathlib
import subprocess
import sys
import tempfile

from tailor_env import BIN, check

ENVIRONMENT = {**os.environ, "TAILOR_DISABLE": "1"}
FEW, MANY = (1000, 8000) if "--full" in sys.argv else (200, 600)
BYTES = 8192  # of a statement


def memory(data, file, statements, *options):
    """Bytes that weft has at most while it executes so many."""
    file.write_text("".join(f"select count(*) + {i} from numbers;\n" for i in range(statements)))
    command = [BIN / "weft", "--data", data, "--threads", "1", "--opt", "0", "--quiet", *options, "-f", file]
    process = subprocess.Popen(list(map(str, command)), env=ENVIRONMENT)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"{statements} statements take {used.ru_maxrss / 1024:.0f} MB {' '.join(options)}".rstrip())
    return used.ru_maxrss * 1024


with tempfile.TemporaryDirectory() as folder:
    table, file = pathlib.Path(folder) / "numbers.csv", pathlib.Path(folder) / "statements.sql"
    table.write_text("number\n1\n2\n3\n")
    subprocess.run([str(BIN / "weft"), "load-csv", str(table), "--data", folder], env=ENVIRONMENT, check=True)
    few = memory(folder, file, FEW)
    each = (memory(folder, file, MANY) - few) / (MANY - FEW)
    check(each <= BYTES, f"a statement more takes {each:.0f} bytes")
    kept = (memory(folder, file, FEW, "--kept-plans", str(FEW)) - few) / FEW
    check(kept > BYTES, f"one whose plan and code are kept takes {kept:.0f}")
