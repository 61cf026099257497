"""Writes a profile that names files: each has one function with one sample at its line 1.

usage: naming.py OUT SOURCE...
"""
import gzip
import sys


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def part(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def main():
    out, sources = sys.argv[1], sys.argv[2:]
    strings = ["", "samples", "count"] + sources + [f"work{i}" for i in range(len(sources))]
    profile = part(1, number(1, 1) + number(2, 2))
    for i in range(len(sources)):
        profile += part(2, part(1, varint(i + 1)) + part(2, varint(1)))
        profile += part(4, number(1, i + 1) + number(3, 0x1000 + 16 * i)
                        + part(4, number(1, i + 1) + number(2, 1)))
        profile += part(5, number(1, i + 1) + number(2, 3 + len(sources) + i) + number(4, 3 + i))
    for s in strings:
        profile += part(6, s.encode())
    with open(out, "wb") as f:
        f.write(gzip.compress(profile, mtime=0))


if __name__ == "__main__":
    main()
