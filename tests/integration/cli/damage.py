"""Every command says what of a profile is damaged; a gate on such a profile is an error. And what a command prints is whole."""
import csv
import io
import json
import lzma
import os
import pathlib
import pty
import random
import select
import struct
import subprocess
import sys
import tempfile
import urllib.request

import perf_file

TAILOR, JOURNAL = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []


def fail(what):
    failures.append(what)


def run(*arguments, **kwargs):
    return subprocess.run([TAILOR, *map(str, arguments)], capture_output=True, env=ENV, timeout=60, **kwargs)


def said(done):
    return done.stdout.decode(), done.stderr.decode()


def blocks_of(profile, kind):
    """Where blocks of a kind begin, and how long their payloads are."""
    data, at, out = profile.read_bytes(), FILE_HEADER, []
    while at < len(data):
        stored = int.from_bytes(data[at + 8:at + 12], "little")
        if data[at + 4] == kind:
            out.append((at, stored))
        at += HEADER + stored
    return out


def spoil(profile, damaged, kind=None):
    """Flips one bit in the middle block of a kind."""
    data = bytearray(profile.read_bytes())
    blocks = blocks_of(profile, ACTIVITY if kind is None else kind)
    at, stored = blocks[len(blocks) // 2]
    data[at + HEADER + stored // 2] ^= 1
    damaged.write_bytes(data)


FILE_HEADER, HEADER = 32, 32
SAMPLES, ACTIVITY, SUMS = 4, 5, 8  # types of blocks
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


# All commands that read a profile, with what each of them needs: from the sums of samples, or from the samples.
ALL_COMMANDS = (["report"], ["report", "--level", "function"], ["report", "--html", "-"], ["flame"], ["flame", "--functions"], ["flame", "--folded"],
                ["timeline"], ["annotate"], ["memory"], ["iterations"], ["list"], ["list", "--plan-changes"], ["ab"], ["doctor"],
                ["sql", "-q", "SELECT count(*) FROM damage"], ["sql", "--csv", "-q", "SELECT count(*) FROM samples"],
                *(["export", "-o", "-", "--format", form] for form in ("csv", "folded", "pprof", "speedscope", "firefox", "perfetto", "otlp")))
# Whose JSON has `file` without a plan, too.
WITH_FILE = (["report"], ["report", "--level", "function"], ["flame"], ["timeline"], ["list"], ["ab"])


def many_samples(folder):
    """A profile whose samples have sums beside them: an import of more samples than a block holds."""
    data, profile, numbers = folder / "many.data", folder / "many.tailor", random.Random(1)
    time, records = 1000, [perf_file.comm(1000, 7, "x")]
    for _ in range(140_000):
        time += numbers.randrange(1, 2_000_000)
        records.append(perf_file.sample(time, 7, 7, 0x1000 + 16 * numbers.randrange(64)))
    perf_file.write(data, records)
    run("import", data, "-o", profile)
    if len(blocks_of(profile, SAMPLES)) < 3 or not blocks_of(profile, SUMS):
        fail("the profile has no sums, so that nobody passes over its samples")
    return profile


def shown_by_web(file):
    """What `tailor web` says at its start."""
    with subprocess.Popen([TAILOR, "web", str(file), "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV) as server:
        server.stdout.readline()
        server.terminate()
        return server.stderr.read().decode()


def listed_by_web(file):
    """`file` of the list of executions that a visitor of `tailor web` gets."""
    with subprocess.Popen([TAILOR, "web", str(file), "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV) as server:
        try:
            base, start = server.stdout.readline().decode().strip().split("/#start=")
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            link = urllib.request.Request(base + "/api/v1/session", method="POST", headers={"Authorization": f"Bearer {start}"})
            secret = json.load(opener.open(link, timeout=30))["session"]
            asked = urllib.request.Request(base + "/api/v1/executions", headers={"Authorization": f"Bearer {secret}"})
            return json.load(opener.open(asked, timeout=30))["file"]
        finally:
            server.terminate()


def check_every_command(folder, whole):
    """One flipped bit, in samples that sums stand for and in the sums themselves: every command says it."""
    damaged = folder / "flipped.tailor"
    for file, kind, commands in ((whole, None, ALL_COMMANDS), (damaged, SAMPLES, ALL_COMMANDS), (damaged, SUMS, WITH_FILE)):
        if kind is not None:
            spoil(whole, damaged, kind)
        what = "nothing damaged" if kind is None else f"a flipped bit in a block of type {kind}"
        for command, *more in commands:
            err = run(command, file, *more).stderr.decode()
            if "built without the web page" in err:  # npm's packages could not be had
                continue
            if ("The profile is damaged" in err) != (kind is not None):
                fail(f"{command} {' '.join(more)} with {what}: {err!r}")
        for command, *more in WITH_FILE:
            found = json.loads(run(command, file, "--json", *more).stdout)["file"]
            if (found["damaged_spots"] == 1 and "damaged" in found["text"]) != (kind is not None):
                fail(f"{command} --json {' '.join(more)} with {what}: {found}")
        if ("The profile is damaged" in shown_by_web(file)) != (kind is not None):
            fail(f"web with {what}")
        listed = listed_by_web(file)
        if (listed["damaged_spots"] == 1 and "damaged" in listed["text"]) != (kind is not None):
            fail(f"executions over HTTP with {what}: {listed}")
        rows = json.loads(run("sql", file, "--json", "-q", "SELECT damaged_spots FROM damage").stdout)
        if [row["damaged_spots"] for row in rows] != ([] if kind is None else [1]):
            fail(f"the table of damage with {what}: {rows}")
        if ("damaged" in run("doctor", file, "--json").stdout.decode()) != (kind is not None):
            fail(f"doctor --json with {what}")


def check_gate(folder, whole):
    """A gate judges nothing that is damaged."""
    damaged = folder / "damaged.tailor"
    spoil(whole, damaged)
    for sides in ((whole, damaged), (damaged, whole)):
        gate = run("diff", *sides, "--fail-if", "total>5%", "--fail-if", "plan")
        if gate.returncode != 1 or "no condition of --fail-if" not in gate.stderr.decode():
            fail(f"a gate on a damaged profile: {gate.returncode} {gate.stderr.decode()}")
    spoil(whole, damaged, SAMPLES)
    gate = run("diff", whole, damaged, "--fail-if", "total>5%")
    if gate.returncode in (0, 4, 5) or "The profile is damaged" not in gate.stderr.decode():
        fail(f"a gate on a profile with no sample left: {gate.returncode} {gate.stderr.decode()}")


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
    """What a pipe gives is read once: of a file with something behind its records that is too little, and the error says what to do. A file
    on standard input is no pipe."""
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
    # Behind < it is the file itself, but for what somebody has read of it before.
    for skipped in (0, 8):
        with open(data, "rb", buffering=0) as file:
            file.read(skipped)
            done = run("import", "-", "-o", folder / "input.tailor", stdin=file)
        if (done.returncode == 0 and b"2,000 samples in" in done.stderr) != (skipped == 0):
            fail(f"import of a file on standard input, {skipped} bytes of it read before: {done.returncode} {done.stderr.decode()}")


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


def on_terminal(*arguments, by_name=()):
    """What a terminal gets. `by_name`: it is no standard output, but named behind these arguments."""
    main, other = pty.openpty()
    named = [*by_name, os.ttyname(other)] if by_name else []
    child = subprocess.Popen([TAILOR, *map(str, arguments), *named], stdout=subprocess.DEVNULL if by_name else other, stderr=subprocess.DEVNULL, env={**ENV, "TAILOR_PAGER": ""})
    got = b""
    while child.poll() is None or select.select([main], [], [], 0)[0]:
        if select.select([main], [], [], 0.1)[0]:
            got += os.read(main, 65536)
    os.close(other)
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


def check_hostile_names(folder):
    """Names of a recording that a terminal would obey: an escape sequence, one of a single C1 character, and a reversal of what follows."""
    data, name = folder / "hostile.data", "a\x1b[2J\x9b3\u202eb"
    perf_file.write(data, [perf_file.comm(1000, 7, name), *(perf_file.sample(time, 7, 7, 0x1000) for time in range(2000, 2100))])
    bad = [each.encode() for each in ("\x1b", "\x9b", "\u202e")]
    levels = ["--levels", "process,function"]
    for form, more in (("csv", []), ("folded", levels), ("speedscope", levels)):
        arguments = ["export", data, "--format", form, *more]
        piped = run(*arguments).stdout
        if form != "folded" and bad[1] not in piped:
            fail(f"{form}: a program does not get the name as it is: {piped[:300]!r}")
        if form == "folded" and (b"a" not in piped or any(each in piped for each in bad)):
            fail(f"{form}, which people look at in files: {piped[:300]!r}")
        for shown in (on_terminal(*arguments), on_terminal(*arguments, by_name=["-o"])):
            if not shown or any(each in shown for each in bad):
                fail(f"{form} on a terminal: {shown[:300]!r}")
    for binary in (on_terminal("export", data, "--format", "pprof"), on_terminal("export", data, "--format", "pprof", by_name=["-o"])):
        if binary:
            fail(f"a binary file on a terminal: {binary[:100]!r}")


def check_whole_json(folder, whole):
    """A command that fails midway leaves no half of its JSON."""
    done = run("sql", whole, "--json", "-q", "SELECT CASE WHEN value < 3 THEN value ELSE abs(-9223372036854775808) END AS x FROM json_each('[1,2,3]')")
    if done.returncode == 0 or done.stdout not in (b"",):
        fail(f"sql --json that fails midway: {done.returncode} {done.stdout!r}")
    # Of two profiles the first one is read. Nothing of the second one can be.
    cut = folder / "nothing.tailor"
    cut.write_bytes(whole.read_bytes()[:200])
    for sides in ((whole, cut), (whole, folder / "missing.tailor")):
        done = run("diff", *sides, "--json")
        if done.returncode == 0 or done.stdout != b"":
            fail(f"diff --json that fails midway: {done.returncode} {done.stdout[:300]!r}")
    for command in ("report", "flame", "timeline", "annotate", "memory", "iterations", "list", "ab", "doctor"):
        done = run(command, cut, "--json")
        try:
            if done.stdout or done.returncode == 0:
                json.loads(done.stdout)
        except ValueError:
            fail(f"{command} --json of a profile in which nothing can be read: {done.returncode} {done.stdout[:300]!r}")


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
    check_every_command(folder, many_samples(folder))
    check_gate(folder, whole)
    check_cut(folder, whole)
    check_cut_import(folder)
    check_piped_file(folder)
    try:
        check_written(folder, whole)
    except PermissionError:
        print("skipped the full disk: no device can be made or used here")
    check_terminal(whole)
    check_hostile_names(folder)
    check_whole_json(folder, whole)
    check_ignored(whole)

print("\n".join(failures) or "damage is said, and output is whole")
sys.exit(1 if failures else 0)
