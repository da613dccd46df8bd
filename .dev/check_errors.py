#!/usr/bin/env python3
"""Every Error says its kind.

An Error is made by a function that is named for its kind (proto/base/result.h, proto/base/errors.h), or with all three
values: Error{message, code, kind}. Exit codes and HTTP statuses follow from the kind: daemon/serve/error_json.cc is the
only place that knows them.
"""
import pathlib
import re
import subprocess
import sys

ERROR = re.compile(r"(?<![\w:])(?:tailor::)?Error\{")


def arguments(text: str, at: int) -> int:
    """How many values stand between the brace before `at` and its end."""
    depth, count, quote, any_text = 0, 1, "", False
    while at < len(text):
        c = text[at]
        if quote:
            if c == "\\":
                at += 1
            elif c == quote:
                quote = ""
        elif c in "\"'":
            quote, any_text = c, True
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                return count if any_text else 0
            depth -= 1
        elif c == "," and depth == 0:
            count += 1
        elif not c.isspace():
            any_text = True
        at += 1
    return count


def main() -> int:
    names = subprocess.run(["git", "ls-files", "*.cc", "*.h"], capture_output=True, text=True, check=True).stdout.split()
    bad, checked = [], 0
    for name in names:
        path = pathlib.Path(name)
        if name.startswith(("tests/", "docs/")) or not path.exists():
            continue
        checked += 1
        text = path.read_text(errors="replace")
        for found in ERROR.finditer(text):
            if "//" in text[text.rfind("\n", 0, found.start()) + 1 : found.start()]:
                continue
            if arguments(text, found.end()) in (1, 2):
                line = text.count("\n", 0, found.start()) + 1
                bad.append(f"{name}:{line}: an Error without a kind: take invalid(), internal(), os_error() ... of proto/base")
    for line in bad:
        print(line)
    print(f"{checked} files checked, {len(bad)} errors without a kind")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
