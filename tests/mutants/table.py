#!/usr/bin/env python3
"""The mistakes that tests/mutants/run.sh makes.

usage: table.py names [SUITE...] | suite NAME
       table.py verify | apply NAME | revert NAME   in the tree of the current folder
verify: checks that each text is there exactly once
"""

import os
import sys

sys.dont_write_bytecode = True
import profiles
import recording

MUTANTS = profiles.MUTANTS + recording.MUTANTS


def find(name):
    for mutant in MUTANTS:
        if mutant[0] == name:
            return mutant
    sys.exit("there is no mutant %s" % name)


def with_mistake(mutant):
    """The text of the file without and with the mistake."""
    path, texts = mutant[2], mutant[4:]
    with open(path, encoding="utf-8") as f:
        before = text = f.read()
    for old, new in zip(texts[::2], texts[1::2]):
        if text.count(old) != 1:
            sys.exit("%s: its text is in %s %d times, not once" % (mutant[0], path, text.count(old)))
        text = text.replace(old, new)
    return before, text


def apply(mutant):
    path = mutant[2]
    before, text = with_mistake(mutant)
    with open(path + ".before", "w", encoding="utf-8") as f:
        f.write(before)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def revert(mutant):
    """Restores the file with a new modification time, so that make rebuilds it."""
    path = mutant[2]
    if os.path.exists(path + ".before"):
        with open(path + ".before", encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.unlink(path + ".before")


def main():
    if len(sys.argv) >= 2 and sys.argv[1] == "names":
        for mutant in MUTANTS:
            if not sys.argv[2:] or mutant[3].split()[0] in sys.argv[2:]:
                print(mutant[0])
    elif sys.argv[1:] == ["verify"]:
        for mutant in MUTANTS:
            with_mistake(mutant)
    elif len(sys.argv) == 3 and sys.argv[1] == "suite":
        print(find(sys.argv[2])[3])
    elif len(sys.argv) == 3 and sys.argv[1] in ("apply", "revert"):
        {"apply": apply, "revert": revert}[sys.argv[1]](find(sys.argv[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
