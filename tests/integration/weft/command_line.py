"""weft as it is typed: help, queries by text and by file, the shell, explain, CSV tables, limits and errors."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from live_daemon import cpu_ns, wait_for
from tailor_env import BIN, check

ENVIRONMENT = {**os.environ, "TAILOR_DISABLE": "1"}


def weft(*arguments, stdin=None):
    """Exit code, standard output, error stream."""
    done = subprocess.run([str(BIN / "weft"), *map(str, arguments)], env=ENVIRONMENT, capture_output=True, text=True,
                          input=stdin, timeout=120)
    return done.returncode, done.stdout, done.stderr


def is_at_work(pid):
    """Whether it listens to interrupts, and has used more CPU time than it takes to begin."""
    caught = re.search(r"SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    return caught and int(caught[1], 16) >> (signal.SIGINT - 1) & 1 and cpu_ns(pid) > 0.3e9


with tempfile.TemporaryDirectory() as folder:
    table = pathlib.Path(folder) / "prices.csv"
    table.write_text("item,price,since\n" + "".join(f"item {i},{i % 50}.25,2024-0{1 + i % 9}-01\n" for i in range(100_000)))
    code, _, said = weft("load-csv", table, "--data", folder)
    check(code == 0, f"a CSV file becomes a table {said}")
    data = ("--data", folder, "--threads", 2)

    code, said, _ = weft("help")
    check(code == 0 and all(word in said for word in ("explain", "load-csv", "--file", "--memory-limit")), "weft help")
    check(weft("help") == weft("--help"), "is what --help says")

    code, out, said = weft(*data, "-c", "select count(*), min(price), max(since) from prices")
    check((code, out.split("\n")[1]) == (0, "100000|0.25|2024-09-01"), f"types were found: {out} {said}")
    file = pathlib.Path(folder) / "two.sql"
    file.write_text("-- the first; of two\nselect count(*) from prices where price < 1;\nselect ';', nothing from prices;\n")
    code, out, said = weft(*data, "-f", file)
    check(code == 1 and out.endswith("2000\n"), "a file with several statements runs them in order")
    check(said.strip() == "weft: line 3, column 13: there is no column nothing", f"places are those in the file: {said.strip()}")
    code, _, said = weft(*data, "-f", "/nonexistent.sql")
    check(code == 1 and "/nonexistent.sql" in said, "a missing file is named")

    code, out, said = weft(*data, stdin="select count(*) from prices; select nothing\nfrom prices;\nexplain select min(price)\n"
                           "from prices;\nselect count(*) from prices;\n")
    check(code == 0 and out.count("100000") == 3 and "Scan prices" in out, "the shell goes on after an error")
    check("line 1, column" in said and "there is no column nothing" in said, "which it shows")
    code, out, said = weft(*data, stdin="select count(*) from prices;\nselect count(*) from prices -- no semicolon")
    check((code, out.count("100000"), said) == (0, 2, ""), "the last query of a pipe needs no semicolon")
    code, out, said = weft(*data, stdin="select count(*) from prices;\n-- the end\n")
    check((code, out.count("100000"), said) == (0, 1, ""), "a comment at the end is no query")

    code, out, _ = weft(*data, "explain", "-c", "select item from prices where price = 1")
    check(code == 0 and "Scan prices" in out and "rows" in out, "explain prints the plan")
    code, again, _ = weft(*data, "-c", "explain select item from prices where price = 1")
    check((code, again) == (0, out), "also when the text says so")
    code, out, said = weft(*data, "explain", "--analyze")
    check((code, out) == (1, "") and "explain needs a query" in said, f"explain without a query is an error: {said.strip()}")

    code, _, said = weft(*data, "--memory-limit", 1, "-c", "select item, count(*) from prices group by item")
    check(code == 1 and "memory limit of 1 MiB exceeded" in said, f"the memory limit is an error: {said.strip()}")
    code, _, said = weft(*data, "--query", "tpch-23")
    check(code == 1 and "tpch-23" in said, "an unknown query is named")

    # Two thousand million pairs, ended by the user. They take seconds of CPU time, most of which is still to come when it is
    # interrupted. It is asked again and again: an interrupt from before a statement does not end it.
    process = subprocess.Popen([str(BIN / "weft"), *map(str, data), "-c", "select count(*) from prices a, prices b where "
                                "b.price < 10 and a.price + b.price > 1000"], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    wait_for("the query runs", lambda: process.poll() is not None or is_at_work(process.pid))
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    check(process.wait(timeout=60) == 1 and "cancelled" in process.stderr.read(), "an interrupt cancels the query")
