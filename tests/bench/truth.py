# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges each sample of a program whose every possible stack is known.

usage: truth.py judge PROGRAM SETTING FILE.pb.gz FILE.json RESULTS   (appends a line to RESULTS)
       truth.py count PROGRAM RESULTS                                (prints its samples so far)
       truth.py table RESULTS                                        (status 1: a line, a caller or the judge is wrong)

SETTING is "run RATE" or "attached RATE", or "faults NUMBER" (of each unit of a program's ratio). FILE.json is the output of "annotate --json" of FILE.pb.gz.

A sample's own frames are those in the program's sources. They must be one of the program's chains: all
of it where the stack is complete, its inner end where the stack was cut, and any part of it where
callers were guessed. The line that the sample is charged with must be that of the innermost own frame.
Each sample is one of:
right         as above; "function": the same, but of code that has names and no lines
start         outside of the known loop: the loader, the start and the end of a runtime, imports, compilers
no line       may be in the known loop, and has no line
wrong line    charged with a line where the program cannot be, or a line that annotate does not charge
wrong caller  the line is right, a caller is not; counted apart where lineburn says that it guessed
"""
import collections
import fnmatch
import itertools
import json
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "root"))
# pylint: disable=wrong-import-position
import pprof_file
from truth_programs import PROGRAMS

# Code whose lines take no charge from the program's (docs/troubleshooting.md).
SILENT = re.compile(r"\[kernel.*|\[vdso\]|ld-linux.*|lib(c|m|pthread|dl|gcc_s|stdc\+\+)(-[\d.]+)?\.so.*"
                    r"|libpython3.*|python3[\d.]*")
# The outermost functions of a complete stack. runtime.mcall goes on to another stack, and is its outermost function.
ENDS = re.compile(r"_start|_*clone3?|start_thread|runtime\.(goexit|mstart|rt0_go|clone|mcall)(\.abi0)?")
UNKNOWN = (("[unknown]", "", 0), "[unknown]")
# How the kernel is entered; and functions past which the kernel's own unwinder does not get.
ENTRIES = re.compile(r"entry_SYSCALL_64.*|asm_.*|ret_from_fork.*|error_return|common_interrupt_return|.*__x86_.*thunk.*")
# Statuses that promise all callers, and no others.
PROMISES_ALL = ("complete", "derived", "no-user")
BPF = "[kernel.kallsyms]/bpf"
# lineburn's own programs, which the kernel runs when a task begins, executes a program or ends, and after that, in an
# interrupt, when it is freed; and where a JIT registers code. (A sample of the one that takes samples cannot be.) They
# have functions, which call each other.
OWN_PROGRAM = r"bpf_prog_[0-9a-f]{16}_lb_"
OWN_BPF = re.compile(rf"({OWN_PROGRAM}\w+ < )*{OWN_PROGRAM}("
                     r"(?P<event>fork|exec|exit|free) < bpf_trace_run\d+ < (__bpf_trace_\w+ < )?"
                     r"__traceiter_sched_process_(?P=event)"
                     r"|free < bpf_trace_run\d+ < delayed_put_task_struct"
                     r"|jit_register < ([\w.]+ < )*uprobe_dispatcher)\b")
# Before it has set up its frame, and after that is gone, the kernel's unwinder does not find the caller of a program.
OWN_ALONE = re.compile(rf"{OWN_PROGRAM}(fork|exec|exit|free|jit_register)")
OWN_DEPTH = 16  # most frames that the pattern takes: five of the program's own, and the kernel's that run it
EXTENSION = re.compile(r"(\w+)(\.cpython-3\d+-[\w-]+|\.abi3)?\.so")
# The innermost two functions of Python while it imports an extension module, or a module whose own lines call
# one.
IMPORTERS = ("_call_with_frames_removed < ExtensionFileLoader.create_module",
             "_call_with_frames_removed < ExtensionFileLoader.exec_module", "<module> < _call_with_frames_removed",
             # before CPython 3.11
             "_call_with_frames_removed < create_module", "_call_with_frames_removed < exec_module")


def fits(frame, wanted):
    if frame[1] and not frame[2]:  # of code that the runtime gave no line
        return fnmatch.fnmatchcase(frame[0], wanted[0])
    return (os.path.basename(frame[1]), frame[2]) in wanted[1] and fnmatch.fnmatchcase(frame[0], wanted[0])


def is_chain(own, chain, status):
    """Whether the own frames are this chain, as far as the status promises it."""
    if status in PROMISES_ALL:
        return len(own) == len(chain) and all(map(fits, own, chain))
    if status == "guessed":
        if own and not (chain and fits(own[0], chain[0])):
            return False
        rest = iter(chain)
        return all(any(fits(frame, wanted) for wanted in rest) for frame in own)
    return len(own) <= len(chain) and all(map(fits, own, chain))


def is_in_kernel(frames, at):
    """Whether it is code of the kernel, or of lineburn in the kernel. BPF programs of others are neither."""
    name, mapping = frames[at][0][0], frames[at][1]
    if mapping != BPF:
        return mapping.startswith("[kernel")
    if OWN_ALONE.fullmatch(name) and sum(of.startswith("[kernel") for _, of in frames) == 1:
        return True
    return bool(OWN_BPF.match(" < ".join(frame[0] for frame, _ in frames[at:at + OWN_DEPTH])))


class Sample:
    def __init__(self, program, frames, status):
        """frames: (frame, mapping) of the whole stack, the innermost first"""
        self.frames, self.status = frames, status
        in_kernel = [is_in_kernel(frames, at) for at in range(len(frames))]
        self.kernel = [frame[0] for (frame, _), is_ in zip(frames, in_kernel) if is_]
        self.user = [one for one, is_ in zip(frames, in_kernel) if not is_]
        self.own = [frame for frame, mapping in frames if program.is_own(frame, mapping)]
        # The innermost frame with a line that may take the charge: own, or another file's. Callers of generated
        # code that is not described take none.
        described = itertools.takewhile(lambda one: one[0][0] != "[jit]" or one[0][2], frames)
        self.charged = next((frame for frame, mapping in described if frame[2] and (
            program.is_own(frame, mapping) or not SILENT.fullmatch(os.path.basename(mapping)))), None)


def is_beginning(frames):
    """Whether the outermost function is the first of a thread. A stripped program has no name for it."""
    outermost, mapping = frames[-1]
    called = frames[-2][0][0] if len(frames) > 1 else ""
    if outermost[0] == "[dash]" and len(frames) == 1:  # the first function of the shell that starts a program
        return True
    return bool(ENDS.fullmatch(outermost[0])) or (
        outermost[0] == f"[{os.path.basename(mapping)}]" and called.startswith("__libc_start_main"))


def odd_frames(program, sample):
    """What is wrong with the frames that are not the program's own; "": nothing."""
    entered, user = sample.kernel, sample.user
    if entered and user and not (ENTRIES.fullmatch(entered[-1]) or OWN_ALONE.fullmatch(entered[-1])):
        return f"{entered[-1]} enters the kernel"
    # A signal's frame has no return address, so the walk reads another word of it as one.
    if sample.status == "no-mapping" and len(user) > 1 and user[-1] == UNKNOWN and program.signal.fullmatch(user[-2][0][0]):
        user = user[:-1]
    for frame, mapping in user:
        if program.objects and not re.fullmatch(program.objects, os.path.basename(mapping)):
            return f"{frame[0]} is in {mapping}"
    if sample.status in ("complete", "derived") and not is_beginning(sample.user):
        return f"{sample.user[-1][0][0]} is no beginning"
    if program.kernel and sample.own and entered and entered[-1].startswith("entry_SYSCALL") and not re.fullmatch(
            program.kernel, " ".join(reversed(entered))):
        return "these are not the functions of this system call"
    return ""


def is_import(sample):
    """Whether the charged line is of an extension module of CPython, which an import runs, or the end of Python."""
    at = next(at for at, (frame, _) in enumerate(sample.frames) if frame is sample.charged)
    mapping = sample.frames[at][1]
    module = EXTENSION.fullmatch(os.path.basename(mapping))
    if not module or not re.search(rf"/Modules/(\w+/)*_?{module[1].lstrip('_')}(module)?\.c(\.h)?$", sample.charged[1]):
        return False
    if any(frame[0] == "Py_FinalizeEx" for frame, _ in sample.frames[at:]):
        return True
    callers = [(frame, of) for frame, of in sample.frames[at:]
               if of != mapping and not SILENT.fullmatch(os.path.basename(of))][:6]
    names = [frame[0] for frame, _ in callers]
    # A module's own lines may call functions of its own, which call one of the extension module.
    module_at = names.index("<module>") if "<module>" in names[:5] else 0
    return any(all(of == "[python]" and not any(frame is one for one in sample.own) for frame, of in callers[:end + 2])
               and " < ".join(names[end:end + 2]) in IMPORTERS for end in (0, module_at))


def unknown_stubs(program, sample):
    """Names of generated code that the program does not have."""
    names = [frame[0] for frame, _ in sample.user] + [""]
    for (frame, mapping), caller in zip(sample.user, names[1:]):
        if (mapping == "[jit]" and frame not in sample.own and not frame[1] and frame[0] != "[jit]"
                and not program.stubs.fullmatch(frame[0]) and not program.glue.fullmatch(f"{frame[0]} < {caller}")):
            yield frame[0]


def judge(program, sample):
    """(kind, reason)"""
    first_own = next((frame for frame in sample.own if frame[2]), None)
    hot = [chain for chain in program.hot if is_chain(sample.own, chain, sample.status)] if sample.own else []
    begins = [chain for chain in program.start if is_chain(sample.own, chain, sample.status)]
    odd = odd_frames(program, sample)
    guess = "guessed caller" if sample.status == "guessed" else "wrong caller"
    named = [frame[0] for frame, mapping in sample.user if mapping == "[jit]" and frame not in sample.own
             and not frame[1] and frame[0] != "[jit]"]
    if program.jit and any(unknown_stubs(program, sample)):
        return "wrong line", f"{next(unknown_stubs(program, sample))} is no function of this program"
    if sample.own and not hot and not begins:
        heads = [chain[0] for chain in program.hot + program.start if chain]
        if any(fits(sample.own[0], head) for head in heads):
            return guess, "no such chain"
        return "wrong line", "the program is never there"
    if sample.charged and sample.charged is not first_own:
        file = sample.charged[1]
        if hot and (program.inside.search(file)):
            return ("right", "") if not odd else (guess, odd)
        if not begins or not (program.others.search(file) or program.imports_c and is_import(sample)):
            return "wrong line", f"{file}:{sample.charged[2]} is no line of this program"
        return ("start", "") if not odd else (guess, odd)
    if odd:
        return guess, odd
    if sample.own:
        return "right" if first_own else "no line" if sample.own[0][1] else "function", ""
    at = os.path.basename(sample.user[0][1]) if sample.user else ""
    if sample.status not in PROMISES_ALL and re.fullmatch(program.loop, at) and not named:
        return "no line", ""
    return "start", ""


def read(program, path):
    """All samples: (Sample, count). Those of lineburn's own child, before it executes the program, are
    left out."""
    profile = pprof_file.read(path)
    strings = pprof_file.string_table(profile)
    frames_at, mapped = pprof_file.places(profile), pprof_file.mapped_files(profile)
    for (message, count), status in zip(pprof_file.samples(profile), pprof_file.statuses(profile)):
        if pprof_file.labels(message, strings).get("comm") == "lineburn":
            continue
        frames = [(frame, mapped[at]) for at in pprof_file.numbers(message, 1) for frame in frames_at[at][1]]
        yield Sample(program, frames, status), count


def disagreements(program, path, charged):
    """Own lines of which annotate has another number of samples than we do."""
    with open(path, encoding="ascii") as f:
        files = json.load(f)["files"]
    said = collections.Counter()
    for file in files:
        if os.path.basename(file["path"]) in program.texts:
            for line in file["lines"]:
                said[os.path.basename(file["path"]), line["line"]] += line["self"]
    return {place: (said[place], charged[place]) for place in said | charged if said[place] != charged[place]}


def altered(program, sample):
    """Samples that cannot be, made of a right one: the line of a comment, a line of another function, a
    caller less, a caller twice."""
    def changed(at, *frames):
        return Sample(program, sample.frames[:at] + list(frames) + sample.frames[at + 1:], sample.status)

    own = [at for at, (frame, _) in enumerate(sample.frames) if any(frame is one for one in sample.own)]
    (function, file, line), mapping = sample.frames[own[0]]
    if line:
        # A module is in its first line before its first instruction.
        comment = program.texts[os.path.basename(file)].index("") + 1 if function == "<module>" else 1
        yield changed(own[0], ((function, file, comment), mapping))
    else:
        yield changed(own[0], (("other", "", 0), mapping))
    others = [chain[0][1] for chain in program.hot if not fnmatch.fnmatchcase(function, chain[0][0])]
    for places in [sorted(places) for places in others if line and ("", 0) not in places][:1]:
        base, number = places[len(places) // 2]  # a module runs the first line of a function, too
        yield changed(own[0], ((function, os.path.join(os.path.dirname(file), base), number), mapping))
    if len(own) > 1:
        yield changed(own[1], *[sample.frames[own[1]]] * 2)
        if sample.status in PROMISES_ALL:  # otherwise a missing caller is no error
            yield changed(own[1])


def controls(program, sample):
    """(how many altered samples there are, how many of them are not judged to be wrong)"""
    kinds = [judge(program, one)[0] for one in altered(program, sample)]
    return len(kinds), sum(kind in ("right", "function", "start", "no line") for kind in kinds)


def miscounted(program, setting, charged):
    """Lines that do not have exactly the samples of "faults NUMBER": (place, samples, true number)."""
    times = int(setting.split()[1]) if program.ratio else 0
    return [(place, charged[place], times * number) for place, number in program.ratio.items()
            if charged[place] != times * number]


def text_of(sample):
    return " < ".join(f"{function} {os.path.basename(file)}:{line}" if line else f"{function} [{os.path.basename(mapping)}]"
                      for (function, file, line), mapping in sample.frames)


def judge_file(name, setting, path, json_path, results):
    program = PROGRAMS[name]
    kinds, statuses, charged, bad = (collections.Counter() for _ in range(4))
    for sample, count in read(program, path):
        kind, reason = judge(program, sample)
        kinds[kind] += count
        statuses[sample.status] += count
        if sample.charged and os.path.basename(sample.charged[1]) in program.texts:
            charged[os.path.basename(sample.charged[1]), sample.charged[2]] += count
        if kind in ("right", "function"):
            nr, passed = controls(program, sample)
            kinds["control"] += nr
            kinds["control passed"] += passed
        if kind in ("wrong line", "wrong caller", "guessed caller"):
            bad[f"{kind} ({reason}), {sample.status}: {text_of(sample)}"] += count
    for place, (said, ours) in disagreements(program, json_path, charged).items():
        kinds["wrong line"] += abs(said - ours)
        bad[f"wrong line: annotate has {said} samples at {place}, the stacks have {ours}"] += abs(said - ours)
    for place, is_, should in miscounted(program, setting, charged):
        kinds["wrong line"] += abs(is_ - should)
        bad[f"wrong line: {place} has {is_} samples, and there were {should} events"] += abs(is_ - should)
    with open(results, "a", encoding="ascii") as f:
        json.dump({"program": name, "setting": setting, "kinds": kinds, "statuses": statuses,
                   "bad": bad.most_common(8)}, f)
        f.write("\n")


def rows_of(results):
    with open(results, encoding="ascii") as f:
        rows = [json.loads(line) for line in f]
    for row in rows:
        row["count"] = sum(row["statuses"].values())
    return rows


def percent(part, whole):
    """Never 100.0 if a sample is missing, never 0.0 if there is one."""
    if not whole:
        return "–"
    share = 100 * part / whole
    if part < whole:
        share = min(share, 99.99 if share > 99.9 else 99.9)
    return "100" if part == whole else "0" if not part else "<0.1" if share < 0.1 else f"{share:.4g}" if share > 99.9 else f"{share:.1f}"


def cell(rows):
    """right of those judged; complete (or without a user stack), derived, guessed, cut of all"""
    kinds, statuses = collections.Counter(), collections.Counter()
    for row in rows:
        kinds.update(row["kinds"])
        statuses.update(row["statuses"])
    count = sum(statuses.values())
    right = kinds["right"] + kinds["function"] + kinds["wrong caller"] + kinds["guessed caller"]
    parts = [statuses["complete"] + statuses["no-user"], statuses["derived"], statuses["guessed"]]
    parts.append(count - sum(parts))
    return (f"{percent(right, right + kinds['no line'] + kinds['wrong line'])}; "
            + ", ".join(percent(part, count) for part in parts))


def table(results):
    rows = rows_of(results)
    settings = ("run 99", "run 999", "attached 99", "attached 999")
    print("| code | from the first instruction, 99 Hz | 999 Hz | attached, 99 Hz | 999 Hz | samples | of the start |"
          " wrong lines | wrong callers | of guessed ones |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    all_kinds = collections.Counter()
    for name in dict.fromkeys(row["program"] for row in rows):
        own = [row for row in rows if row["program"] == name]
        kinds = collections.Counter()
        for row in own:
            kinds.update(row["kinds"])
        all_kinds.update(kinds)
        cells = " | ".join(cell([row for row in own if row["setting"] == setting]) for setting in settings)
        if PROGRAMS[name].ratio:
            cells = f"{cell(own)} | | |"
        count = sum(row["count"] for row in own)
        print(f"| {PROGRAMS[name].title} | {cells} | {count:,} | {percent(kinds['start'], count)} % |"
              f" {kinds['wrong line']} | {kinds['wrong caller']} | {kinds['guessed caller']} |")
    count = sum(row["count"] for row in rows)
    print(f"| all | | | | | {count:,} | {percent(all_kinds['start'], count)} % | {all_kinds['wrong line']} |"
          f" {all_kinds['wrong caller']} | {all_kinds['guessed caller']} |")
    print(f"\nControl: of {all_kinds['control']:,} stacks made from right ones by changing a line or a caller,"
          f" {all_kinds['control passed']:,} are not judged to be wrong.")
    bad = [(row, text, n) for row in rows for text, n in row["bad"]]
    if bad:
        print("\nSamples that are wrong:\n\n```")
        for row, text, n in bad:
            print(f"{row['program']}, {row['setting']} Hz: {n} x {text}")
        print("```")
    return all_kinds["wrong line"] + all_kinds["wrong caller"] + all_kinds["control passed"] == 0


if __name__ == "__main__":
    how, *arguments = sys.argv[1:]
    if how == "judge":
        judge_file(*arguments)
    elif how == "count":
        print(sum(row["count"] for row in rows_of(arguments[1]) if row["program"] == arguments[0]))
    else:
        sys.exit(not table(*arguments))
