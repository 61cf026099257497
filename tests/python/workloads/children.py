"""Prints "lines" or "none" for a function compiled in a child of each kind."""

import multiprocessing
import subprocess
import sys

CHILD = """
from numba import njit
@njit
def f(x):
    return x * 3 + 1
f(2)
print("lines" if "DISubprogram" in next(iter(f.inspect_llvm().values())) else "none")
"""


def in_child(queue):
    from numba import njit

    @njit
    def f(x):
        return x * 3 + 1

    f(2)
    queue.put("lines" if "DISubprogram" in next(iter(f.inspect_llvm().values())) else "none")


if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        child = context.Process(target=in_child, args=(queue,))
        child.start()
        print(method, queue.get(timeout=100))
        child.join()
    out = subprocess.run([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, check=True)
    print("subprocess", out.stdout.decode().strip())
    out = subprocess.run([sys.executable, "-I", "-c", CHILD], stdout=subprocess.PIPE, check=True)
    print("isolated", out.stdout.decode().strip())
