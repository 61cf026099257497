# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a recording has begun: then lineburn waits for events."""
import time


def records(pid):
    """As "records" of lib.sh. Matches whole names: other kernel functions contain "ep", too."""
    try:
        with open(f"/proc/{pid}/wchan", encoding="ascii") as f:
            waits_in = f.read()
    except OSError:
        return False
    return "ep_poll" in waits_in or "epoll_wait" in waits_in


def wait_until_it_records(pid):
    while not records(pid):
        time.sleep(0.02)
