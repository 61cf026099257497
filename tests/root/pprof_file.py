# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a pprof file directly (profile.proto), for data that no view of lineburn prints."""
import array
import gzip
import marshal
import os


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Number and value of each field of one message."""
    at, end = 0, len(data)
    while at < end:
        tag = data[at]  # most numbers have one byte
        at += 1
        if tag >= 0x80:
            tag, at = varint(data, at - 1)
        kind = tag & 7
        if kind in (0, 2):
            value = data[at]
            at += 1
            if value >= 0x80:
                value, at = varint(data, at - 1)
            if kind == 2:
                value, at = data[at : at + value], at + value
        else:
            width = 8 if kind == 1 else 4
            value, at = data[at : at + width], at + width
        yield tag >> 3, value


def numbers(data, wanted):
    """A repeated number of a message, packed or not."""
    found = []
    for number, value in fields(data):
        if number != wanted:
            continue
        if isinstance(value, int):
            found.append(value)
            continue
        one = shift = 0
        for byte in value:
            if byte < 0x80:
                found.append(one | byte << shift)
                one = shift = 0
            else:
                one |= (byte & 0x7F) << shift
                shift += 7
    return found


def read(path):
    """The uncompressed profile, with lineburn.Extra as field 20001."""
    with open(path, "rb") as f:
        return gzip.decompress(f.read())


def string_table(profile):
    return [value.decode("utf-8", "replace") for number, value in fields(profile) if number == 6]


def samples(profile):
    """(message, count) of each sample."""
    for number, sample in fields(profile):
        if number == 2:
            yield sample, (numbers(sample, 2) or [0])[0]


def statuses(profile):
    """The walk status of each sample's stack."""
    for number, extra in fields(profile):
        if number == 20001:
            names = [name.decode() for part, name in fields(extra) if part == 17]
            yield from (names[status] for status in numbers(extra, 18))
    while True:  # the default without lineburn.Extra
        yield "complete"


def places(profile):
    """{id of a location: (address, frames)}. A frame is (function, file, line), the innermost
    first; inlined functions are frames, too."""
    strings = string_table(profile)
    functions, found = {}, {}
    for number, message in fields(profile):
        if number == 5:
            words = dict(fields(message))
            functions[words.get(1, 0)] = strings[words.get(2, 0)], strings[words.get(4, 0)]
    for number, message in fields(profile):
        if number != 4:
            continue
        words = dict(fields(message))
        lines = [dict(fields(line)) for part, line in fields(message) if part == 4]
        found[words.get(1, 0)] = words.get(3, 0), [
            functions.get(line.get(1, 0), ("", "")) + (line.get(2, 0),) for line in lines
        ] or [("", "", 0)]
    return found


def mapped_files(profile):
    """{id of a location: its mapped file, or a name in brackets if there is no file}."""
    strings = string_table(profile)
    files = {}
    for number, message in fields(profile):
        if number == 3:
            words = dict(fields(message))
            files[words.get(1, 0)] = strings[words.get(5, 0)]
    return {
        words[1]: files.get(words.get(2, 0), "[]")
        for words in (dict(fields(message)) for number, message in fields(profile) if number == 4)
    }


def labels(sample, strings):
    """{name: value} of a sample's labels."""
    found = {}
    for part, label in fields(sample):
        if part == 3:
            words = dict(fields(label))
            found[strings[words[1]]] = strings[words[2]] if words.get(2) else words.get(3, 0)
    return found


def decoded(path):
    """(frames of each location, as in places(); its file; all samples). A sample is (pid, ids of the
    locations as an array's bytes, count, walk status)."""
    profile = read(path)
    strings = string_table(profile)
    frames = {number: frames for number, (_, frames) in places(profile).items()}
    return frames, mapped_files(profile), [
        (labels(sample, strings).get("pid"), array.array("Q", numbers(sample, 1)).tobytes(), count, status)
        for (sample, count), status in zip(samples(profile), statuses(profile))
    ]


def decoded_once(path):
    """As decoded(), cached in a file beside the recording, because many tests read one recording."""
    path = os.path.realpath(path)
    kept = path + ".stacks"
    if os.path.exists(kept) and os.stat(kept).st_mtime_ns > os.stat(path).st_mtime_ns:
        with open(kept, "rb") as f:
            return marshal.load(f)
    found = decoded(path)
    with open(f"{kept}.{os.getpid()}", "wb") as f:
        marshal.dump(found, f)
    os.replace(f.name, kept)
    return found


def walks(path, pid=None):
    """Each sample (of one process): a list of frames, innermost first; its count; its walk status; the
    file of the outermost frame that has one ("": none has)."""
    frames, files, found = decoded_once(path)
    for owner, locations, count, status in found:
        if pid is None or owner == pid:
            at = array.array("Q", locations)
            file = next((files[number] for number in reversed(at) if not files[number].startswith("[")), "")
            yield [frame for number in at for frame in frames[number]], count, status, file


def stacks(path, pid=None):
    """As walks(), without the file."""
    for stack, count, status, _ in walks(path, pid):
        yield stack, count, status
