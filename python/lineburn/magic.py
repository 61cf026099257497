# SPDX-License-Identifier: GPL-2.0-or-later
"""%lineburn STATEMENT and %%lineburn in IPython and in notebooks."""

import ast
import re

from ._binary import Error
from ._numba import warn_if_late
from ._profile import profile

_OPTION = re.compile(r"\s*-(?:F\s*(?P<frequency>\d+)|o\s*(?P<output>\S+))(?=\s|$)")


def _parse(line):
    """Returns (options of profile(), the rest of the line)."""
    options = {}
    match = _OPTION.match(line)
    while match:
        options.update((name, value) for name, value in match.groupdict().items() if value)
        line = line[match.end():]
        match = _OPTION.match(line)
    return options, line.strip()


def _compile(ipython, text, is_cell):
    """Compiles like IPython does: the code has a name of its own, and the last value of a cell is shown."""
    text = ipython.transform_cell(text)
    if is_cell:
        text = "\n" + text  # the magic's own line, so that lines count as the notebook numbers them
    name = ipython.compile.cache(text, ipython.execution_count)
    tree = ipython.transform_ast(ipython.compile.ast_parse(text, filename=name))
    last = tree.body.pop() if is_cell and tree.body and isinstance(tree.body[-1], ast.Expr) else None
    codes = [ipython.compile(tree, name, "exec")]
    if last:
        codes.append(ipython.compile(ast.Interactive([last]), name, "single"))
    return codes


def _run(ipython, line, cell):
    options, rest = _parse(line)
    if cell is not None and rest:
        raise Error("%%lineburn takes -F HZ and -o FILE, not \"" + rest + "\"; the code begins on the next line")
    if cell is None and not rest:
        raise Error("%lineburn takes a statement; %%lineburn is for a whole cell")
    codes = _compile(ipython, rest, False) if cell is None else _compile(ipython, cell, True)
    with profile(**options) as p:
        for code in codes:
            exec(code, ipython.user_global_ns, ipython.user_ns)
    try:
        return p.to_dataframe()
    except ImportError:  # there is no pandas
        return None


def load(ipython):
    """Registers the magic, and starts the hook for Numba."""
    from IPython.core.magic import no_var_expand

    def lineburn(line, cell=None):
        """Show which source lines use the CPU.

        %lineburn [-F HZ] [-o FILE] STATEMENT
        %%lineburn [-F HZ] [-o FILE], before a cell

        Runs the code, shows the annotated listing, and returns a DataFrame of the lines if there
        is pandas. -F: samples a second (999); -o: keep the profile, for "lineburn annotate FILE".
        """
        return _run(ipython, line, cell)

    ipython.register_magic_function(no_var_expand(lineburn), magic_kind="line_cell", magic_name="lineburn")
    warn_if_late()
