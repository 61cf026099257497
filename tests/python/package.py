"""Helpers for tests of python/lineburn: a lineburn that makes up its samples (STUB), and an IPython.

STUB_DIFF: what "diff" prints; without it the real lineburn answers.
"""

import ast
import codeop
import json
import linecache
import os
import sys
import types

from suite import HERE, TOP, WORK, report, write

sys.path.insert(0, os.path.join(TOP, "python"))
STUB = write(os.path.join(WORK, "lineburn"), """#!/bin/sh
case $1 in
record) exec "%s" -S -E "%s" "$@" ;;
diff) [ -z "${STUB_DIFF+given}" ] || { printf '%%s\\n' "$STUB_DIFF"; exit 0; } ;;
esac
exec "$LB" "$@"
""" % (sys.executable, os.path.join(HERE, "stub_lineburn.py")))
os.chmod(STUB, 0o755)
os.environ["LINEBURN"] = STUB
os.environ["STUB_SAMPLES"] = "[]"


def equal(name, got, want):
    report(name, "" if got == want else "%r, not %r" % (got, want))


def holds(name, condition, otherwise=""):
    report(name, "" if condition else otherwise or "it does not hold")


def raised(kind, function, *arguments):
    """Returns the text of the exception; None: there was no such exception."""
    try:
        function(*arguments)
    except kind as e:
        return str(e)
    return None


def will_sample(*samples):
    """(file, function, line, samples[, thread name]) of the next recording."""
    os.environ["STUB_SAMPLES"] = json.dumps([list(sample) + ["python"] * (5 - len(sample)) for sample in samples])


def path(name):
    return os.path.join(WORK, name)


class FakeCompiler(codeop.Compile):
    """As much of IPython.core.compilerop as magic.py uses."""

    def __init__(self):
        super().__init__()
        self.names = {}

    def ast_parse(self, text, filename):
        return compile(text, filename, "exec", ast.PyCF_ONLY_AST)

    def cache(self, text, number=0):
        name = "<ipython-input-%d-%012x>" % (number, abs(hash(text)) % (1 << 48))
        self.names[name] = number
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        return name

    def format_code_name(self, name):
        return ("Cell", "In[%d]" % self.names[name]) if name in self.names else None


class FakeIPython:
    execution_count = 3

    def __init__(self):
        self.compile = FakeCompiler()
        self.user_ns = self.user_global_ns = {}
        self.magics = {}
        self.displayed = []

    def transform_cell(self, text):
        return text if text.endswith("\n") else text + "\n"

    def transform_ast(self, tree):
        return tree

    def register_magic_function(self, function, magic_kind, magic_name):
        self.magics[magic_kind, magic_name] = function


def be_ipython():
    shell = FakeIPython()
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: shell
    display = types.ModuleType("IPython.display")
    display.display = shell.displayed.append
    core, magic = types.ModuleType("IPython.core"), types.ModuleType("IPython.core.magic")
    magic.no_var_expand = lambda function: function
    sys.modules.update({"IPython": module, "IPython.display": display, "IPython.core": core,
                        "IPython.core.magic": magic})
    return shell
