# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs at the start of each Python that "lineburn run" starts, by way of PYTHONPATH.

Starts the hook, takes its own folder off sys.path, and hands over to the sitecustomize
that this one hides (the distribution's, the user's), if there is one. The environment
keeps the folder: children shall have the hook too. Python 2.7 must be able to read this
file and gets no more than the handing over.
"""

import os
import sys

# While we are replaced in sys.modules, Python 2 would clear our globals without this.
_hidden_by_successor = sys.modules.get("sitecustomize")


def _leave_path(folder):
    # As a relative entry it may be spelled otherwise than __file__ says.
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != folder]
    sys.path_importer_cache.pop(folder, None)


def _start(folder):
    # -E and -I never come here; other interpreters have no Numba.
    if sys.version_info < (3, 9) or sys.implementation.name != "cpython":
        return
    home = os.path.dirname(folder)
    sys.path.insert(0, home)
    try:
        import lineburn_hook

        lineburn_hook.start()
    except Exception as e:  # never in the way of the program
        sys.stderr.write("lineburn: the Python hook cannot start: %s\n" % e)
    finally:
        _leave_path(home)


_folder = os.path.dirname(os.path.abspath(__file__))
_leave_path(_folder)
_start(_folder)

# What site would have done without us: an ImportError of this name is not reported.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402,F401  (the next one on sys.path)
