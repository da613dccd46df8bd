"""`tailor web` on a desktop: the browser gets a file with the link, and its token is in nobody's arguments, which everybody can read."""
import os
import pathlib
import pty
import signal
import stat
import subprocess
import sys
import tempfile
import time

import perf_file

TAILOR = sys.argv[1]
# Stands for the user's browser. It keeps what it was given, and what any user could read of all programs meanwhile.
BROWSER = """#!/bin/sh
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' > "$SEEN/arguments"
printf '%s\\n' "$@" > "$SEEN/given"
cat "$1" > "$SEEN/page"
: > "$SEEN/done"
"""


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")
    print(f"ok: {text}")


def shown_link(terminal):
    """The link that the terminal gets."""
    said = b""
    while b"\n" not in said.partition(b"/#start=")[2]:
        said += os.read(terminal, 65536)
    return next(line.strip() for line in said.decode().splitlines() if "/#start=" in line)


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        data, profile, programs, seen, runtime = (folder / name for name in ("perf.data", "p.tailor", "programs", "seen", "runtime"))
        for each in (programs, seen, runtime):
            each.mkdir()
        perf_file.write(data, [perf_file.comm(1000, 7, "x"), *(perf_file.sample(at, 7, 7, 0x1000) for at in range(2000, 2100))])
        subprocess.run([TAILOR, "import", data, "-o", profile], check=True, capture_output=True)
        browser = programs / "xdg-open"
        browser.write_text(BROWSER)
        browser.chmod(0o755)
        env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "SEEN": str(seen), "DISPLAY": ":0", "XDG_RUNTIME_DIR": str(runtime)}
        main_end, other_end = pty.openpty()
        with subprocess.Popen([TAILOR, "web", str(profile)], stdin=subprocess.DEVNULL, stdout=other_end, stderr=subprocess.STDOUT, env=env) as web:
            try:
                os.close(other_end)
                link = shown_link(main_end)
                token = link.partition("/#start=")[2]
                check(len(token) >= 16, "the terminal gets the link")
                while not (seen / "done").exists():
                    check_alive(web)
                    time.sleep(0.05)
                given = (seen / "given").read_text().splitlines()
                check(len(given) == 1 and given[0].startswith(str(runtime)), f"the browser gets a file: {given}")
                page = pathlib.Path(given[0])
                mode = page.stat()
                check(stat.S_IMODE(mode.st_mode) == 0o600 and mode.st_uid == os.geteuid(), "nobody else can read it")
                check(f"url={link}" in (seen / "page").read_text(), "it leads to the link")
                arguments = (seen / "arguments").read_text(errors="replace")
                check(str(page) in arguments, "the arguments of all programs were seen, the browser's among them")
                check(token not in arguments and token not in page.name, "the token is in none of them")
            finally:
                web.send_signal(signal.SIGTERM)
            check(web.wait(30) == 0, "it ends when it is told to")
            check(not page.exists(), "and the file is gone")
        os.close(main_end)


def check_alive(web):
    if web.poll() is not None:
        sys.exit(f"FAILED: tailor web ended before a browser was started: {web.returncode}")


if __name__ == "__main__":
    main()
