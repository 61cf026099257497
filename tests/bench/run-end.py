"""Time from the end of run's command to its listing: medians of paired runs, and the file's size.

usage: run-end.py ROUNDS LINEBURN[,OTHER] NAME COMMAND... [-- NAME COMMAND...]

Each round runs every program once under each lineburn, one after the other. The listing goes to a
pipe. Prints Markdown.
"""

import os
import statistics
import subprocess
import sys
import time

# The command's end is what date prints after it: 1 or 2 ms late.
SHELL = ["sh", "-c", '"$@" >/dev/null; date +%s%N >end.ns', "sh"]


def once(lineburn, command):
    """Returns ms to the first byte of the listing, ms to the end of lineburn, and the file's bytes."""
    run = subprocess.Popen([lineburn, "run", "-F", "999", "-o", "end.pb.gz", "--", *SHELL, *command],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    first = run.stdout.read(1)
    first_ns = time.time_ns()
    run.stdout.read()
    status = run.wait()
    last_ns = time.time_ns()
    if status or not first:
        raise SystemExit("run-end: %s run: status %d, %s" % (lineburn, status, "a listing" if first else "no listing"))
    with open("end.ns", encoding="ascii") as f:
        end_ns = int(f.read())
    return (first_ns - end_ns) / 1e6, (last_ns - end_ns) / 1e6, os.path.getsize("end.pb.gz")


def spread(values, form):
    return "%s (%s to %s)" % tuple(form % value for value in
                                   (statistics.median(values), min(values), max(values)))


def main():
    rounds, lineburns = int(sys.argv[1]), sys.argv[2].split(",")
    programs, rest = {}, sys.argv[3:]
    while rest:
        end = rest.index("--") if "--" in rest else len(rest)
        programs[rest[0]] = rest[1:end]
        rest = rest[end + 1:]
    print("## The end of run: 5 s at 999 Hz\n")
    print("Medians of %d paired runs, the smallest and the largest.\n" % rounds)
    print("| program | lineburn | to the listing | to the end of lineburn | file |")
    print("|---|---|---|---|---|")
    for name, command in programs.items():
        runs = [[once(lineburn, command) for lineburn in lineburns] for _ in range(rounds)]
        for i, lineburn in enumerate(lineburns):
            listing, end, size = zip(*(run[i] for run in runs))
            print("| %s | %s | %s ms | %s ms | %s KB |" % (
                name, "this one" if not i else lineburn, spread(listing, "%.0f"), spread(end, "%.0f"),
                spread([value / 1000 for value in size], "%.1f")), flush=True)


if __name__ == "__main__":
    main()
