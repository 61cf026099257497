# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests for "pytest --lineburn"; each has a hot line of its own. SLOWER: how much more CPU test_squares uses."""
import os
import threading
import time


def test_squares():
    before = time.process_time()
    total = 0
    while time.process_time() - before < 0.5 * float(os.environ.get("SLOWER", "1")):
        for i in range(2000):
            total += i * i % 7 + i * i % 5  # HOT test_squares
    assert total


def test_cubes():
    before = time.process_time()
    total = 0
    while time.process_time() - before < 0.5:
        for i in range(2000):
            total += i * i * i % 7 + i * i * i  # HOT test_cubes
    assert total


def spin():
    before = time.thread_time()
    total = 0
    while time.thread_time() - before < 0.5:
        for i in range(2000):
            total += i % 7 + i * i * i * i  # HOT test_in_thread


def test_in_thread():
    thread = threading.Thread(target=spin)
    thread.start()
    thread.join()


def test_idle():
    time.sleep(0.01)
