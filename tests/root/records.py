# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a recording has begun, when lineburn waits for events; and whether a target has run since then."""
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


def used_ms(pid):
    """As "used_ms" of lib.sh."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0]) // 1000000


def wait_until_it_worked(pid, ms):
    """As "works" of lib.sh: until its first thread has used that much more CPU time."""
    enough_ms = used_ms(pid) + ms
    while used_ms(pid) < enough_ms:
        time.sleep(0.005)
