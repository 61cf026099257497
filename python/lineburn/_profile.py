# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording of this Python, and what it shows."""

import json
import linecache
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from typing import NamedTuple, Optional

from . import _binary, _extra, _listing, _numba
from ._binary import EXIT_NOTHING, Error


class Line(NamedTuple):
    """A source line with samples. Shares are percent of all CPU time of the profile."""

    file: str
    line: int
    function: str
    self_percent: float
    total_percent: float
    self_seconds: float
    total_seconds: float
    self_samples: int
    total_samples: int
    text: Optional[str]


class Profile:
    """A file that lineburn wrote: Profile("lineburn.pb.gz")."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._data = None

    @property
    def data(self):
        """What "lineburn annotate --json" prints (docs/formats.md)."""
        if self._data is None:
            self._data = json.loads(_binary.run("annotate", "--json", self._file()))
        return self._data

    @property
    def lines(self):
        """The lines with samples, those with most self first."""
        counts = "samples" if not self.data["samples"]["cpu_ns"] else "cpu"
        whole = self.data["samples"]["count" if counts == "samples" else "cpu_ns"] or 1
        found = [_line(file, line, counts, whole) for file in self.data["files"] for line in file["lines"]
                 if line["total"]]
        return sorted(found, key=lambda line: (-line.self_percent, -line.total_percent, line.file, line.line))

    def to_dataframe(self):
        """The lines as a DataFrame of pandas."""
        import pandas

        return pandas.DataFrame(self.lines, columns=Line._fields)

    def text(self) -> str:
        """The listing of "lineburn annotate"."""
        return _binary.run("annotate", self._file())

    def html(self) -> str:
        """The listing for a notebook, with heat."""
        return _listing.html(self.data, self.lines, _extra.Texts(self.path).lines, cell_name)

    def _file(self):
        # Never an option, nor "-", which is standard input.
        return os.path.abspath(self.path)

    def _repr_html_(self):
        return self.html()

    def _repr_pretty_(self, printer, cycle):
        printer.text(repr(self) if cycle else self.text())

    def __repr__(self):
        return "<lineburn profile %s>" % self.path


def _line(file, line, counts, whole) -> Line:
    own, total = ("self", "total") if counts == "samples" else ("self_cpu_ns", "total_cpu_ns")
    return Line(file["path"], line["line"], line["function"], 100 * line[own] / whole, 100 * line[total] / whole,
                line["self_cpu_ns"] / 1e9, line["total_cpu_ns"] / 1e9, line["self"], line["total"], line["text"])


# ---- cells ----

def _ipython():
    module = sys.modules.get("IPython")
    return module.get_ipython() if module else None


def cell_name(path) -> str:
    """What IPython calls a cell, such as "Cell In[3]"; of other code its path."""
    compiler = getattr(_ipython(), "compile", None)
    named = getattr(compiler, "format_code_name", lambda path: None)(path)
    return " ".join(named) if named else path


def _texts_of_no_file(data):
    """The text of sources that only this Python has: cells, and other code that was generated."""
    found = {}
    for file in data["files"]:
        entry = linecache.cache.get(file["path"])
        # Without a modification time it was never a file.
        if not file["source"]["found"] and entry and len(entry) == 4 and entry[1] is None:
            found[file["path"]] = "".join(entry[2])
    return found


# ---- recording ----

def _remove(folder, owner):
    if os.getpid() == owner:  # not in a child that was forked meanwhile
        shutil.rmtree(folder, ignore_errors=True)


class profile(Profile):
    """Records this process while the block runs: with lineburn.profile() as p: ...

    @frequency  samples a second; None: for other events than CPU time (options)
    @output     where the profile is kept; None: only as long as this object
    @show       shows the listing in a notebook, or in IPython, when the block ends
    @options    further options of "lineburn record", such as ["--no-children"]
    """

    def __init__(self, frequency=999, output=None, show=True, options=()):
        if not output:
            folder = tempfile.mkdtemp(prefix="lineburn-")
            weakref.finalize(self, _remove, folder, os.getpid())
            output = os.path.join(folder, "lineburn.pb.gz")
        super().__init__(output)
        self._arguments = [*(["-F", str(frequency)] if frequency else []), *options]
        self._show = show
        self._recorder = None
        self._has_ended = False

    def __enter__(self):
        _numba.warn_if_late()
        self.start()
        return self

    def __exit__(self, kind, value, traceback):
        try:
            self.stop()
        except Error as e:
            if kind is None:
                raise
            print("lineburn:", e, file=sys.stderr)  # the block's own exception matters more
            return
        if self._show and _ipython():
            from IPython.display import display

            display(self)

    def start(self):
        """Begins to record. Returns when samples are taken."""
        if self._recorder or self._has_ended:
            raise Error("this profile was recorded already; make another one")
        self._recorder = _Recorder(["-p", str(os.getpid()), "-o", os.path.abspath(self.path), *self._arguments])

    def stop(self):
        """Ends the recording, and adds the text of cells to the profile."""
        if not self._recorder:
            raise Error("nothing is being recorded")
        recorder, self._recorder = self._recorder, None
        recorder.stop()
        self._has_ended = True
        if _extra.add(self.path, _texts_of_no_file(self.data)):
            self._data = None

    def _file(self):
        if not self._has_ended:
            raise Error("there is no profile before the recording has ended")
        return super()._file()


class _Recorder:
    """A child that runs "lineburn record"."""

    def __init__(self, arguments):
        self._binary = _binary.find()
        readable, writable = os.pipe()
        with tempfile.TemporaryFile() as said:
            self._said = os.dup(said.fileno())
        try:
            # In a session of its own, so that Ctrl-C interrupts this Python alone.
            self._child = subprocess.Popen(
                [self._binary, "record", *arguments, "--ready-fd", str(writable)], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=self._said, pass_fds=[writable], start_new_session=True)
        except OSError as e:
            os.close(readable)
            os.close(self._said)
            raise Error("cannot start %s: %s" % (self._binary, e.strerror)) from None
        finally:
            os.close(writable)
        with open(readable, "rb") as f:
            is_ready = self._unless_interrupted(f.readline)
        if not is_ready:
            self._end()
            raise Error("%s recorded nothing" % self._binary)

    def stop(self):
        self._child.send_signal(signal.SIGTERM)
        self._end()

    def _end(self):
        status = self._unless_interrupted(self._child.wait)
        said = os.pread(self._said, 1 << 16, 0).decode(errors="replace")
        os.close(self._said)
        if status not in (0, EXIT_NOTHING):
            raise _binary.failure(self._binary, status, said)

    def _unless_interrupted(self, wait):
        try:
            return wait()
        except BaseException:
            self._child.kill()
            self._child.wait()
            raise
