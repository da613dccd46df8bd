"""`tailor bugreport`: all parts are in the file, without tokens and the host's name; parts that are not to be had are named."""
import json
import os
import pathlib
import socket
import subprocess
import tarfile
import tempfile

from tailor_env import BIN, Daemon, check, run

DIGEST = "ab" * 32
CONFIG = f"# A digest that somebody left here: {DIGEST}\nfrequency = 97\nlog-level = \"debug\"\n"


def parts_of(file):
    with tarfile.open(file) as bundle:
        check(all(each.name.startswith("tailor-bugreport") and (each.isdir() or each.isfile()) for each in bundle.getmembers()),
              "all of it lies in one folder")
        return {pathlib.Path(each.name).name: bundle.extractfile(each).read().decode() for each in bundle.getmembers() if each.isfile()}


def report(folder, name, *arguments, env):
    file = folder / f"{name}.tar.gz"
    said = run(BIN / "tailor", "bugreport", "-o", file, *arguments, env=env)
    check(str(file) in said and (file.stat().st_mode & 0o777) == 0o600, f"{name}: the file is its owner's alone")
    return parts_of(file), said


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        config, log = folder / "tailord.toml", folder / "log"
        config.write_text(CONFIG)
        log.write_text(f"started on {socket.gethostname()}\nAuthorization: Bearer secret-{DIGEST}\n")
        with Daemon(options=("--config", config)) as tailord:
            parts, said = report(folder, "with", "--log", log, env=tailord.env)
            status = json.loads(parts["status.json"])
            check(status["pid"] == tailord.process.pid, "the status is that of the daemon")
            check({"host.txt", "status.json", "doctor.json", "tailord.toml", "tailord.log", "contents.txt"} == set(parts), f"parts: {sorted(parts)}")
            check("frequency = 97" in parts["tailord.toml"], "the configuration is the one that the daemon was given")
            check(any(each["check"] == "timer" for each in json.loads(parts["doctor.json"])), "the checks of the host are there")
            check("started on [host]" in parts["tailord.log"], "the host's name is removed")
            secrets = [name for name, text in parts.items() if DIGEST in text or "secret" in text]
            check(not secrets and "removed: 1" in said, f"no token is left {secrets}")
            journal = folder / "some.journal"
            journal.write_bytes(b"J" * 1000)
            parts, said = report(folder, "journal", "--log", log, "--journal", journal, env=tailord.env)
            check(parts["journal"] == "J" * 1000 and "may hold literals" in said, "a journal comes along only if it is named")
        nowhere = {"TAILOR_CONTROL": str(folder / "no.sock")}
        parts, said = report(folder, "without", "--config", folder / "no.toml", "--log", folder / "no.log", env=nowhere)
        check({"host.txt", "doctor.json", "contents.txt"} == set(parts), f"without a daemon: {sorted(parts)}")
        check(all(f"{name}: missing" in parts["contents.txt"] for name in ("status.json", "tailord.toml", "tailord.log")), "what is missing is named")
        for output, arguments, why in ((folder / "no" / "x.tar.gz", [], "cannot write"), (folder / "y.tar.gz", ["--journal", folder / "none"], "cannot copy")):
            done = subprocess.run([str(BIN / "tailor"), "bugreport", "-o", *map(str, [output, *arguments])],
                                  env={**os.environ, **nowhere}, capture_output=True, text=True)
            check(done.returncode != 0 and why in done.stderr, f"{why}: {done.stderr.strip()}")


if __name__ == "__main__":
    main()
