# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks conditions about the stacks of a profile.

usage: stacks.py [--pid PID] FILE.pb.gz EXPRESSION...

Each expression must be true; prints the values that it used. Stacks that were sampled before their
unwind tables existed are left out; "promptly_whole" (lib.sh) limits their number.
"""
import os
import re
import sys

import pprof_file

LEAST = 10  # samples needed for a share
seen = []
only_pid = None
if sys.argv[1] == "--pid":
    only_pid = int(sys.argv[2])
    del sys.argv[1:3]
met = list(pprof_file.walks(sys.argv[1], only_pid))
all_stacks = [
    (stack, count) for stack, count, status, _ in met if status not in ("no-mapping", "no-table")
]
status_of = {id(stack): status for stack, _, status, _ in met}


def note(what, value):
    seen.append(f"{what} = {value:.4g}" if isinstance(value, float) else f"{what} = {value}")
    return value


def names(stack):
    return [function for function, _, _ in stack]


def share(what, fits, of=lambda stack: True):
    """Percent of the samples (that @of selects) whose stack fits; 0 if there are too few samples."""
    count = sum(n for stack, n in all_stacks if of(stack))
    good = sum(n for stack, n in all_stacks if of(stack) and fits(stack))
    for stack, n in all_stacks:
        if of(stack) and not fits(stack):
            note("does not fit", f"{n} {status_of[id(stack)]} {' '.join(names(stack))[:500]}")
            break
    note("of", count)
    return note(what, 100 * good / count if count >= LEAST else 0.0)


def has(name):
    return lambda stack: name in names(stack)


def statuses(name):
    """The walk statuses of all stacks with this function, also of those without tables."""
    return note(f"statuses({name})",
                sorted({status for stack, _, status, _ in met if name in names(stack)}))


# Functions whose frames tables cannot describe: they return in an unusual way, or run while the
# process's memory is created or released.
UNTOLD = re.compile(r"(__)?vfork|_*(long|set)jmp.*|_*clone3?|_Unwind_.*|begin_new_exec|do_exit|exit_mmap")


def few_end_early():
    """At most one walk in 200, plus one, ended early although tables could have described the frame.
    Leaves out UNTOLD, and the loader, which has no tables for its start and for some calls."""
    count = 0
    for stack, n, status, file in met:
        if status in ("unsupported", "fault", "bad-fp", "bad-cfa"):
            loader = os.path.basename(file).startswith("ld")
            if not loader and not any(UNTOLD.fullmatch(name) for name in names(stack)):
                note("ended early", f"{n} {status} {' '.join(names(stack))[:500]}")
                count += n
    return note("end early", count) <= 0.005 * note("of", sum(n for _, n, _, _ in met)) + 1


def without_inlined(name):
    """A function's name without the suffixes of the compiler's copies."""
    return re.sub(r"\.(constprop|part|isra|cold).*", "", name)


def times(wanted, of):
    """Percent of the stacks with @of that have each function exactly @wanted[name] times."""
    def fits(stack):
        found = [without_inlined(name) for name in names(stack)]
        return all(found.count(name) == number for name, number in wanted.items())
    return share(f"times({wanted}, {of})", fits, has(of))


def in_order(*wanted):
    """Percent of the stacks with the first (innermost) function that have the others as its
    callers, in this order; other functions may be in between."""
    def fits(stack):
        rest = iter(names(stack))
        return all(name in rest for name in wanted)
    return share(f"in_order{wanted}", fits, has(wanted[0]))


def at_most(frames):
    """Whether no stack is longer."""
    return note("longest", max(len(stack) for stack, _ in all_stacks)) <= frames


def lines_of(base, stack):
    """Lines of one file on a stack, innermost first."""
    return [line for _, path, line in stack if os.path.basename(path) == base]


if __name__ == "__main__":
    said = []
    for expression in sys.argv[2:]:
        seen.clear()
        if not eval(expression):  # pylint: disable=eval-used # our own scripts' words
            raise SystemExit(f"{expression}: {', '.join(seen)}")
        said += seen
    print(", ".join(said))
