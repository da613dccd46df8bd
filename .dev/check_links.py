#!/usr/bin/env python3
"""Checks the links of the Markdown files: each names a file of the tree, and an anchor a heading of that file or an <a id="..."> in it.

    check_links.py [FOLDER]    the tree to check; without it, this one
"""
import pathlib
import re
import subprocess
import sys
import urllib.parse

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*(```|~~~)")


def prose(text):
    """The lines of a page outside of its code blocks, with their numbers."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            in_code = not in_code
        elif not in_code:
            yield number, line


def anchors(path):
    """The anchors of a page: those of its headings, as GitHub and most other viewers make them, and those it names."""
    found = {}
    for _, line in prose(path.read_text()):
        found.update(dict.fromkeys(re.findall(r'<a id="([^"]+)">', line), 1))
        if not (heading := re.match(r"#+\s+(.*?)\s*#*$", line)):
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
        name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found[name] = found.get(name, 0) + 1
    return {name if i == 0 else f"{name}-{i}" for name, count in found.items() for i in range(count)}


def problems(root, page):
    for number, line in prose((root / page).read_text()):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = urllib.parse.unquote(target).partition("#")
            path = (root / page).parent / name if name else root / page
            if not path.exists():
                yield f"{page}:{number}: {target}: there is no such file"
            elif anchor and path.suffix == ".md" and anchor not in anchors(path):
                yield f"{page}:{number}: {target}: the page has no such anchor"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True,
                            check=True).stdout.splitlines()
    found = [problem for page in listed if (root / page).exists() for problem in problems(root, page)]
    print("\n".join(found) if found else f"{len(listed)} pages: all links lead somewhere")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
