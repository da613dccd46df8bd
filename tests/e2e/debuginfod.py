"""Reports ask the servers in DEBUGINFOD_URLS for debug files, by build id: here a small one. Nothing else asks: no recording,
and no report without that variable. A file of another build names nothing, a server that does not answer is left
after a while, and the report says why."""
import contextlib
import ctypes
import http.server
import json
import os
import pathlib
import shutil
import socket
import tempfile
import threading
import time

from debug_files import build_id
from symbol_cache import SOURCE
from tailor_env import BIN, check, run, sampling_denied, skip


class Server(http.server.ThreadingHTTPServer):
    """Gives /buildid/ID/debuginfo and /buildid/ID/executable from `files`."""

    def __init__(self):
        self.files, self.asked = {}, []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def library_is_here():
    with contextlib.suppress(OSError):
        return ctypes.CDLL("libdebuginfod.so.1") is not None
    return False


class Host:
    """What one user of this host has asked for so far: nothing."""

    def __init__(self, folder, urls):
        self.cache = tempfile.TemporaryDirectory(dir=folder)
        self.env = {"DEBUGINFOD_URLS": urls, "DEBUGINFOD_CACHE_PATH": self.cache.name, "DEBUGINFOD_TIMEOUT": "2", "no_proxy": "127.0.0.1"}

    def rows(self, profile):
        report = json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json", env=self.env))
        return [row for row in report["functions"] if row["object"] == "program"]

    def names(self, profile):
        return {row["name"] for row in self.rows(profile)}

    def reasons(self, profile):
        found = json.loads(run(BIN / "tailor", "doctor", profile, "--json", env=self.env, expect=None))
        return " ".join(each["found"] for each in found if each["check"] == "names")


def main():
    if shutil.which("cc") is None or shutil.which("objcopy") is None:
        skip("there is no C compiler")
    if not library_is_here():
        skip("there is no libdebuginfod.so.1 (package libdebuginfod1)")
    with tempfile.TemporaryDirectory(prefix="tailor-debuginfod-") as name:
        folder = pathlib.Path(name)
        (folder / "program.c").write_text(SOURCE)
        whole, program, other, profile = (folder / each for each in ("whole", "program", "other", "p.tailor"))
        run("cc", "-O1", "-Wl,--build-id", f"-DVERSION={os.getpid()}", "-o", whole, folder / "program.c")
        run("cc", "-O1", "-Wl,--build-id", "-DVERSION=1", "-o", other, folder / "program.c")
        run("strip", "-o", program, whole)
        run("objcopy", "--only-keep-debug", whole, folder / "debug")
        debug = (folder / "debug").read_bytes()
        identity = build_id(whole)
        server = Server()
        server.files[f"/buildid/{identity}/debuginfo"] = debug
        os.environ.update(Host(folder, server.url()).env)
        run(BIN / "tailor", "record", "-F", "997", "-o", profile, "--", program)
        check(not server.asked, f"a recording asks nobody: {server.asked}")
        os.environ.pop("DEBUGINFOD_URLS")
        check("hot" not in Host(folder, "").names(profile), "nor does a report where no server is named")
        check(not server.asked, "indeed")
        check("hot" in Host(folder, server.url()).names(profile), f"a report asks for the debug file: {server.asked}")
        # A sample may lie in another file without names, such as the dynamic loader.
        of_program = [path for path in server.asked if identity in path]
        check(of_program == [f"/buildid/{identity}/debuginfo"], f"and for nothing else of it: {server.asked}")
        folded = run(BIN / "tailor", "export", profile, "--format", "folded", env=Host(folder, server.url()).env)
        check("hot" in folded, "so does an export")

        program.rename(folder / "gone")
        check("hot" not in Host(folder, server.url()).names(profile), "of a file that is gone nothing says where its code lay")
        server.files[f"/buildid/{identity}/executable"] = (folder / "gone").read_bytes()
        check("hot" in Host(folder, server.url()).names(profile), "the server may have that file too")
        (folder / "gone").rename(program)

        server.files[f"/buildid/{identity}/debuginfo"] = other.read_bytes()
        wrong = Host(folder, server.url())
        check("hot" not in wrong.names(profile), "a file with another build id names nothing")
        check("another build id" in wrong.reasons(profile), f"which is said: {wrong.reasons(profile)}")

        server.files.clear()
        none = Host(folder, server.url())
        check("debuginfod has no file" in none.reasons(profile), f"that it has no file is said: {none.reasons(profile)}")
        server.shutdown()
        server.server_close()
        dead = Host(folder, server.url())
        check("debuginfod gave nothing" in dead.reasons(profile), f"that nobody is there, too: {dead.reasons(profile)}")

        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent_host = Host(folder, f"http://127.0.0.1:{silent.getsockname()[1]}")
            began = time.monotonic()
            said = silent_host.reasons(profile)
            check("debuginfod gave nothing" in said, f"one that does not answer is left: {said}")
            print(f"after {time.monotonic() - began:.1f} s")
            check("has no file" not in silent_host.reasons(profile), "and is not taken for one that has no file")


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    main()
