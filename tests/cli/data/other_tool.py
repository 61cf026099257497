"""Writes a profile as another tool would: a function with one sample for each line.

usage: other_tool.py OUT [source=PATH] [lines=N,...] [default=TYPE] [time=SECONDS] TYPE/UNIT=VALUE,...
The sample at each of the lines (0: not known) has the value of each type that is at its place.
"""
import gzip
import sys

from naming import number, part, varint


def main():
    out, options, types = sys.argv[1], {"source": "/app/work.c", "lines": "1,2"}, []
    for key, value in (argument.rsplit("=", 1) for argument in sys.argv[2:]):
        if "/" in key:
            types.append((key.split("/"), [int(v) for v in value.split(",") if v]))
        else:
            options[key] = value
    strings = [""]

    def string(text):
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    profile = b""
    for (name, unit), _ in types:
        profile += part(1, number(1, string(name)) + number(2, string(unit)))
    for i, line in enumerate(options["lines"].split(",")):
        values = [column[i] % 2**64 for _, column in types if i < len(column)]
        if not values:
            continue
        profile += part(2, part(1, varint(i + 1)) + part(2, b"".join(map(varint, values))))
        profile += part(4, number(1, i + 1) + part(4, number(1, i + 1) + number(2, int(line))))
        profile += part(5, number(1, i + 1) + number(2, string(f"work{i}"))
                        + number(4, string(options["source"])))
    if "time" in options:
        profile += number(9, int(options["time"]) * 10**9)
    if "default" in options:
        profile += number(14, string(options["default"]))
    for text in strings:
        profile += part(6, text.encode())
    with open(out, "wb") as f:
        f.write(gzip.compress(profile, mtime=0))


if __name__ == "__main__":
    main()
