"""usage: objects.py FOLDER SCRIPT: runs SCRIPT and keeps each object that Numba compiles.

NUMBAS_LINES=1: with Numba's own debug info, but without its changes to the code (noinline,
variables in memory), so that its line tables can be compared with ours.
"""

import itertools
import os
import runpy
import sys

from numba.core import codegen

folder, script = sys.argv[1:3]
number = itertools.count()
keep_for_numba = codegen.CPUCodeLibrary._object_compiled_hook.__func__


def keep(cls, module, data):
    with open(os.path.join(folder, "%03d.o" % next(number)), "wb") as f:
        f.write(bytes(data))
    return keep_for_numba(cls, module, data)


codegen.CPUCodeLibrary._object_compiled_hook = classmethod(keep)


def use_numbas_lines():
    from numba.core import debuginfo, lowering

    pre_lower = lowering.BaseLower.pre_lower

    def pre_lower_inlining(self):
        pre_lower(self)
        self.builder.function.attributes.discard("noinline")

    lowering.BaseLower.pre_lower = pre_lower_inlining
    lowering.Lower._disable_sroa_like_opt = property(lambda self: False)
    debuginfo.DIBuilder.mark_variable = lambda *arguments, **more: None


if os.environ.get("NUMBAS_LINES"):
    use_numbas_lines()
sys.argv = [script]
runpy.run_path(script, run_name="__main__")
