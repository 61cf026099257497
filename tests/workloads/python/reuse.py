# SPDX-License-Identifier: GPL-2.0-or-later
"""Registers and unregisters code all the time, with llvmlite: two functions alternate at the
same addresses, and only one of them is ever called.

usage: reuse.py SECONDS TRUTH.json [TURNS]   (TURNS: rounds of the loop for each object)
Function "runs" (runs.src:10) does all the work; "rests" (rests.src:20) none. TRUTH.json has the
CPU seconds of the work, the number of objects, and how many addresses both had.
"""
import ctypes
import json
import sys
import time

import llvmlite.binding as llvm

# A counted loop with its own line, in LLVM IR.
TEXT = """
define i64 @{name}(i64 %n) !dbg !4 {{
begin:
  br label %loop, !dbg !7
loop:
  %i = phi i64 [ 0, %begin ], [ %next, %loop ], !dbg !7
  %x = phi i64 [ 1, %begin ], [ %mixed, %loop ], !dbg !7
  %scaled = mul i64 %x, 6364136223846793005, !dbg !7
  %mixed = add i64 %scaled, %i, !dbg !7
  %next = add i64 %i, 1, !dbg !7
  %more = icmp ult i64 %next, %n, !dbg !7
  br i1 %more, label %loop, label %end, !dbg !7
end:
  ret i64 %mixed, !dbg !7
}}
!llvm.dbg.cu = !{{!1}}
!llvm.module.flags = !{{!0, !8}}
!0 = !{{i32 2, !"Debug Info Version", i32 3}}
!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, producer: "reuse", isOptimized: true, emissionKind: FullDebug)
!2 = !DIFile(filename: "{name}.src", directory: "/nowhere")
!3 = !DISubroutineType(types: !9)
!4 = distinct !DISubprogram(name: "{name}", scope: !2, file: !2, line: {line}, type: !3, scopeLine: {line}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !1)
!7 = !DILocation(line: {line}, column: 1, scope: !4)
!8 = !{{i32 2, !"Dwarf Version", i32 4}}
!9 = !{{null}}
"""


def prepare():
    try:
        llvm.initialize()
    except RuntimeError:
        pass  # newer versions need no call
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


class Code:
    def __init__(self, name, line):
        self.machine = llvm.Target.from_default_triple().create_target_machine()
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self.machine)
        self.engine.add_module(llvm.parse_assembly(TEXT.format(name=name, line=line)))
        self.engine.finalize_object()
        self.address = self.engine.get_function_address(name)

    def close(self):
        self.engine.close()


def main():
    prepare()
    seconds = float(sys.argv[1])
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 4_000_000
    used, objects = 0.0, 0
    addresses = {"runs": set(), "rests": set()}
    end = time.process_time() + seconds
    while time.process_time() < end:
        for name, line in (("runs", 10), ("rests", 20)):
            code = Code(name, line)
            addresses[name].add(code.address)
            if name == "runs":
                begin = time.thread_time()
                ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address)(turns)
                used += time.thread_time() - begin
            code.close()
            objects += 2
    with open(sys.argv[2], "w", encoding="ascii") as out:
        json.dump({"seconds": used, "objects": objects,
                   "shared": len(addresses["runs"] & addresses["rests"])}, out)


if __name__ == "__main__":
    main()
