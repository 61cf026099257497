# SPDX-License-Identifier: GPL-2.0-or-later
"""Source text in a profile: reads it, and adds the text of code that is in no file.

A profile has two gzip members. The second holds field 20001, the message lineburn.Extra, whose
field 12 is a Source (src/profile/lineburn.proto).
"""

import gzip
import hashlib
import io
import itertools
import os
import tempfile
import zlib

from ._binary import Error

_EXTRA = 20001
_SOURCE = 12
_SOURCE_PATH, _SOURCE_BYTES, _SOURCE_SHA256, _SOURCE_LINES, _SOURCE_RUN = 1, 2, 3, 4, 7
_RUN_FIRST, _RUN_LINES, _RUN_TEXT = 1, 2, 3
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

# A profile may be a stranger's. Of all members together; lineburn has the same ratio (src/profile/gzip.h).
_MAX_UNPACKED, _MAX_RATIO, _RATIO_SLACK = 512 << 20, 200, 16 << 20
_MAX_MEMBERS = 64  # lineburn writes two
_MAX_FIELDS = 1 << 21  # of all messages together: each takes a microsecond
_MAX_ADDED = 4 << 20  # as much as lineburn adds itself
_MAX_TEXT = 16 << 20  # twice as much as both
_PIECE = 64 << 10


class _Damaged(Exception):
    pass


# ---- protobuf ----

def _read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise _Damaged
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def _fields(data, count):
    """Yields (number, value) of a message: integers and bytes. @count: an itertools.count() of the fields of a file."""
    at = 0
    while at < len(data):
        if next(count) >= _MAX_FIELDS:
            raise _Damaged
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
        else:
            size, at = _read_varint(data, at) if kind == _BYTES else ({_FIXED64: 8, _FIXED32: 4}.get(kind), at)
            if size is None or size > len(data) - at:
                raise _Damaged
            value = data[at:at + size]
            at += size
        yield tag >> 3, value


def _varint(value) -> bytes:
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number, value) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


# ---- the file ----

def _split(raw):
    """Returns (what is before the last gzip member, the content of that member)."""
    view = memoryview(raw)  # a slice of it copies nothing
    left = min(_MAX_UNPACKED, len(raw) * _MAX_RATIO + _RATIO_SLACK)
    at = 0
    for _ in range(_MAX_MEMBERS):
        begin, content = at, []
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not member.eof:
            piece = view[at:at + _PIECE]
            content.append(member.decompress(piece, left + 1))
            at += len(piece) - len(member.unused_data)
            left -= len(content[-1])
            if left < 0 or not piece:
                raise _Damaged
        if at == len(raw):
            return raw[:begin], b"".join(content)
    raise _Damaged


def _extra_of(content):
    """The content of a message lineburn.Extra; None: this member has none."""
    if not content.startswith(_varint(_EXTRA << 3 | _BYTES)):
        return None
    return b"".join(value for number, value in _fields(content, itertools.count()) if number == _EXTRA)


def _read(path):
    try:
        with open(path, "rb") as f:
            before, content = _split(f.read())
        return before, _extra_of(content)
    except OSError as e:
        raise Error("cannot read %s: %s" % (path, e.strerror)) from None
    except (_Damaged, zlib.error):
        return b"", None


def write(path, data):
    """Puts a profile at @path, readable by this user alone, as lineburn's own are. A link there is replaced."""
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)))
        with os.fdopen(descriptor, "wb") as f:
            f.write(data)
        os.replace(temporary, path)
    except OSError as e:
        if temporary:
            os.unlink(temporary)
        raise Error("cannot write %s: %s" % (path, e.strerror)) from None


def _run(message, count):
    """Returns (first line, text in bytes)."""
    run = dict(_fields(message, count))
    first, text = run.get(_RUN_FIRST, 1), run.get(_RUN_TEXT, b"")
    if not isinstance(first, int) or not isinstance(text, bytes):
        raise _Damaged
    return first, text


class Texts:
    """The source text in a profile. Other tools' profiles have none.

    It is kept as runs: a list of its lines takes some hundred times as much memory, so only lines that are asked
    for are made.
    """

    def __init__(self, path):
        self._runs = {}  # source path: [(first line, text in bytes)]
        try:
            self._index(_read(path)[1] or b"")
        except _Damaged:
            raise Error("the source text in %s is damaged, or more than lineburn writes; record it again, or see what "
                        "\"lineburn annotate\" shows of it" % path) from None

    def _index(self, extra):
        count, left = itertools.count(), _MAX_TEXT
        for number, source in _fields(extra, count):
            if number != _SOURCE or not isinstance(source, bytes):
                continue
            name, runs = b"", []
            for what, value in _fields(source, count):
                if what == _SOURCE_PATH and isinstance(value, bytes):
                    name = value
                elif what == _SOURCE_RUN and isinstance(value, bytes):
                    runs.append(_run(value, count))
                    left -= len(runs[-1][1])
                    if left < 0:
                        raise _Damaged
            self._runs.setdefault(name.decode(errors="replace"), runs)  # the first one counts

    def lines(self, path, numbers):
        """Returns {line number: text} of those of @numbers that are known. @numbers: a set or a range."""
        found = {}
        for first, text in self._runs.get(path, ()):
            for number, line in enumerate(io.BytesIO(text + b"\n"), first):
                if number in numbers:
                    found[number] = line[:-1].decode(errors="replace")
        return found

    def ends(self, path):
        """The first and the last line of each run that is known."""
        return [line for first, text in self._runs.get(path, ()) for line in (first, first + text.count(b"\n"))]


def _source(name, text) -> bytes:
    data = text.encode(errors="replace")
    nr_lines = data.count(b"\n") + 1
    run = _field(_RUN_FIRST, 1) + _field(_RUN_LINES, nr_lines) + _field(_RUN_TEXT, data)
    return (_field(_SOURCE_PATH, name.encode(errors="replace")) + _field(_SOURCE_BYTES, len(data)) +
            _field(_SOURCE_SHA256, hashlib.sha256(data).digest()) + _field(_SOURCE_LINES, nr_lines) +
            _field(_SOURCE_RUN, run))


def add(path, new_texts) -> bool:
    """Adds the texts {source path: text} to a profile of this user. Returns whether it did."""
    before, extra = _read(path)
    added, left = [], _MAX_ADDED
    for name, text in new_texts.items():
        source = _source(name, text[:-1] if text.endswith("\n") else text)
        left -= len(source)
        if "\0" not in text and left >= 0:
            added.append(_field(_SOURCE, source))
    if extra is None or not added:
        return False
    write(path, before + gzip.compress(_field(_EXTRA, extra + b"".join(added))))
    return True
