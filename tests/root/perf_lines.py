# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of one program in a perf.data, by source line.

usage: perf_lines.py PERF_DATA PROGRAM > JSON   {"samples": N, "lines": {"hot.c:15": N}}

This parses the file itself: on newer kernels "perf script" 6.1 aborts at the kernel's build id.
Layout: linux/perf_event.h and tools/perf/Documentation/perf.data-file-format.txt.
"""
import collections
import json
import os
import re
import struct
import subprocess
import sys

RECORD_SAMPLE, RECORD_MMAP2 = 9, 10
SAMPLE_IDENTIFIER = 1 << 16

path, program = sys.argv[1], os.path.realpath(sys.argv[2])
with open(path, "rb") as f:
    data = f.read()
magic, _, _, attrs_at, _, at, length = struct.unpack_from("<8s6Q", data)
if magic != b"PERFILE2":
    sys.exit("not a perf.data")
(sample_type,) = struct.unpack_from("<Q", data, attrs_at + 24)
ip_offset = 16 if sample_type & SAMPLE_IDENTIFIER else 8

# Each CPU has its own buffer, so a mapping may come after its samples.
maps = []
ips = []
end = at + length
while at < end:
    kind, _, size = struct.unpack_from("<IHH", data, at)
    if kind == RECORD_MMAP2:
        _, _, start, extent, file_off = struct.unpack_from("<IIQQQ", data, at + 8)
        name = data[at + 72:at + size].split(b"\0", 1)[0].decode(errors="replace")
        if os.path.realpath(name) == program:
            maps.append((start, start + extent, file_off))
    elif kind == RECORD_SAMPLE:
        (ip,) = struct.unpack_from("<Q", data, at + ip_offset)
        ips.append(ip)
    at += size

file_offsets = collections.Counter(
    ip - start + file_off for ip in ips for start, stop, file_off in maps if start <= ip < stop)

headers = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True)
loads = [[int(n, 16) for n in found] for found in re.findall(
    r"LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+ 0x([0-9a-f]+)", headers.stdout)]
vaddrs = {off: hex(off - file_off + vaddr) for off in file_offsets
          for file_off, vaddr, size in loads if file_off <= off < file_off + size}
answers = subprocess.run(["addr2line", "-e", program], input="\n".join(vaddrs.values()) + "\n",
                         capture_output=True, text=True, check=True).stdout.split("\n")
lines = collections.Counter()
for off, answer in zip(vaddrs, answers):
    lines[os.path.basename(answer.split(" ")[0])] += file_offsets[off]
json.dump({"samples": len(ips), "lines": lines}, sys.stdout)
