# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact end-to-end tests on page faults.

usage: exact.py LINEBURN PAGES PYTHON PAGES.C [CGROUP2]

PAGES touches fresh pages on command (tests/workloads/pages.c). PYTHON does the same, and looks like a
CPython (not-python.c). CGROUP2 is the mount point of cgroup v2.
Prints "ok NAME", "not ok NAME: reason" or "skip NAME: reason" for each test.
"""
import contextlib
import glob
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time

import faults
import pprof_file

LB, PAGES, PYTHON, SOURCE = sys.argv[1:5]
CGROUP2 = sys.argv[5] if len(sys.argv) > 5 else ""

with open(SOURCE, encoding="utf-8") as text:
    LINES = {line.rsplit("HOT ", 1)[1].split()[0]: number
             for number, line in enumerate(text, 1) if "/* HOT " in line}


@contextlib.contextmanager
def target(program=PAGES, **how):
    it = faults.Target(program, **how)
    try:
        it.do("touch 1")  # load the pages of its libraries
        yield it
    finally:
        it.end()


class Recording(faults.Recording):
    def profile(self, *options):
        self.end()
        return Profile(self.path, *options)


class Profile:
    def __init__(self, path, *options):
        self.json = json.loads(subprocess.run([LB, "annotate", "--json", *options, path], check=True,
                                              stdout=subprocess.PIPE).stdout)
        self.losses = self.json["losses"]

    def line(self, marker, member="self", nr=1):
        """The samples of the line, and of those after it that make it @nr."""
        return sum(line[member] for file in self.json["files"] if file["path"].endswith("/pages.c")
                   for line in file["lines"] if 0 <= line["line"] - LINES[marker] < nr)

    def touched(self):
        """The samples of each line."""
        return {marker: self.line(marker) for marker in ("one", "two", "three")}

    def must_have(self, nr):
        """The lines have exactly the samples of "touch NR", and nothing was lost."""
        want = {"one": nr, "two": 2 * nr, "three": 3 * nr}
        if self.touched() != want:
            raise AssertionError(f"{self.touched()}, not {want}")
        self.must_close()
        if self.losses["counted"] != self.losses["sampled"]:
            raise AssertionError(f"{self.losses['counted']} counted of {self.losses['sampled']}")

    def must_have_all_but_lost(self, nr):
        """As must_have(), but counted losses are allowed: the recording has faults of others, too."""
        self.must_close()
        touched = self.touched()
        missing = [times * nr - touched[marker] for marker, times in (("one", 1), ("two", 2), ("three", 3))]
        if min(missing) < 0 or sum(missing) > self.lost():
            raise AssertionError(f"{touched}, not those of {nr}, and {self.lost()} lost")

    def lost(self):
        return sum(self.losses[name] for name in ("lost_counts_full", "lost_internal", "lost_drain", "rows_dropped"))

    def must_close(self):
        if self.losses["sampled"] != self.losses["counted"] + self.lost():
            raise AssertionError(f"the sums do not close: {self.losses}")
        if self.json["samples"]["count"] != self.losses["counted"]:
            raise AssertionError(f"{self.json['samples']['count']} samples in the profile, "
                                 f"{self.losses['counted']} counted")


def equal(what, is_, wanted):
    if is_ != wanted:
        raise AssertionError(f"{what}: {is_}, not {wanted}")


# ---- the tests ----

def run():
    """"run" misses no fault of a command, from its first instruction on."""
    subprocess.run([LB, "run", "-e", "page-faults", "-o", "run.pb.gz", "--", PAGES, "touch 100", "child 20",
                    "thread 3"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    Profile("run.pb.gz").must_have(123)


def callers():
    """Complete stacks: the line of each call has the total of its callee."""
    with target() as pages:
        recording = Recording("callers", "-p", str(pages.pid))
        # The unwind table of its code is made at the first sample. A snapshot comes later.
        pages.do("touch 1")
        recording.snapshot()
        pages.do("touch 1000")
        profile = recording.profile()
    profile.must_have(1001)
    for marker, nr in (("by-one", 1000), ("by-two", 2000)):
        if not nr <= profile.line(marker, "total") <= nr + nr / 1000:
            raise AssertionError(f"{marker}: {profile.line(marker, 'total')}, not {nr}")
    equal("by-one itself", profile.line("by-one"), 0)


def period():
    """With -c 10, a sample counts as ten faults."""
    with target() as pages:
        recording = Recording("period", "-c", "10", "-p", str(pages.pid))
        pages.do("touch 1000")
        recording.end()
    said = subprocess.run([LB, "report", "--json", "period.pb.gz"], check=True, stdout=subprocess.PIPE).stdout
    profile = json.loads(said)
    equal("faults", profile["samples"]["count"], 10 * profile["losses"]["counted"])
    if not 540 <= profile["losses"]["counted"] <= 640:
        raise AssertionError(f"{profile['losses']['counted']} samples of some 6000 faults")


def two_at_once(name, *options):
    """Two targets touch pages, and only the first is called "chosen"; records with @options."""
    with target() as first, target() as second:
        chosen = [option.format(first=first.pid, second=second.pid) for option in options]
        first.do("name chosen")
        recording = Recording(name, *chosen)
        for _ in range(2):
            first.do("touch 10")
            second.do("touch 100")
        profile = recording.profile()
    return profile


def pid():
    two_at_once("pid", "-p", "{first}").must_have(20)


def not_pid():
    two_at_once("not-pid", "-p", "!{first}").must_have_all_but_lost(200)


def thread():
    two_at_once("thread", "-t", "{first}").must_have(20)


def not_thread():
    two_at_once("not-thread", "--comm", "chosen", "--comm", "pages", "-t", "!{first}").must_have(200)


def comm():
    two_at_once("comm", "--comm", "cho?en").must_have(20)


def not_comm():
    two_at_once("not-comm", "--comm", "!chosen").must_have_all_but_lost(200)


def kinds_are_anded():
    two_at_once("and", "-p", "{first}", "-p", "{second}", "--comm", "chosen").must_have(20)


def whole_machine():
    two_at_once("all", "-a").must_have_all_but_lost(220)


def user():
    """--user samples a process only while it runs as that user."""
    with target() as pages:
        recording = Recording("user", "--user", "54321")
        pages.do("touch 10")
        pages.do("user 54321")
        pages.do("touch 7")
        pages.do("user 0")
        pages.do("touch 100")
        recording.profile().must_have(7)


def users_are_told_apart():
    """A process that changes its user has the samples of each, also of one drain and one stack."""
    with target() as pages:
        recording = Recording("users", "-p", str(pages.pid))
        for user_then, nr in (("0", 10), ("54321", 7), ("0", 100), ("54322", 3)):
            pages.do("user 0")
            pages.do(f"user {user_then}")
            pages.do(f"touch {nr}")
        recording.end()
    for name, nr in (("root", 110), ("54321", 7), ("54322", 3)):
        equal(name, Profile("users.pb.gz", "--user", name).touched(), {"one": nr, "two": 2 * nr, "three": 3 * nr})


def children():
    with target() as pages:
        recording = Recording("children", "-p", str(pages.pid))
        pages.do("touch 5")
        pages.do("child 30")
        recording.profile().must_have(35)


def no_children():
    with target() as pages:
        recording = Recording("no-children", "-p", str(pages.pid), "--no-children")
        pages.do("touch 5")
        pages.do("child 30")
        recording.profile().must_have(5)


def exec_goes_on():
    with target() as pages:
        recording = Recording("exec", "-p", str(pages.pid))
        pages.do("touch 5")
        pages.do("exec 30")
        pages.do("touch 7")
        recording.profile().must_have(42)


def threads_are_told_apart():
    with target() as pages:
        recording = Recording("tid", "-p", str(pages.pid), "--tid")
        pages.do("touch 5")
        pages.do("thread 9")
        recording.profile().must_have(14)
    said = json.loads(subprocess.run([LB, "report", "--json", "--by", "thread", "tid.pb.gz"], check=True,
                                     stdout=subprocess.PIPE).stdout)
    of = {group["comm"]: group["samples"] for group in said["groups"]}
    # More than 54 and 30, the pages that "touch" counts: pages of the stack and the C library.
    if not 54 <= of["toucher"] < 64 or not 30 <= of["pages"] < 50:
        raise AssertionError(f"{of}")


def cgroup():
    """A process is sampled while it is in the cgroup, and not before or after."""
    if not CGROUP2:
        return "no cgroup v2 is mounted"
    group = f"{CGROUP2}/lineburn-exact-{os.getpid()}"
    os.mkdir(group)
    try:
        with target() as pages:
            def move(to):
                with open(f"{to}/cgroup.procs", "w", encoding="ascii") as f:
                    f.write(str(pages.pid))
            recording = Recording("cgroup", "-G", group)
            pages.do("touch 100")
            move(group)
            pages.do("touch 11")
            pages.do("child 2")
            move(CGROUP2)
            pages.do("touch 100")
            recording.profile().must_have(13)
    finally:
        os.rmdir(group)
    return None


def windows():
    """No sample is lost between two files: windows end by time or SIGHUP; SIGUSR1 writes a snapshot."""
    with target() as pages:
        recording = Recording("windows", "-p", str(pages.pid), "--window", "1s")
        touched = 0
        for _ in range(6000):
            if touched >= 500 and len(glob.glob("windows.*.pb.gz")) >= 4:
                break
            pages.do("touch 10")
            touched += 10
            if touched == 200:
                recording.signal(signal.SIGHUP)
            if touched == 400:
                recording.signal(signal.SIGUSR1)
            time.sleep(0.01)
        recording.end()
    profiles = [Profile(path) for path in sorted(glob.glob("windows.*.pb.gz"))]
    if len(profiles) < 4:
        raise AssertionError(f"{len(profiles)} files")
    for marker, times in (("one", 1), ("two", 2), ("three", 3)):
        equal(marker, sum(profile.line(marker) for profile in profiles), times * touched)
    for profile in profiles:
        profile.must_close()


def snapshot():
    """SIGUSR1 writes the samples so far; the recording goes on, and its own file has all samples."""
    with target() as pages:
        recording = Recording("snapshot", "-p", str(pages.pid))
        pages.do("touch 20")
        recording.snapshot()
        Profile("snapshot.pb.gz").must_have(20)
        pages.do("touch 3")
        recording.profile().must_have(23)


WITHOUT_DEBUG_PACKAGES = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /usr/lib/debug && exec "$@"', "sh")


def debug_packages():
    """The C library charges the line that calls it, whether or not its debug package is installed."""
    if not glob.glob("/usr/lib/debug/.build-id/*/*.debug"):
        return "no debug package of the C library"
    for name, through in (("packages", ()), ("no-packages", WITHOUT_DEBUG_PACKAGES)):
        with target() as pages:
            recording = Recording(name, "-p", str(pages.pid), through=through)
            # The unwind table of the C library is built at its first sample. A snapshot comes later.
            pages.do("clear 1")
            recording.snapshot()
            pages.do("clear 500")
            profile = recording.profile()
        if profile.line("clear") not in (500, 501):
            raise AssertionError(f"memset, {name}: {profile.line('clear')} samples, not 500 or 501")
        equal(f"files, {name}", [file["path"].rsplit("/", 1)[1] for file in profile.json["files"]], ["pages.c"])
    # With --runtime, the lines of the C library tell that its debug package was found, by a clean path.
    lines = [file["path"] for file in Profile("packages.pb.gz", "--runtime").json["files"] if file["self"] >= 500]
    if len(lines) != 1 or not lines[0].startswith("sysdeps/x86_64/multiarch/memset"):
        raise AssertionError(f"--runtime charges {lines}")
    return None


LOOP = """
import _imp
import mmap
import sys
import types
PAGE = 4096
area = mmap.mmap(-1, 1000 * PAGE)
area.madvise(15)  # MADV_NOHUGEPAGE
pages = memoryview(area)
full = bytes(PAGE)
at = 0
for order in sys.stdin:
    nr, path = order.split()
    for _ in range(int(nr)):
        pages[at:at + PAGE] = full  # HOT copy
        at += PAGE
    try:
        _imp.create_dynamic(types.SimpleNamespace(name="plugin", origin=path))  # HOT load
    except ImportError:
        pass  # it is a library, but no module
    print("done", flush=True)
"""


def place_in_loop(marker):
    return os.path.realpath("loop.py"), LOOP[:LOOP.index("# HOT " + marker)].count("\n") + 1


def grown_in_loop(name, through):
    """The samples of each line while 500 pages are copied in Python and a library is loaded: {(file, line): self}."""
    def selfs():
        return {(file["path"], line["line"]): line["self"] for file in Profile(name + ".pb.gz").json["files"]
                for line in file["lines"] if line["self"]}

    def do(nr_pages):
        shutil.copy("plugin.so", f"{name}.{nr_orders}.so")  # one that is not loaded yet
        python.do(f"{nr_pages} {os.getcwd()}/{name}.{nr_orders}.so")

    python = faults.Target([sys.executable, "-S", "loop.py"])
    recording = Recording(name, "-p", str(python.pid), through=through)
    for nr_orders in range(100):
        do(1)
        recording.snapshot()
        before = selfs()
        # The interpreter is found after its first sample.
        if before.get(place_in_loop("copy")):
            break
    nr_orders += 1
    do(500)
    recording.end()
    python.end()
    return {line: nr - before.get(line, 0) for line, nr in selfs().items() if nr > before.get(line, 0)}


def debug_packages_of_a_loop():
    """The loader and the C library charge the line of Python that calls them, with and without their debug package."""
    if not glob.glob("/usr/lib/debug/.build-id/*/*.debug"):
        return "no debug package of the C library"
    with open("loop.py", "w", encoding="ascii") as file:
        file.write(LOOP)
    for name, through in (("loop-packages", ()), ("loop-no-packages", WITHOUT_DEBUG_PACKAGES)):
        grown = grown_in_loop(name, through)
        equal(f"copies, {name}", grown.get(place_in_loop("copy")), 500)
        if place_in_loop("load") not in grown:
            raise AssertionError(f"{name}: the line that loads has no samples: {grown}")
        equal(f"lines that are not Python's, {name}", [line for line in grown if not line[0].endswith(".py")], [])
    # With --runtime, lines of the loader and of the C library tell that the debug package was found.
    paths = {file["path"].split("/", 1)[0] for file in Profile("loop-packages.pb.gz", "--runtime").json["files"]
             if file["self"]}
    if not {"elf", "sysdeps"} <= paths:
        raise AssertionError(f"--runtime charges {paths}")
    return None


def walks_of(recording, pids):
    """Walks of processes: [(status, lines from the innermost on)]. The lines of other files are 0."""
    return [(status, [line if file.endswith("/pages.c") else 0 for _, file, line in stack]) for pid in pids
            for stack, nr, status in pprof_file.stacks(recording.path, pid) for _ in range(nr)]


def until_caller_known(pages, recording, order, line):
    """Touches pages by the order until the line that calls for it is known: its unwind table is made after the
    first sample. Returns the number of orders."""
    for nr in range(1, 101):
        pages.do(order)
        recording.snapshot()
        if any(LINES[line] in lines for _, lines in walks_of(recording, [pages.pid])):
            return nr
    raise RuntimeError("the unwind table was never made")


def known_or_cut(profile, nr):
    """Each of @nr pages has its caller, or an incomplete stack: where code was replaced, or has no table yet."""
    equal("the decoy", profile.line("decoy", "total", 4), 0)
    known, stacks = profile.line("by-through", "total"), profile.json["stacks"]
    if known + sum(stacks.values()) - stacks["complete"] - stacks["no-user"] < nr:
        raise AssertionError(f"{known} of {nr} have their caller, and {stacks}")


def callers_while_replaced(name, program, ending, large_ending=""):
    """The code of small.ENDING runs, then that of large.LARGE_ENDING at the same addresses."""
    if platform.machine() != "x86_64":
        return "through.S is for x86-64"
    small, large = f"{os.getcwd()}/small.{ending}", f"{os.getcwd()}/large.{large_ending or ending}"
    with target(program=program) as pages:
        recording = Recording(name, "-p", str(pages.pid))
        first = until_caller_known(pages, recording, f"through 1 {small}", "by-through")
        pages.do(f"through 100 {small}")
        # Equal stacks of both codes would be ambiguous in one drain. A snapshot has all samples so far.
        recording.snapshot()
        pages.do(f"through 100 {large}")
        recording.snapshot()
        pages.do(f"through 100 {large}")
        profile = recording.profile()
    equal("pages", profile.line("through"), first + 300)
    known_or_cut(profile, first + 300)
    return None


def code_replaced():
    """A library takes the addresses of another one: until its unwind table is known, its callers are not."""
    return callers_while_replaced("code-replaced", PAGES, "so")


def jit_replaced():
    """The same for code of a JIT."""
    return callers_while_replaced("jit-replaced", os.getcwd() + "/jit-pages", "jit")


def jit_replaced_silently():
    """The same for code that the JIT frees without saying so."""
    os.link("large.jit", "large.more")
    return callers_while_replaced("jit-replaced-silently", os.getcwd() + "/jit-pages", "jit", "more")


def jit_replaced_last():
    """The same at the end of a recording. The process has so many mappings that its tables are made once a second."""
    if platform.machine() != "x86_64":
        return "through.S is for x86-64"
    with target(program=os.getcwd() + "/jit-pages") as pages:
        pages.do("map 20000")
        recording = Recording("jit-replaced-last", "-p", str(pages.pid))
        first = until_caller_known(pages, recording, f"through 1 {os.getcwd()}/small.jit", "by-through")
        pages.do(f"through 100 {os.getcwd()}/large.jit")
        profile = recording.profile()
    known_or_cut(profile, first + 100)
    return None


def far_from_the_start():
    """"run" reads the tables of a library with much code before that runs."""
    if platform.machine() != "x86_64":
        return "through.S is for x86-64"
    far = os.getcwd() + "/far.so"
    with open("far.err", "w", encoding="utf-8") as said:
        pages = faults.Target([LB, "run", "-vv", "-e", "page-faults", "-o", "far.pb.gz", "--", PAGES], stderr=said)
    pages.do(f"through 0 {far}")
    for _ in range(600):
        with open("far.err", encoding="utf-8") as said:
            if f"unwind rows of {far}:" in said.read():
                break
        time.sleep(0.1)
    else:
        raise AssertionError("its tables were not read")
    pages.do(f"through 100 {far}")
    pages.end()
    walks = [(status, [line for _, _, line in stack[:3]]) for stack, nr, status in pprof_file.stacks("far.pb.gz")
             for _ in range(nr) if stack and stack[0][1] == SOURCE and stack[0][2] == LINES["through"]]
    equal("walks", set(map(str, walks)), {str(("complete", [LINES["through"], 0, LINES["by-through"]]))})
    equal("pages", len(walks), 100)
    return None


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def walks_without_collector(program, name, orders):
    """Walks of programs that start and end while the collector sleeps. Another process of the program ran before.

    orders: which touch pages, with the line from which each does
    """
    with target(program=program) as pages:
        recording = Recording("known-files-" + name, "--comm", name)
        for order, line in orders.items():
            until_caller_known(pages, recording, order + " 1", line)
        recording.signal(signal.SIGSTOP)
        while state_of(recording.process.pid) != "T":
            time.sleep(0.01)
        started = []
        for _ in range(5):
            with subprocess.Popen([program, *(order + " 10" for order in orders)], stdout=subprocess.DEVNULL) as process:
                started.append(process.pid)
        recording.signal(signal.SIGCONT)
        recording.end()
    return walks_of(recording, started)


def known_files():
    """The tables of a file serve the next process that maps it, before the collector knows of the process."""
    walks = walks_without_collector(PAGES, "pages", {"touch": "by-one", "clock": "clock"})
    equal("stacks without a table", [lines for status, lines in walks if status in ("no-mapping", "no-table")], [])
    equal("by-one", sum(lines[0] == LINES["three"] and LINES["by-one"] in lines for _, lines in walks), 5 * 10)
    # The vdso may touch pages of its own, too.
    clock = sum(LINES["clock"] in lines for _, lines in walks)
    if clock < 5 * 10:
        raise AssertionError(f"the clock was read {clock} times, not 50")


def known_files_of_an_interpreter():
    """But not those of an interpreter: nobody knows yet where the process has its frames."""
    walks = walks_without_collector(PYTHON, "python3.13", {"touch": "by-one"})
    statuses = {status for status, lines in walks if lines[0] == LINES["one"]}
    equal("stacks of touched pages", statuses, {"no-mapping"})


def interpreter_awaited():
    """Stacks through the code of an interpreter whose frames are not found yet are not complete."""
    program = os.path.dirname(PYTHON) + "/python3.12"
    with target(program=program) as pages:
        recording = Recording("interpreter-awaited", "-p", str(pages.pid))
        until_caller_known(pages, recording, "touch 1", "by-one")
        pages.do("touch 100")
        recording.end()
    walks = [status for status, lines in walks_of(recording, [pages.pid]) if LINES["by-one"] in lines]
    if len(walks) < 100 or set(walks) != {"no-table"}:
        raise AssertionError(f"{len(walks)} walks: {set(walks)}")


CODE = """
import ctypes, mmap, os, sys
PAGE = 4096
libc = ctypes.CDLL(None)
def touch(at):
    at[0] = 1
exec(compile("".join(f"def f{i}(at):\\n    touch(at)\\n" for i in range(12000)), "many.py", "exec"))
print("ready", flush=True)
for line in sys.stdin:
    first, last, programs = map(int, line.split())
    area = mmap.mmap(-1, (last - first) * PAGE)
    libc.madvise(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(area))),
                 ctypes.c_size_t(len(area)), 15)
    view = memoryview(area)
    for i in range(first, last):
        globals()[f"f{i}"](view[(i - first) * PAGE:])
    for i in range(programs):
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    print("done", flush=True)
"""


# Each program requests its tables at its first sample; the ring holds 3,276 requests (40 bytes in 128 KiB).
PROGRAMS = 4200


def losses():
    """The collector is stopped while 12,000 functions are sampled, each for the first time, and
    4,200 programs run: every buffer on the kernel's side overflows, and each loss is counted."""
    python = subprocess.Popen([sys.executable, "-c", CODE], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, bufsize=1)

    def do(order):
        python.stdin.write(order + "\n")
        python.stdout.readline()

    python.stdout.readline()
    recording = Recording("losses", "-p", str(python.pid))
    for i in range(1000):
        do(f"{i} {i + 1} 0")
        recording.snapshot()
        if any(re.fullmatch(r"f[0-9]+", function["name"]) for function in Profile(recording.path).json["functions"]):
            break  # lineburn has recognized the interpreter
    recording.signal(signal.SIGSTOP)
    do(f"0 12000 {PROGRAMS}")
    recording.signal(signal.SIGCONT)
    python.stdin.close()
    python.stdout.close()
    python.wait()
    profile = recording.profile()
    profile.must_close()
    for counter in ("lost_counts_full", "no_body", "first_dropped", "unwind_requests_dropped",
                    "python_codes_lost"):
        if not profile.losses[counter]:
            raise AssertionError(f"{counter} is 0: {profile.losses}")
    said = subprocess.run([LB, "report", "losses.pb.gz"], check=True, stdout=subprocess.PIPE, text=True).stdout
    if f"\n  {profile.losses['lost']} samples lost" not in said:
        raise AssertionError("the report does not say how many samples are lost")


# One image may have 32,768 segments in the kernel's tables.
MAPPINGS = 33000


def loses(counter, name, pages):
    """The loss counter is above zero after the process was sampled for a while; no sample is lost."""
    recording = Recording(name, "-p", str(pages.pid))
    for nr in range(1, 1000):
        pages.do("touch 1")
        recording.snapshot()
        if Profile(recording.path).losses[counter]:
            break
    profile = recording.profile("--runtime")  # shows the C code of a Python
    profile.must_have(nr)
    if not profile.losses[counter]:
        raise AssertionError(f"{counter} is 0: {profile.losses}")
    return profile


def segments_refused():
    with target() as pages:
        pages.do(f"map {MAPPINGS}")
        loses("unwind_segments_refused", "segments", pages)


def python_refused():
    """An unknown Python is counted once, and the samples have their lines."""
    with target(program=PYTHON) as pages:
        equal("pythons", loses("pythons_unknown", "python", pages).losses["pythons_unknown"], 1)


def main():
    for test in (run, callers, period, pid, not_pid, thread, not_thread, comm, not_comm, kinds_are_anded,
                 whole_machine, user, users_are_told_apart, children, no_children, exec_goes_on, threads_are_told_apart, cgroup,
                 windows, snapshot, debug_packages, debug_packages_of_a_loop, known_files,
                 known_files_of_an_interpreter, interpreter_awaited, code_replaced, jit_replaced,
                 jit_replaced_silently, jit_replaced_last, far_from_the_start, losses, segments_refused,
                 python_refused):
        faults.run(test, "exact-")


main()
