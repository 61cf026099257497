# SPDX-License-Identifier: GPL-2.0-or-later
"""A service as gunicorn runs it: two worker processes, each of which compiles for itself.

usage: served.py SECONDS

Sends requests through a socket in its folder until each worker has used SECONDS of CPU.
"""
import http.client
import os
import socket
import subprocess
import sys
import threading
import time

import numpy as np
from numba import njit


@njit
def smooth(values, rounds):
    for _ in range(rounds):
        for i in range(1, values.size - 1):
            values[i] = (values[i - 1] + values[i] * 2.0 + values[i + 1]) / 4.0  # HOT served
    return values[1]


def app(environ, start_response):
    """The WSGI application: works, and replies with this worker's pid and CPU time."""
    before = time.process_time()
    while time.process_time() - before < 0.05:
        smooth(np.ones(1000), 50)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getpid()} {time.process_time()}".encode()]


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect("served.sock")


def ask(used, seconds):
    while len(used) < 2 or min(used.values()) < seconds:
        connection = Connection("localhost")
        connection.request("GET", "/")
        pid, cpu = connection.getresponse().read().split()
        used[int(pid)] = float(cpu)
        connection.close()


def main():
    seconds = float(sys.argv[1])
    argv = [sys.executable, "-m", "gunicorn", "--workers", "2", "--bind", "unix:served.sock",
            "--pythonpath", os.path.dirname(os.path.abspath(__file__)), "served:app"]
    used = {}
    with subprocess.Popen(argv) as server:
        while not os.path.exists("served.sock") and server.poll() is None:
            time.sleep(0.05)
        clients = [threading.Thread(target=ask, args=(used, seconds)) for _ in range(2)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        server.terminate()
    print(*used)


if __name__ == "__main__":
    main()
