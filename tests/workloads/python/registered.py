# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a program, then writes the objects that its JIT has told debuggers of.

usage: registered.py DIR PROGRAM [ARGUMENT...]

Of GDB's list (__jit_debug_descriptor, "Registering Code" of its manual) each object as
it lies in memory; nothing of it is looked at.
"""
import ctypes
import os
import subprocess
import sys


class Entry(ctypes.Structure):
    _fields_ = [("next", ctypes.c_void_p), ("prev", ctypes.c_void_p),
                ("address", ctypes.c_void_p), ("size", ctypes.c_uint64)]


class Descriptor(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("action", ctypes.c_uint32),
                ("relevant", ctypes.c_void_p), ("first", ctypes.c_void_p)]


def descriptor():
    with open("/proc/self/maps", encoding="ascii") as f:
        base, path = next((int(line.split("-")[0], 16), line.split()[5])
                          for line in f if line.rstrip().endswith("/libllvmlite.so"))
    symbols = subprocess.run(["readelf", "-sW", path], stdout=subprocess.PIPE, check=True,
                             universal_newlines=True).stdout
    value = next(line.split()[1] for line in symbols.splitlines()
                 if line.endswith(" __jit_debug_descriptor"))
    return Descriptor.from_address(base + int(value, 16))


def write_objects(folder):
    at = descriptor().first
    while at:
        entry = Entry.from_address(at)
        with open(os.path.join(folder, "%x.o" % entry.address), "wb") as f:
            f.write(ctypes.string_at(entry.address, entry.size))
        at = entry.next


def main():
    folder, program = sys.argv[1:3]
    # In this module's place, whose functions, and so their code, live on to the end.
    spaces = sys.modules["__main__"].__dict__
    sys.argv[:] = sys.argv[2:]
    sys.path[0] = os.path.dirname(program)
    try:
        with open(program, encoding="utf-8") as f:
            exec(compile(f.read(), program, "exec"), spaces)
    except SystemExit:
        pass
    write_objects(folder)


main()
