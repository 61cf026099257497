# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps compiled functions with lines apart from those of the user's own runs.

Numba's index does not say whether code has debug info: with one cache for both, a run
with the hook would load code without lines, and a production run would load ours. So
Numba decides whether and where it caches a function, and the hook then replaces that
folder by a private one, which is kept between runs:

1. LINEBURN_NUMBA_CACHE_DIR, or the folder given to "python-hook --install --cache-dir";
2. the program's NUMBA_CACHE_DIR with ".lineburn" appended;
3. below "lineburn run": lineburn/numba in XDG_CACHE_HOME (~/.cache);
   otherwise: a folder "lineburn" within the folder that Numba chose.

If none of them can be used, the program's own cache is read, never written.
"""

import functools
import grp
import hashlib
import os
import pwd
import stat

from . import CACHE_FORMAT, mode, numba_lines, say


def _home():
    """The home of the effective user: HOME may still be another user's (sudo -E)."""
    home = os.path.expanduser("~")
    try:
        if os.stat(home).st_uid == os.geteuid():
            return home
        return pwd.getpwuid(os.geteuid()).pw_dir
    except (OSError, KeyError):
        return None


def _user_cache_dir():
    given = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):
        return given
    home = _home()
    return os.path.join(home, ".cache") if home else None


def _installed_dir():
    try:
        with open(os.path.join(os.path.dirname(__file__), "cache-dir")) as f:
            return f.read().rstrip("\n") or None
    except OSError:
        return None


def _candidates(numba_cache_dir, numba_path):
    """(folder, whether the user chose it explicitly), best first."""
    explicit = os.environ.get("LINEBURN_NUMBA_CACHE_DIR") or _installed_dir()
    if explicit:
        yield os.path.abspath(explicit), True
        return
    if numba_cache_dir:
        yield os.path.abspath(numba_cache_dir) + ".lineburn", False
    if mode() == "run":
        user = _user_cache_dir()
        if user:
            yield os.path.join(user, "lineburn", "numba"), False
    else:
        yield os.path.join(os.path.abspath(numba_path), "lineburn"), False


class _Unusable(Exception):
    """Says in words why a folder cannot hold the cache."""


def _is_private(group, owner) -> bool:
    """Is @owner alone in @group? Where the umask is 002, each user has such a group."""
    try:
        user, entry = pwd.getpwuid(owner), grp.getgrgid(group)
    except KeyError:  # as in a container that has no names
        return group == owner
    return user.pw_gid == group and entry.gr_name == user.pw_name and set(entry.gr_mem) <= {user.pw_name}


def _has_access_list(path) -> bool:
    try:
        return "system.posix_acl_access" in os.listxattr(path)
    except OSError:  # a file system without any
        return False


def _others_may_write(path, st) -> bool:
    if st.st_mode & stat.S_IWOTH:
        return True
    # With an access list, the bits of the group are those of everybody whom it names.
    return bool(st.st_mode & stat.S_IWGRP) and (not _is_private(st.st_gid, st.st_uid) or _has_access_list(path))


def _check(path, is_above) -> None:
    """@is_above: @path leads to the cache. There nobody may replace what belongs to others if it is sticky (/tmp)."""
    st = os.lstat(path)
    if not stat.S_ISDIR(st.st_mode):
        raise _Unusable("%s is not a folder" % path)
    if st.st_uid not in (os.geteuid(), 0):
        raise _Unusable("%s belongs to another user" % path)
    if _others_may_write(path, st) and not (is_above and st.st_mode & stat.S_ISVTX):
        raise _Unusable("other users may write to %s" % path)


def _make(base, chosen, leaf):
    """Return: the folder below @base for the functions of one source folder.

    Code is loaded from it: other users must not be able to write to it, nor to put another in its place. So each
    folder on the way is checked, from the root on: once those above are safe, nobody can swap the next one.
    """
    if os.path.islink(base) and not chosen:
        raise _Unusable("%s is a link" % base)
    base = os.path.realpath(base)
    folder = os.path.join(base, leaf)
    path = "/"
    try:
        for part in folder.split("/"):
            path = os.path.join(path, part)
            if not os.path.lexists(path):
                os.makedirs(path, mode=0o700, exist_ok=True)
            _check(path, len(path) < len(base))
    except OSError as e:
        raise _Unusable("cannot use %s: %s" % (path, e.strerror)) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _Unusable("cannot write to %s" % folder)
    return folder


def _leaf(version: str, numba_path: str) -> str:
    """A name that differs by version of Numba and of the hook, and by source folder."""
    numba_path = os.path.abspath(numba_path)
    digest = hashlib.sha1(os.fsencode(numba_path)).hexdigest()
    name = os.path.basename(numba_path)
    if name == "__pycache__":
        name = os.path.basename(os.path.dirname(numba_path))
    return os.path.join("%s-%d" % (version, CACHE_FORMAT), "%s_%s" % (name, digest))


def _private_path(version: str, numba_path: str):
    from numba.core import config

    reasons = []
    for base, chosen in _candidates(config.CACHE_DIR, numba_path):
        try:
            return _make(base, chosen, _leaf(version, numba_path))
        except _Unusable as e:
            reasons.append(str(e))
    say("no private Numba cache: %s; functions that come from the program's own cache have names, but no lines; set "
        "LINEBURN_NUMBA_CACHE_DIR to a folder that nobody else can write to or replace, such as one in your home"
        % (" and ".join(reasons) or "this user has no home"))
    return None


def _move(locator, version: str) -> bool:
    """Return: whether a private folder replaced the one that Numba chose."""
    private = _private_path(version, locator.get_cache_path())
    if private:
        locator.get_cache_path = lambda: private
    return private is not None


def _wrap_place(caching, version: str) -> None:
    impl = caching.CacheImpl
    init = impl.__init__

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)  # the program must see its exceptions
        self.lineburn_may_save = False
        try:
            self.lineburn_may_save = _move(self.locator, version)
        except Exception as e:
            say("no private Numba cache: %s: %s" % (type(e).__name__, e))

    impl.__init__ = __init__


def _remember(cache, loaded) -> None:
    """Remembers a function of our cache: Numba compiles its wrappers anew at each start."""
    name = getattr(getattr(loaded, "fndesc", None), "llvm_func_name", None)
    if name and getattr(cache._impl, "lineburn_may_save", False):
        numba_lines.remember(name, cache._py_func.__code__)


def _wrap_use(caching) -> None:
    cache = caching.Cache
    load, save = cache.load_overload, cache.save_overload

    @functools.wraps(load)
    def load_overload(self, *args, **kwargs):
        loaded = load(self, *args, **kwargs)
        try:
            _remember(self, loaded)
        except Exception as e:
            say("functions around cached ones get no lines: %s" % e)
        return loaded

    @functools.wraps(save)
    def save_overload(self, *args, **kwargs):
        if getattr(self._impl, "lineburn_may_save", True):
            return save(self, *args, **kwargs)
        return None

    cache.load_overload = load_overload
    cache.save_overload = save_overload


_EXPECTED = (
    ("numba.core.caching", "CacheImpl.__init__", {"py_func"}),
    ("numba.core.caching", "CacheImpl.locator", set()),
    ("numba.core.caching", "_CacheLocator.get_cache_path", {"self"}),
    ("numba.core.caching", "_CacheLocator.ensure_cache_path", {"self"}),
    ("numba.core.caching", "Cache.load_overload", {"sig"}),
    ("numba.core.caching", "Cache.save_overload", {"sig"}),
)


def check() -> None:
    """Raises UnknownNumba when what install() needs is not there."""
    numba_lines.expect(_EXPECTED)


def install(numba) -> None:
    from numba.core import caching

    _wrap_place(caching, numba.__version__)
    _wrap_use(caching)
