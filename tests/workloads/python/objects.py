# SPDX-License-Identifier: GPL-2.0-or-later
"""Registers many objects at once, keeps them, then runs one for a while.

usage: objects.py OBJECTS SECONDS   (function "runs" of line 10 does the work)
"""
import ctypes
import sys
import time

import llvmlite.binding as llvm

from reuse import TEXT, prepare


def main():
    prepare()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    count = int(sys.argv[1])
    for i in range(count):
        name = "runs" if i == count // 2 else f"rests{i}"
        engine.add_module(llvm.parse_assembly(TEXT.format(name=name, line=10 + i % 100 if name != "runs" else 10)))
    engine.finalize_object()
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("runs"))
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        run(1_000_000)


if __name__ == "__main__":
    main()
