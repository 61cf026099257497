"""Starts a viewer, and says what rights it has while it waits for its input or output.

usage: rights.py reading|writing UID OUTPUT COMMAND ARG...

reading: stdin is a pipe that stays open until the rights are known; then it gets the profile $INPUT.
writing: stdout is a full pipe, which is emptied once the rights are known.
Fails unless the process, its group and file-system ids are UID ("own": any that no account has), and it has
no groups, no capabilities, and no_new_privs. OUTPUT gets what it writes to stdout.
"""
import fcntl
import os
import subprocess
import sys
import threading
import time

FIRST_OWN_ID = 2013265920


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def wait_in_pipe(viewer):
    for _ in range(3000):
        if viewer.poll() is not None:
            sys.exit(f"it has ended with status {viewer.returncode}")
        with open(f"/proc/{viewer.pid}/wchan", encoding="ascii") as f:
            if "pipe" in f.read():
                return
        time.sleep(0.01)
    sys.exit("it waits for no pipe")


def judge(pid, uid):
    status = status_of(pid)
    ids = set(status["Uid"].split() + status["Gid"].split())
    wanted = len(ids) == 1 and (int(next(iter(ids))) >= FIRST_OWN_ID if uid == "own" else ids == {uid})
    if not wanted:
        return f"Uid {status['Uid']}, Gid {status['Gid']}"
    if status["Groups"].strip():
        return f"groups {status['Groups']}"
    for name in "CapInh", "CapPrm", "CapEff", "CapAmb":
        if int(status[name], 16):
            return f"{name} {status[name]}"
    return "" if status["NoNewPrivs"] == "1" else "it may have new privileges"


def full_pipe():
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(write, False)
    filled = 0
    try:
        while True:
            filled += os.write(write, b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(write, True)
    return read, write, filled


def main():
    how, uid, output, *command = sys.argv[1:]
    read, write, filled = full_pipe() if how == "writing" else (*os.pipe(), 0)
    viewer = subprocess.Popen(command, stdin=subprocess.PIPE if how == "reading" else subprocess.DEVNULL, stdout=write)
    os.close(write)
    wait_in_pipe(viewer)
    wrong = judge(viewer.pid, uid)
    if how == "reading":
        with open(os.environ["INPUT"], "rb") as f:
            threading.Thread(target=viewer.communicate, args=(f.read(),)).start()
    with open(read, "rb") as f, open(output, "wb") as out:
        out.write(f.read()[filled:])
    if viewer.wait():
        sys.exit(f"status {viewer.returncode}")
    sys.exit(wrong or 0)


main()
