#!/usr/bin/env python3
"""Prints the manual with the option lists that lineburn's --help has.

usage: tools/manual.py LINEBURN PAGE   (make manual; tests/cli/manual.sh compares)

An option list of the page stands between the comments '.\\" options: COMMAND...' and '.\\" end'. Of
each item this program writes the head (.It), the commands, if they are not those of the list
(.Pq), and the one line of text after them, which is the sentence of --help. What follows in the item
is written by hand and kept. An option that all commands take stands in the list of "all"; one that
commands of several lists take, in the first list with the word "shared" and one of these commands.
"""

import re
import subprocess
import sys

HELP = re.compile(r"^  (?:-(.),|   ) --([a-z0-9-]+)(\S*) +(.*)$", re.M)


def fail(message):
    sys.exit(f"tools/manual.py: {message}")


def options_of(lineburn):
    """Returns {option: its commands}, in the order of the table; an option is what --help prints."""

    def helped(*command):
        return subprocess.run([lineburn, *command, "--help"], check=True, text=True,
                              capture_output=True).stdout

    order, takers = [], {}
    for command in dict.fromkeys(re.findall(r"^  lineburn ([a-z-]*[a-z]) +[a-z]", helped(), re.M)):
        place = 0
        for option in HELP.findall(helped(command)):
            if option in order:
                place = order.index(option) + 1
            else:
                order.insert(place, option)
                place += 1
            takers.setdefault(option, []).append(command)
    return {option: takers[option] for option in order}


def roff(text):
    """A line of text: hyphens of options are minus signs, and nothing is a request."""
    text = re.sub(r"(?<![\w-])--?(?=\w)", lambda m: r"\-" * len(m[0]), text.replace("\\", r"\e"))
    return r"\&" + text if text[0] in ".'" else text


def head(option):
    letter, name, arg, _ = option
    line = ".It " + (f"Fl {letter} , " if letter else "") + f"Fl -{name}"
    if arg.startswith("["):
        return f"{line} Ns Op = Ns Ar {arg[2:-1].lower()}"
    return f"{line} Ns = Ns Ar {arg[1:].lower()}" if arg else line


def item(option, commands, listed):
    """Returns what is generated of an option's item."""
    text = option[3][0].upper() + option[3][1:]
    lines = [head(option)]
    if set(listed) != set(commands):
        lines.append(".Pq " + " , ".join(commands))
    return lines + [roff(text + ("" if text.endswith(".") else "."))]


def prose_of(lines):
    """Returns {name: the lines of its item that are written by hand}."""
    prose = {}
    kept = None
    for line in lines:
        name = re.match(r"\.It (?:Fl \w , )?Fl -([a-z0-9-]+)", line)
        if name:
            kept = prose[name[1]] = []
            generated = 1
        elif kept is not None and generated:
            generated = line.startswith(".Pq ")
        elif kept is not None:
            kept.append(line)
    return prose


def main(lineburn, path):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    options = options_of(lineburn)
    commands = list(dict.fromkeys(command for takers in options.values() for command in takers))
    lists = [words.split() for words in re.findall(r'^\.\\" options: (.*)$', page, re.M)]
    written = set()

    def belongs(takers, words):
        if set(takers) == set(commands):
            return "all" in words
        if any(set(takers) <= set(other) for other in lists):
            return set(takers) <= set(words)
        return "shared" in words

    def rewritten(match):
        words = match[1].split()
        prose = prose_of(match[2].splitlines())
        listed = commands if "all" in words else [word for word in words if word != "shared"]
        out = [f'.\\" options: {match[1]}']
        for option, takers in options.items():
            if option not in written and belongs(takers, words) and set(takers) & set(listed):
                written.add(option)
                out += item(option, takers, listed) + prose.pop(option[1], [])
        if prose:
            fail(f"{path} explains --{min(prose)} below \"options: {match[1]}\", which is not there")
        return "\n".join([*out, '.\\" end\n'])

    page = re.sub(r'^\.\\" options: (.*)\n((?:.*\n)*?)\.\\" end\n', rewritten, page, flags=re.M)
    for option, takers in options.items():
        if option not in written:
            fail(f"{path} needs a list with --{option[1]} of {', '.join(takers)}")
    for command in commands:
        if f"\n.It Cm {command}\n" not in page:
            fail(f"{path} does not explain the command {command}")
    sys.stdout.write(page)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
