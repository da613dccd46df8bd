#!/usr/bin/env python3
"""The version stands in CMakeLists.txt. Sources and packages are given it when they are built. The files below are used
without a build, so they repeat it, and must be right. No other file may name it, except as an example.
"""
import pathlib
import re
import subprocess
import sys

# File -> how it repeats the version.
REPEATED = {
    "kmod/main.c": r'MODULE_VERSION\("([^"]+)"\)',
    "deploy/kubernetes/daemonset.yaml": r"image: tailord:(\S+)",
    "docs/timestamps.md": r"dkms install tailor-clock/(\S+)",
}
# What stands there is an example, or a version of the past.
EXAMPLES = ("tests/", "docs/", "CHANGELOG.md", "viewer/web/", "daemon/formats/trace.h", ".dev/")


def main() -> int:
    version = re.search(r"project\(tailor VERSION (\S+)", pathlib.Path("CMakeLists.txt").read_text()).group(1)
    bad = []
    for name, pattern in REPEATED.items():
        found = re.findall(pattern, pathlib.Path(name).read_text())
        if found != [version]:
            bad.append(f"{name}: has version {found}, not {version} of CMakeLists.txt")
    grep = subprocess.run(["git", "grep", "-lIF", version], capture_output=True, text=True)
    for name in grep.stdout.split():
        if name != "CMakeLists.txt" and name not in REPEATED and not name.startswith(EXAMPLES):
            bad.append(f"{name}: names version {version}; take it from the build (TAILOR_VERSION)")
    for line in bad:
        print(line)
    print(f"version {version}: {len(REPEATED)} files checked, {len(bad)} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
