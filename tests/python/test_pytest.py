"""python/lineburn/pytest_plugin.py: threads have the test's name, and what the summary says."""

import json
import os
import sys
import threading
import types

from package import equal, path, raised, will_sample
from suite import folder, write

sys.modules["pytest"] = types.SimpleNamespace(hookimpl=lambda **options: lambda function: function, UsageError=ValueError)
from lineburn import pytest_plugin  # noqa: E402

FILE = write(path("test_it.py"), "def test_hot():\n    work()\n")
HOT, COLD, OTHER = "test_it.py::test_hot", "test_it.py::test_cold", "test_it.py::test_other"


def names():
    found = {}
    for tid in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/comm" % tid, encoding="ascii") as f:
            found[int(tid)] = f.read().strip()
    return found


def names_threads():
    done = threading.Event()
    old = threading.Thread(target=done.wait)
    old.start()
    before = names()
    want = pytest_plugin.thread_name_of(HOT)
    equal("pytest-name-fits", (len(want), want[:5], want == pytest_plugin.thread_name_of(COLD)), (15, "test-", False))
    # As in Python 3.14, where a thread names itself.
    own = getattr(threading, "_set_name", None)
    threading._set_name = len
    call = pytest_plugin._NamesThreads().pytest_runtest_call(types.SimpleNamespace(nodeid=HOT))
    next(call)
    equal("pytest-names-threads", (names(), threading._set_name), (dict.fromkeys(before, want), None))
    new = threading.Thread(target=done.wait)
    new.start()
    next(call, None)
    equal("pytest-threads-name-themselves", threading._set_name, len)
    threading._set_name = own
    equal("pytest-names-back", names(), {**before, new.native_id: before[os.getpid()]})
    done.set()


class Config:
    def __init__(self, **options):
        self.options = {"lineburn_output": path("session.pb.gz"), "lineburn_frequency": 999, "lineburn_baseline": None,
                        "lineburn_update": False, **options}
        self.option = types.SimpleNamespace(collectonly=False)

    def getoption(self, name):
        return self.options[name]


def session(**options):
    """Returns what the summary of a session says, below the title."""
    said = []
    plugin = pytest_plugin._Session(Config(**options))
    loop = plugin.pytest_runtestloop(types.SimpleNamespace(config=Config()))
    next(loop)
    for nodeid in HOT, COLD, OTHER:
        for when in "setup", "call":
            plugin.pytest_runtest_logreport(types.SimpleNamespace(when=when, nodeid=nodeid))
    next(loop, None)
    plugin.pytest_terminal_summary(types.SimpleNamespace(section=said.append, write_line=said.append))
    return said[1:]


def change(before, after, p):
    return {"before": before, "after": after, "difference": after - before, "p": p, "significant": p < 0.05}


def summary():
    hot, cold = pytest_plugin.thread_name_of(HOT), pytest_plugin.thread_name_of(COLD)
    will_sample((FILE, "test_hot", 2, 895, hot), ("/x.py", "deep", 7, 300, hot), ("/x.py", "rare", 9, 5, hot),
                ("/x.py", "deep", 7, 50, cold), ("/x.py", "main", 1, 500, "pytest"))
    hot_lines = [
        "1.25 s of CPU in 2 of 3 tests, sampled 999 times a second; written to " + path("session.pb.gz"),
        "   1.20 s  %s   (lineburn annotate --comm %s)" % (HOT, hot),
        "     74.6 %%  %s:2  work()" % os.path.relpath(FILE),
        "     25.0 %%  %s:7  deep" % os.path.relpath("/x.py"),
        "   0.05 s  %s   (lineburn annotate --comm %s)" % (COLD, cold),
        "    100.0 %%  %s:7  deep" % os.path.relpath("/x.py")]
    equal("pytest-hot-lines", session(), hot_lines)
    base = path("baseline/baseline.pb.gz")
    equal("pytest-stores", session(lineburn_baseline=path("baseline"))[6:], ["stored as the baseline: " + base])
    stored = os.stat(base).st_mtime_ns
    os.environ["STUB_DIFF"] = json.dumps({"whole": change(1e9, 1.3e9, 0.001), "lines": [
        {"file": FILE, "function": "test_hot", "line": {"before": 1, "after": 2}, "text": {"before": None, "after": " work()"},
         "self": change(1e9, 1.3e9, 0.001)},
        {"file": FILE, "function": "test_hot", "line": {"before": 1, "after": 1}, "text": {"before": "", "after": ""},
         "self": change(1e8, 1.1e8, 0.5)}]})
    changed = ["    CPU 1.30 s, before 1.00 s: +30.0 %", "     +0.300 s  %s:2  work()" % os.path.relpath(FILE)]
    equal("pytest-compares", session(lineburn_baseline=path("baseline"))[6:],
          [HOT + ":", *changed, COLD + ":", *changed, "compared with %s: 2 of 2 tests changed" % base])
    # One test in twenty would raise an alarm without reason: with two tests the limit is half.
    os.environ["STUB_DIFF"] = json.dumps({"whole": change(1e9, 1.3e9, 0.03), "lines": []})
    equal("pytest-many-tests", session(lineburn_baseline=path("baseline"))[6:],
          ["compared with %s: 0 of 2 tests changed" % base])
    equal("pytest-keeps-baseline", os.stat(base).st_mtime_ns, stored)
    equal("pytest-updates", session(lineburn_baseline=path("baseline"), lineburn_update=True)[6:],
          ["stored as the baseline: " + base])
    del os.environ["STUB_DIFF"]


def hostile():
    """Names and text that would clear the terminal, or add lines to the summary."""
    hot = pytest_plugin.thread_name_of(HOT)
    will_sample(("/a\n1.py", "f\x1b[2J\n 0.00 s  forged\u202e", 1, 900, hot))
    place = os.path.relpath("/a").replace("\n", "") + "\\u000a1.py:1"
    equal("pytest-hostile", session()[2:], ["    100.0 %%  %s  f\\u001b[2J\\u000a 0.00 s  forged\\u202e" % place])
    os.environ["STUB_DIFF"] = json.dumps({"whole": change(1e9, 1.3e9, 0.001), "lines": [
        {"file": "/a\n1.py", "function": "f", "line": {"before": 1, "after": 1},
         "text": {"before": None, "after": "x\x1b[2J\r\n\u2066"}, "self": change(1e9, 1.3e9, 0.001)}]})
    session(lineburn_baseline=path("hostile"))
    equal("pytest-hostile-diff", session(lineburn_baseline=path("hostile"))[5],
          "     +0.300 s  %s  x\\u001b[2J\\u000d\\u000a\\u2066" % place)
    del os.environ["STUB_DIFF"]


def stores_safely():
    """Storing a baseline writes through no link, and publishes no other file."""
    will_sample((FILE, "test_hot", 2, 900, pytest_plugin.thread_name_of(HOT)))
    where = folder("links")
    base, other, output = os.path.join(where, "baseline.pb.gz"), write(path("other"), "mine"), path("session.pb.gz")
    os.symlink(path("none"), base)
    equal("pytest-keeps-link", (session(lineburn_baseline=where)[-1], os.path.lexists(path("none")), os.path.islink(base)),
          ("not compared: %s is a link that leads to no file; --lineburn-update replaces it" % base, False, True))
    os.unlink(base)
    os.symlink(other, base)
    equal("pytest-replaces-link", session(lineburn_baseline=where, lineburn_update=True)[-1], "stored as the baseline: " + base)
    with open(other, "rb") as f:
        equal("pytest-writes-through-no-link", (f.read(), os.path.islink(base)), (b"mine", False))
    equal("pytest-baseline-mode", os.stat(base).st_mode & 0o777, 0o600)
    os.unlink(base)
    hot_lines = pytest_plugin._Session._hot_lines
    for name, put in ("link", lambda: os.symlink(other, output)), ("pipe", lambda: os.mkfifo(output)):
        def swap(*arguments, put=put):
            os.unlink(output)
            put()
            return ()
        pytest_plugin._Session._hot_lines = swap
        said = session(lineburn_baseline=where, lineburn_update=True)
        equal("pytest-stores-no-" + name, (said, os.listdir(where)), ([
            "no baseline is stored: a link or a pipe took the place of the recording %s; choose a folder that only you "
            "may write to with --lineburn-output" % output], []))
        os.unlink(output)
    pytest_plugin._Session._hot_lines = hot_lines
    equal("pytest-no-folder", session(lineburn_baseline=os.path.join(other, "x"))[-1],
          "cannot make the folder %s: Not a directory; choose another one with --lineburn-baseline" % os.path.join(other, "x"))


def cannot():
    os.environ.update(STUB_SAYS="lineburn: run it as root", STUB_STATUS="3")
    said = raised(ValueError, session)
    del os.environ["STUB_SAYS"]
    equal("pytest-denied", (said or "").splitlines()[:1], ["lineburn: run it as root"])
    equal("pytest-update-alone", raised(ValueError, lambda: session(lineburn_update=True)),
          "--lineburn-update goes with --lineburn-baseline")


names_threads()
summary()
hostile()
stores_safely()
cannot()
