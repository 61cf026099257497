# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the line of each sampled address of JIT code with that of binutils' addr2line.

usage: addresses.py PROFILE DIR PID     DIR: *.o, the objects in the memory of PID (saved.py)

The sections of these objects have their runtime addresses, so addr2line takes the sampled
addresses unchanged. If addr2line has line 0 or none, the instruction has no line of its own
and is not compared; at most a tenth of the samples may be on such instructions.
"""
import collections
import glob
import os
import re
import subprocess
import sys

import pprof_file


def code(path):
    """Address ranges of an object's code."""
    sections = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in sections.splitlines():
        m = re.match(r" +\[ *\d+\] \S+ +PROGBITS +(\w{16}) \w+ (\w+) +\w+ +\w*X\w* ", line)
        if m:
            yield int(m[1], 16), int(m[1], 16) + int(m[2], 16)


def leaves(path, pid):
    """{address: (samples, file, line)} of a process's innermost frames."""
    profile = pprof_file.read(path)
    locations, counts, found = pprof_file.places(profile), collections.Counter(), {}
    strings = pprof_file.string_table(profile)
    for sample, count in pprof_file.samples(profile):
        if pprof_file.labels(sample, strings).get("pid") != pid:
            continue
        for at in pprof_file.numbers(sample, 1)[:1]:
            counts[at] += count
    for at, count in counts.items():
        address, ((_, file, line), *_) = locations[at]
        found[address] = (count + found.get(address, (0,))[0], file, line)
    return found


def told(path, addresses):
    """(address, (file, line) by addr2line, or None) for each address."""
    said = subprocess.run(["addr2line", "-e", path], input="".join("%#x\n" % a for a in addresses),
                          stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    for address, line in zip(addresses, said):
        m = re.fullmatch(r"(.*):(\d+)(?: \(discriminator \d+\))?", line)
        yield address, (m[1], int(m[2])) if m and int(m[2]) else None


def main():
    found = leaves(sys.argv[1], int(sys.argv[3]))
    nr = samples = silent = 0
    wrong = []
    for path in glob.glob(os.path.join(sys.argv[2], "*.o")):
        ranges = list(code(path))
        mine = sorted(a for a in found if any(begin <= a < end for begin, end in ranges))
        for address, place in told(path, mine):
            count, file, line = found[address]
            nr += 1
            samples += count
            if not place:
                silent += count
            elif (os.path.basename(file), line) != (os.path.basename(place[0]), place[1]):
                wrong.append(f"{address:#x} ({count} samples): {file}:{line}, by addr2line {place[0]}:{place[1]}")
    print("\n".join(wrong[:10]))
    print(f"{nr} addresses of {samples} samples, {silent} of which have no line by addr2line; {len(wrong)} differ")
    return wrong or nr < 10 or samples < 100 or silent > 0.1 * samples


sys.exit(1 if main() else 0)
