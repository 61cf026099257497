#!/usr/bin/python3 -IS
"""Runs from served.c (names): maps 15 files with the names of Pythons, and spins in 16 functions of modules that
claim to be frozen into them, whose files are looked for beside each of these."""
import ctypes
import os

PROT_READ, PROT_EXEC, MAP_PRIVATE = 1, 4, 2

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
for i in range(20, 35):
    fd = os.open(f"{os.path.dirname(__file__)}/bin/python3.{i}", os.O_RDONLY)
    at = libc.mmap(None, ctypes.c_size_t(4096), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, ctypes.c_long(0))
    if at == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    os.close(fd)
functions = []
for i in range(16):
    names = {}
    exec(compile("def spin():\n    for i in range(20000):\n        i * i\n", f"<frozen evil{i}>", "exec"), names)
    functions.append(names["spin"])
while True:
    for function in functions:
        function()
