# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the cells of a notebook in a kernel that Jupyter starts.

usage: notebook.py SECONDS
"""
import sys

from jupyter_client.manager import start_new_kernel

CELLS = [
    """import time
import numpy as np
from numba import njit

@njit
def wave(values, rounds):
    for _ in range(rounds):
        for i in range(1, values.size):
            values[i] = values[i - 1] * 0.999 + values[i] * 0.001  # line 9
    return values[-1]
""",
    """before = time.process_time()
while time.process_time() - before < %s:
    wave(np.ones(1000), 500)
print(wave.py_func.__code__.co_filename)
""",
]


def show(message):
    if message["msg_type"] == "stream":
        sys.stdout.write(message["content"]["text"])
    elif message["msg_type"] == "error":
        sys.exit("\n".join(message["content"]["traceback"]))


manager, client = start_new_kernel()
client.execute_interactive(CELLS[0], output_hook=show)
client.execute_interactive(CELLS[1] % float(sys.argv[1]), output_hook=show)
client.stop_channels()
manager.shutdown_kernel()
