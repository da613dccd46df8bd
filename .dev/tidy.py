#!/usr/bin/env python3
"""clang-tidy over all C++ sources of which it is not known that they are clean.

What is known to be clean is kept as keys in .dev/tidy_clean, which is part of the repository, and in .dev/cache/tidy_clean,
which is this machine's. The key of a source is a hash of its text, of the texts of the headers of ours that it includes
itself, of .clang-tidy and of the version of clang-tidy. A header that no source includes itself counts for one source that
reaches it. Headers of the system do not count. So a clean clone analyses only what differs from the list. A change of a
header brings back the sources that include it, and not those that only reach it through another header.

    tidy.py            analyses what is in neither list; findings fail
    tidy.py --update   the same, then writes .dev/tidy_clean for the sources as they are now
    tidy.py --ci       the same, and analyses ten of the others again, which the commit draws: a list that is wrong does not
                       stay so. Where .dev/tidy_clean lacks more than forty sources, nothing is analysed, and it fails
    tidy.py --stale    only names the sources that would be analysed

Sources with the same options are analysed together, as the release preset compiles them, because most of the time goes
into the headers they share. Those that do not fit together are analysed one by one.
"""
import argparse
import collections
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("TAILOR_ROOT", pathlib.Path(__file__).resolve().parents[1]))
LIST = ROOT / ".dev/tidy_clean"
OWN_LIST = ROOT / ".dev/cache/tidy_clean"
WORK = ROOT / "build/tidy"
PROGRAM = os.environ.get("TAILOR_CLANG_TIDY", "clang-tidy-19")
TOGETHER = 10  # sources
MOST_STALE, DRAWN = 40, 10  # sources, with --ci
# What "tests" includes by a path from somewhere else than the root.
INCLUDE_FOLDERS = ["", "proto/include", "agent/include"]
# Sources that are built apart, against an installed Tailor, and a source whose options fit them.
BORROWED = {"tests/integration/dataflow_client/": "compiler/weft/codegen/compilation.cc"}
# Of a line comment nothing is kept, unless it speaks to clang-tidy. What may look like one is skipped: raw strings, numbers
# with separators, strings, characters. Block comments stay, since they may name arguments.
TOKENS = re.compile(r'R"([^(\s]*)\(.*?\)\1"|\b\d[\w\'.]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|/\*.*?\*/|//[^\n]*', re.DOTALL)
ENTRY = re.compile(r'^(?:extern "C" )?int (?:main|LLVMFuzzerTestOneInput)\(', re.MULTILINE)  # a program has one
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def without_comments(text):
    return TOKENS.sub(lambda m: "" if m[0].startswith("//") and "NOLINT" not in m[0] else m[0], text)


@functools.cache
def text_of(path):
    """The text that counts of a file, or None if it is not one of ours."""
    file = ROOT / path
    if path.startswith("build") or not file.is_file():
        return None
    text = file.read_text(errors="replace")
    return without_comments(text) if path.endswith((".cc", ".h", ".inc")) else text


def made_from(name):
    """The source of a header that the build makes."""
    if name.endswith(".pb.h"):
        return "proto/" + name[: -len(".pb.h")] + ".proto"
    if name.endswith(".skel.h"):
        return str(pathlib.PurePath("daemon/bpf") / pathlib.PurePath(name).name.replace(".skel.h", ".bpf.c"))
    return None


@functools.cache
def includes(path):
    """The files of ours that a file includes itself."""
    found = []
    for name in INCLUDE.findall(text_of(path)):
        places = [os.path.normpath(os.path.join(folder, name)) for folder in (os.path.dirname(path), *INCLUDE_FOLDERS)]
        places.append(made_from(name))
        found += [place for place in places if place and text_of(place) is not None][:1]
    return found


def closure(path):
    seen, left = {path}, [path]
    while left:
        for name in includes(left.pop()):
            if name not in seen:
                seen.add(name)
                left.append(name)
    return sorted(seen)


@functools.cache
def configuration():
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"version (\S+)", version)[1] + "\n" + (ROOT / ".clang-tidy").read_text()


def keys_of(names):
    """Source -> its key."""
    owned, seen = collections.defaultdict(set), set()
    for source in names:
        owned[source].update([source, *includes(source)])
        seen |= owned[source]
    for source in sorted(names):
        only_reached = set(closure(source)) - seen
        owned[source] |= only_reached
        seen |= only_reached
    return {source: key_of(sorted(paths)) for source, paths in owned.items()}


def key_of(paths):
    digest = hashlib.sha256(configuration().encode())
    for path in paths:
        digest.update(f"\0{path}\0{text_of(path)}".encode())
    return digest.hexdigest()[:16]


def known():
    lines = [line for file in (LIST, OWN_LIST) if file.exists() for line in file.read_text().splitlines()]
    return {tuple(line.split(" ", 1)) for line in lines}


def sources():
    listed = subprocess.run(["git", "ls-files", "*.cc"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split() if (ROOT / name).is_file()]  # not what was deleted since


def drawn(names):
    """Ten of them, others for each commit."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return sorted(names, key=lambda name: hashlib.sha256((commit + name).encode()).digest())[:DRAWN]


def commands():
    """Source -> the options it is compiled with, for clang."""
    found = {}
    for entry in json.loads((ROOT / "build/compile_commands.json").read_text()):
        options = options_of(shlex.split(entry["command"]))
        file = pathlib.Path(entry["file"])
        parts = [file]
        if "Unity" in file.parts:
            parts = [pathlib.Path(name) for name in re.findall(r'#include "([^"]+)"', file.read_text())]
        for part in parts:
            if part.is_relative_to(ROOT):
                found.setdefault(str(part.relative_to(ROOT)), options)
    for source in sources():
        for folder, like in BORROWED.items():
            if source.startswith(folder) and like in found:
                found.setdefault(source, found[like])
    return found


def options_of(words):
    """Without what belongs to one source or to g++: the launcher, the output, precompiled headers."""
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-include", "-c", "-MF", "-MT"):
            skip = True
        elif word.startswith(("-D", "-I", "-isystem", "-std", "-m")):
            kept.append(word)
        elif kept and kept[-1] == "-isystem":
            kept.append(word)
    return tuple(kept)


def batches(stale, options):
    """Sources to analyse together. Those of a library lie in one namespace, as in the release build. Tests have helpers of
    the same names, so a batch takes one from each folder."""
    alike = collections.defaultdict(list)
    for source in stale:
        tests = source.startswith("tests/")
        alike[options[source], "tests" if tests else os.path.dirname(source)].append(source)
    result = []
    for (_, where), group in alike.items():
        if where == "tests":
            result += [[source] for source in group if ENTRY.search(text_of(source))]
            group = [source for source in group if not ENTRY.search(text_of(source))]
            if not group:
                continue
            group = [source for row in zip_longest_by_folder(group) for source in row]
        result += [group[i:i + TOGETHER] for i in range(0, len(group), TOGETHER)]
    return result


def zip_longest_by_folder(group):
    """Rows, each with at most one source of a folder."""
    folders = collections.defaultdict(list)
    for source in group:
        folders[os.path.dirname(source)].append(source)
    for number in range(max(map(len, folders.values()))):
        yield [of_folder[number] for of_folder in folders.values() if number < len(of_folder)]


def analyse(batch, options):
    """(clean, what clang-tidy said)."""
    WORK.mkdir(parents=True, exist_ok=True)
    file = ROOT / batch[0]
    if len(batch) > 1:
        file = WORK / f"{hashlib.sha256(' '.join(batch).encode()).hexdigest()[:16]}.cc"
        file.write_text("".join(f'#include "{ROOT / source}"  // NOLINT\n' for source in batch))
    done = subprocess.run([PROGRAM, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", "--warnings-as-errors=*",
                           f"--header-filter=^{re.escape(str(ROOT))}/(proto|agent|compiler|daemon|viewer|tests)/.*\\.(h|cc)$",
                           # In C, also for the kernel.
                           "--exclude-header-filter=/proto/include/tailor/.*\\.h$", str(file), "--", "-xc++", *options,
                           "-Wno-unknown-warning-option", "-Wno-deprecated-declarations"],
                          capture_output=True, text=True, cwd=ROOT)
    return done.returncode == 0, done.stdout


def findings(batch, options):
    """The sources of the batch that are clean, and what was said of the others."""
    clean, said = analyse(batch, options)
    if clean or len(batch) == 1:
        return (batch if clean else []), "" if clean else said
    if "[clang-diagnostic-error" in said:
        # They only do not fit together, or one does not compile.
        parts = [findings(half, options) for half in (batch[: len(batch) // 2], batch[len(batch) // 2:])]
        return [source for good, _ in parts for source in good], "\n".join(text for _, text in parts if text)
    named = {os.path.relpath(path, ROOT) for path in re.findall(r"^(/[^:\n]+):\d+:\d+: error: ", said, re.MULTILINE)}
    # What is found in a header, or in no file, may come from each source that includes it.
    good = [source for source in batch if named and not named.intersection(closure(source))]
    return good, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--ci", action="store_true")
    parser.add_argument("--stale", action="store_true")
    given = parser.parse_args()
    keys = keys_of(sources())
    clean = known()
    stale = [source for source, key in keys.items() if (key, source) not in clean]
    if given.ci and len(stale) > MOST_STALE:
        print(f"{LIST.relative_to(ROOT)} lacks {len(stale)} sources as they are now, and CI analyses {MOST_STALE} at most: run "
              "./dev lint --tidy-all, and commit the list", file=sys.stderr)
        return 1
    again = drawn(set(keys) - set(stale)) if given.ci else []
    if given.stale:
        print("\n".join(stale + again))
        return 0
    more = f"; {len(again)} of the others are analysed again" if again else ""
    print(f"{len(keys)} sources, {len(stale)} of them to analyse{more}", flush=True)
    failed = run(stale + again, keys) if stale or again else 0
    if given.update and not failed:
        LIST.write_text("".join(f"{keys[source]} {source}\n" for source in sorted(keys)))
        print(f"{LIST.relative_to(ROOT)} written")
    return failed


def run(stale, keys):
    options = commands()
    if missing := [source for source in stale if source not in options]:
        print(f"no command compiles these sources; is the build configured for everything? {' '.join(missing)}")
        return 1
    failed = 0
    OWN_LIST.parent.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(findings, batch, options[batch[0]]) for batch in batches(stale, options)]
        for job in concurrent.futures.as_completed(jobs):
            good, said = job.result()
            # At once, so that a run that was stopped has not been for nothing.
            with OWN_LIST.open("a") as file:
                file.writelines(f"{keys[source]} {source}\n" for source in good)
            if said:
                failed = 1
                lines = [line for line in said.splitlines() if re.search(r"(error|warning): ", line)]
                print("\n".join(dict.fromkeys(lines)), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
