"""-o of every command: links are followed, pipes and devices written to, "-" is standard output, what fails takes nothing away."""
import lzma
import os
import pathlib
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading

from host_allows import sampling_denied

TAILOR, JOURNAL = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []


def fail(what):
    failures.append(what)


def run(*arguments, **kwargs):
    return subprocess.run([TAILOR, *map(str, arguments)], capture_output=True, env=ENV, cwd=FOLDER, timeout=60, **kwargs)


def commands(whole):
    """Each command that writes a file: its words before the name of the file."""
    return {
        "replay": ["replay", FOLDER / "journal", "-o"],
        "export": ["export", whole, "--format", "csv", "-o"],
        "flame --svg": ["flame", whole, "--svg"],
        "flame --html": ["flame", whole, "--html"],
        "bugreport": ["bugreport", "--log", "/dev/null", "--config", "/dev/null", "-o"],
    }


def good(name, content):
    starts = {"replay": b"\x89TAILOR", "export": b"time_ns,", "flame --svg": b"<?xml", "flame --html": b"<!DOCTYPE", "bugreport": b"\x1f\x8b"}
    return content.startswith(starts[name]) or (name == "flame --svg" and b"<svg" in content[:200])


def beside():
    return sorted(each.name for each in FOLDER.iterdir())


def check_command(name, words):
    target, link, pipe = FOLDER / "target", FOLDER / "link", FOLDER / "pipe"
    link.symlink_to("target")
    done = run(*words, "link")
    if done.returncode != 0 or not link.is_symlink() or not good(name, target.read_bytes()):
        fail(f"{name} to a link that leads nowhere yet: {done.stderr.decode()}")
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    done = run(*words, "pipe")
    reader.join(30)
    if done.returncode != 0 or not stat.S_ISFIFO(pipe.lstat().st_mode) or not got or not good(name, got[0]):
        fail(f"{name} to a pipe: {done.stderr.decode()}")
    for standard in ("-", "/dev/stdout"):
        done = run(*words, standard)
        if done.returncode != 0 or not good(name, done.stdout) or (FOLDER / "-").exists():
            fail(f"{name} to {standard}: {done.returncode} {done.stdout[:80]} {done.stderr.decode()}")
    full = FOLDER / "full"
    target.write_bytes(b"old")
    try:
        os.mknod(full, 0o600 | stat.S_IFCHR, os.makedev(1, 7))
        done = run(*words, "full")
        if done.returncode != 1 or not stat.S_ISCHR(full.lstat().st_mode) or b"No space left" not in done.stderr:
            fail(f"{name} to a full device: {done.returncode} {done.stderr.decode()}")
    except PermissionError:
        print("skipped devices: none can be made here")
    done = run(*words, "none/out")
    if done.returncode == 0 or target.read_bytes() != b"old":
        fail(f"{name} where there is no directory")
    for each in (target, link, pipe, full):
        each.unlink(missing_ok=True)


def check_default_names():
    """The last file of a default name stays as NAME.old."""
    for words, name in ((["replay", "journal"], "replay.tailor"), (["bugreport", "--log", "/dev/null", "--config", "/dev/null"], "tailor-bugreport.tar.gz")):
        (FOLDER / name).write_bytes(b"old")
        done = run(*words)
        if done.returncode != 0 or (FOLDER / (name + ".old")).read_bytes() != b"old" or (FOLDER / name).read_bytes() == b"old":
            fail(f"{words[0]} with its default name: {done.stderr.decode()}")
        # A name that was asked for is replaced.
        (FOLDER / (name + ".old")).unlink()
        run(*words, "-o", name)
        if (FOLDER / (name + ".old")).exists():
            fail(f"{words[0]} keeps what -o names")
    with tarfile.open(FOLDER / "tailor-bugreport.tar.gz") as bundle:
        for each in bundle.getmembers():
            if each.mode & 0o077 or each.uname or each.gname or each.uid:
                fail(f"bugreport: {each.name} is {oct(each.mode)} of {each.uname} {each.uid}")


def check_failures():
    """What fails takes nothing away, and leaves nothing beside."""
    damaged = bytearray((FOLDER / "journal").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (FOLDER / "damaged").write_bytes(damaged)
    old = FOLDER / "old.tailor"
    old.write_bytes(b"old")
    before = beside()
    for words in (["replay", "damaged", "-o", "old.tailor"], ["import", "journal", "-o", "old.tailor"],
                  ["record", "-o", "old.tailor", "--", "./there-is-no-such-program"], ["record", "-e", "no-such-event", "-o", "old.tailor", "--", "true"],
                  ["export", "old.tailor", "--format", "csv", "-o", "old.tailor"]):
        done = run(*words)
        if done.returncode == 0 or old.read_bytes() != b"old" or beside() != before:
            fail(f"tailor {' '.join(words)}: {done.returncode}, {set(beside()) ^ set(before)}, {old.read_bytes()[:20]}")


def check_recording():
    """The profile alone is on standard output; what the command prints is on standard error."""
    first = run("record", "-o", "first.tailor", "--", "echo", "said by the command")
    if first.returncode != 0:
        if reason := sampling_denied():
            print(f"skipped recordings: {reason}")
        else:
            fail(f"this host allows to record, and yet: {first.stderr.decode()}")
        return
    if first.stdout != b"said by the command\n":
        fail(f"the output of a command that is recorded: {first.stdout}")
    for standard in ("-", "/dev/stdout"):
        done = run("record", "-o", standard, "--", "echo", "said by the command")
        if not done.stdout.startswith(b"\x89TAILOR") or b"said by" in done.stdout or b"said by the command" not in done.stderr:
            fail(f"record -o {standard}: {done.stdout[:60]} {done.stderr.decode()}")
        (FOLDER / "piped.tailor").write_bytes(done.stdout)
        if b"ends early" in run("list", "piped.tailor").stderr:
            fail("the end of a profile on standard output is missing")
    (FOLDER / "named").symlink_to("target.tailor")
    done = run("record", "-o", "named", "--", "true")
    if done.returncode != 0 or not (FOLDER / "named").is_symlink() or not (FOLDER / "target.tailor").read_bytes().startswith(b"\x89TAILOR"):
        fail(f"record to a link: {done.stderr.decode()}")
    for turn in range(2):
        run("record", "--", "true")
    if not {"profile.tailor", "profile.tailor.old"} <= set(beside()):
        fail(f"record without -o keeps no last profile: {beside()}")
    both = run("record", "-o", "-", "--journal", "/dev/stdout", "--", "true")
    if both.returncode != 2 or both.stdout:
        fail(f"two files on one standard output: {both.returncode}")


with tempfile.TemporaryDirectory() as folder:
    FOLDER = pathlib.Path(folder)
    ENV = {**os.environ, "LC_ALL": "C.UTF-8", "TAILOR_STORE": str(FOLDER / "store"), "TAILOR_CONTROL": str(FOLDER / "control.sock")}
    (FOLDER / "journal").write_bytes(lzma.decompress(JOURNAL.read_bytes()))
    WHOLE = FOLDER / "whole.tailor"
    done = run("replay", "journal", "-o", "whole.tailor")
    assert done.returncode == 0, done.stderr
    for name, words in commands(WHOLE).items():
        check_command(name, words)
    check_default_names()
    check_recording()
    check_failures()
    tables = FOLDER / "tables"
    done = run("export", WHOLE, "--format", "parquet", "-o", "tables")
    if done.returncode != 0 or any(not each.name.endswith(".parquet") for each in tables.iterdir()):
        fail(f"parquet: {done.stderr.decode()}")

print("\n".join(failures) or "every -o is treated alike")
sys.exit(1 if failures else 0)
