# SPDX-License-Identifier: GPL-2.0-or-later
"""Sleeps while threads work that the kernel made for it: iou-sqp-PID polls a ring of
io_uring, iou-wrk-PID read a file. Exit status 77: the system does not allow io_uring.

usage: uring.py SECONDS
"""
import ctypes
import mmap
import os
import struct
import sys
import time

# The numbers of the system calls are the same on all architectures; the rest is from linux/io_uring.h.
IO_URING_SETUP, IO_URING_ENTER = 425, 426
SETUP_SQPOLL = 2
FEAT_NATIVE_WORKERS = 1 << 9
ENTER_SQ_WAKEUP = 2
OFF_SQ_RING, OFF_SQES = 0, 0x10000000
OP_READ, SQE_ASYNC = 22, 16
ENTRIES = 32

libc = ctypes.CDLL(None, use_errno=True)


def refuse(reason):
    print("io_uring:", reason, file=sys.stderr)
    sys.exit(77)


def setup(flags):
    """(descriptor of a new ring, its struct io_uring_params as 30 words)."""
    params = (ctypes.c_uint32 * 30)()
    params[2] = flags
    params[4] = 60_000  # sq_thread_idle: milliseconds of polling without work
    ring = libc.syscall(IO_URING_SETUP, ENTRIES, params)
    if ring < 0:
        refuse(os.strerror(ctypes.get_errno()))
    if not params[5] & FEAT_NATIVE_WORKERS:
        refuse("its threads are kernel threads before Linux 5.12")
    return ring, params


def is_polling():
    """Whether this process has a thread iou-sqp-* that ran for 20 ms. A thread that just starts, or
    polls once and sleeps, runs for less."""
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/stat", encoding="utf-8") as f:
            comm, _, rest = f.read().rpartition(")")
        if "(iou-sqp-" in comm and int(rest.split()[12]) * 50 >= os.sysconf("SC_CLK_TCK"):
            return True
    return False


def poll():
    """Makes a polling thread, which begins asleep, and wakes it."""
    ring, _ = setup(SETUP_SQPOLL)
    while not is_polling():
        libc.syscall(IO_URING_ENTER, ring, 0, 0, ENTER_SQ_WAKEUP, None, 0)
        time.sleep(0.005)


def read_all(path, buffer):
    """Makes kernel workers read the file into the buffer, several times."""
    ring, params = setup(0)
    tail_off, array_off = params[11], params[16]
    sq = mmap.mmap(ring, array_off + 4 * ENTRIES, offset=OFF_SQ_RING)
    sqes = mmap.mmap(ring, 64 * ENTRIES, offset=OFF_SQES)
    file = os.open(path, os.O_RDONLY)
    for i in range(ENTRIES):
        struct.pack_into("<BBHiQQI", sqes, 64 * i, OP_READ, SQE_ASYNC, 0, file, 0,
                         ctypes.addressof(buffer), len(buffer))
        struct.pack_into("<I", sq, array_off + 4 * i, i)
    struct.pack_into("<I", sq, tail_off, ENTRIES)
    libc.syscall(IO_URING_ENTER, ring, ENTRIES, 0, 0, None, 0)


poll()
target = ctypes.create_string_buffer(16 << 20)
read_all("/dev/urandom", target)
time.sleep(float(sys.argv[1]))  # HOT sleep
