#!/usr/bin/env python3
"""Fails if a kernel would refuse the stack of a BPF object, or let threads share it.

usage: bpf-stack.py [-v] OBJECT     (-v: prints the chain that uses most)

All functions of a chain share 512 bytes of stack, and a chain has 8 functions at most. The
verifier rounds the stack of each function up to a multiple of 32, and counts 32 for one
without a stack (check_max_stack_depth() in kernel/bpf/verifier.c; newer kernels round to 16).
The kernel that builds may accept a chain that Linux 5.10 refuses, so the build asserts it.

Since 6.13 functions of 64 bytes or more, rounded to 16, have one stack per CPU
(BPF_PRIV_STACK_MIN_SIZE). A uprobe's program may be preempted, and another thread then writes
to that stack, too. So the functions of such a program use less.

Clang writes the stack of each function to OBJECT with .su at its end (-fstack-usage).
The calls are in the object.
"""
import os
import re
import struct
import sys

STACK_BYTES, MAX_FUNCTIONS, ROUND = 512, 8, 32
PRIVATE_BYTES, PRIVATE_ROUND = 64, 16
PREEMPTED = re.compile(r"\??(uprobe|uretprobe|usdt)\b")
INSN_BYTES, OP_CALL, OP_LOAD_64, PSEUDO_CALL = 8, 0x85, 0x18, 1
SHT_SYMTAB, SHT_REL, SHF_EXECINSTR, STT_FUNC = 2, 9, 4, 2


class Object:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = f.read()
        if self.bytes[:6] != b"\x7fELF\x02\x01":
            raise SystemExit(f"bpf-stack: {path} is no 64-bit little-endian ELF file")
        (at,) = struct.unpack_from("<Q", self.bytes, 0x28)
        size, nr = struct.unpack_from("<HH", self.bytes, 0x3A)
        names = ("name", "type", "flags", "addr", "offset", "size", "link", "info", "align", "entry")
        self.sections = [dict(zip(names, struct.unpack_from("<IIQQQQIIQQ", self.bytes, at + i * size)))
                         for i in range(nr)]
        self.symbols = []
        for s in self.sections:
            if s["type"] == SHT_SYMTAB:
                self.symbols = list(self.read_symbols(s))
        # (section, offset) -> name
        self.functions = {(s["section"], s["value"]): s["name"] for s in self.symbols
                          if s["info"] & 15 == STT_FUNC}

    def read_symbols(self, section):
        strings = self.sections[section["link"]]["offset"]
        for at in range(section["offset"], section["offset"] + section["size"], section["entry"]):
            name, info, _, index, value, size = struct.unpack_from("<IBBHQQ", self.bytes, at)
            end = self.bytes.index(b"\0", strings + name)
            yield {"name": self.bytes[strings + name:end].decode(), "info": info,
                   "section": index, "value": value, "size": size}

    def section_name(self, index):
        (strings,) = struct.unpack_from("<H", self.bytes, 0x3E)
        at = self.sections[strings]["offset"] + self.sections[index]["name"]
        return self.bytes[at:self.bytes.index(b"\0", at)].decode()

    def relocations(self, index):
        """Offset in section @index -> symbol."""
        found = {}
        for s in self.sections:
            if s["type"] == SHT_REL and s["info"] == index:
                for at in range(s["offset"], s["offset"] + s["size"], 16):
                    offset, info = struct.unpack_from("<QQ", self.bytes, at)
                    found[offset] = self.symbols[info >> 32]
        return found

    def is_code(self, index):
        return index < len(self.sections) and self.sections[index]["flags"] & SHF_EXECINSTR

    def calls_of(self, function):
        """The functions that it calls or passes to a helper, which calls them."""
        index = function["section"]
        relocations = self.relocations(index)
        base = self.sections[index]["offset"]
        for off in range(function["value"], function["value"] + function["size"], INSN_BYTES):
            op, regs, _, imm = struct.unpack_from("<BBhi", self.bytes, base + off)
            symbol = relocations.get(off)
            if op == OP_CALL and symbol:
                to = symbol["section"], symbol["value"] + (imm + 1) * INSN_BYTES
            elif op == OP_CALL and regs >> 4 == PSEUDO_CALL:
                to = index, off + (imm + 1) * INSN_BYTES
            elif op == OP_LOAD_64 and symbol and self.is_code(symbol["section"]):
                to = symbol["section"], symbol["value"] + imm
            else:
                continue
            if to not in self.functions:
                raise SystemExit(f"bpf-stack: {function['name']} calls no known function")
            yield self.functions[to]


def read_stacks(path):
    """Lines like "bpf/sampler.bpf.c:39:lb_step<TAB>152<TAB>static"."""
    with open(path) as f:
        lines = [line.split("\t") for line in f]
    return {place.rsplit(":", 1)[1]: max(1, int(size)) for place, size, _ in lines}


def longest(chain, used, stacks, calls):
    """The most (bytes, chain) of all chains that begin with @chain, whose callers use @used."""
    name = chain[-1]
    if name in chain[:-1]:
        raise SystemExit(f"bpf-stack: {name} calls itself: {' > '.join(chain)}")
    used += -(-stacks[name] // ROUND) * ROUND
    if used > STACK_BYTES or len(chain) > MAX_FUNCTIONS:
        raise SystemExit(f"bpf-stack: Linux 5.10 would refuse {' > '.join(chain)}: {len(chain)} "
                         f"functions (at most {MAX_FUNCTIONS}), {used} bytes of stack (at most "
                         f"{STACK_BYTES}); keep less on the stack, or make a function of it inline")
    return max([(used, chain)] + [longest(chain + [callee], used, stacks, calls)
                                  for callee in calls[name]])


def check_private(chain, stacks, calls):
    """No function of @chain, nor one called by its last, may have a private stack."""
    name = chain[-1]
    if -(-stacks[name] // PRIVATE_ROUND) * PRIVATE_ROUND >= PRIVATE_BYTES:
        raise SystemExit(f"bpf-stack: {' > '.join(chain)}: {stacks[name]} bytes of stack, which threads "
                         f"that preempt each other share since Linux 6.13; keep at most "
                         f"{PRIVATE_BYTES - PRIVATE_ROUND} in a function of a uprobe's program")
    for callee in calls[name]:
        check_private(chain + [callee], stacks, calls)


def main():
    verbose = sys.argv[1:2] == ["-v"]
    paths = sys.argv[1 + verbose:]
    if len(paths) != 1:
        raise SystemExit(__doc__)
    obj = Object(paths[0])
    stacks = read_stacks(os.path.splitext(paths[0])[0] + ".su")
    functions = {s["name"]: s for s in obj.symbols if s["info"] & 15 == STT_FUNC}
    calls = {name: sorted(set(obj.calls_of(f))) for name, f in functions.items()}
    most, chain = max(longest([name], 0, stacks, calls) for name in functions)
    for name, f in functions.items():
        if PREEMPTED.match(obj.section_name(f["section"])):
            check_private([name], stacks, calls)
    if verbose:
        print(f"{most} bytes of stack: {' > '.join(chain)}")


if __name__ == "__main__":
    main()
