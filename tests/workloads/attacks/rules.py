# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the assembly of a program with as many different unwind rules as it has instructions.

usage: rules.py FIRST NR   (rules; no two of FIRST..FIRST+NR-1 are the same)
"""
import sys

first, number = (int(word) for word in sys.argv[1:])
print("\t.text\n\t.globl main\n\t.type main, @function\nmain:\n\t.cfi_startproc")
for i in range(first, first + number):
    # rsp + offset, for the next instruction
    print(f"\t.cfi_def_cfa 7, {16 + 8 * i}\n\tnop")
print("\tjmp main\n\t.cfi_endproc\n\t.size main, .-main\n\t.section .note.GNU-stack,\"\",@progbits")
