# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds line tables to the code that Numba compiles, and changes nothing else about it.

start() adds one entry to sys.meta_path; the rest is loaded when the program imports
numba. If the hook fails, it prints one line on stderr, once, and the program runs as
it would without the hook.

Environment: LINEBURN_PYTHON_HOOK is "run" below "lineburn run"; "off" turns the hook off.
LINEBURN_NUMBA_CACHE_DIR is the folder for compiled functions (numba_cache.py).
"""

import os
import sys

# Part of the private cache's name. Raise it when the hook changes the compiled code.
CACHE_FORMAT = 2

_said = False


def say(text: str) -> None:
    """Prints one line on stderr; only the first call in a process prints."""
    global _said
    if _said:
        return
    _said = True
    try:
        sys.stderr.write("lineburn: %s\n" % " ".join(text.split()))
    except Exception:
        pass  # stderr is None or closed


def mode() -> str:
    """Returns run, off or service (service: the hook was installed, or put on PYTHONPATH by hand)."""
    value = os.environ.get("LINEBURN_PYTHON_HOOK")
    return value if value in ("run", "off") else "service"


class _Finder:
    """Lets the other finders find numba, and starts the hook once numba is loaded."""

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
    # Replace the method of the instance only: the loader keeps the type that others expect.
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

    # A program that asks Numba for debug info gets Numba's own, in Numba's cache.
    if config.DEBUGINFO_DEFAULT:
        return
    from . import numba_cache, numba_lines

    numba_lines.check(numba)
    numba_cache.check()
    # Install the private cache first: otherwise code with lines would go to the user's cache.
    numba_cache.install(numba)
    numba_lines.install()


def start() -> None:
    """Idempotent: one process may have a service's hook and that of "lineburn run"."""
    if mode() == "off" or any(type(f).__name__ == _Finder.__name__ and
                              type(f).__module__ == __name__ for f in sys.meta_path):
        return
    if "numba" in sys.modules:
        return  # too late: code may have been compiled already
    sys.meta_path.insert(0, _Finder())
