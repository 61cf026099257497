# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what callgrind_annotate reads in an export with annotate and report.

usage: callgrind.py LINEBURN PROFILE

Self of each line, totals of the functions in files with such lines, and the sums must be equal, CPU time
and samples. Writes PROFILE.callgrind, and stand-ins for the sources, which need not exist, into PROFILE.d/.
"""
import collections
import csv
import io
import os
import re
import subprocess
import sys

lineburn, profile = map(os.path.abspath, sys.argv[1:])
folder = profile + ".d"
os.makedirs(folder, exist_ok=True)


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode or b"malformed" in done.stderr:
        sys.exit(f"{command[0]}: {done.stderr.decode(errors='replace')[-500:]}")
    return done.stdout.decode(errors="replace")


def rows(view):
    return csv.DictReader(io.StringIO(output(lineburn, view, "--format", "csv", profile)))


def escaped(path):
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in path)


lines = collections.Counter()
last_line = collections.Counter()
for row in rows("annotate"):
    path = escaped(row["file"])
    # Two files may have one path (containers).
    lines[path, int(row["line"])] += int(row["self_cpu_ns"])
    last_line[path] = max(last_line[path], int(row["line"]))
lines = +lines
totals = collections.Counter()
self_ns = collections.Counter()
all_ns = 0
runtime = set()
for row in rows("report"):
    key = escaped(row["file"]), escaped(row["function"])
    totals[key] += int(row["total_cpu_ns"])
    self_ns[key] += int(row["self_cpu_ns"])
    all_ns += int(row["self_cpu_ns"])
    # An export leaves out what is inside of a line: the C library, an interpreter.
    if key[0] not in last_line or re.match(r"\[kernel|lib(c|m|stdc\+\+|python.*)\.so|ld-|python3", row["object"]):
        runtime.add(key)
totals = {key: ns for key, ns in totals.items() if key not in runtime}

text = output(lineburn, "export", "-f", "callgrind", profile)
stand_ins = {}


def stand_in(match):
    """The line with the path of a file whose line N is "@N"."""
    path = match.group(2)
    if path not in stand_ins:
        stand_ins[path] = os.path.join(folder, f"{len(stand_ins)}.c")
        with open(stand_ins[path], "w", encoding="ascii") as f:
            f.writelines(f"@{n}\n" for n in range(1, last_line[path] + 1))
    return match.group(1) + stand_ins[path]


with open(profile + ".callgrind", "w", encoding="utf-8") as f:
    f.write(re.sub(r"^(c?f[li]=\(\d+\) )(.+)$", stand_in, text, flags=re.M))
paths = {made: path for path, made in stand_ins.items()}


def annotated(*options):
    """The reader's lines that begin with the two costs: ((cpu_ns, samples), the rest)."""
    # callgrind_annotate takes the folder where it runs off the paths.
    said = output("env", "-C", "/", "callgrind_annotate", "--show-percs=no", "--threshold=100", *options,
                  profile + ".callgrind")
    for line in said.splitlines():
        found = re.match(r"\s*([\d,]+) +([\d,]+) +(\S.*)$", line)
        if found:
            yield [int(n.replace(",", "")) for n in found.group(1, 2)], found.group(3)
        elif line.startswith("-- Auto-annotated source: "):
            yield None, line.partition(": ")[2]


def wrong(what, read, known):
    keys = [key for key in read.keys() | known.keys() if read.get(key) != known.get(key)]
    if keys:
        key = max(keys, key=lambda k: max(read.get(k, 0), known.get(k, 0)))
        sys.exit(f"{len(keys)} of {len(known)} {what} differ, {key}: {read.get(key)}, not {known.get(key)}")


read = {}
path = None
for costs, rest in annotated("--context=0"):
    if costs is None:
        path = paths[rest]
    elif rest.startswith("@"):
        read[path, int(rest[1:])] = costs[0]
wrong("lines", read, lines)

read = collections.Counter()
whole = None
for costs, rest in annotated("--inclusive=yes", "--auto=no"):
    if rest == "PROGRAM TOTALS":
        whole = costs[0]
        continue
    made = re.match(r"(.*?\.c):(.*?)(?: \[[^ ]*\])?$", rest)
    if made and (paths[made.group(1)], made.group(2)) in totals:
        read[paths[made.group(1)], made.group(2)] += costs[0]
# A sample in a part of the function without a line is charged to the line that called it.
wrong("functions", read, {key: read[key] if ns - self_ns[key] <= read[key] <= ns else ns
                          for key, ns in totals.items()})
if whole != all_ns:
    sys.exit(f"the sum is {whole}, not {all_ns}")
print(f"{len(lines)} lines and {len(totals)} functions are those of lineburn")
