# SPDX-License-Identifier: GPL-2.0-or-later
"""The loop of reuse.py, compiled by LLVM's newer engine (LLJIT).

usage: lljit.py SECONDS
"""
import ctypes
import sys
import time

import llvmlite.binding as llvm

from reuse import TEXT, prepare


def main():
    prepare()
    builder = llvm.JITLibraryBuilder().add_ir(TEXT.format(name="runs", line=10)).export_symbol("runs")
    library = builder.link(llvm.create_lljit_compiler(), "library")
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library["runs"])
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        run(4_000_000)


if __name__ == "__main__":
    main()
