# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the program lineburn, runs it, and turns its failures into exceptions."""

import os
import shlex
import shutil
import subprocess
import sys

EXIT_SYSTEM = 3  # the system does not allow it
EXIT_NOTHING = 4  # there was no sample, or none matches

_CAPABILITIES = "cap_bpf,cap_perfmon,cap_sys_ptrace"
# Debian's and Ubuntu's kernels then ask for more than CAP_PERFMON.
_PARANOID = 3


class Error(RuntimeError):
    """One sentence: what failed, and what to do."""

    status = None  # exit status of lineburn; None: it did not run


class NotAllowed(Error):
    """This user may not record here. The text has the line to type."""


def find() -> str:
    """Returns the path of the program.

    The environment variable LINEBURN names it. Without that it is the one to which this
    package belongs (a clone, "make install", an environment), or the one on PATH.
    """
    named = os.environ.get("LINEBURN")
    if named:
        found = shutil.which(named)
        if not found:
            raise Error("LINEBURN names %s, which is not a program that can be started" % named)
        return os.path.abspath(found)
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for place in "../lineburn", "../../../bin/lineburn":
        path = os.path.normpath(os.path.join(home, place))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    found = shutil.which("lineburn")
    if not found:
        raise Error("the program lineburn is not on PATH; install it, or set LINEBURN to its path")
    return found


def run(*arguments) -> str:
    """Runs a command that shows a profile. Returns what it prints."""
    binary = find()
    try:
        done = subprocess.run([binary, *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    except OSError as e:
        raise Error("cannot start %s: %s" % (binary, e.strerror)) from None
    if done.returncode:
        raise failure(binary, done.returncode, done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def has(command) -> bool:
    """Does this lineburn have the command?"""
    try:
        run(command, "--help")
    except Error:
        return False
    return True


def failure(binary, status, said) -> Error:
    """The exception for a lineburn that has failed. @said: its standard error."""
    sentences = [line[len("lineburn: "):] for line in said.splitlines()
                 if line.startswith("lineburn: ")]
    sentence = sentences[-1] if sentences else "%s ended with status %d" % (binary, status)
    if status == EXIT_SYSTEM:
        how = _how_to_allow(binary)
        if how:  # the command in the sentence is not one that the user typed
            sentence = sentence.partition("; see what ")[0]
        error = NotAllowed(sentence + how)
    else:
        error = Error(sentence)
    error.status = status
    return error


def _how_to_allow(binary) -> str:
    if os.geteuid() == 0:
        return ""  # the sentence has the remedy: more rights do not help
    lines = ["", "Either give lineburn the rights, once:"]
    binary = os.path.realpath(binary)
    if _has_capabilities(binary):
        lines = ["", "%s has capabilities, but a program that this Python starts does not get them." % binary,
                 "Start Python without no_new_privs, from a file system without nosuid; or add the rights again:"]
    lines.append("    sudo setcap %s+ep %s" % (_CAPABILITIES, shlex.quote(binary)))
    if _paranoid_level() >= _PARANOID:
        lines.append("    sudo sysctl kernel.perf_event_paranoid=2")
    lines += ["or start Python as root:", "    " + _as_root()]
    return "\n".join(lines)


def _as_root() -> str:
    if "ipykernel" in sys.modules:
        return 'sudo -E env "PATH=$PATH" jupyter lab --allow-root'
    words = getattr(sys, "orig_argv", None) or [sys.executable, *sys.argv]  # orig_argv: Python 3.10
    return "sudo -E " + " ".join(shlex.quote(word) for word in [sys.executable, *words[1:]])


def _has_capabilities(path) -> bool:
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def _paranoid_level() -> int:
    try:
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
            return int(f.read())
    except (OSError, ValueError):
        return 0
