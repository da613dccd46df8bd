"""Every command says what of a profile is damaged; a gate on such a profile is an error. And what a command prints is whole."""
import csv
import io
import json
import lzma
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile

import perf_file

TAILOR, JOURNAL = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []


def fail(what):
    failures.append(what)


def run(*arguments, **kwargs):
    return subprocess.run([TAILOR, *map(str, arguments)], capture_output=True, env=ENV, timeout=60, **kwargs)


def said(done):
    return done.stdout.decode(), done.stderr.decode()


def spoil(profile, damaged):
    """Flips one bit in the last block of what is beside the samples, which all are in one block."""
    data = bytearray(profile.read_bytes())
    magic, at, last = b"\xb7TBk", 0, None
    while (at := data.find(magic, at)) >= 0:
        kind, stored = data[at + 4], int.from_bytes(data[at + 8:at + 12], "little")
        if kind == ACTIVITY:
            last = (at, stored)
        at += 4
    at, stored = last
    data[at + HEADER + stored // 2] ^= 1
    damaged.write_bytes(data)


ACTIVITY, HEADER = 5, 32
# Commands that look at every sample, with what else they need.
COMMANDS = {
    "report": ["--level", "function"], "flame": ["--functions"], "timeline": [], "sql": ["-q", "SELECT count(*) AS n FROM samples"],
    "annotate": [], "iterations": None, "list": None,
}


def check_damage(folder, whole):
    damaged = folder / "damaged.tailor"
    spoil(whole, damaged)
    for command, more in COMMANDS.items():
        for file, expected in ((whole, False), (damaged, True)):
            done = run(command, file, *(more or []))
            out, err = said(done)
            if expected and err.count("The profile is damaged") != 1 and more is not None:
                fail(f"{command} of a damaged profile says nothing, or twice: {err}")
            if not expected and "damaged" in out + err:
                fail(f"{command} of a good profile: {err}")
    for command, more, where in (("report", ["--level", "function"], "file"), ("flame", ["--functions"], "file"), ("timeline", [], "file"),
                                 ("list", [], "file")):
        done = run(command, damaged, "--json", *more)
        file = json.loads(done.stdout)[where]
        if command != "list" and (file["damaged_spots"] == 0 or "damaged" not in file["text"]):
            fail(f"{command} --json of a damaged profile: {file}")
    done = run("export", damaged, "--format", "folded")
    if "The profile is damaged" not in done.stderr.decode():
        fail("export of a damaged profile says nothing")
    compared = json.loads(run("diff", whole, damaged, "--json").stdout)["file"]
    if compared["a"]["damaged_spots"] != 0 or compared["b"]["damaged_spots"] == 0:
        fail(f"diff --json: {compared}")
    if run("diff", whole, whole, "--fail-if", "total>5%").returncode != 0:
        fail("a profile differs from itself")


def check_cut(folder, whole):
    data = whole.read_bytes()
    cut = folder / "cut.tailor"
    cut.write_bytes(data[:-100])  # behind its samples
    for command in ("report", "list", "flame"):
        done = run(command, cut)
        if "cut.tailor: The profile ends early" not in done.stderr.decode() or "not known" not in done.stderr.decode():
            fail(f"{command} of a cut profile: {done.stderr.decode()}")
    gate = run("diff", whole, cut, "--fail-if", "total>5%")
    if gate.returncode != 1 or "cannot be judged" in gate.stderr.decode() or "no condition of --fail-if" not in gate.stderr.decode():
        fail(f"a gate on a cut profile: {gate.returncode} {gate.stderr.decode()}")
    cut.write_bytes(data[:200])
    done = run("report", cut)
    if done.returncode != 3 or "too short" in done.stderr.decode():
        fail(f"report of what was cut before its samples: {done.returncode} {done.stderr.decode()}")


def check_cut_import(folder):
    """An import says how much of a cut perf.data is missing, and fails where nothing of it could be read."""
    data, profile = folder / "perf.data", folder / "imported.tailor"
    perf_file.write(data, [perf_file.comm(1000, 7, "x"), *(perf_file.sample(time, 7, 7, 0x1000) for time in range(2000, 2100))])
    whole = data.read_bytes()
    first = perf_file.HEADER + perf_file.ATTR_SIZE + 16 + len(perf_file.comm(1000, 7, "x"))
    one = len(perf_file.sample(0, 7, 7, 0))
    for bytes_kept, code, samples in ((len(whole), 0, 100), (len(whole) - 10 * one, 0, 90), (len(whole) - 10 * one - 5, 0, 89), (first, 3, 0)):
        data.write_bytes(whole[:bytes_kept])
        done = run("import", data, "-o", profile)
        missing = f"{len(whole) - bytes_kept} of the" in done.stderr.decode() and "a part of the file is missing" in done.stderr.decode()
        if done.returncode != code or f"{samples} samples in" not in done.stderr.decode() or missing != (bytes_kept < len(whole)):
            fail(f"import of {bytes_kept} of {len(whole)} bytes: {done.returncode} {done.stderr.decode()}")


def check_piped_file(folder):
    """What a pipe gives is read once: of a file with something behind its records that is too little, and the error says what to do."""
    data = folder / "perf.data"
    perf_file.write(data, [perf_file.comm(1000, 7, "x"), *(perf_file.sample(time, 7, 7, 0x1000) for time in range(2000, 4000))])
    plain, host = data.read_bytes(), b"db7".ljust(64, b"\0")
    named = bytearray(plain)
    named[72] |= 1 << 3  # HEADER_HOSTNAME: its place stands behind the records
    named += struct.pack("<QQ", len(plain) + 16, 4 + len(host)) + struct.pack("<I", len(host)) + host
    for content, code in ((plain, 0), (bytes(named), 2)):
        done = run("import", "-", "-o", folder / "piped.tailor", input=content)
        if done.returncode != code or (code != 0) != (b"name the file itself" in done.stderr):
            fail(f"import of {len(content)} bytes from a pipe: {done.returncode} {done.stderr.decode()}")
    data.write_bytes(named)
    if (done := run("import", data, "-o", folder / "piped.tailor")).returncode != 0:
        fail(f"import of the file itself: {done.returncode} {done.stderr.decode()}")


def check_written(folder, whole):
    """A full disk is an error of every command that prints."""
    full = folder / "full"
    os.mknod(full, 0o600 | 0o20000, os.makedev(1, 7))
    for arguments in (["report", whole], ["report", whole, "--json"], ["list", whole], ["sql", whole, "-q", "SELECT 1"], ["--help"],
                      ["export", whole, "--format", "csv"], ["flame", whole, "--folded"], ["version"]):
        with open(full, "wb") as out:
            done = subprocess.run([TAILOR, *map(str, arguments)], stdout=out, stderr=subprocess.PIPE, env=ENV, timeout=60)
        if done.returncode != 1 or b"No space left" not in done.stderr:
            fail(f"{arguments[0]} on a full disk: {done.returncode} {done.stderr.decode()}")


def on_terminal(*arguments):
    """What a terminal gets."""
    main, other = pty.openpty()
    child = subprocess.Popen([TAILOR, *map(str, arguments)], stdout=other, stderr=subprocess.DEVNULL, env={**ENV, "TAILOR_PAGER": ""})
    os.close(other)
    got = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        got += piece
    child.wait()
    os.close(main)
    return got.replace(b"\r\n", b"\n")


def check_terminal(whole):
    """Text for programs is for programs, and harmless on a terminal."""
    hostile = "SELECT char(27) || '[2J' || char(155) || char(8238) AS x, 'a' || char(10) || 'b' AS y"
    piped = run("sql", whole, "--csv", "-q", hostile).stdout.decode()
    if list(csv.reader(io.StringIO(piped, newline="")))[1] != ["\x1b[2J\x9b\u202e", "a\nb"]:
        fail(f"sql --csv into a pipe: {piped!r}")
    for more in (["--csv"], ["--json"], []):
        shown = on_terminal("sql", whole, *more, "-q", hostile)
        if any(bad in shown.replace(b"\x1b[1m", b"").replace(b"\x1b[0m", b"") for bad in (b"\x1b", "\x9b".encode(), "\u202e".encode())):
            fail(f"sql {more} on a terminal: {shown!r}")
        if more == ["--json"] and json.loads(shown)[0]["x"] != "\x1b[2J\x9b\u202e":
            fail(f"JSON on a terminal says something else: {shown!r}")
    if on_terminal("export", whole, "--format", "folded").decode().splitlines() != run("export", whole, "--format", "folded").stdout.decode().splitlines():
        fail("harmless lines were changed for a terminal")


def check_whole_json(whole):
    """A query that fails midway leaves no half of an array."""
    done = run("sql", whole, "--json", "-q", "SELECT CASE WHEN value < 3 THEN value ELSE abs(-9223372036854775808) END AS x FROM json_each('[1,2,3]')")
    if done.returncode == 0 or done.stdout not in (b"",):
        fail(f"sql --json that fails midway: {done.returncode} {done.stdout!r}")


def check_ignored(whole):
    """An option that does nothing is refused."""
    for arguments in (["report", whole, "--limit", "3"], ["report", whole, "--level", "task", "--calls", "3"], ["report", whole, "--loop", "x"],
                      ["report", whole, "--level", "function", "--of", "everything"], ["timeline", whole, "--json", "--rows", "3"],
                      ["memory", whole, "--points", "3"], ["memory", whole, "--json", "--pictures", "3"], ["annotate", whole, "--json", "--all"],
                      ["flame", whole, "--json", "--least", "0.1"], ["export", whole, "--format", "parquet", "-o", "x", "--levels", "task"],
                      ["sql", whole, "--schema", "-q", "SELECT 1"], ["report", whole, "--store", "/tmp"], ["list", whole, "--store", "/tmp"]):
        done = run(*arguments)
        if done.returncode != 2:
            fail(f"tailor {' '.join(map(str, arguments))}: {done.returncode}, not refused: {done.stderr.decode()}")


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    ENV = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", "COLUMNS": "100", "TAILOR_STORE": str(folder / "store")}
    ENV.pop("NO_COLOR", None)
    whole = folder / "whole.tailor"
    (folder / "journal").write_bytes(lzma.decompress(JOURNAL.read_bytes()))
    done = run("replay", folder / "journal", "-o", whole)
    assert done.returncode == 0, done.stderr
    check_damage(folder, whole)
    check_cut(folder, whole)
    check_cut_import(folder)
    check_piped_file(folder)
    try:
        check_written(folder, whole)
    except PermissionError:
        print("skipped the full disk: no device can be made or used here")
    check_terminal(whole)
    check_whole_json(whole)
    check_ignored(whole)

print("\n".join(failures) or "damage is said, and output is whole")
sys.exit(1 if failures else 0)
