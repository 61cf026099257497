"""Compares the machine code and line tables of two compilations of the same program."""

import collections
import os
import re
import struct
import subprocess

SHT_NOBITS = 8
# Only code is compared: other sections have texts with addresses of the process (repr of a context).
CODE = (".text", ".ltext")


def sections(data):
    """(name, bytes) of each section of a 64-bit little-endian ELF file."""
    offset, = struct.unpack_from("<Q", data, 40)
    size, number, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(number)]
    texts = data[headers[names][4]:]
    for h in headers:
        name = texts[h[0]:texts.index(b"\0", h[0])].decode()
        yield name, b"" if h[1] == SHT_NOBITS else data[h[4]:h[4] + h[5]]


def read(folder):
    """The objects of a folder, in the order in which they were compiled."""
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return [open(path, "rb").read() for path in paths], paths


def code(data):
    return [(name, text) for name, text in sections(data) if name.startswith(CODE)]


def has_lines(data):
    return any(name == ".debug_line" for name, _ in sections(data))


def instructions(path):
    """Instructions without padding; a jump's target is the number of an instruction.

    LLVM 11 (Numba up to 0.56) aligns code with longer jumps, or, where a label of a line
    table is in the way, with nops: the same code at the same alignments.
    """
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], stdout=subprocess.PIPE,
                         check=True).stdout.decode()
    found = re.findall(r"^\s+([0-9a-f]+):\t(.*)$", out, re.M)
    found = [(int(at, 16), text.split(" <")[0].strip()) for at, text in found]
    found = [(at, text) for at, text in found
             if not re.match(r"(data16 |cs )*(nop|xchg\s+%ax,%ax)", text)]
    number = {at: i for i, (at, _) in enumerate(found)}
    result = []
    for _, text in found:
        jump = re.match(r"(j\w+)\s+([0-9a-f]+)$", text)
        if jump:
            target = int(jump[2], 16)
            # A jump into padding leads to the instruction after it.
            while target not in number and target < 1 << 20:
                target += 1
            text = "%s %s" % (jump[1], number.get(target))
        result.append(text)
    return result


def rows(path):
    """(base name of the source file, line, address) of each row of the line table."""
    out = subprocess.run(["objdump", "--dwarf=decodedline", path], stdout=subprocess.PIPE,
                         check=True).stdout.decode()
    return [(os.path.basename(name), line, at) for name, line, at in
            re.findall(r"^(\S+)\s+(\d+)\s+(0x[0-9a-f]+|0)\b", out, re.M)]


def lines(path):
    """{base name of a source file: set of lines} of one object, without line 0."""
    result = collections.defaultdict(set)
    for name, line, _ in rows(path):
        if int(line):
            result[name].add(int(line))
    return result


def all_lines(paths):
    result = collections.defaultdict(set)
    for path in paths:
        for name, found in lines(path).items():
            result[name] |= found
    return result
