"""lineburn python-hook: --install adds the hook to a virtual environment, --remove undoes it."""

import os
import shutil
import stat
import subprocess
import sys
import time
import venv

from suite import TOP, WORK, folder, report, run, skip, unlike, write

LB = os.environ["LB"]
SHOW = ("import sys; print('lineburn_hook' in sys.modules, "
        "[type(f).__name__ for f in sys.meta_path].count('_Finder'))")


def lineburn(*arguments, cwd=None):
    done = subprocess.run([LB, "python-hook", *arguments], stdin=subprocess.DEVNULL, cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def tree(where):
    """{path: content, or None for a folder or link} of everything below @where."""
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
                               ("nothing", "", 1)):
        got = lineburn("--install", path)
        report("refuses-" + kind, "" if got[0] == status and got[2].count("\n") == 1 and
               not got[1] else str(got))
    old = folder("old/lib/python3.8/site-packages")
    got = lineburn("--install", old.split("/lib/")[0])
    report("refuses-old", "" if got[0] == 1 and "3.9" in got[2] else str(got))


def names_are_names():
    """A path is not used as a glob pattern, and its control characters are escaped."""
    where, _, site = make_venv("venv[*]")
    report("install-no-pattern", unlike(lineburn("--install", where)[0], 0) or
           unlike(os.path.isdir(os.path.join(site, "lineburn_hook")), True))
    where, _, site = make_venv("venv\033c")
    other = os.path.join(where, "lib", "python3.99\033]0;title\007", "site-packages")
    os.makedirs(other)
    for action in "--install", "--remove":
        status, out, err = lineburn(action, where)
        report("escapes" + action[1:], unlike((status, out), (0, "")) or
               unlike(err.count("\n"), 2) or
               ("" if "venv\\x1bc" in err and "python3.99\\x1b]0;title\\x07" in err and
                not {"\033", "\007"} & set(err) else repr(err)))
    report("escapes-all", unlike((os.listdir(other), os.listdir(site)), ([], [])))


# ---- as root, in an environment of another user ----

OWNER, STRANGER = 54321, 54322


def own(where, uid):
    """Gives @where and everything below it, also links, to this user."""
    os.lchown(where, uid, uid)
    for base, folders, names in os.walk(where):
        for name in folders + names:
            os.lchown(os.path.join(base, name), uid, uid)


def venv_of(uid, name):
    made = make_venv(name)
    own(made[0], uid)
    return made


def state(where):
    """Everything that an intruder could change: types, modes, owners, contents, links."""
    result = {}
    for base, folders, names in os.walk(where):
        for name in [""] + folders + names:
            path = os.path.join(base, name)
            st = os.lstat(path)
            what = (os.readlink(path) if stat.S_ISLNK(st.st_mode) else
                    open(path, "rb").read() if stat.S_ISREG(st.st_mode) else None)
            result[path] = (st.st_mode, st.st_uid, st.st_gid, st.st_nlink, what)
    return result


def roots_own(name):
    """Root's own prefix with the hook, and a secret in each folder: it must never change."""
    where = folder(name)
    site = folder(name + "/lib/python%d.%d/site-packages" % sys.version_info[:2])
    lineburn("--install", where)
    package = os.path.join(site, "lineburn_hook")
    compiled = folder(os.path.relpath(os.path.join(package, "__pycache__"), WORK))
    for path in (os.path.join(site, "secret"), os.path.join(package, "secret"),
                 os.path.join(compiled, "__init__.cpython-311.pyc")):
        os.chmod(write(path, "root's\n"), 0o600)
    os.chmod(os.path.join(package, "numba_lines.py"), 0o600)
    os.chmod(package, 0o700)
    return where, site


def replace_by_link(path, to):
    """Replaces @path by a link to @to, as the owner of the environment could."""
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)
    os.symlink(to, path)
    os.lchown(path, OWNER, OWNER)


def owners_rights():
    """Root follows no link that the owner put into the environment, at any place."""
    python = "lib/python%d.%d" % sys.version_info[:2]
    package = python + "/site-packages/lineburn_hook"
    places = {"prefix": "", "lib": "lib", "python": python, "site": python + "/site-packages",
              "package": package, "compiled": package + "/__pycache__",
              "module": package + "/numba_lines.py", "version": package + "/version",
              "cache-dir": package + "/cache-dir",
              "pth": python + "/site-packages/lineburn-hook.pth"}
    elsewhere, _ = roots_own("roots")
    before = state(elsewhere)
    for name, place in places.items():
        for action in "--install", "--remove":
            where, _, _ = venv_of(OWNER, "venv-link-%s%s" % (name, action))
            lineburn("--install", where)
            replace_by_link(os.path.join(where, place) if place else where,
                            os.path.join(elsewhere, place))
            status, out, err = lineburn(action, where)
            inside = place.startswith(package) or name == "pth"
            expected = 1 if not inside or (name, action) == ("package", "--install") else 0
            # __pycache__ is the owner's link instead of a folder, so --remove leaves it.
            if (name, action) == ("compiled", "--remove"):
                expected = 1
            now = state(elsewhere)
            changed = [path for path in set(before) | set(now)
                       if before.get(path) != now.get(path)]
            report("follows-no-link-%s%s" % (name, action), unlike(changed, []) or
                   unlike((status, out), (expected, "")) or unlike(err.count("\n"), 1))
            if changed:
                shutil.rmtree(elsewhere)
                elsewhere, _ = roots_own("roots")
                before = state(elsewhere)


def says(name, where, *words):
    """lineburn refuses with one sentence that has these words, and changes nothing."""
    for action in "--install", "--remove":
        before = state(where)
        status, out, err = lineburn(action, where)
        report(name + action[1:], unlike((status, out), (1, "")) or
               unlike(err.count("\n"), 1) or unlike(state(where) == before, True) or
               ("" if all(word in err for word in words) else err))


def refused_to_root():
    where, _, site = venv_of(OWNER, "venv-mixed")
    os.chown(site, STRANGER, STRANGER)
    says("refuses-mixed-owners", where, "uid %d" % OWNER, "uid %d" % STRANGER, site)
    os.chown(site, 0, 0)
    says("refuses-root-within", where, "uid %d" % OWNER, "uid 0", site)
    os.chown(site, OWNER, OWNER)
    link = os.path.join(WORK, "link-of-stranger")
    os.symlink(where, link)
    os.lchown(link, STRANGER, STRANGER)
    says("refuses-link-of-stranger", link, "a link that neither root nor the owner")
    where, _, site = venv_of(OWNER, "venv-linked")
    os.rename(site, where + "/packages")
    replace_by_link(site, where + "/packages")
    says("refuses-link-within", where, site, "reached through a link", "uid %d" % OWNER)
    # An environment of root with a folder replaced by another user's link.
    elsewhere, _ = roots_own("roots-other")
    where, _, site = make_venv("venv-of-root")
    replace_by_link(os.path.dirname(site), os.path.join(elsewhere, "lib", "python%d.%d" %
                                                        sys.version_info[:2]))
    before = state(elsewhere)
    says("refuses-link-in-roots", where, site, "reached through a link", "uid 0")
    report("refuses-link-in-roots", unlike(state(elsewhere) == before, True))


def works_for(name, where, site, uid):
    status, out, err = lineburn("--install", where)
    package = os.path.join(site, "lineburn_hook")
    modes = {(st.st_uid, stat.S_IMODE(st.st_mode)) for st in
             [os.lstat(os.path.join(package, one)) for one in os.listdir(package)] +
             [os.lstat(os.path.join(site, "lineburn-hook.pth"))]} if status == 0 else {}
    report(name, unlike((status, out), (0, "")) or unlike(modes, {(uid, 0o644)}))
    report(name + "-starts", unlike(run(os.path.join(where, "bin", "python"), "-c", SHOW,
                                        hook=False), (0, "True 1\n", "")))
    status, out, err = lineburn("--remove", where)
    report(name + "-removed", unlike((status, out), (0, "")) or
           unlike([one for one in os.listdir(site) if "lineburn" in one], []))


def accepted_from_root():
    where, _, site = venv_of(OWNER, "data/home/app/venv")
    works_for("of-user", where, site, OWNER)
    os.chmod(where, 0o700)
    works_for("of-user-closed", where, site, OWNER)
    os.symlink("data/home", os.path.join(WORK, "home-link"))
    works_for("behind-link-of-root", os.path.join(WORK, "home-link", "app", "venv"), site, OWNER)
    link = os.path.join(WORK, "data", "home", "app", "current")
    os.symlink(os.path.join(WORK, "data", ".", "..", "data", "home", "app", "venv"), link)
    os.lchown(link, OWNER, OWNER)
    works_for("behind-link-of-owner", link + "//", site, OWNER)
    # A magic link of procfs, as into a container: readlink() does not tell where it leads.
    works_for("behind-link-of-kernel", "/proc/self/root" + where, site, OWNER)
    os.symlink("loop", os.path.join(WORK, "loop"))
    status, _, err = lineburn("--install", os.path.join(WORK, "loop"))
    report("link-in-a-circle", "" if status == 1 and "Too many levels" in err else err)


SWAPS = """
import ctypes, os, sys
os.setgid(%d)
os.setuid(%d)
exchange = ctypes.CDLL(None, use_errno=True).renameat2
a, b = (os.fsencode(path) for path in sys.argv[1:])
if exchange(-100, a, -100, b, 2):
    sys.exit("cannot exchange: errno %%d" %% ctypes.get_errno())
print("ready", flush=True)
while os.getppid() == int(os.environ["PARENT"]):
    exchange(-100, a, -100, b, 2)
"""


def swapped(name, path, other, where, elsewhere):
    """Race: the owner swaps two names as fast as possible, while root installs and removes."""
    before = state(elsewhere)
    swapper = subprocess.Popen([sys.executable, "-c", SWAPS % (OWNER, OWNER), path, other],
                               env={"PARENT": str(os.getpid())}, stdout=subprocess.PIPE)
    swaps_them = swapper.stdout.readline() == b"ready\n"
    tries, changed = 0, []
    until = time.monotonic() + float(os.environ.get("SWAP_SECONDS", "1"))
    while not changed and tries < 200 and (tries < 20 or time.monotonic() < until):
        lineburn("--install" if tries % 2 else "--remove", where)
        tries += 1
        now = state(elsewhere)
        changed = [one for one in set(before) | set(now) if before.get(one) != now.get(one)]
    still_swaps = swapper.poll() is None
    swapper.kill()
    swapper.wait()
    report("swapped-" + name, unlike(changed, []) or unlike((swaps_them, still_swaps), (True, True)))


def swaps():
    python = "lib/python%d.%d" % sys.version_info[:2]
    for name, place in (("prefix", ""), ("lib", "lib"), ("python", python),
                        ("site", python + "/site-packages"),
                        ("package", python + "/site-packages/lineburn_hook")):
        elsewhere, _ = roots_own("roots-" + name)
        where, _, _ = venv_of(OWNER, "swaps/" + name)
        os.chown(os.path.dirname(where), OWNER, OWNER)
        lineburn("--install", where)
        link = os.path.join(where, "other") if place else where + "-other"
        os.symlink(os.path.join(elsewhere, place), link)
        os.lchown(link, OWNER, OWNER)
        swapped(name, os.path.join(where, place) if place else where, link, where, elsewhere)


def as_root():
    if os.geteuid():
        skip("install-as-root", "needs root, which installs for others")
        return
    for closed in (os.path.dirname(WORK), WORK):
        os.chmod(closed, 0o755)
    owners_rights()
    refused_to_root()
    accepted_from_root()
    swaps()


def path():
    got = lineburn("--path")
    report("path", unlike(got, (0, os.path.join(TOP, "python", "startup") + "\n", "")))


installed()
damaged()
cache_dir()
refused()
names_are_names()
as_root()
path()
