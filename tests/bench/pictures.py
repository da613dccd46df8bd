"""Makes the pictures of docs/ from profiles that guide.py has recorded.

    python3 tests/bench/guide.py expert && python3 tests/bench/guide.py optimizer && python3 tests/bench/guide.py operator
    python3 tests/bench/pictures.py [--folder guide]

A picture of a terminal is a text as SVG. Those of the page come from Debian's Chromium.
"""
import argparse
import html
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TAILOR_BUILD", ROOT / "build")) / "bin"
LETTER, LINE, EDGE = 8.4, 19, 16  # pixels
NO_BREAK = chr(0xA0)  # other spaces in a row become one


def said(*words, lines=60):
    """What a user sees in a terminal of 100 columns: the command and its answer."""
    env = {**os.environ, "TAILOR_PAGER": "", "COLUMNS": "100"}
    answer = subprocess.run([BIN / words[0], *words[1:]], env=env, check=True, capture_output=True, text=True).stdout
    return ["$ " + " ".join(pathlib.Path(word).name if os.sep in str(word) else str(word) for word in words), *answer.rstrip().splitlines()[:lines]]


def terminal(lines):
    width = max(len(line) for line in lines) * LETTER + 2 * EDGE
    height = len(lines) * LINE + 2 * EDGE
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" role="img" '
           f'aria-label="{html.escape(lines[0][2:])}">',
           f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#171c26"/>',
           '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" fill="#d7dce5" xml:space="preserve">']
    for number, line in enumerate(lines):
        color = ' fill="#7fd1ae"' if line.startswith("$ ") else ""
        # Each letter has its column, whatever font is there.
        out.append(f'<text x="{EDGE}" y="{EDGE + LINE * number + 14}" textLength="{max(1, len(line)) * LETTER:.1f}"{color}>{html.escape(line).replace(" ", NO_BREAK)}</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def page(report, out, *state):
    node = pathlib.Path(sys.executable).parent / "node"
    command = [node if node.exists() else shutil.which("node"), ROOT / "tests/browser/picture.mjs", report, out, *state]
    subprocess.run(command, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("guide"))
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs")
    given = parser.parse_args()
    both = [*said("tailor", "report", given.folder / "figure-9.tailor", "--last", "19", lines=10), "",
            *said("tailor", "timeline", given.folder / "plan-b.tailor", "--last", "1")]
    (given.out / "terminal.svg").write_text(terminal(both))
    page(given.folder / "figure-9.html", given.out / "guide-expert.png")
    page(given.folder / "plan-b.html", given.out / "guide-optimizer.png")
    page(given.folder / "memory.html", given.out / "guide-operator.png", "?tab=memory", "1280", "1100")


if __name__ == "__main__":
    main()
