"""Runs a command and prints which of the given files any process opened meanwhile.

usage: opened.py FILE... -- COMMAND ARG...   (one line per opened file; exits with COMMAND's status)
"""
import ctypes
import os
import struct
import subprocess
import sys

IN_OPEN = 0x20


def main():
    dashes = sys.argv.index("--")
    libc = ctypes.CDLL(None, use_errno=True)
    inotify = libc.inotify_init1(os.O_NONBLOCK)
    names = {}
    for name in sys.argv[1:dashes]:
        watch = libc.inotify_add_watch(inotify, name.encode(), IN_OPEN)
        if watch < 0:
            sys.exit(f"cannot watch {name}: {os.strerror(ctypes.get_errno())}")
        names[watch] = name
    status = subprocess.run(sys.argv[dashes + 1:], timeout=300, check=False).returncode
    try:
        events = os.read(inotify, 65536)
    except BlockingIOError:
        events = b""
    at = 0
    while at < len(events):
        watch, _, _, size = struct.unpack_from("iIII", events, at)
        at += 16 + size
        print(names.pop(watch, "more"), file=sys.stderr)
    sys.exit(status)


main()
