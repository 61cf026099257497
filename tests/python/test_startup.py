"""The start of any Python: the hook leaves no trace, and hides no other sitecustomize."""

import ast
import glob
import os
import shutil
import sys

from suite import STARTUP, TOP, folder, report, run, skip, this_python, unlike, write

SITE = os.path.join(STARTUP, "sitecustomize.py")


def last_line(result):
    status, out, err = result
    return out.strip() if not status and not err else "status %d, %s%s" % result


def nothing_is_seen():
    program = ("import os, sys; print([p for p in sys.path if 'lineburn' in p or %r in p],"
               " 'sitecustomize' in sys.modules, os.environ['PYTHONPATH'] == %r)")
    result = run(this_python(), "-c", program % (STARTUP, STARTUP))
    # Debian's own sitecustomize must be the one that is loaded.
    has = run(this_python(), "-c", "import sys; print('sitecustomize' in sys.modules)",
              hook=False)[1].strip()
    report("startup-leaves-nothing", unlike(last_line(result), "[] %s True" % has))


def waits_for_numba():
    result = run(this_python(), "-c",
                 "import sys; print([type(f).__name__ for f in sys.meta_path].count('_Finder'),"
                 " 'lineburn_hook.numba_lines' in sys.modules)")
    report("startup-waits-for-numba", unlike(last_line(result), "1 False"))


def chain():
    other = folder("other-site")
    write(os.path.join(other, "sitecustomize.py"),
          "import sys\nprint('theirs', __file__ == sys.modules['sitecustomize'].__file__)\n")
    path = STARTUP + ":" + other
    result = run(this_python(), "-c", "import sitecustomize; print(sitecustomize.__file__)",
                 PYTHONPATH=path)
    report("chain-to-theirs",
           unlike(last_line(result), "theirs True\n%s/sitecustomize.py" % other))
    write(os.path.join(other, "sitecustomize.py"), "raise RuntimeError('theirs fails')\n")
    with_us = run(this_python(), "-c", "print('goes on')", PYTHONPATH=path)
    without = run(this_python(), "-c", "print('goes on')", PYTHONPATH=other)
    report("chain-to-failing", unlike(with_us[:2], without[:2]) or
           ("" if "theirs fails" in with_us[2] else with_us[2]))


def relative_and_twice():
    result = run(this_python(), "-c", "import sys; print([p for p in sys.path if 'startup' in p])",
                 PYTHONPATH="startup:" + STARTUP, cwd=os.path.dirname(STARTUP))
    report("startup-folder-spelled-otherwise", unlike(last_line(result), "[]"))


def ignored():
    for option in ("-I", "-E", "-S"):
        result = run(this_python(), option, "-c",
                     "import sys; print('lineburn_hook' in sys.modules)")
        report("startup-ignored-by" + option, unlike(last_line(result), "False"))
    result = run(this_python(), "-c", "import sys; print([f for f in sys.meta_path "
                 "if 'lineburn' in type(f).__module__])", LINEBURN_PYTHON_HOOK="off")
    report("startup-switched-off", unlike(last_line(result), "[]"))


def old_pythons():
    with open(SITE, encoding="utf-8") as f:
        ast.parse(f.read(), SITE, feature_version=(3, 4))
    report("parses-on-3.4", "")
    other = folder("old-site")
    write(os.path.join(other, "sitecustomize.py"), "import sys\nsys.theirs = True\n")
    found = [p for name in ("python2.7", "python3.4", "python3.6")
             for p in [shutil.which(name)] + glob.glob(  # pyenv's shims do not count
                 os.path.expanduser("~/.pyenv/versions/%s.*/bin/python" % name[6:]))[:1] if p and "shims" not in p]
    if not found:
        skip("old-pythons", "there is no Python 2.7, 3.4 or 3.6 here")
    for python in found:
        result = run(python, "-c", "import sys; sys.stdout.write('%s %s' % (sys.theirs, 'lineburn_hook' in sys.modules))",
                     PYTHONPATH=STARTUP + ":" + other)
        report("old-python %s" % python.split("/bin/")[0].split("/")[-1],
               unlike(result, (0, "True False", "")))


def fake_numba(name, files):
    base = folder(name)
    for path, text in files.items():
        path = os.path.join(base, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, text)
    return base


def unknown_numba():
    base = fake_numba("unknown-numba", {
        "numba/__init__.py": "__version__ = '9.9'\nprint('loaded', __spec__.loader is not None)\n",
        "numba/core/__init__.py": "", "numba/core/config.py": "DEBUGINFO_DEFAULT = 0\n",
        "numba/core/lowering.py": "class BaseLower: pass\n", "numba/core/debuginfo.py": ""})
    status, out, err = run(this_python(), "-c", "import numba; import numba.core; print('goes on')",
                           PYTHONPATH=STARTUP + ":" + base)
    report("unknown-numba-runs", unlike((status, out), (0, "loaded True\ngoes on\n")))
    report("unknown-numba-one-line", "" if err.count("\n") == 1 and
           err.startswith("lineburn: ") and "9.9" in err else repr(err))


def broken_numba():
    base = fake_numba("broken-numba", {"numba/__init__.py": "raise ImportError('needs numpy')\n"})
    program = "try:\n import numba\nexcept ImportError as e: print(e)\n"
    result = run(this_python(), "-c", program, PYTHONPATH=STARTUP + ":" + base)
    report("numba-that-cannot-be-imported", unlike(last_line(result), "needs numpy"))
    result = run(this_python(), "-c", program)
    report("no-numba", unlike(last_line(result), "No module named 'numba'"))


def compiles():
    problem = ""
    paths = glob.glob(os.path.join(TOP, "python", "*", "*.py"))
    report("finds-its-sources", "" if paths else "none")
    for path in paths:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        try:
            ast.parse(text, path, feature_version=(3, 9))
        except SyntaxError as e:
            problem = str(e)
    report("parses-on-3.9", problem)


if sys.version_info < (3, 9):
    skip("startup", "needs Python 3.9, this is %s" % sys.version.split()[0])
else:
    nothing_is_seen()
    waits_for_numba()
    chain()
    relative_and_twice()
    ignored()
    old_pythons()
    unknown_numba()
    broken_numba()
    compiles()
