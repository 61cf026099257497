#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the judge of tests/bench/truth.sh: it accepts right stacks, and refuses the same with one mistake.

Prints a line "not ok ..." for each verdict that is wrong. Status 1: there is one.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench"))
# pylint: disable=wrong-import-position
import truth
from truth_programs import PROGRAMS

ACCEPTED = ("right", "function", "start", "no line")

# Rare stacks of real recordings, shortened, and mistakes: (text, its replacement). A frame is "FUNCTION PLACE
# MAPPING", the innermost first; the place "-": no line.
ENTRY = "do_syscall_64 - [kernel.kallsyms] < entry_SYSCALL_64_after_hwframe - [kernel.kallsyms]"
IMPORT = ("_call_with_frames_removed /py/importlib/_bootstrap.py:241 [python]"
          " < ExtensionFileLoader.exec_module /py/importlib/_bootstrap_external.py:1241 [python]"
          " < _load_unlocked /py/importlib/_bootstrap.py:690 [python] < <module> /py/lib/python3.11/zipfile.py:6 [python]")
IMPORT_MISTAKES = [
    ("ExtensionFileLoader", "_LoaderBasics"),
    ("_call_with_frames_removed", "_load_unlocked"),
    ("_call_with_frames_removed /py/importlib/_bootstrap.py:241 [python] < ", ""),
    ("/Modules/", "/Objects/"),
]
STACKS = [
    ("rust", "complete",
     "dfs_traversal /glibc/elf/dl-sort-maps.c:145 ld-linux-x86-64.so.2 < _dl_fini /glibc/elf/dl-fini.c:94 ld-linux-x86-64.so.2"
     " < exit /glibc/stdlib/exit.c:146 libc.so.6 < std::sys::exit::exit /rustc/0/library/std/src/sys/exit.rs:79 hotrs"
     " < std::process::exit /rustc/0/library/std/src/process.rs:2467 hotrs < hot::main /w/hot.rs:34 hotrs"
     " < main - hotrs < _start - hotrs",
     [("hot.rs:34", "hot.rs:32"), ("hot::main", "hot::five"), ("/rustc/0/library/std/src/sys", "/elsewhere"),
      (" < _start - hotrs", "")]),
    ("python-3.11", "no-mapping",
     "_PyDict_GetItem_KnownHash@plt - libpython3.11.so.1.0 < PyErr_NewException /build/Python/errors.c:1201 libpython3.11.so.1.0"
     f" < _structmodule_exec /build/Modules/_struct.c:2457 _struct.cpython-311-x86_64-linux-gnu.so < {IMPORT}",
     IMPORT_MISTAKES + [("/_struct.c", "/_json.c"), ("_struct.cpython-311-x86_64-linux-gnu.so", "_json.cpython-311-x86_64-linux-gnu.so"),
                        ("_struct.cpython-311-x86_64-linux-gnu.so < ", "_struct.cpython-311-x86_64-linux-gnu.so < other - other.so < ")]),
    ("python-3.11", "no-mapping",
     "unicodekeys_lookup_unicode /build/Objects/dictobject.c:923 libpython3.11.so.1.0"
     " < PyErr_NewException /build/Python/errors.c:1201 libpython3.11.so.1.0"
     f" < binascii_exec /build/Modules/binascii.c:1284 binascii.cpython-311-x86_64-linux-gnu.so < {IMPORT}",
     IMPORT_MISTAKES + [("binascii.c:", "zlibmodule.c:")]),
    ("python-3.11", "no-mapping",
     "cache_struct_converter /build/Modules/_struct.c:2157 _struct.cpython-311-x86_64-linux-gnu.so"
     " < calcsize /build/Modules/clinic/_struct.c.h:202 _struct.cpython-311-x86_64-linux-gnu.so"
     " < <module> /py/lib/python3.11/zipfile.py:174 [python] < _call_with_frames_removed /py/importlib/_bootstrap.py:241 [python]",
     [("<module>", "main"), ("_call_with_frames_removed", "main"), ("_struct.c:2157", "_json.c:2157"),
      ("_struct.c:2157", "mystruct.c:2157"),
      ("<module> /py/lib/python3.11/zipfile.py:174 [python]", "<module> - libpython3.11.so.1.0")]),
    ("java", "guessed",
     "I2C/C2I adapters - [jit] < StubRoutines (1) - [jit] < JavaCalls::call_helper - libjvm.so < start_thread - libc.so.6",
     [("I2C/C2I adapters", "long Other.spin"), ("StubRoutines (1) - [jit]", "long Other.spin - [jit]"),
      ("StubRoutines (1) - [jit] < ", "")]),
    ("java", "guessed",
     "vtable chunks - [jit] < Interpreter - [jit] < StubRoutines (1) - [jit] < JavaCalls::call_helper - libjvm.so < start_thread - libc.so.6",
     [("vtable chunks", "vtable"), ("Interpreter", "long Other.spin")]),
    ("perf-map", "complete",
     "fclose /glibc/libio/iofclose.c:53 libc.so.6 < make /w/perfmap.c:82 perfmap < main /w/perfmap.c:110 perfmap"
     " < __libc_start_main_impl /glibc/csu/libc-start.c:360 libc.so.6 < _start - perfmap",
     [("perfmap.c:82", "perfmap.c:77"), ("perfmap.c:110", "perfmap.c:112"), ("make /w", "make_sparse /w")]),
    ("perf-map", "complete",
     f"do_mmap - [kernel.kallsyms] < {ENTRY} < __mmap64 /glibc/misc/mmap64.c:58 libc.so.6 < jit_page /w/jit-code.h:38 perfmap"
     " < main /w/perfmap.c:104 perfmap < _start - perfmap",
     [("jit-code.h:38", "jit-code.h:60"), ("perfmap.c:104", "perfmap.c:110")]),
    ("perf-map", "guessed",
     "[jit] - [jit] < jit_run /w/jit-code.h:67 perfmap < main /w/perfmap.c:112 perfmap < _start - perfmap",
     [("jit-code.h:67", "jit-code.h:38")]),
    ("jitdump", "complete",
     "__clock_gettime /glibc/time/clock_gettime.c:38 libc.so.6 < now_ns /w/jit-reuse.c:28 jit-reuse"
     " < put_header /w/jit-reuse.c:43 jit-reuse < main /w/jit-reuse.c:124 jit-reuse < _start - jit-reuse",
     [("jit-reuse.c:43", "jit-reuse.c:39"), ("jit-reuse.c:124", "jit-reuse.c:125"),
      (" < put_header /w/jit-reuse.c:43 jit-reuse", "")]),
    ("python-3.10", "complete",
     "scanner_dealloc /build/Modules/_json.c:641 _json.cpython-310-x86_64-linux-gnu.so < dict_dealloc /build/Objects/dictobject.c:2068 python3.10"
     " < Py_FinalizeEx /build/Python/pylifecycle.c:1784 python3.10 < main /build/Programs/python.c:15 python3.10 < _start - python3.10",
     [("Py_FinalizeEx", "Py_RunMain"), ("/Modules/", "/Objects/")]),
    ("python-3.10", "no-mapping",
     "_json_exec /build/Modules/_json.c:1828 _json.cpython-310-x86_64-linux-gnu.so"
     " < _call_with_frames_removed /py/importlib/_bootstrap.py:241 [python]"
     " < exec_module /py/importlib/_bootstrap_external.py:1184 [python]",
     [("exec_module", "get_code")]),
    ("node", "complete",
     "__strtol /glibc/stdlib/strtol.c:106 libc.so.6 < atoi /usr/include/stdlib.h:363 node < uv_sem_init /node/deps/uv/src/unix/thread.c:665 node"
     " < __libc_start_main_impl /glibc/csu/libc-start.c:343 libc.so.6 < _start - node",
     [("/usr/include/", "/elsewhere/"), (" < _start - node", "")]),
    ("erlang", "complete", "[dash] - dash", [("[dash] - dash", "[dash] - dash < [dash] - dash")]),
    ("go", "complete", "runtime.mcall /go/src/runtime/asm_amd64.s:495 hot-go", [("mcall", "gogo")]),
    ("go", "guessed",
     "runtime.asyncPreempt2 <autogenerated>:1 hot-go < runtime.asyncPreempt /go/src/runtime/preempt_amd64.s:124 hot-go"
     " < main.two /w/hot.go:26 hot-go < main.main /w/hot.go:38 hot-go < runtime.goexit /go/src/runtime/asm_amd64.s:1771 hot-go",
     [("<autogenerated>", "/elsewhere"), ("hot.go:26", "hot.go:22"), ("main.main", "main.three")]),
    ("go", "complete",
     "runtime.mstart0 <autogenerated>:1 hot-go < runtime.mstart /go/src/runtime/asm_amd64.s:426 hot-go"
     " < runtime.clone /go/src/runtime/sys_linux_amd64.s:630 hot-go",
     [("<autogenerated>", "/elsewhere"), ("runtime.clone", "runtime.mclone")]),
    ("c", "complete",
     "lookup_nulls_elem_raw - [kernel.kallsyms] < bpf_prog_6dd92009ef84fbb2_lb_forget - [kernel.kallsyms]/bpf"
     " < bpf_prog_acd8efecd3b99706_lb_free - [kernel.kallsyms]/bpf < bpf_trace_run1 - [kernel.kallsyms]"
     " < delayed_put_task_struct - [kernel.kallsyms] < rcu_do_batch - [kernel.kallsyms]"
     " < asm_sysvec_apic_timer_interrupt - [kernel.kallsyms] < two /w/hot.c:27 hot < main /w/hot.c:39 hot"
     " < __libc_start_main_impl /glibc/csu/libc-start.c:360 libc.so.6 < _start - hot",
     [("_lb_free", "_lb_fork"), ("delayed_put_task_struct", "put_task_struct"), ("_lb_forget", "_forget"),
      ("hot.c:39", "hot.c:27")]),
    ("jitdump", "no-mapping",
     "bpf_ktime_get_ns - [kernel.kallsyms] < bpf_prog_c85e63fa15a2fa3e_lb_exec - [kernel.kallsyms]/bpf < bpf_trace_run3 - [kernel.kallsyms]"
     " < __traceiter_sched_process_exec - [kernel.kallsyms]"
     f" < bprm_execve - [kernel.kallsyms] < __x64_sys_execve - [kernel.kallsyms] < {ENTRY}"
     " < [ld-linux-x86-64.so.2] - ld-linux-x86-64.so.2",
     [("_lb_exec", "_exec"), ("_lb_exec", "_lb_exit"), ("bpf_trace_run3", "bprm_execve"), (f" < {ENTRY}", ""),
      ("[ld-linux-x86-64.so.2] - ld-linux-x86-64.so.2", "bpf_prog_c85e63fa15a2fa3e_lb_exec - [kernel.kallsyms]/bpf")]),
    ("jitdump", "no-mapping",
     "bpf_prog_c85e63fa15a2fa3e_lb_exec - [kernel.kallsyms]/bpf < [ld-linux-x86-64.so.2] - ld-linux-x86-64.so.2",
     [("_lb_exec", "_exec"), ("_lb_exec", "_lb_wake"), ("bpf_prog", "bpf_ktime_get_ns - [kernel.kallsyms] < bpf_prog"),
      ("/bpf < ", "/bpf < bprm_execve - [kernel.kallsyms] < ")]),
    # Functions that these programs call.
    ("jitdump", "no-mapping",
     "bpf_ktime_get_ns - [kernel.kallsyms] < bpf_prog_0a1b2c3d4e5f6071_lb_wake - [kernel.kallsyms]/bpf"
     " < bpf_prog_c85e63fa15a2fa3e_lb_exec - [kernel.kallsyms]/bpf < bpf_trace_run3 - [kernel.kallsyms]"
     " < __bpf_trace_sched_process_exec - [kernel.kallsyms] < __traceiter_sched_process_exec - [kernel.kallsyms]"
     f" < bprm_execve - [kernel.kallsyms] < __x64_sys_execve - [kernel.kallsyms] < {ENTRY}"
     " < [ld-linux-x86-64.so.2] - ld-linux-x86-64.so.2",
     [("_lb_wake", "_wake"), ("_lb_exec", "_exec"), ("_lb_exec", "_lb_wake"), ("sched_process_exec - [kernel.kallsyms] < bprm",
                                                                              "sched_process_exit - [kernel.kallsyms] < bprm")]),
    ("jitdump", "complete",
     "copy_from_user_nofault - [kernel.kallsyms] < bpf_prog_0a1b2c3d4e5f6071_lb_jit_chunk - [kernel.kallsyms]/bpf"
     " < bpf_prog_1a1b2c3d4e5f6072_lb_jit_span - [kernel.kallsyms]/bpf < bpf_prog_2a1b2c3d4e5f6073_lb_jit_object - [kernel.kallsyms]/bpf"
     " < bpf_prog_3a1b2c3d4e5f6074_lb_jit_send - [kernel.kallsyms]/bpf < bpf_prog_4a1b2c3d4e5f6075_lb_jit_register - [kernel.kallsyms]/bpf"
     " < __uprobe_perf_func.isra.0 - [kernel.kallsyms] < uprobe_dispatcher - [kernel.kallsyms] < handler_chain - [kernel.kallsyms]"
     " < uprobe_notify_resume - [kernel.kallsyms] < irqentry_exit_to_user_mode - [kernel.kallsyms] < asm_exc_int3 - [kernel.kallsyms]"
     " < main /w/jit-reuse.c:124 jit-reuse < _start - jit-reuse",
     [("_lb_jit_chunk", "_jit_chunk"), ("_lb_jit_register", "_lb_jit_send"), ("_lb_jit_register", "_lb_exec"),
      ("uprobe_dispatcher", "kprobe_dispatcher")]),
    ("go", "no-mapping",
     f"_copy_from_user - [kernel.kallsyms] < __ia32_sys_rt_sigreturn - [kernel.kallsyms] < {ENTRY}"
     " < runtime.sigreturn__sigaction /go/src/runtime/sys_linux_amd64.s:484 hot-go < [unknown] - [unknown]",
     [("sigreturn__sigaction", "sigtramp"), ("[unknown] - [unknown]", "[unknown] - [heap]"),
      ("[unknown] - [unknown]", "[unknown] - [unknown] < [unknown] - [unknown]"),
      ("[unknown] - [unknown]", "[unknown] - [unknown] < main.main /w/hot.go:36 hot-go")]),
]


def sample_of(program, status, text):
    frames = []
    for one in text.split(" < "):
        function, place, mapping = one.rsplit(" ", 2)
        file, _, line = place.rpartition(":")
        frames.append(((function, file, int(line) if file else 0), mapping))
    return truth.Sample(program, frames, status)


def rare_stacks():
    for name, status, text, mistakes in STACKS:
        program = PROGRAMS[name]
        kind, reason = truth.judge(program, sample_of(program, status, text))
        if kind not in ACCEPTED:
            yield f"{name}: a right stack is a {kind} ({reason}): {text}"
        for old, new in mistakes:
            wrong = text.replace(old, new, 1)
            if old not in text:
                yield f"{name}: no {old} in {text}"
            elif truth.judge(program, sample_of(program, status, wrong))[0] in ACCEPTED:
                yield f"{name}: a wrong stack is accepted: {wrong}"
    if truth.judge(PROGRAMS["go"], sample_of(PROGRAMS["go"], "guessed", STACKS[-1][2]))[0] in ACCEPTED:
        yield "go: a guessed stack ends at an address without a name"


def chain_samples(program, chain):
    """Samples of a chain: each line of each function once at least; whole, guessed and cut."""
    mapping = re.split(r"\|", program.objects)[0] or "program"
    places = [sorted(wanted[1]) for wanted in chain]
    for at in range(max(map(len, places))):
        frames = []
        for (function, _), ones in zip(chain, places):
            file, line = ones[at % len(ones)]
            # A name that the pattern has.
            name = function.replace("?", "(") if program.jit or not file else function
            frames.append(((name.replace("*", "x").replace("[", "<"), file and f"/w/{file}", line),
                           mapping if file else "[jit]"))
        for status in ("complete", "guessed", "no-mapping"):
            yield truth.Sample(program, frames + [(("_start", "", 0), mapping)] * (status == "complete"), status)


def controls():
    """Each stack that a program can have is right, and no altered one is."""
    known = {}
    for name, program in PROGRAMS.items():
        if repr(program.hot + program.start) in known:
            continue  # a CPython with the stacks of another
        known[repr(program.hot + program.start)] = name
        for chain in program.hot + program.start:
            for sample in chain_samples(program, chain) if chain else []:
                kind, reason = truth.judge(program, sample)
                if kind not in ("right", "function"):
                    yield f"{name}: {kind} ({reason}): {truth.text_of(sample)}"
                    continue
                for altered in truth.altered(program, sample):
                    if truth.judge(program, altered)[0] in ACCEPTED:
                        yield f"{name}: {truth.text_of(altered)} is accepted, made of {truth.text_of(sample)}"


if __name__ == "__main__":
    wrong_verdicts = [*rare_stacks(), *controls()]
    for said in wrong_verdicts[:20]:
        print(f"not ok {said}")
    sys.exit(bool(wrong_verdicts))
