# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs, through PYTHONPATH, at the start of each Python that "lineburn run" starts.

Starts the hook, removes its own folder from sys.path, and imports the sitecustomize
that this one hides (the distribution's or the user's), if there is one. PYTHONPATH
keeps the folder, so that children have the hook too. Python 2.7 must be able to parse
this file; there it only imports the hidden sitecustomize.
"""

import os
import sys

# A reference to this module: without it Python 2 clears our globals when it leaves sys.modules.
_hidden_by_successor = sys.modules.get("sitecustomize")


def _leave_path(folder):
    # Compare absolute paths: a relative entry of sys.path differs from __file__.
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != folder]
    sys.path_importer_cache.pop(folder, None)


def _start(folder):
    # With -E and -I this file is not run. Other interpreters have no Numba.
    if sys.version_info < (3, 9) or sys.implementation.name != "cpython":
        return
    home = os.path.dirname(folder)
    sys.path.insert(0, home)
    try:
        import lineburn_hook

        lineburn_hook.start()
    except Exception as e:  # never stop the program
        sys.stderr.write("lineburn: the Python hook cannot start: %s\n" % e)
    finally:
        _leave_path(home)


_folder = os.path.dirname(os.path.abspath(__file__))
_leave_path(_folder)
_start(_folder)

# If there is no other sitecustomize, site ignores this ImportError, as it does without us.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402,F401  (the next one on sys.path)
