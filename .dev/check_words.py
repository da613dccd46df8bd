#!/usr/bin/env python3
"""Plain English, as far as a program can see: no sentence of the docs has more than 30 words, and neither docs nor comments nor shown texts use
phrases that readers stumble over. Code and what stands in brackets do not count as words.
"""
import pathlib
import re
import subprocess
import sys

MOST_WORDS = 30
# What to write instead depends on the sentence; these are what they mean mostly.
PHRASES = {
    re.compile(r"\b(?:told|tells?|telling)(?: [\w']+){0,3} apart\b", re.I): "distinguish, or say what differs",
    re.compile(r"\bput(?:s|ting)? aside\b", re.I): "keep, save, or move elsewhere",
    re.compile(r"\bso many\b", re.I): "the number, or: this many",
    re.compile(r"(?:^|[.:;] )(?:Who(?! (?:is|are|may|writes|owns)\b[^.]*\?)[a-z ]{1,60} is\b|Whoever\b|Who (?:asks|keeps|has|sees|knows|closes|reads|writes|can connect)\b(?![^.]*\?))"):
        "name the subject: a user who ..., a process that ...",
}
# The same where no tests are.
PRODUCT_PHRASES = {re.compile(r"\bwhoever\b", re.I): "name the subject: the asker, the caller, a thread, a user"}
# Texts in quotes, and those between the tags of a page.
SHOWN = re.compile(r'"(?:\\.|[^"\\])*"|`[^`]*`|>[^<>{}]*')
SOURCES = (".cc", ".h", ".c", ".py", ".ts", ".tsx", ".sh")


def plain_text(page):
    """(line, text) of each paragraph and list item, without code, tables, headings and targets of links."""
    text = re.sub(r"```.*?```", lambda found: "\n" * found.group().count("\n"), page, flags=re.S)
    paragraphs, lines, begin = [], [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        is_text = line.strip() and not line.startswith(("|", "#", "<", "!["))
        if (not is_text or re.match(r"\s*(?:[-*]|\d+\.) ", line)) and lines:
            paragraphs.append((begin, " ".join(lines)))
            lines = []
        if is_text:
            begin = begin if lines else number
            lines.append(line.strip())
    for number, paragraph in paragraphs:
        paragraph = re.sub(r"`[^`]*`", "x", paragraph)
        yield number, re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)


def long_sentences(name, page):
    for number, paragraph in plain_text(page):
        if "·" in paragraph:  # a list of links
            continue
        for sentence in re.split(r"(?<=[.!?:;])\s+", re.sub(r"\([^()]*\)", "", paragraph)):
            count = len([word for word in re.findall(r"\S*\w\S*", sentence) if word.strip(",.;:") != "x"])
            if count > MOST_WORDS:
                yield f"{name}:{number}: a sentence of {count} words: {sentence[:90]} ..."


def prose_of(name, text):
    """The text of a page without its code, or the comments of a source, line by line. Of the product also the texts that it shows."""
    if name.endswith(".md"):
        yield from plain_text(text)
        return
    mark = r"#" if name.endswith((".py", ".sh")) else r"//|/\*|^\s*\*"
    for number, line in enumerate(text.split("\n"), 1):
        found = re.search(rf"(?:{mark})(.*)", line)
        if found:
            yield number, found.group(1).strip()
        elif not name.startswith("tests/"):
            yield number, " ".join(SHOWN.findall(line))


def phrases(name, text):
    looked_for = PHRASES if name.startswith("tests/") else PHRASES | PRODUCT_PHRASES
    for number, line in prose_of(name, text):
        for phrase, instead in looked_for.items():
            for found in phrase.finditer(line):
                yield f"{name}:{number}: \"{found.group().strip()}\": {instead}"


def main() -> int:
    files = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    bad, checked = [], 0
    for name in files:
        path = pathlib.Path(name)
        is_page = name.endswith(".md") and name != "CHANGELOG.md"
        if not path.exists() or not (is_page or name.endswith(SOURCES)) or name == ".dev/check_words.py":
            continue
        text = path.read_text(errors="replace")
        checked += 1
        bad += phrases(name, text)
        if is_page:
            bad += long_sentences(name, text)
    for line in bad:
        print(line)
    print(f"{checked} files checked, {len(bad)} places to write more plainly")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
