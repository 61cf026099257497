# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls random chains of functions, and records its own stack before it works at the end.

usage: oracle.py SECONDS RECORD
RECORD is a mapped file of lines: the CPU seconds of a piece of work, then the line numbers of
the current frame and of all its callers, innermost first.
"""
import mmap
import random
import sys
import time

RECORD_BYTES = 64 << 20
random.seed(5)


class Ways:
    """Calls from all kinds of lines."""

    def __init__(self, record):
        self.record = record

    def work(self, n):
        begin, frame = time.thread_time(), sys._getframe(); lines = []; self.lines(frame, lines); sum(range(n)); self.note(begin, lines)

    @staticmethod
    def lines(frame, lines):
        while frame:
            lines.append(frame.f_lineno)
            frame = frame.f_back

    def note(self, begin, lines):
        self.record.write(f"{time.thread_time() - begin:.6f} {' '.join(map(str, lines))}\n".encode())

    def down(self, left):
        if not left:
            return self.work(random.choice((200_000, 300_000, 400_000)))
        return random.choice((self.straight, self.in_loop, self.in_try, self.in_many_lines,
                              self.in_with, self.in_closure, self.in_generator,
                              self.in_comprehension, self.in_sort))(left - 1)

    def straight(self, left):
        self.down(left)

    def in_loop(self, left):
        for _ in range(1):
            if left >= 0:
                self.down(left)
            else:
                self.down(0)

    def in_try(self, left):
        try:
            raise ValueError
        except ValueError:
            self.down(left)
        finally:
            left = 0

    def in_many_lines(self, left):
        return max(
            1,
            2 if left < 0 else
            len(str(
                self.down(
                    left
                )
            )),
            4,
        )

    def in_with(self, left):
        with memoryview(b"abc") as view:
            self.down(left)
            del view

    def in_closure(self, left):
        def closure():
            nonlocal left
            left += 0
            return self.down(left)

        # The blank lines need a longer step in the line table.




        return (lambda: closure())()

    def in_generator(self, left):
        def numbers():
            yield 1
            self.down(left)
            yield 2

        for _ in numbers():
            pass

    def in_comprehension(self, left):
        return [
            self.down(left)
            for _ in (1,)
        ]

    def in_sort(self, left):
        # C code (the sort) calls the key function.
        return sorted([1], key=lambda _: self.down(left) or 1)


def main():
    with open(sys.argv[2], "wb+") as f:
        f.truncate(RECORD_BYTES)
        with mmap.mmap(f.fileno(), RECORD_BYTES) as record:
            ways = Ways(record)
            end = time.process_time() + float(sys.argv[1])
            while time.process_time() < end:
                ways.down(random.choice((1, 2)))
            size = record.tell()
        f.truncate(size)


main()
