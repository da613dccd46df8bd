"""What a command prints depends on where it prints: on a terminal it has colours, the terminal's width and a pager; NO_COLOR, a dumb
terminal and pipes have none of these.

The profile is replayed from a journal, so that neither a kernel nor an engine takes part."""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios

from exports import replayed
from tailor_env import BIN, check

ESCAPE = "\x1b["
CLEAN = {"TERM": "xterm", "LC_ALL": "C.UTF-8"}


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "PAGER", "TAILOR_PAGER", "COLUMNS", "LESS")}
    return {**kept, **CLEAN, **more}


def on_terminal(*arguments, columns=100, lines=50, **env):
    """What a command writes to a terminal of that size."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process = subprocess.Popen([BIN / "tailor", *arguments], stdin=its, stdout=its, stderr=its, env=environment(**env), start_new_session=True)
    os.close(its)
    out = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            got = os.read(ours, 65536)
        except OSError:  # nobody has the terminal open any more
            break
        if not got:
            break
        out += got
    os.close(ours)
    check(process.wait(60) == 0, f"tailor {arguments[0]} ends")
    return out.decode().replace("\r\n", "\n")


def in_pipe(*arguments, **env):
    done = subprocess.run([BIN / "tailor", *arguments], env=environment(**env), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    check(done.returncode == 0, f"tailor {arguments[0]} ends")
    return done.stdout


def widest(text):
    return max(len(line) for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines())


def judge_colours(profile):
    check(ESCAPE in on_terminal("report", profile, PAGER="cat"), "a terminal gets colours")
    for name, env in (("NO_COLOR", {"NO_COLOR": "1"}), ("a dumb terminal", {"TERM": "dumb"})):
        check(ESCAPE not in on_terminal("report", profile, PAGER="cat", **env), f"{name} gets none")
    check(ESCAPE not in in_pipe("report", profile), "and a pipe none")
    check(ESCAPE in on_terminal("report", profile, PAGER="cat", NO_COLOR=""), "an empty NO_COLOR is as if it were not there")


def judge_width(profile):
    for columns in (80, 200):
        found = widest(on_terminal("report", profile, columns=columns, PAGER="cat"))
        check(columns // 2 < found <= columns, f"on {columns} columns the widest line has {found}")
    narrow, usual = widest(in_pipe("report", profile, COLUMNS="60")), widest(in_pipe("report", profile))
    check(narrow <= 60 < usual <= 120, f"in a pipe it is COLUMNS, else 120: {narrow} and {usual}")


def judge_pager(profile):
    mark = "sed s/^/paged:/"

    def paged(*arguments, **env):
        lines = on_terminal(*arguments, **env).splitlines()
        marked = sum(line.startswith("paged:") for line in lines)
        check(marked in (0, len(lines)) and lines, f"all of {len(lines)} lines or none go through the pager")
        return marked > 0

    check(paged("report", profile, PAGER=mark), "a table goes through the pager")
    check(ESCAPE in on_terminal("report", profile, PAGER=mark), "and keeps its colours")
    check(paged("report", profile, TAILOR_PAGER=mark, PAGER="false"), "TAILOR_PAGER goes first")
    check(not paged("report", profile, TAILOR_PAGER="", PAGER=mark), "an empty one switches it off")
    check(not paged("report", profile, PAGER="no-such-pager"), "one that is not there is none")
    check(not paged("report", profile, "--json", PAGER=mark), "JSON does not go through it")
    check("paged:" not in in_pipe("report", profile, PAGER=mark), "and in a pipe nothing does")
    json.loads(on_terminal("report", profile, "--json", PAGER="cat"))
    if subprocess.run(["sh", "-c", "command -v less"], capture_output=True).returncode == 0:
        text = on_terminal("list", profile, lines=200)
        check("tpch-3" in text, "less shows what fits on the screen and ends")


def judge_first_line(profile):
    """`less` opens a listing where it costs most; another pager, and another command, gets no such word."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("less", "more"):
            pager = pathlib.Path(folder, name)
            pager.write_text("#!/bin/sh\necho \"told: $*\"\ncat\n")
            pager.chmod(0o755)

        def told(pager, *arguments):
            first, *lines = on_terminal(*arguments, columns=120, PAGER=str(pathlib.Path(folder, pager)), NO_COLOR="1").splitlines()
            return first.removeprefix("told:").strip(), lines

        word, lines = told("less", "annotate", profile)
        check(re.fullmatch(r"\+[1-9][0-9]*g", word) is not None, f"less is told a line: {word!r}")
        shares = [(float(found[1]), number) for number, line in enumerate(lines, 1) if (found := re.match(r" *[0-9]+ +([0-9.]+) %    ", line))]
        dearest = max(shares, key=lambda each: (each[0], -each[1]))[1]
        check(0 <= dearest - int(word[1:-1]) <= 12, f"line {dearest} costs most, and less begins with {word}")
        check(told("more", "annotate", profile)[0] == "", "another pager is told nothing")
        check(told("less", "report", profile)[0] == "", "and less is told nothing of another command")


def judge_closed_pipe(profile):
    """`tailor ... | head -n 1`: who reads no more has what it wants."""
    process = subprocess.Popen([BIN / "tailor", "export", profile, "--format", "csv"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(process.stdout.readline().startswith(b"time_ns,"), "the reader has its line")
    process.stdout.close()
    said = process.stderr.read().decode()
    process.wait(60)
    check("Traceback" not in said and "abort" not in said.lower(), f"a reader that ends early is no crash: {said!r}, exit code {process.returncode}")


def main():
    with tempfile.TemporaryDirectory() as name:
        profile, _ = replayed(pathlib.Path(name))
        for judge in (judge_colours, judge_width, judge_pager, judge_first_line, judge_closed_pipe):
            judge(profile)
    return 0


if __name__ == "__main__":
    sys.exit(main())
