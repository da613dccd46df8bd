"""Every piece of code in the guide is a program that another test builds, or stands in the file that it names."""
import re

import page
from tailor_env import ROOT, check


def pieces(text):
    """The runs of lines between lines that only say that something is left out."""
    found = [[]]
    for line in map(str.strip, text.splitlines()):
        if re.fullmatch(r"(//|#) \.\.\.", line):
            found.append([])
        elif line:
            found[-1].append(line)
    return [piece for piece in found if piece]


def stands_in(text, source):
    """Whether all pieces stand in the source, one behind the other, indentation aside."""
    lines = [line for line in map(str.strip, source.splitlines()) if line]
    at = 0
    for piece in pieces(text):
        places = [i for i in range(at, len(lines)) if lines[i:i + len(piece)] == piece]
        if not places:
            return False
        at = places[0] + len(piece)
    return True


for block in page.blocks(page.PAGE.read_text()):
    check(block.language not in page.LANGUAGES or block.kind in ("program", "excerpt"),
          f"the code in line {block.line} of the guide says what it is: {block.kind} {block.name}")
excerpts = page.of_kind("excerpt")
check(excerpts, f"{len(excerpts)} excerpts")
built = {program.name.partition("/")[0] for program in page.of_kind("program") if "/" in program.name}
check(built == {"generators", "orc"}, f"the tests build all folders of programs: {built}")
for excerpt in excerpts:
    source = (ROOT / excerpt.name).read_text()
    check(stands_in(excerpt.text, source), f"the excerpt in line {excerpt.line} of the guide stands in {excerpt.name}")
    first, *rest = excerpt.text.splitlines()
    check(not stands_in("\n".join([first + " // changed", *rest]), source), "the broken twin: with another first line it does not")
    if len(pieces(excerpt.text)) > 1:
        check(not stands_in("\n".join(sum(reversed(pieces(excerpt.text)), [])), source), "nor in another order")
