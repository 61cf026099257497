"""The hook does not change the machine code, and gives it the right lines."""

import os
import re

import machine_code
from suite import WORKLOADS, folder, report, run, skip, pythons, unlike, write

OBJECTS = os.path.join(WORKLOADS, "objects.py")


def compile_all(label, python, script, hook=True, **more):
    """Return: (result of the script, objects, their paths)."""
    where = folder(label)
    result = run(python, OBJECTS, where, os.path.join(WORKLOADS, script), hook=hook,
                 PYTHONHASHSEED="0", **more)
    objects, paths = machine_code.read(where)
    return result, objects, paths


def same_code(name, plain, hooked, exactly):
    _, plain_objects, plain_paths = plain
    _, objects, paths = hooked
    problem = unlike(len(objects), len(plain_objects)) or ("" if objects else "no objects")
    for i, (a, b) in enumerate(zip(plain_objects, objects)):
        if exactly:
            equal = machine_code.code(a) == machine_code.code(b)
        else:
            equal = (machine_code.instructions(plain_paths[i]) ==
                     machine_code.instructions(paths[i]))
        if not equal and not problem:
            problem = "%s differs from %s" % (paths[i], plain_paths[i])
    report(name, problem)


def is_exact(python):
    """False for LLVM 11, whose padding differs: see machine_code.instructions()."""
    out = run(python, "-c", "import llvmlite.binding as b; print(b.llvm_version_info[0])")[1]
    return int(out) > 11


def kernels(name, python, exactly):
    plain = compile_all(name + "-kernels-plain", python, "kernels.py", hook=False)
    hooked = compile_all(name + "-kernels", python, "kernels.py")
    numbas = compile_all(name + "-kernels-numbas", python, "kernels.py", hook=False,
                         NUMBA_DEBUGINFO="1", NUMBAS_LINES="1")
    report(name + "-kernels-run", unlike(hooked[0], (0, "done\n", "")))
    same_code(name + "-kernels-same-code", plain, hooked, exactly)
    same_rows(name + "-kernels-same-rows", numbas, hooked)


def rows_of_files(path):
    """Without rows that repeat the line before: copies of an unrolled loop have rows of their own."""
    rows = machine_code.rows(path)
    return [row for before, row in zip([(None, None)] + rows, rows)
            if not row[0].startswith("<") and row[:2] != before[:2]]


def same_rows(name, numbas, hooked):
    """Objects with the same code have the same line at each address, others the same set of lines.

    (Numba's own builder keeps some arguments in memory, so its code may differ.)
    """
    same, problem = 0, ""
    for i, (theirs, ours) in enumerate(zip(numbas[2], hooked[2])):
        # Skip: Numba puts everything here at line 1; our lines are better.
        if b"__numba_array_expr" in hooked[1][i]:
            continue
        if machine_code.code(numbas[1][i]) == machine_code.code(hooked[1][i]):
            same += 1
            equal = rows_of_files(theirs) == rows_of_files(ours)
        else:
            equal = machine_code.lines(theirs) == machine_code.lines(ours)
        if not equal:
            problem = problem or "%s and %s differ" % (theirs, ours)
    report(name, problem or ("" if same > 10 else "%d objects compared" % same))


def marked_lines():
    with open(os.path.join(WORKLOADS, "kinds.py"), encoding="utf-8") as f:
        for number, text in enumerate(f, 1):
            mark = re.search(r"# line (\S+)", text)
            if mark:
                yield mark[1], number


# Kinds whose function is inlined into a generated loop, which must have the lines.
WRAPPERS = {"vectorize": "__ufunc__", "vectorize-parallel": "__ufunc__",
            "guvectorize": "__gufunc__", "prange": "__gufunc__"}


def kinds(name, python, exactly):
    plain = compile_all(name + "-kinds-plain", python, "kinds.py", hook=False)
    hooked = compile_all(name + "-kinds", python, "kinds.py")
    report(name + "-kinds-results", unlike(hooked[0], plain[0]) or hooked[0][2] or
           ("" if plain[0][0] == 0 else plain[0][2]))
    # Before LLVM 15 some code contains addresses, and names of jit classes do: compare sizes only.
    if exactly:
        different = [i for i, (a, b) in enumerate(zip(plain[1], hooked[1])) if
                     [len(t) for _, t in machine_code.code(a)] !=
                     [len(t) for _, t in machine_code.code(b)]]
        report(name + "-kinds-same-size", unlike(len(hooked[1]), len(plain[1])) or unlike(different, []))
    found = machine_code.all_lines(hooked[2])
    for kind, line in marked_lines():
        report("%s-lines-%s" % (name, kind),
               "" if line in found["kinds.py"] else "no line %d" % line)
    report(name + "-lines-exec", "" if 3 in found["<cell>"] else str(dict(found)))
    for kind, prefix in WRAPPERS.items():
        line = dict(marked_lines())[kind]
        inside = [path for path in hooked[2]
                  if prefix.encode() in open(path, "rb").read() and
                  line in machine_code.lines(path)["kinds.py"]]
        report("%s-lines-in-wrapper-%s" % (name, kind), "" if inside else "none")
    generated = machine_code.all_lines(
        p for p in hooked[2] if b"__numba_parfor_gufunc" in open(p, "rb").read())
    report(name + "-no-line-of-generated-text", unlike(sorted(generated["<string>"]), []))


def debug_left_alone(name, python):
    script = write(os.path.join(folder(name + "-debug"), "debug.py"),
                   "from numba import njit\n@njit(debug=True)\ndef f(x):\n    y = x + 1\n"
                   "    return y * 2\nf(1)\nprint(list(f.inspect_llvm().values())[0])\n")

    def metadata(**more):
        out = run(python, script, PYTHONHASHSEED="0", **more)[1]
        return [line for line in out.split("\n") if line.startswith(("!", "attributes"))]

    theirs = metadata(hook=False)
    report(name + "-debug-true-is-numbas", unlike(metadata(), theirs) or
           ("" if any("FullDebug" in line for line in theirs) else str(theirs)))
    program = ("import numba.core.lowering as l; print(l.BaseLower.lower.__module__ +"
               " str(hasattr(l.BaseLower.lower, '__wrapped__')))")
    report(name + "-NUMBA_DEBUGINFO-is-numbas",
           unlike(run(python, "-c", program, NUMBA_DEBUGINFO="1")[1].strip(),
                  "numba.core.loweringFalse"))


BROKEN = """
import lineburn_hook.numba_lines as lines
original = lines._Metadata.location
lines._Metadata.%s
from numba import njit
@njit
def f(x):
    return x + 1
@njit
def g(x):
    return f(x) * 2
print(g(1), g(2.0))
"""


def failures(name, python):
    for kind, change in (
            ("refused-by-llvm", "location = lambda self, s, p, line: original(self, s, p, -5)"),
            ("exception", "location = lambda *a: 1 / 0"),
            ("no-subprogram", "subprogram = lambda *a: 1 / 0")):
        status, out, err = run(python, "-c", "import numba\n" + BROKEN % change)
        report("%s-failure-%s" % (name, kind), unlike((status, out), (0, "4 6.0\n")) or
               ("" if err.count("\n") == 1 and err.startswith("lineburn: ") else repr(err)))


def moved_directory(name, python):
    """A script that was started by a relative path and changes its directory."""
    where = folder(name + "-moved")
    write(os.path.join(where, "app.py"),
          "import os\nfrom numba import njit\n@njit\ndef f(x):\n    return x + 1\n"
          "os.chdir('/')\nf(1)\nprint(list(f.inspect_llvm().values())[0])\n")
    out = run(python, "app.py", cwd=where)[1]
    report(name + "-path-after-chdir", "" if 'directory: "%s"' % where in out else
           str(re.findall(r'DIFile.*', out)))


DEFS = """
from numba import njit
import lineburn_hook.numba_lines as lines

def decorate(*a):
    return lambda f: f

def bare(x):
    return x

@decorate(
    lambda x: "def g(x):",
)
# def comment(x):
@decorate(1)
def decorated(
    x,
    y,
):
    '''Text.

    def text(x):
    '''

    return x

class Class:
    @decorate()
    def method(self):

        def nested(x): return x

        return nested

found = [lines.def_line(f.__code__) for f in (
    bare, decorated, Class.method, Class().method(), lambda x: x)]
exec(compile("@decorate()\\ndef unseen(x):\\n    return x\\n", "<no source>", "exec"))
print(found + [lines.def_line(unseen.__code__)])
"""


def defs(name, python):
    """The line of the def, whatever is around it; without the source the line above the body."""
    script = write(os.path.join(folder(name + "-defs"), "app.py"), DEFS)
    report(name + "-def-lines", unlike(run(python, script)[1:], ("[8, 16, 29, 31, 36, 2]\n", "")))


def non_ascii(name, python):
    where = folder(name + "-größe")
    script = write(os.path.join(where, "größe.py"),
                   "from numba import njit\n@njit\ndef maß(x):\n    return x + 1\nprint(maß(1))\n")
    report(name + "-non-ascii", unlike(run(python, script), (0, "2\n", "")))


for label, interpreter in pythons():
    if not interpreter:
        skip("lines-" + label, "no Python in LB_NUMBA_%s (tools/venv.sh makes one)" % label.upper())
        continue
    exact = is_exact(interpreter)
    kernels(label, interpreter, exact)
    kinds(label, interpreter, exact)
    debug_left_alone(label, interpreter)
    failures(label, interpreter)
    moved_directory(label, interpreter)
    defs(label, interpreter)
    non_ascii(label, interpreter)
