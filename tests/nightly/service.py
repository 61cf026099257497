#!/usr/bin/env python3
"""Runs the command of lineburn-record.service under the unit's restrictions, without systemd as pid 1.

usage: service.py UNIT PROGRAM STATE [ARGUMENT...]

PROGRAM stands for /usr/bin/lineburn, the folder STATE for StateDirectory=, the arguments for those of
ExecStart= with the same name: --window=1s. Of the unit it applies the capabilities, the groups, the limits,
the filter of system calls, the network, and what is read-only. A setting that it does not know is an error.
"""

import ctypes
import os
import re
import resource
import shlex
import struct
import subprocess
import sys

libc = ctypes.CDLL(None, use_errno=True)
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 24, 38, 22
CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
NAMESPACES = 0x7E020080
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
ALLOW, EPERM = 0x7FFF0000, 0x50001
# cgroups limit these, or only systemd itself reads them; the last ones guard what the filter denies, too.
NOT_APPLIED = set("Description Documentation ExecStart Restart RestartSec MemoryMax MemorySwapMax TasksMax Nice WantedBy "
                  "StateDirectory StateDirectoryMode SystemCallArchitectures SystemCallErrorNumber ProtectClock "
                  "ProtectHostname ProtectKernelModules RestrictRealtime RestrictSUIDSGID LockPersonality".split())


def call(what, *arguments):
    if getattr(libc, what)(*arguments):
        raise OSError(ctypes.get_errno(), "%s%r: %s" % (what, arguments, os.strerror(ctypes.get_errno())))


def settings(path):
    found = {}
    for line in open(path, encoding="utf-8"):
        key, is_setting, value = line.strip().partition("=")
        if is_setting and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def header(path, prefix):
    """{name: number} of the macros"""
    return {name: int(number) for name, number in
            re.findall(r"^#define %s(\w+)\s+(\d+)" % prefix, open(path, encoding="utf-8").read(), re.M)}


def members(name):
    """The system calls of "bpf" or "@system-service"."""
    if not name.startswith("@"):
        return {name}
    said = subprocess.run(["systemd-analyze", "syscall-filter", name], stdout=subprocess.PIPE, check=True).stdout.decode()
    words = re.findall(r"^ +([@a-z_0-9-]+)$", said, re.M)
    return set().union(*map(members, words))


def allowed(values):
    calls = members("@default")
    for value in values:
        for name in value.lstrip("~").split():
            calls = calls - members(name) if value.startswith("~") else calls | members(name)
    return calls


def seccomp(unit):
    """A program: the allowed calls, without new namespaces, other sockets and memory that is written and executed."""
    numbers = header("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "__NR_")
    calls = allowed(unit["SystemCallFilter"]) - {"setns", "unshare"}
    code = []

    def emit(op, k, yes=0, no=0):
        code.append(struct.pack("<HBBI", op, yes, no, k & 0xFFFFFFFF))

    def refuse(name, argument, op, k, when):
        """If the test of the argument gives @when. 0x15: equal, 0x45: has a bit of"""
        emit(0x20, 0)
        emit(0x15, numbers[name], 0, 4 if op != "wx" else 5)
        emit(0x20, 16 + 8 * argument)
        if op == "wx":  # PROT_WRITE and PROT_EXEC
            emit(0x54, 6)
            op = 0x15
        emit(op, k, 0 if when else 1, 1 if when else 0)
        emit(0x06, EPERM)
        emit(0x06, ALLOW)

    refuse("clone", 0, 0x45, NAMESPACES, True)
    refuse("socket", 0, 0x15, 1, False)
    refuse("mmap", 2, "wx", 6, True)
    refuse("mprotect", 2, 0x45, 4, True)
    emit(0x20, 0)
    for number in sorted(numbers[name] for name in calls if name in numbers):
        emit(0x15, number, 0, 1)
        emit(0x06, ALLOW)
    emit(0x06, EPERM)
    return len(code), b"".join(code)


def read_only(path):
    call("mount", path.encode(), path.encode(), None, MS_BIND | MS_REC, None)
    for line in open("/proc/self/mountinfo", encoding="utf-8"):
        point = line.split()[4]
        if point == path or point.startswith(path.rstrip("/") + "/"):
            # Some may not be changed, such as a mount that hides another one.
            libc.mount(None, point.encode(), None, MS_REMOUNT | MS_BIND | MS_RDONLY, None)


def confine(unit, state):
    for key, limit in ("LimitNOFILE", resource.RLIMIT_NOFILE), ("LimitCORE", resource.RLIMIT_CORE):
        wanted = int(unit[key][0])
        hard = resource.getrlimit(limit)[1]
        resource.setrlimit(limit, (min(wanted, hard),) * 2 if hard >= 0 else (wanted,) * 2)
    assert unit["ProtectSystem"] == ["strict"] and unit["PrivateNetwork"] == ["yes"]
    call("unshare", CLONE_NEWNS | CLONE_NEWNET)
    call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    call("mount", state.encode(), state.encode(), None, MS_BIND, None)
    # What is left writable by ProtectSystem=strict is /dev, /proc, /sys: the other settings close most of them.
    for path in "/usr", "/etc", "/var", "/home", "/root", "/boot", "/opt", "/srv", "/run", "/sys", "/proc/sys":
        if os.path.isdir(path) and not os.path.islink(path):
            read_only(path)
    call("mount", state.encode(), state.encode(), None, MS_BIND, None)
    call("mount", None, state.encode(), None, MS_REMOUNT | MS_BIND, None)
    os.setgroups([])
    os.setgid(unit["gid"])
    os.umask(int(unit["UMask"][0], 8))
    capabilities = header("/usr/include/linux/capability.h", "CAP_")
    kept = {capabilities[name[4:]] for name in " ".join(unit["CapabilityBoundingSet"]).split()}
    for number in set(capabilities.values()) - kept:
        libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    assert unit["NoNewPrivileges"] == ["yes"]
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    length, code = seccomp(unit)
    buffer = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", length, ctypes.addressof(buffer)))
    call("prctl", PR_SET_SECCOMP, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0)


def main():
    path, program, state, *others = sys.argv[1:]
    unit = settings(path)
    applied = set("LimitNOFILE LimitCORE ProtectSystem ProtectHome PrivateNetwork ProtectKernelTunables ProtectControlGroups "
                  "UMask Group CapabilityBoundingSet NoNewPrivileges SystemCallFilter RestrictAddressFamilies "
                  "RestrictNamespaces MemoryDenyWriteExecute".split())
    unknown = set(unit) - NOT_APPLIED - applied
    if unknown:
        sys.exit("service.py does not know " + ", ".join(sorted(unknown)))
    unit["gid"] = 12345
    given = {word.partition("=")[0]: word.partition("=")[2] for word in others}
    words = shlex.split(unit["ExecStart"][0].replace("/var/lib/lineburn", state))[1:]
    for i in range(len(words) - 1):
        words[i + 1] = given.get(words[i], words[i + 1])
    confine(unit, state)
    os.execv(program, [program, *words])


if __name__ == "__main__":
    main()
