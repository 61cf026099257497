# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads, generators, coroutines, released GILs, greenlets; measures the CPU time of each line.

usage: flows.py HOW SECONDS TRUTH.json
HOW: threads generators coroutines released blas greenlets gevent
"""
import sys
import threading
import time

from clocked import spin, timed, write_truth

end = time.process_time() + float(sys.argv[2])


def is_over():
    return time.process_time() >= end


def in_threads(*functions):
    threads = [threading.Thread(target=f) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def threads():
    def three():
        while not is_over():
            timed(spin, 60000)  # HOT thread three

    def one():
        while not is_over():
            timed(spin, 20000)  # HOT thread one
            time.sleep(0.004)

    in_threads(three, one)


def generators():
    def numbers(n):
        while not is_over():
            yield timed(spin, n)  # HOT generator

    # It calls numbers() itself: a generator that is being made has the frame of its caller.
    def doubled(n):
        for x in numbers(n):  # HOT doubled
            yield 2 * x + timed(spin, 10000)  # HOT second generator

    def consume():
        return sum(x & 1 for x in doubled(30000))  # HOT consume

    consume()


def coroutines():
    import asyncio

    async def inner(n):
        return timed(spin, n)  # HOT inner

    async def middle(n):
        return await inner(n)  # HOT middle

    async def outer(n):
        while not is_over():
            await middle(n)  # HOT outer
            await asyncio.sleep(0)

    async def other():
        while not is_over():
            timed(spin, 10000)  # HOT other
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(outer(30000), other())

    asyncio.run(main())


def released():
    import hashlib
    import zlib

    data = bytes(range(256)) * 4096

    def hashed():
        while not is_over():
            timed(lambda: hashlib.sha256(data).digest())  # HOT hashed

    def packed():
        while not is_over():
            timed(zlib.compress, data, 6)  # HOT packed

    in_threads(hashed, packed)


def blas():
    import numpy as np

    a = np.ones((300, 300))
    b = np.ones((200, 200))
    while not is_over():
        timed(np.matmul, a, a)  # HOT large
        timed(np.matmul, b, b)  # HOT small


def greenlets():
    import greenlet

    def first():
        while not is_over():
            timed(spin, 30000)  # HOT first
            second_one.switch()

    def nested():
        timed(spin, 10000)  # HOT nested
        first_one.switch()

    def second():
        while True:
            nested()  # HOT second

    first_one = greenlet.greenlet(first)
    second_one = greenlet.greenlet(second)
    first_one.switch()


def gevent():
    import gevent as library

    def job(n):
        while not is_over():
            timed(spin, n)  # HOT job
            library.sleep(0)

    library.joinall([library.spawn(job, 300000), library.spawn(job, 100000)])


globals()[sys.argv[1]]()
write_truth(sys.argv[3])
