"""The hook neither reads nor writes the program's cache; its own cache is kept between runs."""

import hashlib
import os
import shutil

from suite import WORK, WORKLOADS, environment, folder, pythons, report, run, skip, unlike

EXPECTED = "7 100.0 295.0 55.0\nhits %d %d\n"
# The output of "cached.py one", for tests in which the kind of function does not matter.
ONE = "7\nhits %d\n"


def contents(where):
    """{path below @where: hash of the content} of each file."""
    result = {}
    for base, _, names in os.walk(where):
        for name in names:
            path = os.path.join(base, name)
            with open(path, "rb") as f:
                result[os.path.relpath(path, where)] = hashlib.sha256(f.read()).hexdigest()
    return result


def project(name):
    where = os.path.join(WORK, name)
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(where)
    shutil.copy(os.path.join(WORKLOADS, "cached.py"), where)
    return where


def clean_home():
    shutil.rmtree(environment(False)["HOME"], ignore_errors=True)


def ours_below(where):
    return [p for p in contents(where) if p.endswith(".nbc")]


def kept_between_runs(name, python):
    clean_home()
    where = project(name + "-project")
    script = os.path.join(where, "cached.py")
    run(python, script, hook=False)
    before = contents(where)
    first = run(python, script)
    report(name + "-cache-not-read", unlike(first, (0, EXPECTED % (0, 0), "")))
    second = run(python, script)
    report(name + "-cache-kept", unlike(second, (0, EXPECTED % (1, 1), "")))
    report(name + "-cache-of-program-equal", unlike(contents(where), before) or
           ("" if before else "there was none"))
    cache = os.path.join(environment(True)["HOME"], ".cache", "lineburn", "numba")
    report(name + "-cache-in-home", "" if ours_below(cache) else "nothing in %s" % cache)
    report(name + "-cache-private", unlike(os.stat(cache).st_mode & 0o777, 0o700))
    without = run(python, script, hook=False)
    report(name + "-cache-of-program-still-used", unlike(without, (0, EXPECTED % (1, 1), "")))


def never_cached_before(name, python):
    clean_home()
    where = project(name + "-fresh")
    run(python, os.path.join(where, "cached.py"), "one", XDG_CACHE_HOME=os.path.join(where, "xdg"))
    in_project = [p for p in contents(where) if not p.startswith("xdg/")]
    report(name + "-cache-nothing-in-project", unlike(in_project, ["cached.py"]))
    report(name + "-cache-XDG", "" if ours_below(os.path.join(where, "xdg/lineburn/numba"))
           else str(contents(where)))


def user_provided(name, python):
    clean_home()
    where = project(name + "-provided")
    given = os.path.join(where, "given")
    run(python, os.path.join(where, "cached.py"), "one", NUMBA_CACHE_DIR=given, hook=False)
    before = contents(given)
    run(python, os.path.join(where, "cached.py"), "one", NUMBA_CACHE_DIR=given)
    report(name + "-cache-NUMBA_CACHE_DIR", unlike(contents(given), before) or
           ("" if ours_below(given + ".lineburn") and before else str(contents(where))))


def service(name, python):
    clean_home()
    where = project(name + "-service")
    script = os.path.join(where, "cached.py")
    run(python, script, "one", LINEBURN_PYTHON_HOOK="")
    ours = ours_below(where)
    report(name + "-cache-beside", "" if ours and all(
        p.startswith("__pycache__/lineburn/") for p in ours) else str(contents(where)))
    explicit = os.path.join(where, "explicit")
    for number in (0, 1):
        result = run(python, script, "one", LINEBURN_NUMBA_CACHE_DIR=explicit)
    report(name + "-cache-explicit", unlike(result, (0, ONE % 1, "")) or
           ("" if ours_below(explicit) else "nothing there"))


def nowhere(name, python):
    """No usable folder for the cache: not a folder, or one that others can write code to."""
    clean_home()
    where = project(name + "-nowhere")
    script = os.path.join(where, "cached.py")
    run(python, script, "one", hook=False)
    before = contents(where)
    open_to_all = folder(name + "-open")
    os.chmod(open_to_all, 0o777)
    file = os.path.join(where, "cached.py")
    for kind, place in (("not-a-folder", file), ("open-to-all", open_to_all)):
        status, out, err = run(python, script, "one", LINEBURN_NUMBA_CACHE_DIR=place)
        report("%s-cache-%s" % (name, kind), unlike((status, out), (0, ONE % 1)) or
               ("" if err.count("\n") == 1 and err.startswith("lineburn: no private") else
                repr(err)) or unlike(contents(where), before) or
               unlike(contents(open_to_all), {}))


def lines_of_loaded(name, python):
    """Numba builds the loop of a ufunc anew around a kernel from the cache: it has lines."""
    clean_home()
    where = project(name + "-loaded")
    program = ("import llvmlite.binding as b, cached, sys\n"
               "from numba.np.ufunc import wrappers\n"
               "print('DISubprogram' in seen[0], len(seen))")
    hooked = ("import sys; sys.path.insert(0, %r); seen = []\n"
              "from numba.core import codegen\n"
              "add = codegen.CPUCodeLibrary.add_llvm_module\n"
              "def keep(self, m):\n"
              "    if '__ufunc__' in str(m): seen.append(str(m))\n"
              "    return add(self, m)\n"
              "codegen.CPUCodeLibrary.add_llvm_module = keep\n" % where)
    for _ in range(2):
        result = run(python, "-c", hooked + program)
    report(name + "-lines-around-cached", unlike(result, (0, "True 1\n", "")))


for label, interpreter in pythons():
    if not interpreter:
        skip("cache-" + label, "no Python in LB_NUMBA_%s (tools/venv.sh makes one)" % label.upper())
        continue
    kept_between_runs(label, interpreter)
    never_cached_before(label, interpreter)
    user_provided(label, interpreter)
    service(label, interpreter)
    nowhere(label, interpreter)
    lines_of_loaded(label, interpreter)
