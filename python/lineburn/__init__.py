# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU by source line of this Python: in notebooks, scripts and tests. docs/python.md explains it.

    %load_ext lineburn          then %lineburn STATEMENT, and %%lineburn before a cell
    with lineburn.profile() as p: ...
    pytest -p lineburn.pytest_plugin --lineburn
    python -m lineburn.mcp      a server for agents

The package runs the program lineburn; it needs nothing but Python 3.9 or newer.
"""

from ._binary import Error, NotAllowed
from ._numba import numba_lines
from ._profile import Line, Profile, profile

__all__ = ["Error", "Line", "NotAllowed", "Profile", "numba_lines", "profile"]


def load_ipython_extension(ipython):
    from . import magic

    magic.load(ipython)
