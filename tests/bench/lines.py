# SPDX-License-Identifier: GPL-2.0-or-later
"""Sums what lines-plugin.c lists.

usage: lines.py addresses KALLSYMS: the plugin's arguments for this kernel
       lines.py row KALLSYMS LIST NAME: a row of the table; with LINES_DETAIL=1 what touched the lines
"""

import bisect
import collections
import os
import statistics
import sys


class Symbols:
    def __init__(self, path):
        self.symbols = []
        with open(path, encoding="ascii") as file:
            for line in file:
                address, kind, name = line.split()[:3]
                if kind not in "aA":
                    self.symbols.append((int(address, 16), name))
        self.symbols.sort()
        self.addresses = [address for address, _ in self.symbols]

    def address(self, name):
        return next(address for address, other in self.symbols if other == name)

    def end(self, address):
        return self.addresses[bisect.bisect_right(self.addresses, address)]

    def name(self, address):
        name = self.symbols[bisect.bisect_right(self.addresses, address) - 1][1]
        # bpf_prog_TAG_NAME
        return name.split("_", 3)[3] if name.startswith("bpf_prog_") and "_lb_" in name else name


def addresses(symbols):
    caller = symbols.address("perf_swevent_hrtimer")
    start = symbols.address("__perf_event_overflow")
    print(f"start={start:x},from={caller:x},to={symbols.end(caller):x}")


def events(path):
    """Returns [(instructions, [(kind, line, by)])]."""
    found = []
    with open(path, encoding="ascii") as file:
        for text in file:
            words = text.split()
            if words[0] == "event":
                found.append((int(words[1]), []))
            else:
                found[-1][1].append((words[0], int(words[1], 16), int(words[2], 16)))
    return found[:-1]  # the last one may be cut


def highest_user_page(lines):
    return max((line >> 12 for kind, line, _ in lines if kind == "d" and line < 1 << 47), default=None)


def of_the_program(found, symbols):
    """Returns the events of the second half in the user space of the program, whose stack is the most frequent one."""
    kernel_stack = symbols.address("get_perf_callchain")
    end = symbols.end(kernel_stack)
    half = [
        (instructions, lines)
        for instructions, lines in found[len(found) // 2 :]
        if not any(kernel_stack <= by < end for _, _, by in lines)
    ]
    pages = collections.Counter(highest_user_page(lines) for _, lines in half)
    del pages[None]
    page = pages.most_common(1)[0][0]
    return [event for event in half if highest_user_page(event[1]) == page]


def counts(event):
    def number(kind, shift):
        return len({line >> shift for other, line, _ in event[1] if other == kind})

    return event[0], number("d", 6), number("d", 12), number("c", 6), number("c", 12)


def row(symbols, path, name):
    chosen = of_the_program(events(path), symbols)
    medians = [int(statistics.median(column)) for column in zip(*(counts(event) for event in chosen))]
    print("|", " | ".join(str(word) for word in (name, len(chosen), *medians)), "|")
    if not os.environ.get("LINES_DETAIL"):
        return
    usual = statistics.median_low(event[0] for event in chosen)
    lines = next(lines for instructions, lines in chosen if instructions == usual)
    for kind, word in ("d", "data"), ("c", "code"):
        touched = collections.Counter(symbols.name(by) for other, _, by in lines if other == kind)
        print(f"\n{word}:", ", ".join(f"{name} {number}" for name, number in touched.most_common()))


if __name__ == "__main__":
    names = Symbols(sys.argv[2])
    if sys.argv[1] == "addresses":
        addresses(names)
    else:
        row(names, sys.argv[3], sys.argv[4])
