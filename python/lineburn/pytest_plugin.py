# SPDX-License-Identifier: GPL-2.0-or-later
"""pytest --lineburn: the CPU time of each test by source line, and what changed since a baseline.

One recording covers all tests. While a test runs, the threads of its process have the test's name
(thread_name_of()), which the kernel notes with each sample. So a test costs two writes for each
thread, and "lineburn annotate --comm NAME" lists one test. Workers of pytest-xdist are children of
the process that records, and name their own threads.
"""

import errno
import hashlib
import json
import os
import stat
import threading

import pytest

from . import _binary, _extra
from ._binary import Error
from ._listing import visible
from ._numba import numba_lines
from ._profile import profile

_FREQUENCY = 999
_OUTPUT = "lineburn.pb.gz"
_MAX_TESTS = 10
_MAX_LINES = 3
_MIN_PERCENT = 5
_ALARMS = 0.05  # how often a session without changes may report one
_THREADS = "/proc/self/task"


def thread_name_of(nodeid) -> str:
    """The same in each session, and as long as a thread's name may be: 15 bytes."""
    return "test-" + hashlib.sha256(nodeid.encode(errors="replace")).hexdigest()[:10]



def pytest_addoption(parser):
    group = parser.getgroup("lineburn", "CPU time by source line")
    group.addoption("--lineburn", action="store_true", help="profile each test, and list its hot lines")
    group.addoption("--lineburn-frequency", type=int, default=_FREQUENCY, metavar="HZ",
                    help="samples a second (default %d)" % _FREQUENCY)
    group.addoption("--lineburn-output", default=_OUTPUT, metavar="FILE",
                    help="where to write the profile (default %s)" % _OUTPUT)
    group.addoption("--lineburn-baseline", metavar="DIR",
                    help="compare with the profile in DIR; if there is none, store this one there")
    group.addoption("--lineburn-update", action="store_true", help="replace the profile in the baseline's DIR")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    # Before a conftest.py imports numba.
    if early_config.known_args_namespace.lineburn:
        numba_lines()


def pytest_configure(config):
    if not config.getoption("lineburn"):
        return
    config.pluginmanager.register(_NamesThreads(), "lineburn-threads")
    if not hasattr(config, "workerinput"):  # a worker of pytest-xdist has it
        config.pluginmanager.register(_Session(config), "lineburn-session")


# ---- in the process that runs the test ----

def _read_name(tid):
    try:
        with open("%s/%s/comm" % (_THREADS, tid), "rb") as f:
            return f.read().rstrip(b"\n")
    except OSError:  # the thread has ended
        return None


def _write_name(tid, name):
    try:
        with open("%s/%s/comm" % (_THREADS, tid), "wb") as f:
            f.write(name)
    except OSError:
        pass


class _NamesThreads:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        name = thread_name_of(item.nodeid).encode()
        before = {tid: _read_name(tid) for tid in os.listdir(_THREADS)}
        for tid in before:
            _write_name(tid, name)
        # New threads have the name of the thread that starts them, but since Python 3.14 one of their own.
        set_name = getattr(threading, "_set_name", None)
        if set_name:
            threading._set_name = None
        yield
        if set_name:
            threading._set_name = set_name
        # Threads that the test started, and left, get the name that they would have had.
        usual = before.get(str(os.getpid())) or b"python"
        for tid in os.listdir(_THREADS):
            if _read_name(tid) == name:
                _write_name(tid, before.get(tid) or usual)


# ---- in the process that records ----

class _Session:
    def __init__(self, config):
        self._output = os.path.abspath(config.getoption("lineburn_output"))
        self._frequency = config.getoption("lineburn_frequency")
        folder = config.getoption("lineburn_baseline")
        self._baseline = os.path.join(os.path.abspath(folder), "baseline.pb.gz") if folder else None
        self._update = config.getoption("lineburn_update")
        if self._update and not folder:
            raise pytest.UsageError("--lineburn-update goes with --lineburn-baseline")
        self._nodeids = {}  # by the name of the threads
        self._profile = self._problem = None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session):
        if session.config.option.collectonly:
            yield
            return
        recorded = profile(self._frequency, self._output, show=False)
        try:
            recorded.start()
        except Error as e:
            raise pytest.UsageError("lineburn: %s" % e) from None
        yield
        try:
            recorded.stop()
            self._profile = recorded
        except Error as e:
            self._problem = str(e)

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            self._nodeids[thread_name_of(report.nodeid)] = report.nodeid

    def pytest_terminal_summary(self, terminalreporter):
        if not self._profile and not self._problem:
            return
        terminalreporter.section("lineburn")
        for line in self._summary():
            terminalreporter.write_line(line)

    def _summary(self):
        if self._problem:
            yield self._problem
            return
        try:
            tests = self._tests()
            yield from self._hot_lines(tests)
            if self._baseline:
                yield from self._against_baseline(tests)
        except Error as e:
            yield str(e)

    def _tests(self):
        """(thread name, CPU seconds) of the tests with samples, those with most CPU time first."""
        groups = json.loads(_binary.run("report", "--json", "--by", "comm", self._output))["groups"]
        return [(group["key"], group["cpu_ns"] / 1e9) for group in groups if group["key"] in self._nodeids]

    def _hot_lines(self, tests):
        yield "%.2f s of CPU in %d of %d tests, sampled %d times a second; written to %s" % (
            sum(seconds for _, seconds in tests), len(tests), len(self._nodeids), self._frequency, self._output)
        for name, seconds in tests[:_MAX_TESTS]:
            yield "%7.2f s  %s   (lineburn annotate --comm %s)" % (seconds, self._nodeids[name], name)
            yield from _hottest(self._output, name)
        if len(tests) > _MAX_TESTS:
            yield "  %d more tests have less CPU time" % (len(tests) - _MAX_TESTS)

    def _against_baseline(self, tests):
        # A link is a baseline also while it leads nowhere: somebody made it, perhaps to a disk that is away.
        if self._update or not os.path.lexists(self._baseline):
            _store(self._output, self._baseline)
            yield "stored as the baseline: %s" % self._baseline
            return
        if not os.path.exists(self._baseline):
            raise Error("not compared: %s is a link that leads to no file; --lineburn-update replaces it" % (
                self._baseline))
        if not _binary.has("diff"):
            yield "not compared with the baseline: this lineburn has no command diff; install a newer one"
            return
        nr_changed = 0
        for name, _ in tests:
            lines = list(_changes(self._baseline, self._output, name, _ALARMS / len(tests)))
            if lines:
                nr_changed += 1
                yield "%s:" % self._nodeids[name]
                yield from lines
        yield "compared with %s: %d of %d tests changed" % (self._baseline, nr_changed, len(tests))


def _recording(path):
    """Reads what was recorded, and nothing else: others may write to its folder, and put a link or a pipe there."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as f:
            if stat.S_ISREG(os.fstat(f.fileno()).st_mode):
                return f.read()
    except OSError as e:
        if e.errno != errno.ELOOP:
            raise Error("cannot read %s: %s" % (path, e.strerror)) from None
    raise Error("no baseline is stored: a link or a pipe took the place of the recording %s; choose a folder that only "
                "you may write to with --lineburn-output" % path)


def _store(output, baseline):
    recording, folder = _recording(output), os.path.dirname(baseline)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as e:
        raise Error("cannot make the folder %s: %s; choose another one with --lineburn-baseline" % (
            folder, e.strerror)) from None
    _extra.write(baseline, recording)


def _place(file, line) -> str:
    return "%s:%s" % (visible(os.path.relpath(file) if os.path.isabs(file) else file), line)


def _hottest(path, name):
    data = json.loads(_binary.run("annotate", "--json", "--comm", name, path))
    whole = data["samples"]["cpu_ns"] or 1
    lines = [(100 * line["self_cpu_ns"] / whole, file["path"], line) for file in data["files"] for line in file["lines"]]
    lines.sort(key=lambda item: (-item[0], item[1], item[2]["line"]))
    for share, file, line in lines[:_MAX_LINES]:
        if share >= _MIN_PERCENT:
            text = visible((line["text"] or line["function"]).strip())
            yield "    %5.1f %%  %s  %s" % (share, _place(file, line["line"]), text)


def _changes(before, after, name, alarms):
    """Describes what of a test changed: its CPU time as a whole, then lines."""
    try:
        data = json.loads(_binary.run("diff", "--format", "json", "--per", "run", "--comm", name, before, after))
    except Error as e:
        if e.status == _binary.EXIT_NOTHING:
            yield "    is not in the baseline"
        else:
            yield "    not compared: %s" % e
        return
    whole = data["whole"]
    if not _is_change(whole, alarms):
        return
    yield "    CPU %.2f s, before %.2f s: %s" % (whole["after"] / 1e9, whole["before"] / 1e9, _growth(whole))
    for line in [line for line in data["lines"] if _is_change(line["self"], 1)][:_MAX_LINES]:
        number = line["line"]["after"] or line["line"]["before"]
        text = visible((line["text"]["after"] or line["text"]["before"] or line["function"]).strip())
        yield "    %+7.3f s  %s  %s" % (line["self"]["difference"] / 1e9, _place(line["file"], number), text)


def _is_change(change, alarms) -> bool:
    return bool(change and change["significant"] and change["p"] is not None and change["p"] <= alarms)


def _growth(change) -> str:
    if not change["before"]:
        return "new"
    return "%+.1f %%" % (100 * (change["after"] / change["before"] - 1))
