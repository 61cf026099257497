# SPDX-License-Identifier: GPL-2.0-or-later
"""A server of the Model Context Protocol on standard input and output: what a profile shows.

usage: python -m lineburn.mcp [PROFILE]

PROFILE is the default of each tool's argument "profile"; without it, that is lineburn.pb.gz.
Answers are short text. What an answer leaves out, it says, with the argument that shows more.
Names and text are those of strangers, and an agent acts on what it reads: they stay within their row.
"""

import errno
import json
import os
import sys

from . import _binary, _extra, _listing
from ._binary import Error
from ._listing import visible
from ._profile import Profile

_VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")  # newest first
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32700, -32600, -32601, -32602
_MAX_ROWS = 1000
_MAX_WORD = 4096
_MAX_LINE_BYTES = 1 << 20

_PROFILE = {"type": "string", "description": "path of the profile (default: the server's)"}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": _MAX_ROWS, "description": "most rows of the answer"}


# ---- tools: keyword arguments in, text out ----

def _cut(rows, limit, what="rows") -> str:
    rows = list(rows)
    if len(rows) <= limit:
        return "\n".join(rows)
    return "\n".join(rows[:limit] + ["", "LEFT OUT: %d more %s; raise limit (now %d) to see them" % (
        len(rows) - limit, what, limit)])


def _head(profile) -> str:
    samples = profile.data["samples"]
    text = "%d samples, %.2f s of CPU" % (samples["count"], samples["cpu_ns"] / 1e9)
    if samples["count"]:
        text += ", %.1f %% with a source line" % _listing.share(samples, profile.data, "with_line")
    return text + "; self: CPU on the line and in called code without lines; total: the line is on the stack"


def hot_lines(profile, limit=20):
    opened = Profile(profile)
    lines = opened.lines
    rows = ["%5.1f %% self %5.1f %% total  %s:%d  %s  | %s" % (
        line.self_percent, line.total_percent, visible(line.file), line.line, visible(line.function),
        visible((line.text or "").strip())) for line in lines]
    rest = sum(line.self_percent for line in lines[limit:])
    return "\n".join([_head(opened), "", _cut(rows, limit, "lines (%.1f %% self together)" % rest)])


def source(profile, file, line, context=10):
    opened = Profile(profile)
    # As hot_lines shows it.
    paths = [found["path"] for found in opened.data["files"] if visible(found["path"]).endswith(file)]
    exact = [path for path in paths if ("/" + visible(path)).endswith("/" + file)] or paths
    if not exact:
        raise Error("no file of this profile ends in \"%s\"; hot_lines lists files" % file)
    path = exact[0]
    hot = {found.line: found for found in opened.lines if found.file == path}
    stored, numbers = _extra.Texts(profile), range(max(1, line - context), line + context + 1)
    texts = stored.lines(path, numbers)
    texts.update((number, found.text) for number, found in hot.items() if found.text is not None)
    rows = ["%s, lines %d to %d" % (visible(path), numbers[0], numbers[-1])]
    if len(exact) > 1:
        rows[0] += "; LEFT OUT: %d more files with this name: %s" % (
            len(exact) - 1, ", ".join(map(visible, exact[1:6])))
    for number in numbers:
        found = hot.get(number)
        if found or number in texts:
            rows.append("%s %6d  %s" % (
                "%5.1f %5.1f" % (found.self_percent, found.total_percent) if found else " " * 11, number,
                visible(texts.get(number, "(no text)"))))
    if len(rows) == 1:
        rows.append("the profile has neither samples nor text there; " + _where({*hot, *stored.ends(path)}))
    else:
        rows.insert(1, " self total   line")
    return "\n".join(rows)


def _where(known) -> str:
    return "it has lines from %d to %d" % (min(known), max(known)) if known else "it has no line of this file"


def callers(profile, what, limit=40):
    return _cut(_binary.run("report", "--callers=" + what, os.path.abspath(profile)).splitlines(), limit)


def report(profile, by=None, limit=40):
    choice = ["--by=" + by] if by else []
    return _cut(_binary.run("report", *choice, os.path.abspath(profile)).splitlines(), limit)


def diff(before, after, limit=60):
    if not _binary.has("diff"):
        raise Error("this lineburn has no command diff; install a newer one")
    return _cut(_binary.run("diff", os.path.abspath(before), os.path.abspath(after)).splitlines(), limit)


# name: (function, description, arguments: JSON schema, which of them are required)
TOOLS = {
    "hot_lines": (hot_lines, "The source lines that use most CPU time, hottest first.",
                  {"profile": _PROFILE, "limit": _LIMIT}, []),
    "source": (source, "The source around a line, with the share of CPU time (percent) of each line.",
               {"profile": _PROFILE, "file": {"type": "string", "description": "path, or its end"},
                "line": {"type": "integer", "minimum": 1},
                "context": {"type": "integer", "minimum": 0, "maximum": 200,
                            "description": "lines before and after (10)"}}, ["file", "line"]),
    "callers": (callers, "Who calls a function or a line, as a tree with shares of CPU time.",
                {"profile": _PROFILE, "what": {"type": "string", "description": "a function, or FILE:LINE"},
                 "limit": _LIMIT}, ["what"]),
    "report": (report, "The hottest functions; or CPU time by container, unit, pod, process, thread, comm, user, "
                       "cgroup, phase (import, compilation, the program itself) or another label.",
               {"profile": _PROFILE, "by": {"type": "string"}, "limit": _LIMIT}, []),
    "diff": (diff, "What changed from one profile to another, line by line, with significance.",
             {"before": {"type": "string"}, "after": {"type": "string"}, "limit": _LIMIT}, ["before", "after"]),
}


# ---- the protocol ----

def _is_word(text) -> bool:
    """Can a program get it as an argument?"""
    return 0 < len(text) <= _MAX_WORD and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text)


class _Refused(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def _check(arguments, properties, required):
    """Refuses arguments that the schema does not allow."""
    if not isinstance(arguments, dict):
        raise _Refused(_INVALID_PARAMS, "arguments must be an object")
    for name in required:
        if name not in arguments:
            raise _Refused(_INVALID_PARAMS, "the argument \"%s\" is missing" % name)
    for name, value in arguments.items():
        schema = properties.get(name)
        if schema is None:
            raise _Refused(_INVALID_PARAMS, "there is no argument \"%s\"" % name)
        kind = {"string": str, "integer": int}[schema["type"]]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise _Refused(_INVALID_PARAMS, "\"%s\" must be of type %s" % (name, schema["type"]))
        if kind is int and not schema.get("minimum", 0) <= value <= schema.get("maximum", 1 << 31):
            raise _Refused(_INVALID_PARAMS, "\"%s\" must be from %d to %d" % (
                name, schema.get("minimum", 0), schema.get("maximum", 1 << 31)))
        if kind is str and not _is_word(value):
            raise _Refused(_INVALID_PARAMS, "\"%s\" must be a text of 1 to %d characters" % (name, _MAX_WORD))



class Server:
    def __init__(self, profile):
        self._profile = profile

    def _initialize(self, params):
        wanted = params.get("protocolVersion")
        return {"protocolVersion": wanted if wanted in _VERSIONS else _VERSIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "lineburn", "version": _binary.run("--version").split()[-1]},
                "instructions": "Begin with hot_lines; then look at source around a line, and at its callers."}

    def _list(self, params):
        return {"tools": [{"name": name, "description": text, "inputSchema": {
            "type": "object", "properties": properties, "required": required}}
            for name, (_, text, properties, required) in TOOLS.items()]}

    def _call(self, params):
        name = params.get("name")
        if name not in TOOLS:
            raise _Refused(_INVALID_PARAMS, "there is no tool \"%s\"" % name)
        function, _, properties, required = TOOLS[name]
        arguments = params.get("arguments") or {}
        _check(arguments, properties, required)
        if "profile" in properties:
            arguments = {"profile": self._profile, **arguments}
        try:
            text, failed = function(**arguments), False
        except Error as e:
            text, failed = str(e), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}

    def answer(self, line):
        """Returns the answer to one message, or None: it needs none."""
        ident = None
        try:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                raise _Refused(_PARSE_ERROR, "this is not JSON") from None
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise _Refused(_INVALID_REQUEST, "this is no message of JSON-RPC 2.0")
            if "id" not in message or "method" not in message:
                return None  # a notification, or an answer to nothing
            ident = message["id"]
            methods = {"initialize": self._initialize, "ping": lambda params: {}, "tools/list": self._list,
                       "tools/call": self._call}
            params = message.get("params") or {}
            if not isinstance(message["method"], str) or message["method"] not in methods:
                raise _Refused(_NO_METHOD, "there is no method \"%s\"" % message["method"])
            if not isinstance(params, dict):
                raise _Refused(_INVALID_PARAMS, "params must be an object")
            return {"jsonrpc": "2.0", "id": ident, "result": methods[message["method"]](params)}
        except (_Refused, Error) as e:
            code = e.code if isinstance(e, _Refused) else -32603
            return {"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": str(e)}}


def _send(answer):
    """Returns None, or the status to end with: nobody can get the answers."""
    try:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    except OSError as e:
        # What is still in the buffer goes nowhere, or Python complains when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if e.errno == errno.EPIPE:
            return 0
        print("lineburn: cannot write an answer: %s" % e.strerror, file=sys.stderr)
        return 1
    return None


def main(arguments):
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    server = Server(arguments[0] if arguments else "lineburn.pb.gz")
    while True:
        line = sys.stdin.buffer.readline(_MAX_LINE_BYTES)
        if not line:
            return 0
        if not line.strip():
            continue
        answer = server.answer(line)
        status = None if answer is None else _send(answer)
        if status is not None:
            return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
