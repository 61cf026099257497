# SPDX-License-Identifier: GPL-2.0-or-later
"""Has a recording begun? Then lineburn waits for what happens."""
import time


def records(pid):
    try:
        with open(f"/proc/{pid}/wchan", encoding="ascii") as f:
            return "ep" in f.read()  # ep_poll, epoll_wait
    except OSError:
        return False


def wait_until_it_records(pid):
    while not records(pid):
        time.sleep(0.02)
