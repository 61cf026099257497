"""What diff says of pairs of real recordings.

usage: diff-pairs.py PAIRS SLOWER_PAIRS ROUNDS LINEBURN HOT SLOWER_HOT OLD=NEW

HOT has three lines; SLOWER_HOT does 10 % more work on the second of them. OLD=NEW: where the source
of HOT is, and that of SLOWER_HOT. Each recording is of ROUNDS of 0.1 s, at 999 Hz. Prints Markdown.
"""

import json
import os
import subprocess
import sys

SIDES = 5  # recordings of a side, where there are several
SLOWER_LINE = "STEP(x, i ^ 3)"


def record(lineburn, program, rounds, name):
    subprocess.run([lineburn, "run", "-F", "999", "-o", name, "--", program, rounds], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return name


def diff(lineburn, options, before, after):
    run = subprocess.run([lineburn, "diff", "--json", *options, *before, "--after", *after], check=True,
                         stdout=subprocess.PIPE)
    return json.loads(run.stdout)


def has_alarm(d):
    # Compared by samples, there is no whole that could differ.
    return bool((d["whole"] and d["whole"]["significant"]) or d["significant_lines"] or d["significant_functions"])


def finds(d):
    """Is the slower line the first of those that differ, and did it grow?"""
    first = d["lines"][0] if d["significant_lines"] else None
    return bool(first) and SLOWER_LINE in first["text"]["after"] and first["self"]["difference"] > 0


def in_groups(names, size):
    return [names[i:i + size] for i in range(0, len(names) - size + 1, size)]


def main():
    nr_pairs, nr_slower, rounds = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    lineburn, hot, slower, moved = sys.argv[4:8]
    equal, slow = [], []
    for i in range(nr_pairs):
        equal.append((record(lineburn, hot, rounds, "a%d.pb.gz" % i), record(lineburn, hot, rounds, "b%d.pb.gz" % i)))
        if i < nr_slower:
            slow.append(record(lineburn, slower, rounds, "s%d.pb.gz" % i))
    ways = {"per run": [], "per sample (shares)": ["--per", "sample"]}
    print("## Pairs of recordings of one program, %g s at 999 Hz\n" % (int(rounds) / 10))
    print("| compared | recordings of a side | equal programs: alarms | a line 10 % slower: found first |")
    print("|---|---|---|---|")
    for way, options in ways.items():
        for size in (1, SIDES):
            sides = list(zip(in_groups([a for a, _ in equal], size), in_groups([b for _, b in equal], size)))
            alarms = [has_alarm(diff(lineburn, options, a, b)) for a, b in sides]
            found = [finds(diff(lineburn, options + ["--moved", moved], a, s))
                     for (a, _), s in zip(sides, in_groups(slow, size))]
            print("| %s | %d | %d of %d | %d of %d |" % (
                way, size, sum(alarms), len(alarms), sum(found), len(found)), flush=True)
    for name in os.listdir("."):
        if name.endswith(".pb.gz"):
            os.unlink(name)


if __name__ == "__main__":
    main()
