"""The code blocks of docs/integrate-your-engine.md, and what the comment before each of them says it is."""
import collections
import re

from tailor_env import ROOT

PAGE = ROOT / "docs/integrate-your-engine.md"
LANGUAGES = ("c", "cpp", "cmake")

# `kind` and `name` are those of the comment `<!-- kind: name -->` in the line before the block; empty without one.
Block = collections.namedtuple("Block", "line language kind name text")


def blocks(page):
    found, lines, i = [], page.splitlines(), 0
    while i < len(lines):
        if lines[i].startswith("```"):
            end = lines.index("```", i + 1)
            says = re.fullmatch(r"<!-- (\w+): (.*) -->", lines[i - 1])
            found.append(Block(i + 1, lines[i][3:], says[1] if says else "", says[2] if says else "",
                               "\n".join(lines[i + 1:end]) + "\n"))
            i = end
        i += 1
    return found


def of_kind(kind):
    return [block for block in blocks(PAGE.read_text()) if block.kind == kind]


def programs(folder=""):
    """The programs that the page has in this folder, or in none."""
    split = [(*block.name.rpartition("/"), block) for block in of_kind("program")]
    return [block._replace(name=name) for where, _, name, block in split if where == folder]
