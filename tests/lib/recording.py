#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a recording by hand: a gzipped pprof profile with lineburn.Extra.

usage: recording.py FILE < DESCRIPTION

Each line of the description is one of

    COUNT FRAME...          samples; the innermost frame first: function@file:line[/start]
    command ARG...          it is of "lineburn run"
    wall SECONDS
    type TYPE UNIT          what is counted, instead of samples/count and cpu/nanoseconds
    source PATH TEXT_FILE   the text of PATH is in TEXT_FILE
    plain                   another tool's file: without Extra
"""
import gzip
import hashlib
import sys

PERIOD_NS = 1000000


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """A field of a message: a number, a text, bytes, or a list of numbers."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode(errors="surrogateescape")
    if isinstance(value, list):
        value = b"".join(map(varint, value))
    return varint(number << 3 | 2) + varint(len(value)) + value


class Recording:
    def __init__(self):
        self.texts, self.functions, self.locations = {"": 0}, {}, {}
        self.messages = []
        self.types = [("samples", "count"), ("cpu", "nanoseconds")]
        self.extra = field(1, 1)
        self.is_plain = False
        self.wall_ns = 0

    def text(self, text):
        return self.texts.setdefault(text, len(self.texts))

    def function(self, name, path, start):
        key = (name, path, start)
        if key not in self.functions:
            self.functions[key] = len(self.functions) + 1
            message = field(1, self.functions[key]) + field(2, self.text(name)) + field(4, self.text(path))
            self.messages.append(field(5, message + field(5, start)))
        return self.functions[key]

    def location(self, name, path, line, start):
        key = (name, path, line)
        if key not in self.locations:
            at = self.locations[key] = len(self.locations) + 1
            row = field(1, self.function(name, path, start)) + field(2, line)
            self.messages.append(field(4, field(1, at) + field(2, 1) + field(3, 0x1000 + at) + field(4, row)))
        return self.locations[key]

    def add(self, count, stack):
        """@stack: (function, path, line, start line), the innermost first"""
        values = [count] if len(self.types) == 1 else [count, count * PERIOD_NS]
        self.messages.append(field(2, field(1, [self.location(*f) for f in stack]) + field(2, values)))

    def add_source(self, path, text):
        run = field(1, 1) + field(2, text.count("\n")) + field(3, text.rstrip("\n"))
        digest = hashlib.sha256(text.encode()).digest()
        source = field(1, path) + field(2, len(text)) + field(3, digest) + field(4, text.count("\n"))
        self.extra += field(12, source + field(7, run))

    def write(self, path):
        mapping = field(1, 1) + field(2, 0x1000) + field(3, 1 << 40) + field(5, self.text("/srv/program"))
        body = field(3, mapping + b"".join(field(n, 1) for n in (7, 8, 9, 10)))
        for name, unit in self.types:
            body += field(1, field(1, self.text(name)) + field(2, self.text(unit)))
        if len(self.types) == 2:
            body += field(11, field(1, self.text("cpu")) + field(2, self.text("nanoseconds")))
            body += field(12, PERIOD_NS)
        else:
            body += field(14, self.text(self.types[0][0]))
        body += field(10, self.wall_ns) + b"".join(self.messages)
        body += b"".join(field(6, text) for text in self.texts)
        with open(path, "wb") as out:
            out.write(gzip.compress(body, 1, mtime=0))
            if not self.is_plain:
                extra = self.extra + field(8, self.wall_ns)
                out.write(gzip.compress(field(20001, extra), mtime=0))


def parse_frame(text):
    name, place = text.rsplit("@", 1)
    path, line = place.rsplit(":", 1)
    line, _, start = line.partition("/")
    return name, path, int(line), int(start or 0)


def main():
    r = Recording()
    for row in sys.stdin:
        words = row.split()
        if not words:
            continue
        if words[0] == "command":
            r.extra += b"".join(field(2, word) for word in words[1:])
        elif words[0] == "wall":
            r.wall_ns = int(float(words[1]) * 1e9)
        elif words[0] == "type":
            r.types = [(words[1], words[2])]
        elif words[0] == "source":
            with open(words[2], encoding="utf-8") as text:
                r.add_source(words[1], text.read())
        elif words[0] == "plain":
            r.is_plain = True
        else:
            r.add(int(words[0]), [parse_frame(word) for word in words[1:]])
    r.write(sys.argv[1])


if __name__ == "__main__":
    main()
