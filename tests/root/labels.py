# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints what a numeric label of a pprof file has: a value and its samples on each line,
most first. Reads the file's own format (profile.proto), as no view prints labels.

usage: labels.py FILE LABEL
"""
import collections
import gzip
import sys


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
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            width = 8 if tag & 7 == 1 else 4
            value, at = data[at : at + width], at + width
        yield tag >> 3, value


def first_value(sample):
    """The first of Sample.value, packed or not."""
    for number, value in fields(sample):
        if number == 2:
            return value if isinstance(value, int) else varint(value, 0)[0]
    return 0


profile = gzip.decompress(open(sys.argv[1], "rb").read())
strings = [value for number, value in fields(profile) if number == 6]
key = strings.index(sys.argv[2].encode())
counts = collections.Counter()
for number, sample in fields(profile):
    if number != 2:
        continue
    for part, label in fields(sample):
        if part == 3:
            words = dict(fields(label))
            if words.get(1) == key:
                counts[words.get(3, 0)] += first_value(sample)
for value, samples in counts.most_common():
    print(value, samples)
