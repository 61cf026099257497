# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact end-to-end tests of targets that lie, by page faults.

usage: lies.py LINEBURN LIES PYTHON

LIES touches pages in functions whose registers or tables lie (tests/workloads/lies.c). PYTHON looks
like a CPython whose lists of frames lie (tests/workloads/lying-python.c).
Prints "ok NAME" or "not ok NAME: reason" for each lie.
"""
import json
import os
import subprocess
import sys
from collections import Counter
from itertools import groupby

import faults
import pprof_file

LB, LIES, PYTHON = sys.argv[1:4]

NR = 50  # pages of each lie

# All functions of the C library that call each other, because only its debug package names them.
LIBC = "libc"

# The callers of each function.
CALLERS = ["tell", "obey", "thread", LIBC]

# function, lie, status, callers. The last group cannot be told from a true stack.
STACKS = [
    ("stack_pointer", "0", "fault", []),
    ("stack_pointer", "8", "fault", []),
    ("stack_pointer", "unreadable", "fault", []),
    ("stack_pointer", "not-canonical", "fault", []),
    ("stack_pointer", "kernel", "bad-cfa", []),
    ("stack_pointer", "odd", "bad-cfa", []),
    ("base_pointer", "0", "bad-cfa", []),
    ("base_pointer", "unreadable", "fault", []),
    ("base_pointer", "kernel", "bad-cfa", []),
    ("base_pointer", "odd", "bad-cfa", []),
    ("base_pointer", "below", "bad-cfa", []),
    ("base_pointer", "text", "bad-cfa", []),
    ("base_pointer", "frame:data", "no-mapping", []),
    ("frame_pointer", "0", "guessed", []),
    ("frame_pointer", "odd", "bad-fp", []),
    ("frame_pointer", "text", "bad-fp", []),
    ("frame_pointer", "below", "bad-fp", []),
    ("frame_pointer", "kernel", "bad-fp", []),
    ("frame_pointer", "not-canonical", "fault", []),
    ("frame_pointer", "unreadable", "fault", []),
    ("frame_pointer", "circle-of-one", "bad-fp", ["frame_pointer"]),
    ("frame_pointer", "circle-of-two", "bad-fp", ["frame_pointer", "frame_pointer"]),
    ("frame_pointer", "frame:0", "guessed", []),
    ("frame_pointer", "frame:data", "no-mapping", []),
    ("frame_pointer", "frame:heap", "no-mapping", []),
    ("frame_pointer", "frame:stack", "no-mapping", []),
    ("frame_pointer", "frame:unreadable", "no-mapping", []),
    ("frame_pointer", "frame:kernel", "bad-fp", []),
    ("start", "odd", "bad-fp", []),
    ("start", "unreadable", "fault", []),
    ("bare_stack_pointer", "0", "guessed", CALLERS[1:]),
    ("bare_stack_pointer", "kernel", "bad-fp", []),
    ("cfa_is_stack_pointer", "-", "bad-cfa", []),
    ("cfa_is_below", "-", "bad-cfa", []),
    ("cfa_is_odd", "-", "bad-cfa", []),
    ("cfa_is_far", "-", "fault", []),
    ("cfa_is_too_far", "-", "unsupported", []),
    ("return_address_is_far", "-", "unsupported", []),
    ("return_address_is_a_register", "-", "unsupported", []),
    ("return_address_is_an_expression", "-", "unsupported", []),
    ("cfa_is_an_expression", "-", "unsupported", []),
    ("touch_for", "-", "bad-cfa", ["cfa_is_callees"]),
    ("returns_to", "data", "no-mapping", []),
    ("returns_to", "heap", "no-mapping", []),
    ("returns_to", "stack", "no-mapping", []),
    ("returns_to", "unreadable", "no-mapping", []),
    ("returns_to", "not-canonical", "no-mapping", []),
    ("returns_to", "kernel", "bad-cfa", []),
    ("returns_to", "function", "bad-cfa", []),
    ("one_rule_returns_to", "0", "bad-cfa", []),
    ("cfa_is_stored", "0", "bad-cfa", []),
    ("cfa_is_stored", "below", "bad-cfa", []),
    ("cfa_is_stored", "odd", "bad-cfa", []),
    ("cfa_is_stored", "unreadable", "fault", []),
    ("cfa_is_stored", "kernel", "bad-cfa", []),
    ("one_signal", "0", "fault", []),
    ("one_signal", "kernel", "fault", []),
    ("one_signal", "signal-at-0", "bad-cfa", []),
    ("one_signal", "signal-of-itself", "bad-cfa", ["one_signal"]),
    ("one_signal", "signals-in-a-circle", "bad-cfa", ["other_signal", "one_signal", "other_signal"]),
    ("repeats", "2000", "truncated", ["repeats"] * 511),

    ("repeats", "200", "complete", ["repeats"] * 200 + CALLERS),
    ("outermost", "-", "complete", []),
    ("returns_to", "0", "complete", []),
    ("returns_to", "in-function", "complete", ["decoy"] + CALLERS),
    ("base_pointer", "main", "complete", [LIBC, "_start"]),
    ("frame_pointer", "main", "guessed", [LIBC, "_start"]),
]


# The stack of the Python without a lie, around its frames.
INNER = ["touch", "evaluate"]
OUTER = ["obey", "second", LIBC]
WITHOUT_PYTHON = INNER + OUTER

# lie, status, functions. "[python]" is a frame whose code object has no name.
LISTS = [
    ("circle-of-one", "bad-cfa", WITHOUT_PYTHON + ["inner"]),
    ("circle-of-two", "bad-cfa", WITHOUT_PYTHON + ["inner", "outer", "inner"]),
    ("circle-of-runs", "bad-cfa", INNER + ["inner", "outer"] + OUTER),
    ("previous-unreadable", "bad-cfa", WITHOUT_PYTHON + ["inner", "outer"]),
    ("previous-of-main", "bad-cfa", WITHOUT_PYTHON),
    ("previous-of-third", "bad-cfa", WITHOUT_PYTHON),
    ("frame-of-main", "bad-cfa", WITHOUT_PYTHON),
    ("frame-of-third", "bad-cfa", WITHOUT_PYTHON),
    ("state-of-main", "bad-cfa", WITHOUT_PYTHON),
    ("state-of-third", "bad-cfa", WITHOUT_PYTHON),
    ("state-unreadable", "bad-cfa", WITHOUT_PYTHON),
    ("code-unreadable", "complete", INNER + ["[python]", "outer"] + OUTER),
    ("code-in-kernel", "complete", INNER + ["[python]", "outer"] + OUTER),
    ("code-of-zeros", "complete", INNER + ["[python]", "outer"] + OUTER),
    ("code-is-text", "complete", INNER + ["[python]", "outer"] + OUTER),
    # Only the thread's own memory says which state is its own.
    ("thread-of-main", "complete", INNER + ["inner", "outer"] + OUTER),
    ("none", "complete", INNER + ["inner", "outer"] + OUTER),
]


def functions_of(frames, file):
    """The names of a location's frames."""
    if os.path.basename(file).startswith(("libc.", "libc-", "libpthread")):
        return [LIBC]
    return [function for function, *_ in frames]


def stacks_by_thread(path):
    """{name of a thread: {(status, functions, innermost first): samples}}."""
    profile = pprof_file.read(path)
    strings = pprof_file.string_table(profile)
    files = pprof_file.mapped_files(profile)
    names = {number: functions_of(frames, files[number]) for number, (_, frames) in pprof_file.places(profile).items()}
    found = {}
    for (sample, count), status in zip(pprof_file.samples(profile), pprof_file.statuses(profile)):
        functions = []
        for name in (name for number in pprof_file.numbers(sample, 1) for name in names[number]):
            if name != LIBC or functions[-1:] != [LIBC]:
                functions.append(name)
        thread = pprof_file.labels(sample, strings).get("comm")
        found.setdefault(thread, Counter())[status, tuple(functions)] += count
    return found


def in_short(stacks):
    return ", ".join(f"{count} {status} " + " ".join(f"{len(list(same))}*{name}" for name, same in groupby(functions))
                     for (status, functions), count in stacks.items())


def test_of(name, found, wanted):
    def test():
        if found != wanted:
            raise AssertionError(f"{in_short(found)}, not {in_short(wanted)}")
    test.__name__ = name
    faults.run(test, "lie-")


def counted(recording):
    """Ends it. No sample is lost."""
    recording.end()
    said = subprocess.run([LB, "annotate", "--json", recording.path], check=True, stdout=subprocess.PIPE).stdout
    profile = json.loads(said)
    losses = profile["losses"]

    def test():
        if losses["sampled"] != losses["counted"] or profile["samples"]["count"] != losses["counted"]:
            raise AssertionError(f"{profile['samples']['count']} samples in the profile: {losses}")
    test.__name__ = recording.name + "-sums"
    faults.run(test, "")
    return stacks_by_thread(recording.path)


def wait_until_walked(target, recording, order, wanted):
    """Obeys the order until a stack of it is @wanted: lineburn has the tables, or knows the interpreter."""
    for attempt in range(600):
        target.do(f"{order} 1 before{attempt}")
        recording.snapshot()
        found = stacks_by_thread(recording.path).get(f"before{attempt}", {})
        os.unlink(recording.path)
        if wanted in found:
            return
    raise RuntimeError(f"{order}: no stack is {in_short({wanted: 1})}")


def native():
    target = faults.Target(LIES)
    recording = faults.Recording("lies", "-p", str(target.pid))
    for function, lie, status, callers in STACKS:
        if status == "complete":
            wait_until_walked(target, recording, f"{function} {lie}", (status, (function, *callers)))
    for pages in 1, NR:  # the first time, the deepest stack gets its pages
        for nr, (function, lie, *_) in enumerate(STACKS):
            function = "cfa_is_callees" if function == "touch_for" else function
            target.do(f"{function} {lie} {pages} {nr if pages == NR else 'before'}")
    found = counted(recording)
    target.end()
    for nr, (function, lie, status, callers) in enumerate(STACKS):
        name = function if lie == "-" else f"{function}-{lie}"
        here = {stack: count for stack, count in found[str(nr)].items() if stack[1][0] == function}
        test_of(name.replace("_", "-"), here, {(status, (function, *callers)): NR})


def python():
    target = faults.Target(PYTHON)
    recording = faults.Recording("python-lies", "-p", str(target.pid))
    wait_until_walked(target, recording, "none", ("complete", (*INNER, "inner", "outer", *OUTER)))
    for nr, (lie, *_) in enumerate(LISTS):
        target.do(f"{lie} {NR} {nr}")
    found = counted(recording)
    target.end()
    for nr, (lie, status, functions) in enumerate(LISTS):
        here = {stack: count for stack, count in found[str(nr)].items() if "touch" in stack[1]}
        test_of("python-" + lie, here, {(status, tuple(functions)): NR})


native()
python()
