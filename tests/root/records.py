# SPDX-License-Identifier: GPL-2.0-or-later
"""Has a recording begun? Then lineburn waits for what happens."""
import time


def records(pid):
    """As "records" of lib.sh. Other functions of the kernel, too, have "ep" in their names."""
    try:
        with open(f"/proc/{pid}/wchan", encoding="ascii") as f:
            waits_in = f.read()
    except OSError:
        return False
    return "ep_poll" in waits_in or "epoll_wait" in waits_in


def wait_until_it_records(pid):
    while not records(pid):
        time.sleep(0.02)
