"""CPU of top beside that of record, both of the whole machine at 99 Hz: paired runs.

usage: top.py ROUNDS SECONDS LINEBURN HOT SHORTLIVED [PYTHON DITHER]

The machine runs HOT on each CPU but one, the Numba program DITHER on the last one, and 20 SHORTLIVED
a second. Prints Markdown.
"""

import os
import pty
import signal
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time
from fcntl import ioctl

TICKS = os.sysconf("SC_CLK_TCK")
SETTLE_SECONDS = 4  # loading, and the first names
SCREEN = struct.pack("HHHH", 50, 160, 0, 0)


def cpu_seconds(pid):
    """User and system time of the process with its threads, and of its descendants, ended or not."""
    pids = [pid]
    for each in pids:  # it grows meanwhile
        with open("/proc/%d/task/%d/children" % (each, each), encoding="ascii") as f:
            pids += [int(child) for child in f.read().split()]
    ticks = 0
    for each in pids:
        with open("/proc/%d/stat" % each, encoding="utf-8", errors="replace") as f:
            ticks += sum(int(field) for field in f.read().rpartition(")")[2].split()[11:15])
    return ticks / TICKS


def swallow(fd):
    try:
        while os.read(fd, 65536):
            pass
    except OSError:  # the other side of the terminal is closed
        pass


def percent(lineburn, options, seconds):
    """Returns the CPU of a run, in percent of one CPU."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, SCREEN)
    reader = threading.Thread(target=swallow, args=(ours,))
    reader.start()
    run = subprocess.Popen([lineburn] + options, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL,
                           env={**os.environ, "TERM": "xterm-256color"})
    os.close(theirs)
    time.sleep(SETTLE_SECONDS)
    begin, begin_s = cpu_seconds(run.pid), time.monotonic()
    time.sleep(seconds)
    used, took_s = cpu_seconds(run.pid) - begin, time.monotonic() - begin_s
    run.send_signal(signal.SIGINT)
    if run.wait(60):
        raise SystemExit("top: %s ended with status %d" % (" ".join(options), run.returncode))
    reader.join()
    os.close(ours)
    return 100 * used / took_s


def load(hot, shortlived, numba):
    """Starts what keeps the machine busy."""
    loops = [subprocess.Popen([hot, "100000000"], stdout=subprocess.DEVNULL)
             for _ in range(os.cpu_count() - (1 if numba else 0))]
    if numba:
        loops.append(subprocess.Popen(numba + ["slow", "1000000"], stdout=subprocess.DEVNULL))
    loops.append(subprocess.Popen(["sh", "-c", 'while "$1" >/dev/null; do sleep 0.05; done', "sh", shortlived]))
    return loops


def main():
    rounds, seconds = int(sys.argv[1]), int(sys.argv[2])
    lineburn, hot, shortlived = sys.argv[3:6]
    ways = {
        "`record -a`": ["record", "-a", "-F", "99", "-o", "top.pb.gz"],
        "`top -a`, on a terminal": ["top", "-a", "-F", "99"],
        "`top -a -b`": ["top", "-a", "-F", "99", "-b"],
    }
    runs = {way: [] for way in ways}
    loops = load(hot, shortlived, sys.argv[6:])
    try:
        for _ in range(rounds):
            for way, options in ways.items():
                runs[way].append(percent(lineburn, options, seconds))
    finally:
        for loop in loops:
            loop.kill()
    print("## The cost of top: the whole machine, 99 Hz, %d s\n" % seconds)
    print("CPU of lineburn in percent of one CPU: medians of %d paired runs, the smallest and the largest.\n" % rounds)
    print("| | CPU | more than record |")
    print("|---|---|---|")
    base = next(iter(runs.values()))
    for way, values in runs.items():
        more = [value - other for value, other in zip(values, base)]
        print("| %s | %.2f %% (%.2f to %.2f) | %s |" % (
            way, statistics.median(values), min(values), max(values),
            "" if values is base else "%.2f (%.2f to %.2f)" % (statistics.median(more), min(more), max(more))))


if __name__ == "__main__":
    main()
