# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact end-to-end tests of targets that lie, by page faults.

usage: lies.py LINEBURN LIES

LIES touches pages in functions whose registers or tables lie (tests/workloads/lies.c).
Prints "ok NAME" or "not ok NAME: reason" for each lie.
"""
import json
import subprocess
import sys
from collections import Counter

import faults
import pprof_file

LB, LIES = sys.argv[1:3]

NR = 50  # pages of each lie

# The callers of each function.
CALLERS = ["tell", "obey", "thread", "start_thread", "__clone3"]

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
    ("base_pointer", "frame:data", "no-mapping", ["[unknown]"]),
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
    ("returns_to", "data", "no-mapping", ["[unknown]"]),
    ("returns_to", "heap", "no-mapping", ["[unknown]"]),
    ("returns_to", "stack", "no-mapping", ["[unknown]"]),
    ("returns_to", "unreadable", "no-mapping", ["[unknown]"]),
    ("returns_to", "not-canonical", "no-mapping", ["[unknown]"]),
    ("returns_to", "kernel", "bad-cfa", []),
    ("returns_to", "function", "bad-cfa", []),
    ("cfa_is_stored", "0", "bad-cfa", []),
    ("cfa_is_stored", "below", "bad-cfa", []),
    ("cfa_is_stored", "odd", "bad-cfa", []),
    ("cfa_is_stored", "unreadable", "fault", []),
    ("cfa_is_stored", "kernel", "bad-cfa", []),
    ("one_signal", "0", "fault", []),
    ("one_signal", "kernel", "fault", []),
    ("one_signal", "signal-of-itself", "bad-cfa", ["one_signal"]),
    ("one_signal", "signals-in-a-circle", "bad-cfa", ["other_signal", "one_signal", "other_signal"]),
    ("repeats", "2000", "truncated", ["repeats"] * 511),

    ("repeats", "200", "complete", ["repeats"] * 200 + CALLERS),
    ("outermost", "-", "complete", []),
    ("returns_to", "0", "complete", []),
    ("returns_to", "in-function", "complete", ["decoy"] + CALLERS),
    ("base_pointer", "main", "complete", ["__libc_start_call_main", "__libc_start_main_impl", "_start"]),
    ("frame_pointer", "main", "guessed", ["__libc_start_call_main", "__libc_start_main_impl", "_start"]),
]


def stacks_by_thread(path):
    """{name of a thread: {(status, functions, innermost first): samples}}."""
    profile = pprof_file.read(path)
    strings = pprof_file.string_table(profile)
    frames = pprof_file.places(profile)
    found = {}
    for (sample, count), status in zip(pprof_file.samples(profile), pprof_file.statuses(profile)):
        functions = tuple(frame[0] for number in pprof_file.numbers(sample, 1) for frame in frames[number][1])
        name = pprof_file.labels(sample, strings).get("comm")
        found.setdefault(name, Counter())[status, functions] += count
    return found


def stack_test(found, function, lie, status, callers):
    def test():
        here = {stack: count for stack, count in found.items() if stack[1][0] == function}
        wanted = {(status, (function, *callers)): NR}
        if here != wanted:
            raise AssertionError(f"{here}, not {wanted}"[:600])
    test.__name__ = f"{function}-{lie}" if lie != "-" else function
    return test


def sums():
    """No sample of a lie is lost."""
    said = subprocess.run([LB, "annotate", "--json", "lies.pb.gz"], check=True, stdout=subprocess.PIPE).stdout
    profile = json.loads(said)
    losses = profile["losses"]
    if losses["sampled"] != losses["counted"] or profile["samples"]["count"] != losses["counted"]:
        raise AssertionError(f"{profile['samples']['count']} samples in the profile: {losses}")


def main():
    target = faults.Target(LIES)
    recording = faults.Recording("lies", "-p", str(target.pid))
    for before in "before", "":
        for nr, (function, lie, *_) in enumerate(STACKS):
            function = "cfa_is_callees" if function == "touch_for" else function
            target.do(f"{function} {lie} {1 if before else NR} {before}{nr}")
        if before:
            recording.snapshot()  # the unwind tables were made at the first samples
    recording.end()
    target.end()
    found = stacks_by_thread(recording.path)
    for nr, (function, lie, status, callers) in enumerate(STACKS):
        faults.run(stack_test(found[str(nr)], function, lie, status, callers), "lie-")
    faults.run(sums, "lies-")


main()
