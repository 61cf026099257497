"""The hook neither reads nor writes the program's cache; its own cache is kept between runs."""

import hashlib
import os
import shutil
import struct
import sys

from suite import TOP, WORK, WORKLOADS, environment, folder, pythons, report, run, skip, unlike

sys.path.insert(0, os.path.join(TOP, "python"))
from lineburn_hook import numba_cache  # noqa: E402

STRANGER = 4711
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


def make(name, mode=0o700, owner=-1, group=-1):
    """Makes the folder WORK/@name."""
    path = folder(name)
    os.chown(path, owner, group)
    os.chmod(path, mode)
    return path


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
    places = [("not-a-folder", file), ("open-to-all", open_to_all), ("below", os.path.join(open_to_all, "x"))]
    if not os.geteuid():
        places.append(("of-another", make(name + "-of-another", 0o755, STRANGER)))
    for kind, place in places:
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


def refused(base, chosen=True):
    """Why the cache cannot be in @base; "": it can."""
    try:
        made = numba_cache._make(base, chosen, "1-2/leaf")
        return "" if os.path.isdir(made) and made == os.path.realpath(made) else made
    except numba_cache._Unusable as e:
        return str(e)


def is_not_writable_to_others():
    for name, mode, why in (("mine", 0o755, ""), ("open", 0o777, "other users may write to %s"),
                            ("sticky", 0o1777, "other users may write to %s")):
        base = make("safe-" + name, mode)
        report("cache-folder-" + name, unlike(refused(base), why and why % base))
    base = make("safe-inside")
    inner = make("safe-inside/1-2", 0o777)
    report("cache-open-inside", unlike(refused(base), "other users may write to %s" % inner))
    report("cache-below-sticky", unlike(refused(os.path.join(WORK, "safe-sticky/mine")), ""))
    report("cache-below-open", unlike(refused(os.path.join(WORK, "safe-open/mine")),
                                      "other users may write to %s" % os.path.join(WORK, "safe-open")))
    link = os.path.join(WORK, "safe-link")
    os.symlink(os.path.join(WORK, "safe-mine"), link)
    report("cache-link-chosen", unlike(refused(link), ""))
    report("cache-link", unlike(refused(link, False), "%s is a link" % link))


def is_of_no_other():
    if os.geteuid():
        skip("cache-of-others", "needs root, to give folders away")
        return
    base = make("strange", 0o755, STRANGER)
    why = "%s belongs to another user" % base
    link = os.path.join(WORK, "strange-link")
    os.symlink(base, link)
    inner = make("strange-inside/1-2", 0o755, STRANGER)
    for name, path, reason in (("chosen", base, why), ("link", link, why), ("parent", os.path.join(base, "mine"), why),
                               ("inside", os.path.dirname(inner), "%s belongs to another user" % inner)):
        report("cache-of-another-" + name, unlike(refused(path), reason))
    group = make("strange-group", 0o770, 0, STRANGER)
    report("cache-group", unlike(refused(group), "other users may write to %s" % group))
    report("cache-group-of-root", unlike(refused(make("roots-group", 0o770, 0, 0)), ""))
    own = make("own-group", 0o770, STRANGER, STRANGER)
    geteuid, os.geteuid = os.geteuid, lambda: STRANGER
    report("cache-group-of-my-own", unlike(refused(own), ""))
    os.geteuid = geteuid


def has_no_access_list():
    """The bits of a group show what all others in the list may do."""
    base = make("listed", 0o700, os.geteuid(), os.getegid())
    # Version 2: u::rwx, u:STRANGER:rwx, g::rwx, m::rwx, o::---
    entries = (1, 7, -1), (2, 7, STRANGER), (4, 7, -1), (16, 7, -1), (32, 0, -1)
    listed = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(base, "system.posix_acl_access", listed)
    except OSError as e:
        skip("cache-access-list", "this file system has none: %s" % e.strerror)
        return
    report("cache-access-list", unlike(refused(base), "other users may write to %s" % base))


is_not_writable_to_others()
is_of_no_other()
has_no_access_list()
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
