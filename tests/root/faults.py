# SPDX-License-Identifier: GPL-2.0-or-later
"""Page faults, each of which is a sample: programs that touch pages on order, and recordings of them.
The program's first argument is lineburn."""
import contextlib
import os
import signal
import subprocess
import sys
import time

from records import records

LB = sys.argv[1]


class Target:
    """A running program that obeys orders."""

    def __init__(self, command, **how):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1, **how)
        self.pid = self.process.pid

    def do(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().split()
        if not said or said[0] != "done":
            raise RuntimeError(f"the program did not obey {order}")

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()


class Recording:
    def __init__(self, name, *options, through=()):
        """Records with @options; @through is a command that executes lineburn."""
        self.name = name
        self.path = name + ".pb.gz"
        self.process = subprocess.Popen(
            [*through, LB, "record", "-e", "page-faults", "-o", self.path, *options],
            stderr=subprocess.PIPE, text=True)
        while not records(self.process.pid):
            if self.process.poll() is not None:
                raise RuntimeError("lineburn ended: " + self.process.stderr.read())
            time.sleep(0.01)

    def signal(self, number):
        self.process.send_signal(number)

    def snapshot(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.signal(signal.SIGUSR1)
        while not os.path.exists(self.path) or not os.path.getsize(self.path):
            time.sleep(0.01)
        time.sleep(0.1)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        said = self.process.stderr.read()
        if self.process.wait():
            raise RuntimeError(f"lineburn ended with {self.process.returncode}: {said}")
        return said


def run(test, prefix):
    """Prints "ok NAME", "not ok NAME: reason" or "skip NAME: reason"; @test returns the reason of a skip."""
    name = prefix + test.__name__.replace("_", "-")
    try:
        skipped = test()
    except (AssertionError, RuntimeError, OSError, KeyError, subprocess.CalledProcessError) as error:
        print(f"not ok {name}: {error}".replace("\n", " "))
    else:
        print(f"skip {name}: {skipped}" if skipped else f"ok {name}")
    sys.stdout.flush()
