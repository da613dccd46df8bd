#!/usr/bin/env python3
"""Checks the rules of docs/ARCHITECTURE.md: which folder may include which, and who may be large."""
import pathlib
import re
import subprocess
import sys

# Top-level folder -> the top-level folders whose headers it may include.
ALLOWED = {
    "proto": {"proto"},
    "agent": {"agent", "proto"},
    "compiler": {"compiler", "agent", "proto"},
    "daemon": {"daemon", "proto"},
    "viewer": {"viewer", "daemon", "proto"},
    "kmod": {"kmod", "proto"},
}
# Inside compiler/ and daemon/: folder -> what it must not use.
FORBIDDEN = [
    ("compiler/tagging/", re.compile(r'"compiler/(llvm|weft)/|<llvm/|"llvm/')),
    ("compiler/llvm/", re.compile(r'"compiler/weft/')),
    ("daemon/capture/", re.compile(r'"daemon/(process|attribute|store|query|session|journal|registration)/')),
    ("daemon/attribute/", re.compile(r'"daemon/(os|store|query|session|journal|registration)/')),
    ("daemon/store/", re.compile(r'"daemon/(session|query|journal|registration|os)/')),
    ("daemon/query/", re.compile(r'"daemon/(session|journal|registration|os)/')),
]
TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "daemon", "kmod", "agent", "compiler", "proto", "viewer",
             "tests", "deploy", "docs", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "dev"}
# Which C header of the public sets belongs to which folder.
PUBLIC = {"agent.h": "agent", "tag_scope.h": "agent"}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)


def main() -> int:
    files = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    bad = []
    for top in {f.split("/")[0] for f in files}:
        if top not in TOP_LEVEL and not top.startswith("."):
            bad.append(f"{top}: not a top-level folder of this project")
    checked = 0
    for name in files:
        if not name.endswith((".cc", ".h", ".c")):
            continue
        folder = name.split("/")[0]
        if folder not in ALLOWED:
            continue
        checked += 1
        text = pathlib.Path(name).read_text(errors="replace")
        for quote, target in INCLUDE.findall(text):
            first = target.split("/")[0]
            if first == "tailor" and quote == "<":
                first = PUBLIC.get(target.split("/")[-1], "proto")
            if first in ALLOWED and first not in ALLOWED[folder]:
                bad.append(f"{name}: may not include {target}")
            for prefix, pattern in FORBIDDEN:
                if name.startswith(prefix) and pattern.search(quote + target):
                    bad.append(f"{name}: may not include {target}")
    for line in sorted(set(bad)):
        print(line)
    print(f"{checked} files checked, {len(set(bad))} violations")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
