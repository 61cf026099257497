# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a pprof profile whose names are markup and scripts, and a source file that is, too.

usage: hostile.py PROFILE FOLDER   (the source goes into FOLDER)
"""
import gzip
import os
import sys

RUN = "window.ran=1;alert(1)"
EVIL = [
    "</script><script>%s</script>" % RUN,
    "<img src=x onerror=%s>" % RUN,
    "\"><svg/onload=%s>" % RUN,
    "'-%s-'" % RUN,
    "javascript:%s" % RUN,
    "<!--<script>",
    "]]><script>%s</script>" % RUN,
    "${%s}" % RUN,
    "__proto__",
    "constructor",
    "toString",
    "a\u202ecod.exe\u2028x\u0000y\x1b[2J",
    "%3Cscript%3E&amp;line=1#beneath=2",
    "&lt;b&gt;" * 300,
]


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


class Profile:
    def __init__(self):
        self.strings = {b"": 0}
        self.body = b""

    def text(self, s):
        s = s if isinstance(s, bytes) else s.encode()
        return self.strings.setdefault(s, len(self.strings))

    def add(self, number, *members):
        self.body += field(number, b"".join(field(n, v) for n, v in members))


def main():
    path, folder = sys.argv[1], os.path.abspath(sys.argv[2])
    source = os.path.join(folder, "<img src=x onerror=%s>.py" % RUN.replace("/", ""))
    with open(source, "w", encoding="utf-8") as f:
        for evil in EVIL:
            f.write("x = '%s'\n" % evil.replace("\0", "").replace("\u2028", " "))
    p = Profile()
    p.add(1, (1, p.text("samples")), (2, p.text("count")))
    p.add(1, (1, p.text("cpu")), (2, p.text("nanoseconds")))
    p.add(3, (1, 1), (2, 4096), (3, 8192), (5, p.text("/tmp/" + EVIL[1])), (7, 1), (8, 1), (9, 1), (10, 1))
    for i, evil in enumerate(EVIL, 1):
        name = evil.encode() + b"\xff\xfe"
        file = source if i % 2 else "/tmp/%s/%s" % (evil, evil)
        p.add(5, (1, i), (2, p.text(name)), (3, p.text(name + b"_")), (4, p.text(file)))
        p.add(4, (1, i), (2, 1), (3, 4096 + i), (4, field(1, i) + field(2, i)))
    for i, evil in enumerate(EVIL, 1):
        stack = [i, i % len(EVIL) + 1, (i + 5) % len(EVIL) + 1]
        label = field(1, p.text("comm")) + field(2, p.text(evil))
        container = field(1, p.text("container_name")) + field(2, p.text(evil))
        p.add(2, (1, b"".join(varint(n) for n in stack)), (2, varint(20 + i) + varint((20 + i) * 10 ** 7)),
              (3, label), (3, container))
    strings = b"".join(field(6, s) for s in p.strings)
    with gzip.open(path, "wb") as f:
        f.write(p.body + strings + field(12, 10 ** 7))


if __name__ == "__main__":
    main()
