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

If none of them can be written, the program's own cache is read, never written.
"""

import functools
import hashlib
import os
import stat

from . import CACHE_FORMAT, mode, numba_lines, say


def _home():
    """The home of the effective user: HOME may still be another user's (sudo -E)."""
    home = os.path.expanduser("~")
    try:
        if os.stat(home).st_uid == os.geteuid():
            return home
        import pwd

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


def _is_safe(folder, chosen) -> bool:
    """Code is loaded from @folder: other users must not be able to write to it."""
    st = os.lstat(folder)
    if not stat.S_ISDIR(st.st_mode) and not chosen:
        return False
    if st.st_mode & stat.S_IWOTH:
        return False
    return chosen or st.st_uid in (os.geteuid(), 0)


def _make(base, chosen, leaf):
    """Return: the folder below @base for the functions of one source folder, or None."""
    try:
        os.makedirs(base, mode=0o700, exist_ok=True)
        if not _is_safe(base, chosen):
            return None
        folder = os.path.join(base, leaf)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return folder if os.access(folder, os.W_OK | os.X_OK) else None
    except OSError:
        return None


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

    tried = []
    for base, chosen in _candidates(config.CACHE_DIR, numba_path):
        folder = _make(base, chosen, _leaf(version, numba_path))
        if folder:
            return folder
        tried.append(base)
    say("no private Numba cache: %s cannot be written safely; functions that come from the "
        "program's own cache have names, but no lines" % (" and ".join(tried) or "nothing"))
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
