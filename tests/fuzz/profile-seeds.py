#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the seeds of the targets that read profiles, in tests/fuzz/corpus/: small profiles with
each part of lineburn.Extra, without gzip, so that a fuzzer can change what is in them."""
import gzip
import hashlib
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from recording import field  # noqa: E402

PERIOD_NS = 10000000
MISSES = ["none", "no-debug-info", "kernel", "jit-no-lines", "of-a-newer-lineburn"]
STATUSES = ["complete", "truncated", "guessed", "of-a-newer-lineburn"]
EVIL = "f\033[2J\n\xff</script>\u202egnp\x9b%n"


def signed(value):
    return (value << 1) ^ (value >> 63) if value >= 0 else ((-value) << 1) - 1


class Profile:
    def __init__(self, types=(("samples", "count"), ("cpu", "nanoseconds"))):
        self.types = types
        self.texts = {"": 0}
        self.functions, self.locations = {}, {}
        self.mappings = []
        self.body = b""
        self.extra = field(1, 1)
        self.misses, self.statuses, self.times = [], [], []

    def text(self, text):
        return self.texts.setdefault(text, len(self.texts))

    def mapping(self, filename, build_id=""):
        self.mappings.append(filename)
        number = len(self.mappings)
        message = field(1, number) + field(2, 0x1000 * number) + field(3, 0x1000 * (number + 1))
        message += field(5, self.text(filename)) + field(6, self.text(build_id))
        self.body += field(3, message + b"".join(field(n, 1) for n in (7, 8, 9, 10)))
        return number

    def function(self, name, path="", start=0, system=""):
        key = (name, path, start)
        if key not in self.functions:
            self.functions[key] = len(self.functions) + 1
            message = field(1, self.functions[key]) + field(2, self.text(name))
            message += field(3, self.text(system)) + field(4, self.text(path)) + field(5, start)
            self.body += field(5, message)
        return self.functions[key]

    def location(self, mapping, address, *lines, miss=0):
        """@lines: (function, line), the innermost first"""
        number = len(self.locations) + 1
        self.locations[number] = address
        message = field(1, number) + field(2, mapping) + field(3, address)
        for function, line in lines:
            message += field(4, field(1, function) + field(2, line))
        self.body += field(4, message)
        if miss:
            self.misses.append((number, miss))
        return number

    def at(self, mapping, address, name, path, line, start=1):
        return self.location(mapping, address, (self.function(name, path, start), line))

    def sample(self, count, stack, labels=None, status=0, times=()):
        values = [count] if len(self.types) == 1 else [count, count * PERIOD_NS]
        message = field(1, list(stack)) + field(2, values)
        for key, value in (labels or {}).items():
            label = field(1, self.text(key))
            label += field(2, self.text(value)) if isinstance(value, str) else field(3, value)
            message += field(3, label)
        self.body += field(2, message)
        self.statuses.append(status)
        self.times.append(times)

    def source(self, path, text, first=1, functions=(), owner="", total=None):
        text = text.encode()
        message = field(1, path) + field(2, len(text)) + field(3, hashlib.sha256(text).digest())
        message += field(4, total or text.count(b"\n") + 1) + field(6, 1700000000000000000)
        run = field(1, first) + field(2, text.count(b"\n") + 1) + field(3, text)
        message += field(7, run) if text else b""
        message += field(8, list(functions)) if functions else b""
        self.extra += field(12, message + (field(9, owner) if owner else b""))

    def recording(self):
        for number, text in ((3, "-a"), (4, "box"), (5, "6.1.0"), (6, "0.1.0"), (20, "x86_64")):
            self.extra += field(number, text)
        self.extra += field(2, "./app") + field(2, "my file") + field(13, "A file was replaced.")
        self.extra += field(7, 100) + field(8, 5 * 10**9) + field(9, 4)
        self.extra += field(10, b"".join(field(n, 990 + n) for n in range(1, 44)))
        self.extra += field(11, b"".join(field(n, 1000 * n) for n in range(1, 10)))

    def code_columns(self, codes):
        """@codes: (mapping, address, size, machine code or b"", rows of (offset, function, line))"""
        address, last = 0, {}
        rows = [[], [], []]
        for code in codes:
            before = 0
            for offset, function, line in code[4]:
                rows[0].append(offset - before)
                rows[1].append(function)
                rows[2].append(signed(line - last.get(function, 0)))
                before, last[function] = offset, line
        distances = []
        for code in codes:
            distances.append(signed(code[1] - address))
            address = code[1]
        message = field(1, [c[0] for c in codes]) + field(2, distances) + field(3, [c[2] for c in codes])
        message += field(4, [len(c[4]) for c in codes]) + field(5, [int(bool(c[3])) for c in codes])
        message += field(6, rows[0]) + field(7, rows[1]) + field(8, rows[2])
        self.extra += field(24, message + field(9, b"".join(c[3] for c in codes)))

    def codes_before(self, codes):
        """The same as messages of their own, which is how they were written once."""
        for mapping, address, size, machine, rows in codes:
            message = field(1, mapping) + field(2, address) + field(3, size)
            for number in range(3):
                message += field(4 + number, [row[number] for row in rows])
            self.extra += field(19, message + (field(7, machine) if machine else b""))

    def bytes(self, is_old=False, has_extra=True):
        head = b""
        for name, unit in self.types:
            head += field(1, field(1, self.text(name)) + field(2, self.text(unit)))
        if len(self.types) == 2:
            head += field(11, field(1, self.text("cpu")) + field(2, self.text("nanoseconds")))
            head += field(12, PERIOD_NS)
        else:
            head += field(14, self.text(self.types[0][0]))
        head += field(9, 1700000000000000000) + field(10, 5 * 10**9)
        out = head + self.body + b"".join(field(6, text) for text in self.texts)
        if not has_extra:
            return out
        extra = self.extra
        if self.misses:
            extra += b"".join(field(14, name) for name in MISSES)
        if self.misses and is_old:
            extra += field(15, [m[0] for m in self.misses]) + field(16, [m[1] for m in self.misses])
        elif self.misses:
            before = [0] + [m[0] for m in self.misses]
            distances = [b - a for a, b in zip(before, before[1:])]
            extra += field(25, field(1, distances) + field(2, [m[1] for m in self.misses]))
        if any(self.statuses):
            extra += b"".join(field(17, name) for name in STATUSES) + field(18, self.statuses)
        if any(self.times):
            columns = []
            for times in self.times:
                before = 0
                columns.append(len(times))
                for bucket, count in times:
                    columns += [bucket - before, count]
                    before = bucket
            extra += field(22, 10**8) + field(23, columns)
        return out + field(20001, extra)


C_TEXT = """#include "util.h"

int mean(const int *x, int n)
{
\tint sum = 0;
\tfor (int i = 0; i < n; i++)
\t\tsum += div_of(x[i], n); /* inlined */
\treturn check(sum);
}"""

ELSEWHERE = """static void log_of_all(void)
{
\tputs("a block of lines that is elsewhere in the other text");
}
"""

PY_TEXT = """import numpy as np

@njit
def dither(im):
    \"\"\"Rows of an image,
    one by one.\"\"\"
    for y in range(im.height):
        old = im[y]  # a row
        new = np.uint8(np.round(old / 255.0)) * 255
        im[y] = new

    def inner(x):
        return x + 1
    return im"""


def program(old_codes=False, scale=1, text=C_TEXT, shift=0):
    """A C program with inlined code, machine code, callers, a library without lines."""
    p = Profile()
    p.recording()
    app = p.mapping("/home/me/mean", "c0ffee00c0ffee00c0ffee00")
    libc = p.mapping("/usr/lib/libc.so.6", "beef")
    kernel = p.mapping("[kernel.kallsyms]")
    mean = p.function("mean", "/home/me/mean.c", 3)
    div_of = p.function("div_of", "/home/me/util.h", 1)
    start = p.location(libc, 0x2010, (p.function("__libc_start_call_main"), 0), miss=1)
    main = p.at(app, 0x1200, "main", "/home/me/mean.c", 20 + shift, 18)
    load = p.location(app, 0x1143, (mean, 7 + shift))
    after = p.location(app, 0x1149, (div_of, 3), (mean, 7 + shift))
    loop = p.location(app, 0x114F, (mean, 6 + shift))
    call = p.location(app, 0x115B, (mean, 8 + shift))
    check = p.location(libc, 0x2030, (p.function("memcpy"), 0), miss=1)
    fault = p.location(kernel, 0xFFFF, (p.function("page_fault"), 0), miss=2)
    tail = [main, start]
    p.sample(86 * scale, [after] + tail, times=[(1, 50), (2, 36)])
    p.sample(20, [fault, load] + tail, times=[(3, 20)])
    p.sample(12, [loop] + tail, status=1, times=[(2, 6), (40, 6)])
    p.sample(24, [check, call] + tail, status=2, times=[(9, 24)])
    p.sample(9, [check], status=3, times=[(7, 9)])
    p.sample(2, [])
    p.source("/home/me/mean.c", text)
    p.source("/home/me/util.h", "int div_of(int a, int b)\n{\n\treturn a / b;\n}", total=9)
    codes = [
        (app, 0x1139, 0x2A, bytes([0x81, 0xE2, 0x00, 0xF1, 0x40, 0x81, 0x02] * 6),
         [(0, mean, 6), (4, mean, 5), (9, 0, 0), (10, mean, 7), (13, div_of, 3), (16, mean, 7), (19, mean, 6),
          (26, mean, 8), (26, div_of, 3), (35, mean, 5)]),
        (app, 0x1200, 0x10, b"", [(0, p.function("main", "/home/me/mean.c", 18), 20)]),
    ]
    (p.codes_before if old_codes else p.code_columns)(codes)
    return p.bytes(is_old=old_codes)


def python():
    """A Python program: Numba's code, an import, a compilation, two files of one path."""
    p = Profile()
    p.recording()
    interpreter = p.mapping("/usr/bin/python3.11", "abcd")
    frames = p.mapping("[python]")
    jit = p.mapping("[jit]")
    llvm = p.mapping("/usr/lib/python3/site-packages/llvmlite/binding/libllvmlite.so")
    dither = p.function("dither", "/srv/app.py", 4, "_ZN8__main__6ditherB2v1B38c8tJTIcFHzwl2ILiXkcBV0KBSsNcP8EP")
    other = p.function("__main__.dither", "/srv/app.py", 5, "blur")
    module = p.at(frames, 1, "<module>", "/srv/app.py", 14)
    evaluate = p.location(interpreter, 0x1100, (p.function("_PyEval_EvalFrameDefault"), 0), miss=1)
    run = p.location(jit, 0x904, (dither, 8))
    run2 = p.location(jit, 0x906, (other, 9))
    nothing = p.location(jit, 0x800, miss=3)
    find = p.at(frames, 2, "_find_and_load", "<frozen importlib._bootstrap>", 1007)
    compiles = p.at(frames, 3, "_compile_core", "/usr/lib/python3/site-packages/numba/core/compiler.py", 30)
    lowers = p.location(llvm, 0x4004, miss=1)
    worker = {"pid": 4711, "tid": 4712, "comm": "python3", "user": "me"}
    p.sample(50, [run, module, evaluate], worker, times=[(0, 20), (4, 30)])
    p.sample(40, [run2, evaluate, module], worker, times=[(5, 40)])
    p.sample(7, [nothing, module], {"pid": 4711}, times=[(9, 7)])
    p.sample(30, [evaluate, find, module], times=[(1, 30)])
    p.sample(20, [lowers, compiles, run, module], times=[(2, 20)])
    p.sample(5, [lowers], status=1, times=[(3, 5)])
    p.source("/srv/app.py", PY_TEXT, owner="container web", functions=[dither])
    p.source("/srv/app.py", PY_TEXT.replace("255", "127"), owner="container db", functions=[other])
    p.source("/srv/none.py", "")
    rows = [(0, dither, 7), (6, other, 9), (12, dither, 8)]
    p.code_columns([(jit, 0x900, 0x20, bytes([0xE8] * 32), rows),
                    (jit, 0x900, 0x20, bytes([0x41] * 32), [(0, other, 9)])])
    return p.bytes()


WEB = "3f2a8c9d0e1f4455667788990011223344556677889900112233445566778899"


def machine():
    """Containers, services, pods: each label, and samples without."""
    p = Profile()
    p.recording()
    app = p.mapping("/usr/sbin/app")
    line = p.at(app, 0x1001, "serve", "/src/app.c", 10)
    bare = p.location(app, 0x1002, (p.function("memcpy"), 0), miss=1)
    web = {"pid": 100, "tid": 100, "ns_pid": 7, "comm": "nginx", "exe": "/usr/sbin/nginx", "user": "www-data",
           "cgroup": "/system.slice/docker-" + WEB + ".scope", "container": WEB, "container_name": "web",
           "container_runtime": "docker", "unit": "docker-" + WEB + ".scope"}
    p.sample(290, [line], web)
    p.sample(110, [bare], {**web, "tid": 101, "comm": "nginx-log"})
    p.sample(50, [line], {"pid": 100, "container": "77bb" * 8, "pod": "0c5b2c6e-8a55-4a5e", "cgroup_id": 4242})
    p.sample(100, [line], {"pid": 300, "comm": "sshd", "user": "root", "unit": "ssh.service",
                           "cgroup": "/system.slice/ssh.service"})
    p.sample(90, [bare], {"comm": "kworker/0:1", "pid": 20})
    p.sample(3, [line])
    return p.bytes()


def hostile():
    p = Profile()
    p.recording()
    jit = p.mapping("[jit]" + EVIL)
    evil = p.function(EVIL, "/tmp/" + EVIL + ".c", 1)
    line = p.location(jit, 0x1001, (evil, 2))
    p.sample(5, [line], {key: EVIL for key in ("comm", "exe", "user", "cgroup", "container", "container_name", "unit")},
             times=[(0, 5)])
    p.source("/tmp/" + EVIL + ".c", "int ok;\nchar *s = \"\033]0;owned\a\"; /* \u202e */\n\t\u4f60 = 1;", owner=EVIL)
    p.code_columns([(jit, 0x1000, 8, bytes(8), [(0, evil, 2)])])
    return p.bytes()


def heap():
    p = Profile(types=[("alloc_space", "bytes")])
    app = p.mapping("/bin/go")
    p.sample(4096, [p.at(app, 0x1001, "runtime.malloc", "/go/src/malloc.go", 9),
                    p.at(app, 0x1002, "main.main", "/home/me/main.go", 7)], {"worker": "a", "shard": 3})
    return p.bytes(has_extra=False)


def chain():
    """Deep and recursive stacks; a function with many callers."""
    p = Profile()
    app = p.mapping("/bin/deep")
    at = [p.at(app, 0x1000 + i, "f%d" % (i % 7), "/d.rs", i + 1, i // 4) for i in range(24)]
    for i in range(6):
        p.sample(1 + i, at[i:] + at[:3])
    return p.bytes()


def empty():
    p = Profile()
    p.recording()
    p.mapping("/bin/idle")
    return p.bytes()


def large():
    """A file with more text than a page shows whole, packed."""
    p = Profile()
    app = p.mapping("/bin/large")
    p.sample(10, [p.at(app, 0x1001, "f", "/home/me/large.c", 99, 90)])
    p.source("/home/me/large.c", "\n".join(["x = x + 1;"] * 2600))
    return gzip.compress(p.bytes(), 9, mtime=0)


def far_lines(nr, line):
    """Files with one line of text, far from the first."""
    p = Profile()
    app = p.mapping("/bin/a")
    for i in range(nr):
        path = "/a%d.c" % i
        p.sample(1, [p.location(app, 0x1000 + i, (p.function("f", path, 1), line))])
        run = field(1, line) + field(2, 1) + field(3, "f()")
        p.extra += field(12, field(1, path) + field(3, bytes(32)) + field(4, line + 1) + field(7, run))
    return p.bytes()


def span():
    """A function with as many lines without code as two rows may claim."""
    p = Profile()
    app = p.mapping("/bin/a")
    f = p.function("f", "/a.c", 1)
    p.sample(1, [p.location(app, 0x1000, (f, 1))])
    p.source("/a.c", "x\ny")
    p.code_columns([(app, 0x1000, 2, b"\1\1", [(0, f, 1), (1, f, 4001)])])
    return p.bytes()


def far_times():
    """Times that do not fit into their buckets."""
    p = Profile()
    p.sample(2, [p.at(p.mapping("/bin/a"), 1, "f", "/a.c", 1)], times=[(1, 1), (900, 1)])
    return p.bytes()


def counts():
    """Counts without CPU time."""
    p = Profile(types=[("samples", "count")])
    p.sample(90, [p.at(p.mapping("/bin/a"), 1, "f", "/a.c", 1)])
    return p.bytes()


def pair(*profiles, flags=0):
    """Input of the diff target."""
    return bytes([flags]) + b"".join(struct.pack("<H", len(p)) + p for p in profiles)


MOVED = """#include "more.h"
#include "util.h"
static int seven = 7;
int mean(const int *x, int n)
{
\tint sum = seven;
\tfor (int i = 0; i < n; ++i)
\t\tsum += div_of(x[i], n); /* inlined, now */
\treturn check(sum);
}

static void log_of_all(void)
{
\tputs("a block of lines that is elsewhere in the other text");
}"""


def main():
    profiles = {"code": program(), "code-before": program(old_codes=True), "python": python(), "machine": machine(),
                "hostile": hostile(), "heap": heap(), "chain": chain(), "empty": empty()}
    wanted = {"pprof": profiles, "render": profiles, "report": profiles,
              "asm": ("code", "code-before", "python", "hostile"),
              "filter": ("code", "python", "machine", "hostile", "chain", "heap", "empty")}
    seeds = {(target, name): profiles[name] for target, names in wanted.items() for name in names}
    seeds["render", "large"] = large()
    seeds["pprof", "far-times"] = far_times()
    seeds["pprof", "far-line"] = far_lines(1, 500000)
    seeds["asm", "far-line"] = seeds["render", "far-line"] = far_lines(1, 16000000)
    seeds["render", "far-lines"] = far_lines(4, 1000000)
    seeds["diff", "far-lines"] = pair(far_lines(8, 500000))
    seeds["diff", "far-line"] = pair(far_lines(1, 99000))
    seeds["diff", "counts"] = pair(counts())
    for target in ("asm", "filter", "pprof", "render", "report"):
        seeds[target, "span"] = span()
    seeds["diff", "large"] = pair(large())
    for name in ("code", "python", "hostile", "heap"):
        seeds["diff", name] = pair(profiles[name], flags=0)
    slow, fast = program(text=ELSEWHERE + C_TEXT), program(scale=3, text=MOVED, shift=1)
    seeds["diff", "pair"] = pair(slow, fast, flags=0xA1)
    seeds["diff", "several"] = pair(slow, fast, program(scale=2), program(scale=4, text=MOVED, shift=1), flags=0x52)
    seeds["diff", "other-types"] = pair(slow, profiles["heap"])
    for (target, name), seed in seeds.items():
        folder = os.path.join(HERE, "corpus", target)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), "wb") as out:
            out.write(seed)


if __name__ == "__main__":
    main()
