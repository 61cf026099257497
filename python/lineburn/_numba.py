# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts the hook by which Numba's code has lines, in this Python."""

import os
import sys
import warnings


def _is_active() -> bool:
    """Is the hook waiting for numba, or working in it?"""
    return "lineburn_hook.numba_lines" in sys.modules or any(
        type(finder).__module__ == "lineburn_hook" for finder in sys.meta_path)


def numba_lines() -> bool:
    """Makes functions that Numba compiles from now on have lines (docs/python-hook.md).

    Call it before the first import of numba: later it is too late. Returns whether they have.
    """
    try:
        import lineburn_hook
    except ImportError:
        return False  # this package was copied alone
    lineburn_hook.start()
    return _is_active() or _has_own_lines()


def _has_own_lines() -> bool:
    """Has the program asked Numba for its own debug info?"""
    config = sys.modules.get("numba.core.config")
    return bool(getattr(config, "DEBUGINFO_DEFAULT", False))


def warn_if_late() -> None:
    if not numba_lines() and "numba" in sys.modules and os.environ.get("LINEBURN_PYTHON_HOOK") != "off":
        warnings.warn("numba was imported before lineburn, so its functions have no lines: restart Python, and "
                      "begin with %load_ext lineburn, or with lineburn.numba_lines()", stacklevel=3)
