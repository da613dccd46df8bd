"""Runs the command lines of pages, or compares their options with what the program's help has, by a table of what holds for them.

A command without an entry is run as it stands, with a value for each placeholder, and has to end with 0. Faults are collected, so
that one run shows all of them; `summary` prints what was done.
"""
import collections
import contextlib
import dataclasses
import functools
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import page_commands

# Of the commands of a page ("*": of all pages) that the pattern matches as a whole.
Entry = collections.namedtuple("Entry", "page pattern says")
HANGS = 300  # seconds: no command of a page takes a tenth of it; one that waits for something that does not come is told
FOREIGN = ("perf", "systemctl", "journalctl", "curl")  # what a host may lack


@dataclasses.dataclass
class Table:
    left_out: list = dataclasses.field(default_factory=list)  # says: why it is not run
    by_options: list = dataclasses.field(default_factory=list)  # says: why its options are compared with the help, and it is not run
    exits: list = dataclasses.field(default_factory=list)  # says: the codes that it may end with
    endless: list = dataclasses.field(default_factory=list)  # says: what its output has before it is interrupted
    as_if: list = dataclasses.field(default_factory=list)  # says: what stands for words of it in the test, by these words
    checked: list = dataclasses.field(default_factory=list)  # says: what is done with a fence of code, as a function of its text
    fragments: list = dataclasses.field(default_factory=list)  # says: why nothing is done with a fence of code


KINDS = [field.name for field in dataclasses.fields(Table)]
CODE = ("c", "cpp", "cmake", "toml", "python", "sql")


def fits(entry, command):
    return entry.page in ("*", command.page) and re.fullmatch(entry.pattern, command.text, re.S) is not None


class Checks:
    def __init__(self, table, env, around=lambda text: contextlib.nullcontext()):
        """`around` gives a context for each command that runs."""
        self.table, self.env, self.around = table, env, around
        self.faults, self.done, self.reasons = [], collections.Counter(), collections.defaultdict(list)
        self.read, self.ran_before = [], set()  # commands of pages; what ran at the desk

    def page(self, page, folder, values, desk, not_here=None):
        """All commands of a page: those of its fences in its own folder, one after the other, the others at the desk. `not_here` says
        why those of its fences cannot run on this host."""
        self.read += page.commands()
        for command in page.commands():
            if command.kind == "fence" and not_here:
                self.leave_out(Entry(page.name, "", not_here), f"{page.name}:{command.line}")
            else:
                self.command(command, folder if command.kind == "fence" else desk, values)
        for fence in page.fences:
            self.fence(page.name, fence, folder)

    def fence(self, page, fence, folder):
        """A fence of code is checked or says why not; one that looks like commands says that it holds commands."""
        where = f"{page}:{fence.line}"
        if fence.language in CODE:
            whole = page_commands.Command(page, fence.line, "fence", fence.text)
            self.read.append(whole)
            if entry := self.entry("checked", whole):
                self.done["fences of code checked"] += 1
                if fault := entry.says(fence.text, folder, self.env):
                    self.faults.append(f"{where}: {fault}")
            elif entry := self.entry("fragments", whole):
                self.leave_out(entry, where)
            else:
                self.faults.append(f"{where}: nobody checks this {fence.language}")
        elif fence.language in ("", "text") and any(map(page_commands.is_command, fence.text.splitlines())):
            self.faults.append(f"{where}: it holds commands, and its language is not {page_commands.SHELL}")

    def leave_out(self, entry, where):
        self.reasons[entry.says].append(where)
        self.done["left out"] += 1

    def command(self, command, folder, values):
        where = f"{command.page}:{command.line}: {command.text}"
        if entry := self.entry("left_out", command):
            self.leave_out(entry, f"{command.page}:{command.line}")
            return
        only = self.entry("by_options", command)
        text = command.text
        for old, new in (entry.says if (entry := self.entry("as_if", command)) else {}).items():
            text = text.replace(old, new)
        program = re.match(r"(?:[A-Z_]+=\S* )*(\S+)", text)[1]
        if program in FOREIGN and shutil.which(program, path=self.env["PATH"]) is None:
            self.leave_out(Entry("", "", f"{program} is not installed"), f"{command.page}:{command.line}")
            return
        texts = page_commands.variants(text) if command.kind == "inline" else [text]
        for text in texts:
            try:
                fault = self.unknown_option(text) if only else self.run(command, text, folder, values)
            except ValueError as error:  # of quotes that have no end
                fault = str(error)
            if fault:
                self.faults.append(f"{where}: {fault}")
        self.done["checked by their options" if only else "run"] += 1

    def entry(self, kind, command):
        """The first entry of this kind for the command."""
        return next((entry for entry in getattr(self.table, kind) if fits(entry, command)), None)

    def stale(self):
        """The entries that no command of the pages fits, whatever can run on this host."""
        return [f"{kind}: {entry.page}: {entry.pattern}" for kind in KINDS for entry in getattr(self.table, kind)
                if not any(fits(entry, command) for command in self.read)]

    def run(self, command, text, folder, values):
        """What is wrong with it, or None."""
        text, unknown = page_commands.filled(text, values)
        if unknown:
            return f"the test has no value for {', '.join(unknown)}"
        if command.kind != "fence":
            if (text, folder) in self.ran_before:
                return None
            self.ran_before.add((text, folder))
        exits, endless = self.entry("exits", command), self.entry("endless", command)
        with self.around(text):
            code, said = interrupted(text, folder, self.env, endless.says) if endless else ended(text, folder, self.env)
        if code in (exits.says if exits else (0,)):
            print(f"ran: {command.page}:{command.line}: {text}", flush=True)
            return None
        return f"ran as `{text}`: exit code {code}: {said.strip()[-600:]}"

    def unknown_option(self, text):
        """Which of its words its program does not know, or None."""
        begin, options = page_commands.options(text)
        if begin[0] == "python3":
            if not pathlib.Path(begin[1]).exists():
                return f"there is no {begin[1]}"
            code, known = 0, with_imports(pathlib.Path(begin[1]))
        else:
            code, known = self.help(*begin[:2])
        if code != 0:
            return known
        have = set(re.findall(r"(?<![\w-])--?[A-Za-z0-9][\w-]*", known))
        return next((f"{' '.join(begin[:2])} has no option {option}" for option in options if option not in have), None)

    @functools.cache
    def help(self, program, command=None):
        """0 and the help of a command; another number and the reason if there is no such command."""
        no_such = 1, f"{program} has no command {command}"
        if program == "perf":  # whose help ends with 129
            _, said = self.said(program, command, "-h")
            return (0, said) if "Usage: perf" in said else no_such
        if program in ("systemctl", "./dev"):  # one help for all commands
            code, said = self.said(program, "help" if program == "./dev" else "--help")
            return (code, said) if not command or code != 0 or re.search(rf"^ +{re.escape(command)}\b", said, re.M) else no_such
        return self.said(program, *([command] if command and program in ("tailor", "weft") else []), "--help")

    def said(self, *words):
        done = subprocess.run(words, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def summary(self):
        for reason, places in sorted(self.reasons.items()):
            print(f"left out ({reason}): {', '.join(places)}")
        print(", ".join(f"{count} {what}" for what, count in self.done.items()))


def with_imports(script):
    """The text of a script, and of what it imports from the folders of the tests: there are its options."""
    text = script.read_text()
    folders = [script.parent, *map(pathlib.Path, sys.path)]
    names = re.findall(r"^(?:from|import) (\w+)", text, re.M)
    return "\n".join([text, *(file.read_text() for name in names for folder in folders
                              if (file := folder / f"{name}.py").is_file() and "tests" in file.parts)])


def started(text, folder, env):
    return subprocess.Popen(["bash", "-e", "-o", "pipefail", "-c", text], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, start_new_session=True)


def stop(process, how):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, how)


def ended(text, folder, env):
    """Runs it to its end: its code, and what it said. One that hangs is killed."""
    process = started(text, folder, env)
    try:
        said = process.communicate(timeout=HANGS)[0].decode(errors="replace")
        return process.returncode, said
    except subprocess.TimeoutExpired:
        stop(process, signal.SIGKILL)
        return "none", "it did not end: " + process.communicate()[0].decode(errors="replace")


def interrupted(text, folder, env, wanted):
    """Runs it until its output has `wanted`, and then as Ctrl-C does. 0 if it had it and ended in peace."""
    process, said, deadline = started(text, folder, env), "", time.monotonic() + HANGS
    while not re.search(wanted, said) and time.monotonic() < deadline:
        if select.select([process.stdout], [], [], 1)[0]:
            got = os.read(process.stdout.fileno(), 65536)
            if not got:
                break
            said += got.decode(errors="replace")
    stop(process, signal.SIGINT)
    try:
        said += process.communicate(timeout=HANGS)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        stop(process, signal.SIGKILL)
        process.communicate()
        return "none", said
    found = re.search(wanted, said)
    return (0 if found and process.returncode in (0, 130, -signal.SIGINT) else process.returncode or "without its line"), said
