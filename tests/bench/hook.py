"""Numba with the hook, without it, and with its own debug info: medians of paired runs.

usage: hook.py PYTHON...   (each with a Numba; ROUNDS=5). Prints Markdown.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STARTUP = os.path.join(TOP, "python", "startup")
KERNELS = os.path.join(TOP, "tests", "python", "workloads")
ROUNDS = int(os.environ.get("ROUNDS", "5"))
WAYS = ("plain", "hook", "NUMBA_DEBUGINFO=1")

PROGRAM = """
import json, sys, time
sys.path.insert(0, %r)
import kernels
cases = kernels.cases()
begin = time.process_time()
for function, arguments in cases.items():
    function(*arguments)
result = {"compile": time.process_time() - begin}
for name in ("dither", "mandel", "array_expression"):
    function = getattr(kernels, name)
    arguments, best, end = cases[function], 1e9, time.perf_counter() + 0.4
    while time.perf_counter() < end:
        begin = time.perf_counter()
        function(*arguments)
        best = min(best, time.perf_counter() - begin)
    result[name] = best
import numba
result["version"] = "numba %%s, CPython %%d.%%d" %% ((numba.__version__,) + sys.version_info[:2])
print(json.dumps(result))
""" % KERNELS


def environment(way):
    env = {"PATH": os.environ["PATH"], "HOME": tempfile.gettempdir(), "PYTHONWARNINGS": "ignore"}
    if way == "hook":
        env.update(PYTHONPATH=STARTUP, LINEBURN_PYTHON_HOOK="run")
    elif way != "plain":
        env["NUMBA_DEBUGINFO"] = "1"
    return env


def once(python, way):
    out = subprocess.run([python, "-c", PROGRAM], env=environment(way), stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True)
    return json.loads(out.stdout)


def compare(python):
    """Each round runs one process of each way, one after the other; ratios are within a round."""
    rounds = [{way: once(python, way) for way in WAYS} for _ in range(ROUNDS)]
    print("\n%s, %d rounds:\n" % (rounds[0]["plain"]["version"], ROUNDS))
    print("| | plain | hook | hook / plain | NUMBA_DEBUGINFO=1 / plain |")
    print("|---|---|---|---|---|")
    for what, unit, scale in (("dither", "µs", 1e6), ("mandel", "µs", 1e6),
                              ("array_expression", "µs", 1e6), ("compile", "s", 1)):
        values = [statistics.median(r[way][what] * scale for r in rounds) for way in WAYS[:2]]
        ratios = [statistics.median(r[way][what] / r["plain"][what] for r in rounds)
                  for way in WAYS[1:]]
        print("| %s | %.*f %s | %.*f %s | %.2f | %.2f |" % (
            what.replace("_", " "), 2 if scale == 1 else 1, values[0], unit,
            2 if scale == 1 else 1, values[1], unit, *ratios))


def startup(python):
    """Milliseconds that the hook adds to the start of a Python whose .pyc files exist."""
    def start(way):
        begin = time.perf_counter()
        subprocess.run([python, "-c", "pass"], env=environment(way), check=True)
        return time.perf_counter() - begin

    start("hook")
    differences = [(start("hook") - start("plain")) * 1e3 for _ in range(60)]
    print("\nStart of a Python: %.2f ms longer (median of 60 pairs)." %
          statistics.median(differences))


if len(sys.argv) < 2:
    sys.exit("usage: hook.py PYTHON...")
print("## Numba with the hook")
for interpreter in sys.argv[1:]:
    compare(interpreter)
startup(sys.argv[1])
