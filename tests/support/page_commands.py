"""The command lines of a page in Markdown: those of its fences, those that it shows with their output, and those in its text.

    >>> page = Page("a.md", '''
    ... Run `tailor report FILE` first, or `tailor pause [PID\\\\|all]`; a `tag` is no command.
    ...
    ... ```sh
    ... # a comment
    ... tailor record -o p.tailor \\\\
    ...   -- ./engine            # a long one
    ... echo "a # in quotes"
    ... ```
    ...
    ... ```text
    ... $ tailor report p.tailor   $ perf report
    ... what it said
    ... ```
    ... ''')
    >>> for command in page.commands(): print(command.line, command.kind, command.text)
    2 inline tailor report FILE
    2 inline tailor pause [PID|all]
    6 fence tailor record -o p.tailor   -- ./engine
    8 fence echo "a # in quotes"
    12 shown tailor report p.tailor
    12 shown perf report
    >>> list(variants("tailor pause [PID|all] ..."))
    ['tailor pause', 'tailor pause PID', 'tailor pause all']
    >>> list(variants("perf record -o - ... | tailor import -"))
    ['perf record -o - | tailor import -']
    >>> list(variants("tailor rate HZ|default [--pid PID]"))
    ['tailor rate HZ', 'tailor rate default', 'tailor rate HZ --pid PID', 'tailor rate default --pid PID']
    >>> filled("tailor report FILE --level LEVEL", {"FILE": "p.tailor"})
    ('tailor report p.tailor --level LEVEL', ['LEVEL'])
    >>> filled("tailor sql -q 'SELECT 1' -F HZ", {"HZ": "99"})
    ("tailor sql -q 'SELECT 1' -F 99", [])
    >>> options("VAR=x tailor record --memory -o p.tailor -- cc -O2")
    (['tailor', 'record'], ['--memory', '-o'])
"""
import collections
import itertools
import re
import shlex

Fence = collections.namedtuple("Fence", "line language text")
# `kind` is fence (run as it stands), shown (after a "$ ", with its output below it) or inline (a code span of the text).
Command = collections.namedtuple("Command", "page line kind text")

PROGRAMS = ("tailor", "tailord", "weft", "perf", "systemctl", "journalctl", "curl", "./dev", "python3 tests/")
SHELL = "sh"
QUOTED = r"'[^']*'|\"(?:[^\"\\]|\\.)*\""


class Page:
    def __init__(self, name, text):
        self.name, self.fences, prose = name, [], []
        lines, opened = text.splitlines(), None
        for number, line in enumerate(lines, 1):
            mark = re.match(r"( *)(`{3,}|~{3,}) *([^`\s]*) *$", line)
            if opened is None and mark:
                opened = (number, mark[1], mark[2], mark[3], [])
            elif opened and mark and mark[2].startswith(opened[2]) and not mark[3]:
                self.fences.append(Fence(opened[0], opened[3], "".join(each + "\n" for each in opened[4])))
                opened = None
            elif opened:
                opened[4].append(line.removeprefix(opened[1]))
            prose.append("" if opened or mark else line)
        if opened:
            raise ValueError(f"{name}:{opened[0]}: the fence has no end")
        self.prose = "\n".join(prose)

    def commands(self):
        """All of them, in the order of the page."""
        found = [Command(self.name, line, kind, text) for fence in self.fences for line, kind, text in in_fence(fence)]
        found += [Command(self.name, line, "inline", text) for line, text in spans(self.prose) if is_command(text)]
        return sorted(found, key=lambda command: command.line)


def spans(prose):
    """The code spans of a text, each with its line. A table writes | as \\|."""
    for match in re.finditer(r"(?<!`)(`+)(?!`)((?:(?!\n\n).)+?)(?<!`)\1(?!`)", prose, re.S):
        yield prose.count("\n", 0, match.start()) + 1, " ".join(match[2].replace("\\|", "|").split())


def is_command(text):
    """Whether a code span is a command line: the name of a program alone is none."""
    return any(text.startswith(program if program.endswith("/") else program + " ") for program in PROGRAMS)


def in_fence(fence):
    if fence.language == SHELL:
        yield from ((line, "fence", text) for line, text in script(fence))
    elif fence.language in ("", "text"):
        for number, line in enumerate(fence.text.splitlines(), fence.line + 1):
            if line.startswith("$ "):
                yield from ((number, "shown", each.strip()) for each in re.split(r" {2,}\$ ", line[2:]))


def script(fence):
    """The command lines of a fence, without comments. A line that ends with a backslash or within quotes goes on."""
    text, first = "", 0
    for number, line in enumerate(fence.text.splitlines(), fence.line + 1):
        first = first if text else number
        text += line
        if text.endswith("\\"):
            text = text[:-1]
            continue
        plain = re.sub(rf"({QUOTED})|(?<!\S)#.*", lambda match: match[1] or "", text)
        if re.search(r"['\"]", re.sub(QUOTED, "", plain)):
            text += "\n"
            continue
        if plain.strip():
            yield first, plain.strip()
        text = ""
    if text.strip():
        raise ValueError(f"line {first}: the command has no end: {text.strip()}")


def variants(text):
    """What a synopsis stands for: without and with each part in brackets, and each of the words that a | parts."""
    pieces = re.findall(rf"{QUOTED}|\[(?:[^][]|\[[^][]*\])*\]|[^][\s'\"]+|\S", text)
    choices = []
    for piece in pieces:
        if piece in ("...", "…"):
            continue
        if piece.startswith("[") and piece.endswith("]"):
            inner = [part.strip() for part in re.split(r" *\|(?![^[]*\]) *", piece[1:-1])]
            choices.append(["", *itertools.chain.from_iterable(variants(part) for part in inner)])
        elif "|" in piece and piece != "|" and piece[0] not in "'\"":
            choices.append(piece.split("|"))
        else:
            choices.append([piece])
    # A bracket more or less at a time says as much as all combinations: alternatives are few, brackets may be many.
    wide = [index for index, choice in enumerate(choices) if len(choice) > 1 and choice[0] == ""]
    for taken in ((), *((index,) for index in wide), tuple(wide) if len(wide) > 1 else None):
        if taken is None:
            continue
        rows = [(choice[1:] if index in taken else [""]) if index in wide else choice for index, choice in enumerate(choices)]
        for row in itertools.product(*rows):
            yield " ".join(part for part in row if part)


def filled(text, values):
    """The command with a value for each placeholder, and the placeholders that have none. Quoted text has no placeholders,
    unless it is one as a whole."""
    unknown = []
    known = "|".join(map(re.escape, sorted(values, key=len, reverse=True))) or "(?!)"
    pattern = rf"((?<![\w-])(?:{known})(?!\w))|({QUOTED})|(?<![\w/.$=-])([A-Z]+)(?![\w=/.])"

    def value(match):
        if match[1] is not None:
            return values[match[1]]
        if match[3]:
            unknown.append(match[3])
        return match[0]

    return re.sub(pattern, value, text), unknown


def options(text):
    """Of the first simple command: its words before the first option, and its options. What follows `--` is another command."""
    words = list(itertools.dropwhile(lambda word: re.match(r"[A-Z_]+=", word), shlex.split(text.replace("...", ""))))
    words = list(itertools.takewhile(lambda word: word not in ("--", "|", ">", "&&", ";"), words))
    begin = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    return begin, [word.split("=")[0] for word in words if re.match(r"-{1,2}[A-Za-z]", word)]
