# SPDX-License-Identifier: GPL-2.0-or-later
"""Percentage of the samples of a perf.data whose outermost frame is the start of the thread.

usage: perf_whole.py PERF_DATA

Uses "perf report": "perf script" 6.1 aborts on newer kernels.
"""
import re
import subprocess
import sys

# For each kind of thread, the names of its outermost frames; one stack may have several of them.
ENTRIES = (
    ("_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_main@@GLIBC_2.34",
     "__libc_start_call_main", "runtime.rt0_go.abi0", "_rt0_amd64_linux"),
    ("clone3", "__clone3", "__clone", "clone", "start_thread"),
    ("runtime.goexit.abi0", "runtime.goexit"),
    ("runtime.mstart", "runtime.mcall"),
)

report = subprocess.run(
    ["perf", "report", "--stdio", "--children", "-g", "none", "--no-inline", "-F", "overhead_children,sym",
     "-i", sys.argv[1]],
    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", errors="replace", check=False)
share = {}
for line in report.stdout.split("\n"):
    found = re.match(r"\s*([0-9.]+)%\s+\[.\] (\S+)", line)
    if found:
        share[found[2]] = max(share.get(found[2], 0.0), float(found[1]))
if not share:
    sys.exit("perf report says nothing")
print(f"{min(100.0, sum(max(share.get(name, 0.0) for name in names) for names in ENTRIES)):.1f} %")
