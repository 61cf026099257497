"""Writes a profile as Pyroscope's query for a merged profile answers: not gzipped, without addresses.

usage: pyroscope.py OUT
There is one type of values, and a period of 1 s whatever the rate was. The mapping has no range, and JSON in
place of its build id. Ids have gaps. A location has no mapping, one has an inlined call, and one has no
function. Labels have gone.
"""
import json
import sys

from naming import number, part, varint

BUILD_ID = json.dumps({"repository": "https://git.example/app", "git_ref": "8d1f", "build_id": "", "root_path": "src"})
FUNCTIONS = [("main", "/app/main.c", 3), ("square", "/app/math.h", 1), ("work", "/app/main.c", 20), ("[libz.so.1]", "", 0)]
# id, mapping, (function, line) from the innermost on
LOCATIONS = [(3, 1, [(1, 5)]), (7, 1, [(2, 2), (3, 21)]), (8, 0, [(3, 24)]), (12, 1, [(4, 0)]), (13, 1, [])]
# locations from the leaf on, nanoseconds
SAMPLES = [([7, 3], 60), ([8, 3], 25), ([12, 8, 3], 10), ([13], 5)]


def main():
    strings = [""]

    def string(text):
        if text not in strings:
            strings.append(text)
        return number(0, strings.index(text))[1:]

    def text_field(field, text):
        return varint(field << 3) + string(text)

    def value_type(kind, unit):
        return text_field(1, kind) + text_field(2, unit)

    profile = part(1, value_type("cpu", "nanoseconds"))
    for locations, milliseconds in SAMPLES:
        profile += part(2, part(1, b"".join(map(varint, locations))) + part(2, varint(milliseconds * 10**6)))
    profile += part(3, number(1, 1) + text_field(5, "app") + text_field(6, BUILD_ID) + number(7, 1) + number(8, 1) + number(9, 1))
    for location, mapping, lines in LOCATIONS:
        profile += part(4, number(1, location) + number(2, mapping) + b"".join(
            part(4, number(1, function) + number(2, line)) for function, line in lines))
    for i, (name, file, start) in enumerate(FUNCTIONS, 1):
        profile += part(5, number(1, i) + text_field(2, name) + text_field(3, name) + text_field(4, file) + number(5, start))
    profile += number(9, 1700000000 * 10**9) + number(10, 15 * 10**9)
    profile += part(11, value_type("cpu", "nanoseconds")) + number(12, 10**9)
    for text in strings:
        profile += part(6, text.encode())
    with open(sys.argv[1], "wb") as f:
        f.write(profile)


if __name__ == "__main__":
    main()
