"""Starts threads that stand still, and writes their stacks as Python sees them.

usage: parked.py FILE [alone]
Writes to FILE, for each thread, "thread IDENT KIND" and, innermost first, "frame FIRST_LINE INDEX
NAME" for each frame; at the end "end". INDEX is f_lasti / 2, or -1 if the frame still moves. Then
it waits until its standard input is closed. With "alone" it has no other thread and loops
instead of waiting.
"""
import hashlib
import os
import sys
import threading
import zlib

try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        interpreters = None

NEVER, _ = os.pipe()
KINDS = {}


def park():
    os.read(NEVER, 1)


def name(kind):
    KINDS[threading.get_ident()] = kind


def recurse(depth):
    if depth:
        recurse(depth - 1)
    else:
        park()


def recursion():
    name("recursion")
    recurse(40)


def inner():
    yield 1
    park()
    yield 2


def outer():
    yield from inner()


def generator():
    name("generator")
    sum(i for i in outer())


class Key:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return [park() for _ in range(1)] is None


def callback():
    name("callback")
    sorted(map(lambda v: Key(v), (2, 1)))


async def sleeper():
    park()


async def awaiter():
    await sleeper()


def coroutine():
    name("coroutine")
    awaiter().send(None)


def hashing():
    name("hashing")
    data = b"x" * (8 << 20)
    digest = hashlib.sha256()
    while True:
        digest.update(data)


def packing():
    name("packing")
    data = os.urandom(8 << 20)
    while True:
        zlib.compress(data, 1)


def naïve():
    name("wide")
    локально()


def локально():
    park()


SUB = """
import os
def parked():
    os.write({1}, b"x")
    os.read({0}, 1)
def thread():
    parked()
thread()
"""
# The stack of a thread that runs SUB. Before 3.12 a thread keeps its first state, without these frames.
SUB_FRAMES = "frame 3 -1 parked\nframe 6 -1 thread\nframe 1 -1 <module>\n"


def run_subinterpreter(file):
    """A thread whose state belongs to another interpreter."""
    reader, writer = os.pipe()
    interp = interpreters.create()
    thread = threading.Thread(target=interpreters.run_string, daemon=True,
                              args=(interp, SUB.format(NEVER, writer)))
    thread.start()
    os.read(reader, 1)
    file.write("thread %d subinterpreter\n" % thread.ident)
    if sys.version_info >= (3, 12):
        file.write(SUB_FRAMES)


def write(file, ident, frame, kind):
    file.write("thread %d %s\n" % (ident, kind))
    innermost = frame
    while frame:
        code = frame.f_code
        index = frame.f_lasti // 2
        if kind in ("main", "hashing", "packing") and frame is innermost:
            index = -1
        file.write("frame %d %d %s\n" % (code.co_firstlineno, index,
                                         getattr(code, "co_qualname", code.co_name)))
        frame = frame.f_back


def is_settled(ident, frame):
    kind = KINDS.get(ident)
    if kind in ("hashing", "packing"):
        return frame.f_code.co_name == kind
    return frame.f_code.co_name in ("park", "локально")


def settle(idents):
    """Waits until every thread has reached its final function."""
    while True:
        for _ in range(3):
            os.sched_yield()
        frames = sys._current_frames()
        if all(i in KINDS and is_settled(i, frames[i]) for i in idents):
            return


def alone():
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        write(file, threading.get_ident(), sys._getframe(), "main")
        file.write("end\n")
    while True:
        pass


def main():
    kinds = [recursion, generator, callback, coroutine, hashing, packing, naïve]
    threads = [threading.Thread(target=kind, daemon=True) for kind in kinds]
    for thread in threads:
        thread.start()
    settle([thread.ident for thread in threads])
    threading.Event().wait(0.2)
    frames = sys._current_frames()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for thread in threads:
            write(file, thread.ident, frames[thread.ident], KINDS[thread.ident])
        write(file, threading.get_ident(), sys._getframe(), "main")
        # Last, because frames of another interpreter must not be touched from here.
        if interpreters:
            run_subinterpreter(file)
        file.write("end\n")
    os.read(0, 1)
    os._exit(0)


if len(sys.argv) > 2:
    alone()
main()
