# SPDX-License-Identifier: GPL-2.0-or-later
"""Gives the code that Numba compiles line tables, and changes nothing else about it.

start() costs one entry in sys.meta_path; the rest is loaded when the program imports
numba. Whatever goes wrong in here is said in one line on stderr, once, and the program
runs as it would have run without.

Environment: LINEBURN_PYTHON_HOOK is "run" below "lineburn run", "off" turns the hook off;
LINEBURN_NUMBA_CACHE_DIR says where compiled functions are kept (numba_cache.py).
"""

import os
import sys

# Part of the private cache's name: to be raised when what is compiled changes.
CACHE_FORMAT = 1

_said = False


def say(text: str) -> None:
    """One line on stderr, once in a process."""
    global _said
    if _said:
        return
    _said = True
    try:
        sys.stderr.write("lineburn: %s\n" % " ".join(text.split()))
    except Exception:
        pass  # stderr is None or closed: nobody to tell


def mode() -> str:
    """run, off or service (neither: the hook was installed, or put on PYTHONPATH by hand)."""
    value = os.environ.get("LINEBURN_PYTHON_HOOK")
    return value if value in ("run", "off") else "service"


class _Finder:
    """Sees numba being imported, lets the others find it, and acts when it is loaded."""

    def find_spec(self, name, path=None, target=None):
        if name != "numba":
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if isinstance(finder, _Finder) or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                _call_after_load(spec, self)
                return spec
        return None


def _call_after_load(spec, finder) -> None:
    # On the instance: the loader stays of the type that others expect.
    loader = spec.loader
    load = getattr(loader, "exec_module", None)
    if load is None:
        return

    def exec_module(module):
        load(module)
        try:
            del loader.exec_module
            if finder in sys.meta_path:
                sys.meta_path.remove(finder)
            _numba_is_loaded(module)
        except Exception as e:
            say("Numba's code gets no lines: %s: %s" % (type(e).__name__, e))

    try:
        loader.exec_module = exec_module
    except AttributeError:
        say("numba is loaded in an unknown way (%s); its code gets no lines" % type(loader))


def _numba_is_loaded(numba) -> None:
    from numba.core import config

    # Whoever asks Numba for debug info gets Numba's, in Numba's cache.
    if config.DEBUGINFO_DEFAULT:
        return
    from . import numba_cache, numba_lines

    numba_lines.check(numba)
    numba_cache.check()
    # Without a cache of its own, code with lines would end in the user's.
    numba_cache.install(numba)
    numba_lines.install()


def start() -> None:
    """Idempotent: a service's hook and that of "lineburn run" may meet in one process."""
    if mode() == "off" or any(type(f).__name__ == _Finder.__name__ and
                              type(f).__module__ == __name__ for f in sys.meta_path):
        return
    if "numba" in sys.modules:
        return  # too late: code may have been compiled already
    sys.meta_path.insert(0, _Finder())
