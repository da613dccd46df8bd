"""`tailord --check-config`: everything that is wrong in a configuration file is told, each with its line, and the daemon
starts with no such file; what is right is taken."""
import os
import pathlib
import subprocess
import tempfile

from tailor_env import BIN, check, run

WRONG = """frequency = 0
frequncy = 99
log-level = "loud"
keep-days = "many"
[event]
kind = "auto"
"""


def tailord(*arguments):
    done = subprocess.run([BIN / "tailord", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    file = folder / "tailord.toml"
    file.write_text(WRONG)
    code, _, said = tailord("--check-config", file)
    check(code == 2, f"a wrong file gives exit code {code}")
    for place, word in (("1:1", "--frequency"), ("2:1", "there is no option \"frequncy\""), ("3:1", "loud"),
                        ("4:1", "--keep-days"), ("5:2", "event")):
        lines = [line for line in said.splitlines() if line.startswith(f"{file}:{place}:") and word in line]
        check(len(lines) == 1, f"{lines or said}")
    check(len(said.splitlines()) == 5, "nothing else is said")
    for arguments in (("--config", file), ("--config", file, "--check-config")):
        code, _, said = tailord(*arguments)
        check(code == 2 and f"{file}:2:1:" in said, f"{arguments[-1]}: the daemon does not start, and says why")

    file.write_text("frequency = 99\n")
    code, out, said = tailord("--event", "nope", "--check-config", file)
    check((code, out) == (2, "") and "leave out --event" in said, f"what the check would ignore is refused: {said.strip()}")

    file.write_text('frequency = 99\nlog-level = "info"\nlog-level = "warn"\n')
    code, _, said = tailord("--check-config", file)
    check(code == 2 and said.startswith(f"{file}:3:"), f"no TOML: {said.strip()}")
    file.write_bytes(b"frequency = \xff\xfe\n")
    check(tailord("--check-config", file)[0] == 2, "nor is what is no text")
    code, _, said = tailord("--check-config", folder / "missing.toml")
    check(code == 2 and "missing.toml" in said, f"a file that is not there: {said.strip()}")
    code, _, said = tailord("--check-config", folder)
    check(code == 2 and str(folder) in said, f"a folder: {said.strip()}")
    file.write_text('event = ["no-such-event"]\n')
    code, _, said = tailord("--check-config", file)
    check(code == 2 and "no-such-event" in said, f"an event that there is not: {said.strip()}")
    # What tailord refuses, with the same words: nothing of it is opened before.
    for text, word in (('listen = ["127.0.0.1:0"]\n', "--tokens"), (f'tokens = "{folder}/none.toml"\n', "none.toml"),
                       ('socket-group = "no-such-group-here"\n', "no-such-group-here"), ('metrics-listen = "300.1.1.1:80"\n', "300.1.1.1"),
                       ('metrics-listen = "127.0.0.1"\n', "ADDRESS:PORT"), (f'control = "/{"x" * 200}"\n', "xxx")):
        file.write_text(text)
        code, _, said = tailord("--check-config", file)
        check(code == 2 and word in said and len(said.splitlines()) == 1, f"{text.strip()[:60]}: {said.strip()[:200]}")
        message = said.strip().split(": ", 1)[1]
        code, _, started = tailord("--config", file, "--store", folder / "store")
        check(code == 2 and message in started and len(started.splitlines()) == 1, "tailord says the same, once")
        check(not (folder / "store").exists(), "and makes nothing")
    # In the journal each line has its priority, and the journal's time alone.
    with open(folder / "said", "wb") as stream:
        place = os.fstat(stream.fileno())
        subprocess.run([BIN / "tailord", "--config", file], stderr=stream, env={**os.environ, "JOURNAL_STREAM": f"{place.st_dev}:{place.st_ino}"}, timeout=60)
    said = (folder / "said").read_text()
    check(said.startswith("<3>") and "tailord error" not in said and len(said.splitlines()) == 1, f"in the journal: {said.strip()[:100]}")
    (folder / "said").unlink()
    file.write_text('config = "/etc/passwd"\n')
    check(tailord("--check-config", file)[0] == 2, "a file cannot name another")

    file.write_text('# all kinds of values\nfrequency = 1_000\nmax-overhead = "1.5%"\ncallchain = true\nmemory = false\nevent = ["auto"]\n')
    code, said, problems = tailord("--check-config", file)
    check(code == 0 and str(file) in said and problems == "", f"a right file: {said.strip()}{problems}")
    check(str(file) in run(BIN / "tailord", "--config", file, "--check-config"), "the file of --config is meant where none is named")
    check(list(folder.iterdir()) == [file], "nothing was made meanwhile")
