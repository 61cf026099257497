# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a program, then saves the objects that its JIT has registered for debuggers.

usage: saved.py DIR PROGRAM [ARGUMENT...]
"""
import os
import sys


def main():
    folder, program = sys.argv[1:3]
    # Run it in this module's namespace, so that its functions, and their code, live to the end.
    space = sys.modules["__main__"].__dict__
    sys.argv[:] = sys.argv[2:]
    sys.path[0] = os.path.dirname(program)
    try:
        with open(program, encoding="utf-8") as f:
            exec(compile(f.read(), program, "exec"), space)
    except SystemExit:
        pass
    sys.path[0] = os.path.join(os.environ["TOP"], "tests/fixtures/jit")
    import registered
    registered.save(folder)


main()
