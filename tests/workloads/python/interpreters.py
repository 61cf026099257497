# SPDX-License-Identifier: GPL-2.0-or-later
"""A second interpreter in a thread of its own. CPython 3.12 and later.

usage: interpreters.py SECONDS TRUTH.json
"""
import os
import sys
import threading
import time

from clocked import spin, timed, used, write_truth

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

here = os.path.abspath(__file__)
end = time.process_time() + float(sys.argv[1])
spent_out, spent_in = os.pipe()
CODE = f"""
import os, sys, time
sys.path.insert(0, {os.path.dirname(here)!r})
import clocked
begin = time.thread_time()
clocked.spin(8000000)
os.write({spent_in}, str(time.thread_time() - begin).encode())
"""


def other():
    number = interpreters.create()
    interpreters.run_string(number, CODE)  # HOT other
    interpreters.destroy(number)


thread = threading.Thread(target=other)
thread.start()
while time.process_time() < end:
    timed(spin, 30000)  # HOT main
thread.join()
# Both interpreters spend their time on this line.
used[f"clocked.py:{spin.__code__.co_firstlineno + 2}"] = sum(used.values()) + float(os.read(spent_out, 64))
write_truth(sys.argv[2])
