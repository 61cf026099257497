# SPDX-License-Identifier: GPL-2.0-or-later
"""Views a stranger's profile that names a secret, a FIFO, devices, files of /proc and one of 100 GB: with each viewer,
also with --sources, which opens what is named. None uses more than 1.2 GB.

usage: viewers.py LINEBURN NAMING [SECONDS]   (in an empty folder; SECONDS: most time for each)
NAMING: tests/cli/data/naming.py. Prints the largest memory and the longest time.
"""
import os
import resource
import subprocess
import sys
import time

MOST_MB = 1200


def main():
    lineburn, naming = sys.argv[1:3]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else None
    with open("secret.c", "w", encoding="ascii") as f:
        f.write("int only_root_may_read_this;\n")
    os.chmod("secret.c", 0o600)
    os.mkfifo("fifo.c", 0o666)
    with open("huge.c", "wb") as f:
        f.truncate(100 << 30)
    os.chmod("huge.c", 0o644)
    named = [os.path.abspath(name) for name in ("secret.c", "fifo.c", "huge.c")]
    subprocess.run(["python3", naming, "named.made.gz", *named, "/dev/zero", "/dev/kmsg", "/dev/full", "/proc/kmsg",
                    "/proc/kcore", "/sys/kernel/debug/tracing/trace_pipe"], check=True)
    os.chown("named.made.gz", 65534, 65534)
    longest = 0, ""
    for command in ("annotate --json", "annotate --no-pager", "report", "html -o named.html", "diff named.made.gz",
                    "export -f folded"):
        for asked in ([], ["--sources"]):
            if asked and command.split()[0] in ("report", "diff", "export"):
                continue
            words = [lineburn, *command.split(), *asked, "named.made.gz"]
            begin = time.monotonic()
            done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300, check=False)
            longest = max(longest, (time.monotonic() - begin, " ".join(words[1:])))
            if done.returncode:
                sys.exit(f"{' '.join(words[1:])}: status {done.returncode}: {done.stderr.decode()}")
    # Of the largest one.
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"{peak_mb} MB, {longest[0]:.2f} s ({longest[1]})")
    sys.exit(peak_mb > MOST_MB or (seconds is not None and longest[0] > seconds))


main()
