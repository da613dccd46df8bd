"""Manual pages and completions say what --help says: every command, every option, every value that can be chosen."""
import re
import shutil
import subprocess

from tailor_env import BIN, BUILD, check, run, skip

MADE = BUILD / "deploy/help"
if not (MADE / "made").exists():
    skip("they were not made: the build found no Python")


def options_of(help_text):
    """The names of options: they begin the lines that are indented by two blanks."""
    return {name for line in re.findall(r"(?m)^  (-\S+)", help_text) for name in re.sub(r"\{\w*\}", "", line).split(",")}


def shown(page):
    """A page as troff shows it, without the dashes that it writes otherwise."""
    return (MADE / "man" / page).read_text().replace("\\-", "-")


def completed(program, *words):
    """What bash offers for the last word."""
    script = f'. {MADE}/completions/{program}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _{program} "$1" "${{@: -1}}" "${{@: -2:1}}"; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return run("bash", "-c", script, "bash", program, *words).split()


def holds(page, help_text):
    missing = [name for name in options_of(help_text) if not re.search(rf"\\fB[^\n]*{re.escape(name)}\b", shown(page))]
    check(not missing, f"{page} has every option {missing}")


commands = re.findall(r"(?m)^  ([a-z]+) ", run(BIN / "tailor", "--help").split("Subcommands:")[1])
check(len(commands) > 5, f"commands: {' '.join(commands)}")
holds("tailord.8", run(BIN / "tailord", "--help"))
for command in commands:
    said = run(BIN / "tailor", command, "--help")
    holds(f"tailor-{command}.1", said)
    check(f"tailor-{command}" in shown("tailor.1"), "tailor.1 names it")
    offered = set(completed("tailor", command, "-"))
    check(offered == options_of(said), f"bash offers the options of {command} {offered ^ options_of(said)}")
check(set(commands) <= set(completed("tailor", "")), "bash offers the commands")
check(set(completed("tailor", "rep")) == {"report", "replay"}, "those that begin so")
check(set(completed("tailord", "--log-level", "")) == {"debug", "info", "warn", "error"}, "and the values of an option")
check(completed("tailor", "record", "--", "-") == [], "behind -- stands a command of somebody else")
check(sorted(path.stem for path in (MADE / "man").iterdir()) == sorted(["tailord", "tailor", *(f"tailor-{each}" for each in commands)]), "no page is left over")
if groff := shutil.which("groff"):
    for page in sorted((MADE / "man").iterdir()):
        warned = subprocess.run([groff, "-man", "-ww", "-z", "-Tutf8", page], capture_output=True, text=True)
        check(warned.stderr == "", f"groff takes {page.name} {warned.stderr[:300]}")
else:
    skip("groff is missing (package groff-base): whether it takes the pages was not tried")
