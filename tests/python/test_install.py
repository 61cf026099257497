"""lineburn python-hook: a virtual environment gets the hook, and is as before without."""

import os
import stat
import subprocess
import sys
import venv

from suite import TOP, WORK, folder, report, run, unlike, write

LB = os.environ["LB"]
SHOW = ("import sys; print('lineburn_hook' in sys.modules, "
        "[type(f).__name__ for f in sys.meta_path].count('_Finder'))")


def lineburn(*arguments, cwd=None):
    done = subprocess.run([LB, "python-hook", *arguments], stdin=subprocess.DEVNULL, cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def tree(where):
    """Every file below it with its content; folders too."""
    result = {}
    for base, folders, names in os.walk(where):
        for name in names + folders:
            path = os.path.join(base, name)
            regular = os.path.isfile(path) and not os.path.islink(path)
            result[path] = open(path, "rb").read() if regular else None
    return result


def make_venv(name):
    where = folder(name)
    venv.create(where, symlinks=True, with_pip=False)
    python = os.path.join(where, "bin", "python")
    site = os.path.join(where, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
    return where, python, site


def installed():
    where, python, site = make_venv("venv-installed")
    before = tree(where)
    status, out, err = lineburn("--install", where)
    report("install", unlike((status, out), (0, "")) or
           ("" if err.count("\n") == 1 and site in err else err))
    report("install-starts", unlike(run(python, "-c", SHOW, hook=False), (0, "True 1\n", "")))
    report("install-under-run", unlike(run(python, "-c", SHOW), (0, "True 1\n", "")))
    report("install-off", unlike(run(python, "-c", SHOW, hook=False, LINEBURN_PYTHON_HOOK="off"),
                                 (0, "True 0\n", "")))
    report("install-isolated-too", unlike(run(python, "-I", "-c", SHOW, hook=False),
                                          (0, "True 1\n", "")))
    package = os.path.join(site, "lineburn_hook")
    modes = {stat.S_IMODE(os.stat(os.path.join(package, name)).st_mode)
             for name in os.listdir(package) if name != "__pycache__"}
    report("install-readable", unlike(modes, {0o644}))
    once = tree(where)
    lineburn("--install", where)
    report("install-idempotent", unlike(tree(where) == once, True))
    run(python, "-c", SHOW, hook=False, PYTHONDONTWRITEBYTECODE="")
    compiled = os.path.exists(os.path.join(package, "__pycache__"))
    status, out, err = lineburn("--remove", where)
    report("remove", unlike((status, out), (0, "")))
    report("remove-undoes", unlike(set(tree(where)) ^ set(before), set()) or
           unlike(tree(where) == before, True) or ("" if compiled else "nothing was compiled"))
    report("remove-idempotent", unlike(lineburn("--remove", where)[0], 0))


def damaged():
    where, python, site = make_venv("venv-damaged")
    lineburn("--install", where)
    for name in os.listdir(os.path.join(site, "lineburn_hook")):
        os.unlink(os.path.join(site, "lineburn_hook", name))
    os.rmdir(os.path.join(site, "lineburn_hook"))
    report("package-gone-is-silent", unlike(run(python, "-c", "print(1)", hook=False),
                                            (0, "1\n", "")))
    write(os.path.join(site, "lineburn_hook"), "not a folder")
    status, _, err = lineburn("--install", where)
    report("install-over-file", "" if status == 1 and err.count("\n") == 1 else err)


def cache_dir():
    where, _, site = make_venv("venv-cache")
    lineburn("--install", where, "--cache-dir", "relative", cwd=where)
    with open(os.path.join(site, "lineburn_hook", "cache-dir"), encoding="utf-8") as f:
        report("install-cache-dir", unlike(f.read(), os.path.join(where, "relative") + "\n"))
    lineburn("--install", where)
    report("install-forgets-cache-dir",
           unlike(os.path.exists(os.path.join(site, "lineburn_hook", "cache-dir")), False))


def refused():
    for kind, path, status in (("missing", "/nonexistent", 1), ("no-prefix", folder("empty"), 1),
                               ("pattern", folder("a[b]"), 1)):
        got = lineburn("--install", path)
        report("refuses-" + kind, "" if got[0] == status and got[2].count("\n") == 1 and
               not got[1] else str(got))
    old = folder("old/lib/python3.8/site-packages")
    got = lineburn("--install", old.split("/lib/")[0])
    report("refuses-old", "" if got[0] == 1 and "3.9" in got[2] else str(got))


def owners_rights():
    """As root: what the owner of the environment could divert is not followed as root."""
    if os.geteuid():
        return
    where, _, site = make_venv("venv-of-nobody")
    for closed in (os.path.dirname(WORK), WORK):
        os.chmod(closed, 0o755)
    os.chown(site, 65534, 65534)
    victim = write(os.path.join(folder("victim"), "file"), "root's\n")
    os.chmod(victim, 0o600)
    os.symlink(victim, os.path.join(site, "lineburn-hook.pth"))
    status, _, err = lineburn("--install", where)
    st = os.stat(victim)
    report("install-with-owners-rights", unlike(
        (stat.S_IMODE(st.st_mode), open(victim, encoding="utf-8").read()), (0o600, "root's\n")) or
        unlike(status, 0) and err or
        unlike(os.stat(os.path.join(site, "lineburn_hook")).st_uid, 65534))


def path():
    got = lineburn("--path")
    report("path", unlike(got, (0, os.path.join(TOP, "python", "startup") + "\n", "")))


installed()
damaged()
cache_dir()
refused()
owners_rights()
path()
