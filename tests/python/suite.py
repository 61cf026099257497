"""Helpers: prints results, and runs Pythons with and without the hook."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
WORKLOADS = os.path.join(HERE, "workloads")
STARTUP = os.path.join(TOP, "python", "startup")
WORK = tempfile.mkdtemp(prefix="lineburn-python-")
os.chmod(WORK, 0o755)  # a viewer of root opens sources that no recording has read as nobody


def report(name, problem):
    """@problem: what is wrong, or "" if the test passed."""
    if problem:
        print("not ok %s: %s" % (name, str(problem).replace("\n", " ")[-400:]), flush=True)
    else:
        print("ok " + name, flush=True)


def skip(name, reason):
    print("skip %s: %s" % (name, reason), flush=True)


def environment(hook, **more):
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": os.path.join(WORK, "home"),
           "PYTHONDONTWRITEBYTECODE": "1"}
    os.makedirs(env["HOME"], exist_ok=True)
    if hook:
        env["PYTHONPATH"] = STARTUP
        env["LINEBURN_PYTHON_HOOK"] = "run"
    env.update(more)
    return env


def run(python, *arguments, hook=True, cwd=None, **more):
    """Return: (status, stdout, stderr)."""
    done = subprocess.run([python, *arguments], env=environment(hook, **more), cwd=cwd or WORK,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=250, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def unlike(got, want):
    return "" if got == want else "%r, not %r" % (got, want)


def folder(name):
    path = os.path.join(WORK, name)
    os.makedirs(path, exist_ok=True)
    return path


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def pythons():
    """(name, path) of the Python with Numba, and of that with an older Numba; path None: missing."""
    new = os.environ.get("LB_NUMBA_NEW") or os.path.join(TOP, "build", "venv", "numba-new")
    for name, path in ("NEW", new), ("OLD", os.environ.get("LB_NUMBA_OLD")):
        if not path:
            continue
        if os.path.isdir(path):
            path = os.path.join(path, "bin", "python")
        yield name.lower(), path if os.path.exists(path) else None


def this_python():
    return sys.executable
