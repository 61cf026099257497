# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks conditions about the JSON of a profile.

usage: profile.py WORKLOADS JSON EXPRESSION...

Each expression must be true; prints the first values that each one used. Lines are named by the marker
in their source: "hot.c five" is the line of hot.c with "HOT five", "hot.py =x + 1" the first line of
hot.py with "x + 1".
"""
import json
import os
import sys

workloads, json_path = sys.argv[1:3]
with open(json_path, encoding="ascii") as f:
    d = json.load(f)
s = d["samples"]
losses = d["losses"] or {}
seen = []


def note(what, value):
    seen.append(f"{what} = {value:.4g}" if isinstance(value, float) else f"{what} = {value}")
    return value


def percent(n):
    return 100 * n / s["count"] if s["count"] else 0.0


def find_line(marker):
    """(file name, line number) of the marked line."""
    name, _, word = marker.partition(" ")
    if ":" in name:
        name, _, number = name.partition(":")
        return name, int(number)
    path = next(path for path in (os.path.join(workloads, folder, name)
                                  for folder in ("", "python", "unwind", "attacks")) if os.path.exists(path))
    with open(path, encoding="utf-8") as source:
        for number, text in enumerate(source, 1):
            if (word[1:] in text if word.startswith("=") else
                    text.rstrip(" */\n").endswith("HOT " + word)):
                return name, number
    raise SystemExit(f"no line is marked {marker}")


def counts(marker, member):
    name, number = find_line(marker)
    return sum(line[member] for file in d["files"] if os.path.basename(file["path"]) == name
               for line in file["lines"] if line["line"] == number)


def share(marker, member):
    """Percent of all CPU time; samples are weighted by their period."""
    ns = counts(marker, member + "_cpu_ns")
    return 100 * ns / s["cpu_ns"] if s["cpu_ns"] else 0.0


def self_(marker):
    """Percent of all CPU time."""
    return note(f"self({marker})", share(marker, "self"))


def total(marker):
    return note(f"total({marker})", share(marker, "total"))


def no_code(marker):
    """Whether the line is marked as one without machine code; None: it is not listed."""
    name, number = find_line(marker)
    listed = [line["no_code"] for file in d["files"] if os.path.basename(file["path"]) == name
              for line in file["lines"] if line["line"] == number]
    return note(f"no_code({marker})", listed[0] if listed else None)


def function(name, member="self"):
    return note(f"function({name})",
                percent(sum(f[member] for f in d["functions"] if f["name"] == name)))


def file_self(base):
    """Percent of all samples that are on lines of a file."""
    return note(f"file_self({base})",
                percent(sum(f["self"] for f in d["files"] if os.path.basename(f["path"]) == base)))


def hottest():
    """The hottest line as "file:line"."""
    lines = [(line["self"], f"{os.path.basename(file['path'])}:{line['line']}")
             for file in d["files"] for line in file["lines"]]
    return note("hottest", max(lines)[1] if lines else "none")


def hottest_function():
    functions = [(f["self"], f["name"]) for f in d["functions"]]
    return note("hottest function", max(functions)[1] if functions else "none")


def functions_of(start):
    """Names of functions that begin with @start and have samples of their own."""
    return note(f"functions_of({start})", {f["name"] for f in d["functions"] if f["name"].startswith(start) and f["self"]})


def is_at(marker):
    return "{}:{}".format(*find_line(marker))


def in_order(base, *words):
    """Whether the file's hottest lines contain these words, in this order."""
    lines = sorted(((line["self"], line["text"] or "") for file in d["files"] if os.path.basename(file["path"]) == base
                    for line in file["lines"]), reverse=True)
    note("lines", lines[:len(words)])
    return len(lines) >= len(words) and all(word in text and n for word, (n, text) in zip(words, lines))


def remedy(reason):
    return note(f"remedy({reason})",
                "; ".join(m["remedy"] or "" for m in d["misses"] if m["reason"] == reason))


def jit_functions():
    """Names of functions of JIT code."""
    return note("jit functions", [f["name"] for f in d["functions"] if f["object"] == "[jit]"])


def walked(*statuses):
    """Samples whose stacks have one of these statuses."""
    return note(f"{' or '.join(statuses)}", sum(d["stacks"][status] for status in statuses))


def near(value, expected, tolerance):
    return abs(value - expected) <= tolerance


def miss(*reasons):
    """Percent of all samples that have no line, for one of these reasons."""
    return note(f"miss{reasons}",
                percent(sum(m["samples"] for m in d["misses"] if m["reason"] in reasons)))


def jit_without_lines():
    """Percent of all samples charged to a line that calls JIT code without lines."""
    return note("jit_without_lines", percent(s["jit_without_lines"]))


def jit_unknown():
    """Percent of all samples charged to a line that calls unknown JIT code."""
    return note("jit_unknown", percent(s["jit_unknown"]))


def sums_close():
    """The sums add up, and no worker died."""
    return adds_up() and note("workers that died", losses["decoder_deaths"]) == 0


def adds_up():
    """No sample is counted twice or dropped without being counted."""
    parts = s["with_line"] + s["function_only"] + s["unknown"]
    lines = sum(line["self"] for file in d["files"] for line in file["lines"])
    # "functions" may be cut short; "files" is not.
    return (note("with_line + function_only + unknown", parts) == note("count", s["count"])
            and note("count + lost", s["count"] + s["lost"]) == note("sampled", losses["sampled"])
            and note("self of all lines", lines) == note("with_line", s["with_line"])
            and note("processes", sum(p["samples"] for p in d["processes"])) == s["count"]
            and note("misses", sum(m["samples"] for m in d["misses"])) == s["function_only"] + s["unknown"])


said = []
for expression in sys.argv[3:]:
    seen.clear()
    if not eval(expression):  # pylint: disable=eval-used # our own scripts' words
        raise SystemExit(f"{expression}: {', '.join(seen)}; count = {s['count']}")
    said += seen[:2]
print(", ".join(said))
