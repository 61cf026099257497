#!/usr/bin/env python3
"""Compares the answers of dwarf-resolve, llvm-symbolizer and eu-addr2line for the same
addresses, frame by frame (function, file, line), and counts the differences by class.

usage: dwarf-compare.py RESOLVE FILE [NR [SEED]]   NR 0: every address of .text

SHOW=N prints N examples of each class (2), ONLY=llvm-symbolizer compares with that
tool only. Known classes, and their reasons:
  line 0: charged to the call, only ours has a line (llvm-symbolizer): the line table
    has line 0 for code that the compiler merged or moved; we take the line of the
    call that it was inlined by, else the line before it.
  equal places; another name: llvm-symbolizer names the outermost frame by the symbol
    table (".cold", ".isra.0", ".abi0", aliases).
  only ours has a line (eu-addr2line): elfutils 0.188 finds units only by
    .debug_aranges, which Go and clang do not write.
  only the other has a line (eu-addr2line): padding after the end of a sequence.
  chain of another length, other callers (eu-addr2line): 8 and 0 of 2,000 addresses,
    for which llvm-symbolizer agrees with us.
"""
import collections
import os
import re
import subprocess
import sys
import time


def text_range(path):
    out = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, check=True, text=True).stdout
    m = re.search(r"\] \.text +\S+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", out)
    return int(m[1], 16), int(m[2], 16)


def parse(text):
    """Blocks as llvm-symbolizer prints them -> {address: [(function, file, line)]}"""
    frames = {}
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if not lines[0].startswith("0x"):
            continue
        found = []
        for i in range(1, len(lines) - 1, 2):
            m = re.match(r"(.*?):(\d+|\?)(:(\d+|\?))?( .*)?$", lines[i + 1])
            path, line = m[1], 0 if m[2] == "?" else int(m[2])
            found.append((lines[i], os.path.normpath(path) if path != "??" else "", line))
        frames[int(lines[0], 16)] = found
    return frames


def parse_elfutils(text):
    """-a -i -f: address, then function and place for each frame, outermost last"""
    frames = {}
    for block in re.split(r"(?m)^(?=0x[0-9a-f]{16}$)", text):
        lines = block.strip("\n").split("\n")
        if not lines[0].startswith("0x"):
            continue
        found = []
        for i in range(1, len(lines) - 1, 2):
            name = lines[i].split(" inlined at ")[0]
            m = re.match(r"(.*?):(\d+|\?)(:(\d+|\?))?( .*)?$", lines[i + 1])
            path, line = m[1], 0 if m[2] == "?" else int(m[2])
            found.append((name, os.path.normpath(path) if path != "??" else "", line))
        frames[int(lines[0], 16)] = found
    return frames


def places(frames):
    return [(f[1], f[2]) for f in frames]


def classify(ours, theirs):
    a, b = places(ours), places(theirs)
    if a == b:
        names = [(x[0], y[0]) for x, y in zip(ours, theirs) if x[0] != y[0]]
        if not names:
            return "equal"
        if all(y == "??" for _, y in names):
            return "equal; name unknown to the other"
        if all(x == "??" for x, _ in names):
            return "equal; name from the symbol table only"
        return "equal places; another name"
    if theirs and theirs[0][2] == 0:
        while b and b[0][1] != "" and b[0][1:] == (0,):
            b = b[1:]
        rest = [p for p in b if p[1]]
        if rest and a == rest:
            return "line 0: charged to the call"
        if len(a) == len(b) and a[1:] == b[1:] and a[0][0] == b[0][0]:
            return "line 0: line before"
        if not rest and not a[0][1]:
            return "equal; neither knows"
        if not rest:
            return "only ours has a line"
        return "line 0: other"
    if not ours or not ours[0][2]:
        return "only the other has a line"
    if a[0] == b[0] and len(a) != len(b):
        return "same leaf, chain of another length"
    if a[0] == b[0]:
        return "same leaf, other callers"
    if [x[1] for x in a] == [x[1] for x in b] and [
        os.path.basename(x[0]) for x in a
    ] == [os.path.basename(x[0]) for x in b]:
        return "same lines, directory spelt otherwise"
    return "other"


def run(cmd, addresses):
    began = time.monotonic()
    out = subprocess.run(cmd, input="".join("0x%x\n" % a for a in addresses), text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    print("%-14s %6.2f s  %s" % (os.path.basename(cmd[0]), time.monotonic() - began,
                                 out.stderr.strip().split("\n")[-1]))
    return out.stdout


def main():
    resolve, path = sys.argv[1], sys.argv[2]
    nr = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    start, size = text_range(path)
    if nr:
        import random
        rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
        addresses = sorted(rng.sample(range(start, start + size), min(nr, size)))
    else:
        addresses = list(range(start, start + size))
    ours = parse(run([resolve, path, "-"], addresses))
    others = {
        "llvm-symbolizer": parse(run(["llvm-symbolizer", "--addresses", "--inlining",
                                      "--functions=linkage", "--no-demangle", "-e", path], addresses)),
        "eu-addr2line": parse_elfutils(run(["eu-addr2line", "-a", "-i", "-f", "-e", path], addresses)),
    }
    if os.environ.get("ONLY"):
        others = {os.environ["ONLY"]: others[os.environ["ONLY"]]}
    for name, theirs in others.items():
        classes = collections.Counter()
        shown = collections.Counter()
        for a in addresses:
            kind = classify(ours.get(a, []), theirs.get(a, []))
            classes[kind] += 1
            if kind != "equal" and shown[kind] < int(os.environ.get("SHOW", "2")):
                shown[kind] += 1
                print("  %s: %s 0x%x\n    ours   %s\n    theirs %s" % (
                    name, kind, a, ours.get(a), theirs.get(a)))
        print("%s of %d:" % (name, len(addresses)))
        for kind, count in classes.most_common():
            print("  %6d  %s" % (count, kind))


main()
