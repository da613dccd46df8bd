#!/usr/bin/env python3
"""Manual pages and completions for bash, made from what the programs print for --help, so that they say the same.

usage: from_help.py OUTPUT VERSION PROGRAM:SECTION...
Writes OUTPUT/man/PROGRAM[-COMMAND].SECTION and OUTPUT/completions/PROGRAM.
"""
import dataclasses
import pathlib
import re
import subprocess
import sys


@dataclasses.dataclass
class Entry:
    """A line of a section: `-F,--frequency UINT=99   Samples a second`."""
    names: list[str]
    value: str
    text: str

    @property
    def choices(self):
        found = re.search(r"\{([^}]*)\}", self.value)
        return found.group(1).split(",") if found else []


@dataclasses.dataclass
class Help:
    """What a command says of itself."""
    name: str
    about: str
    usage: str
    sections: dict[str, list[Entry]]
    footer: str
    commands: list["Help"] = dataclasses.field(default_factory=list)

    def entries(self, *sections):
        return [entry for section in sections for entry in self.sections.get(section, [])]


def entry_of(lines):
    """An entry from its lines: names and value, then, on the same line after two blanks or on the next ones, the text."""
    head, _, text = lines[0].strip().partition("  ")
    text = " ".join([text.strip(), *(line.strip() for line in lines[1:])]).strip()
    names, _, value = head.partition(" ")
    # A flag that sets something to false shows that behind its name.
    return Entry(re.sub(r"\{\w*\}", "", names).split(","), value.strip(), text)


def parse(name, text):
    about, usage, footer, sections, block, current = [], "", [], {}, [], None

    def close():
        if block:
            sections[current].append(entry_of(block))
        block.clear()

    for line in text.splitlines():
        if line.startswith("Usage:"):
            usage = line.removeprefix("Usage:").strip()
        elif not usage:
            about.append(line)
        elif re.fullmatch(r"\S.*:", line):
            close()
            current = line[:-1]
            sections[current] = []
        elif current and re.match(r"  \S", line):
            close()
            block.append(line)
        elif current and line.startswith("   "):
            block.append(line)
        elif line.strip():
            close()
            current = None
            footer.append(line)
    close()
    return Help(name, " ".join(about).strip(), usage, sections, " ".join(footer).strip())


def ask(program, *command):
    done = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True, env={"HOME": "/nonexistent"})
    asked = parse(" ".join([program.name, *command]), done.stdout)
    for entry in asked.entries("Subcommands"):
        asked.commands.append(ask(program, *command, entry.names[0]))
    return asked


def roff(text):
    """Text that troff shows as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def man_page(command, section, version, top):
    page = command.name.replace(" ", "-")
    out = [f'.TH {page.upper()} {section} "" "Tailor {version}" "Tailor"', ".SH NAME", f"{roff(page)} \\- {roff(command.about.rstrip('.'))}",
           ".SH SYNOPSIS", f".B {roff(command.usage)}"]
    for title, entries in command.sections.items():
        out.append(f".SH {'COMMANDS' if title == 'Subcommands' else roff(title.upper())}")
        for entry in entries:
            out += [".TP", f"\\fB{', '.join(map(roff, entry.names))}\\fR" + (f" {roff(entry.value)}" if entry.value else ""),
                    roff(entry.text) or "\\&"]
    if command.footer:
        out += [".SH NOTES", roff(command.footer)]
    others = [each.name.replace(" ", "-") for each in command.commands] if command is top else [top.name]
    if others:
        out += [".SH SEE ALSO", ", ".join(f"\\fB{roff(other)}\\fR({section})" for other in others)]
    return "\n".join(out) + "\n"


def words_of(command):
    """What can stand after a command: its options, and the names of its commands."""
    options = [name for entry in command.entries(*command.sections) for name in entry.names if name.startswith("-")]
    return options + [each.name.split()[-1] for each in command.commands]


def completion(top):
    name = top.name
    out = [f"# bash completion of {name}, made from its --help", f"_{name}() {{",
           "  local word=$2 before=$3 command='' i", "  for ((i = 1; i < COMP_CWORD; i++)); do", "    case ${COMP_WORDS[i]} in",
           "      --) return ;;"]
    if top.commands:
        out.append(f"      {'|'.join(each.name.split()[-1] for each in top.commands)}) command=${{command:-${{COMP_WORDS[i]}}}} ;;")
    out += ["    esac", "  done", "  case $command,$before in"]
    for command in [top, *top.commands]:
        which = command.name.split()[-1] if command is not top else ""
        for entry in command.entries(*command.sections):
            if entry.choices:
                patterns = "|".join(f"{which},{each}" for each in entry.names)
                out += [f"    {patterns})", f"      mapfile -t COMPREPLY < <(compgen -W '{' '.join(entry.choices)}' -- \"$word\")", "      return ;;"]
    out += ["  esac", "  case $command in"]
    for command in [*top.commands, top]:
        which = command.name.split()[-1] if command is not top else "*"
        out += [f"    {which})", f"      mapfile -t COMPREPLY < <(compgen -W '{' '.join(words_of(command))}' -- \"$word\") ;;"]
    out += ["  esac", "}", f"complete -o default -F _{name} {name}"]
    return "\n".join(out) + "\n"


def main():
    output, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    for folder in ("man", "completions"):
        (output / folder).mkdir(parents=True, exist_ok=True)
    for argument in sys.argv[3:]:
        program, _, section = argument.rpartition(":")
        top = ask(pathlib.Path(program))
        for command in [top, *top.commands]:
            page = output / "man" / f"{command.name.replace(' ', '-')}.{section}"
            page.write_text(man_page(command, section, version, top))
        (output / "completions" / top.name).write_text(completion(top))


main()
