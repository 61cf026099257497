# SPDX-License-Identifier: GPL-2.0-or-later
"""Stands in for "lineburn record" where nothing can be sampled: writes a profile of made-up samples.

package.py has the program that calls this, and the real lineburn for every other command.
STUB_SAMPLES: the samples, as JSON: [[file, function, line, samples, thread name], ...], at the end of each
  also its CPU time in ns, if that is not 1 ms a sample; or a file that has them when the recording ends
STUB_SAYS: only print these sentences, and end with the status STUB_STATUS
STUB_LOG: a file to which the arguments are written, as JSON
"""

import gzip
import json
import os
import signal
import sys


def varint(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def profile(samples):
    """A profile.proto with an empty lineburn.Extra, as lineburn writes it: two gzip members."""
    strings = [""]

    def number(text):
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    def value_type(kind, unit):
        return field(1, number(kind)) + field(2, number(unit))

    out = field(1, value_type("samples", "count")) + field(1, value_type("cpu", "nanoseconds"))
    for index, (path, function, line, count, comm, *cpu_ns) in enumerate(samples, 1):
        label = field(1, number("comm")) + field(2, number(comm))
        values = varint(count) + varint(cpu_ns[0] if cpu_ns else count * 1000000)
        out += field(2, field(1, index) + field(2, values) + field(3, label))
        out += field(4, field(1, index) + field(4, field(1, index) + field(2, line)))
        out += field(5, field(1, index) + field(2, number(function)) + field(4, number(path)))
    out += field(9, 1) + field(10, 2000000000) + field(11, value_type("cpu", "nanoseconds")) + field(12, 1000000)
    for text in strings:
        out += field(6, text)
    return gzip.compress(out) + gzip.compress(field(20001, field(1, 1)))


def write_profile(path, samples):
    with open(path, "wb") as f:
        f.write(profile(samples))
    return path


def record(arguments):
    if os.environ.get("STUB_LOG"):
        with open(os.environ["STUB_LOG"], "w", encoding="utf-8") as f:
            json.dump(arguments, f)
    if os.environ.get("STUB_SAYS"):
        print(os.environ["STUB_SAYS"], file=sys.stderr)
        sys.exit(int(os.environ["STUB_STATUS"]))
    # Blocked, so that one which comes before sigwait() is not lost.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    ready = int(arguments[arguments.index("--ready-fd") + 1])
    os.write(ready, b"ready\n")
    os.close(ready)
    signal.sigwait([signal.SIGTERM])
    samples = os.environ["STUB_SAMPLES"]
    if os.path.exists(samples):
        with open(samples, encoding="utf-8") as f:
            samples = f.read()
    write_profile(arguments[arguments.index("-o") + 1], json.loads(samples))


if __name__ == "__main__":
    record(sys.argv[1:])
