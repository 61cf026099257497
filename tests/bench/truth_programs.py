# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of tests/workloads and all stacks that they can have, for truth.py.

A chain is written "FUNCTION@TEXT < CALLER@TEXT ...", the innermost first. FUNCTION is a pattern as in file
names. TEXT is a regular expression that the line has in the sources; "~2" adds the two lines before and
after (a function's head and end). "{TEXT}" are all lines of the function whose head has TEXT. FILE:NUMBER is
a line; "-" stands for a function without lines.
"""
import fnmatch
import os
import re

WORKLOADS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "workloads")


PYTHON_FILES = r"<frozen |/lib/python3|^<|/site-packages/|sitecustomize|/lineburn_hook/"


class Program:
    """What is known about a program.

    sources   files in tests/workloads, and names of files that do not exist
    hot       chains of the known loop, separated by lines
    start     chains of the rest; inside of these, and without own frames, other files have lines too
    others    these other files
    inside    files and objects whose code the hot chains call
    jit       pattern of own functions without a file
    stubs     names of other code of the JIT
    glue      further code of it: pattern of "NAME < CALLER"
    loop      files of the code in which a sample without own frames may be of the loop
    objects   if not "", all files that a stack may have
    imports_c whether a start may import modules that are written in C
    signal    functions without a caller: the kernel enters and leaves them with a signal's frame
    kernel    if not "", what a system call in a hot chain must be in
    ratio     {TEXT of a line: samples} if each event is a sample: exactly the amounts of these lines, or a
              multiple of all
    """

    def __init__(self, title, sources, hot, start="", others="$^", inside="$^", jit="", loop="$^", objects="",
                 kernel="", ratio=None, stubs="$^", glue="$^", signal="$^", imports_c=False):
        self.title, self.jit, self.loop, self.objects, self.kernel = title, jit, loop, objects, kernel
        self.others, self.inside, self.stubs = re.compile(others), re.compile(inside), re.compile(stubs)
        self.glue, self.signal, self.imports_c = re.compile(glue), re.compile(signal), imports_c
        self.texts = {}
        for name in sources.split():
            self.texts[name] = next((open(path, encoding="utf-8").read().split("\n")
                                     for path in (os.path.join(WORKLOADS, folder, name)
                                                  for folder in ("", "python")) if os.path.exists(path)), [])
        self.ratio = {self.places_of(text).pop(): number for text, number in (ratio or {}).items()}
        self.hot = [self.chain(words) for words in hot.strip().split("\n")]
        self.start = [self.chain(words) for words in start.strip().split("\n") if words.strip()] + [[]]

    def chain(self, words):
        return [self.frame(*word.split("@", 1)) for word in words.strip().split(" < ")]

    def body(self, head):
        """The places of a function: from its head to the line before the next one at the margin."""
        for name, lines in self.texts.items():
            for at, line in enumerate(lines):
                if re.search(head, line):
                    end = next((n for n in range(at + 1, len(lines)) if re.match(r"[^\s{}]", lines[n])), len(lines))
                    return {(name, number) for number in range(at + 1, end + 1)}
        return set()

    def places_of(self, text):
        if text.startswith("{"):
            return self.body(text[1:-1])
        file, _, rest = text.partition(":")
        if file in self.texts:
            return {place for place in self.places_of(rest) if place[0] == file}
        text, _, around = text.partition("~")
        return {(name, at + 1 + more) for name, lines in self.texts.items() for at, line in enumerate(lines)
                if re.search(text, line) for more in range(-int(around or 0), int(around or 0) + 1)}

    def frame(self, function, text):
        """(pattern, the possible places)"""
        if text == "-":
            return function, {("", 0)}
        number = re.fullmatch(r"([\w.-]+):(\d+)", text)
        if number:
            return function, {(number[1], int(number[2]))}
        places = self.places_of(text)
        if not places:
            raise SystemExit(f"{self.title}: nothing is {text}")
        return function, places

    def is_own(self, frame, mapping):
        return os.path.basename(frame[1]) in self.texts or (
            self.jit and mapping == "[jit]" and not frame[1] and fnmatch.fnmatchcase(frame[0], self.jit))


# Files that a stack of a compiled program has beside its own.
NATIVE = r"|libc\.so\.6|libm\.so\.6|ld-linux-x86-64\.so\.2|\[vdso\]|\[unknown\]"
JIT_LOOP = r"\[jit\]|\[unknown\]"
PYTHON_LOOP = r"python3.*|libpython.*|lib(c|m)\.so\.6|\[vdso\]"

INLINE = r"""
spin@HOT spin~1 < both@HOT three < main@= both\(
spin@HOT spin~1 < both@HOT one < main@= both\(
both@{long both} < main@= both\(
main@{int main}
"""
PAGES = r"""
one@HOT one < touch@one\(p, nr < obey@touch\(nr\); < main@obey\(line
two@HOT two < touch@two\(p < obey@touch\(nr\); < main@obey\(line
three@HOT three < touch@HOT by- < obey@touch\(nr\); < main@obey\(line
"""
PAGES_START = r"""
main@{int main}
obey@{void obey} < main@obey\(line
done@{void done} < obey@done < main@obey\(line
touch@fresh|munmap|void touch~1 < obey@touch\(nr < main@obey\(line
fresh@{fresh\(unsigned} < touch@fresh < obey@touch\(nr < main@obey\(line
"""
TIMED = r"def timed|begin =|result = f|spent =|caller = |line = f|used\[line|return result"
# CALL_TWO: main@HOT call two; Python 3.11 and older run a comprehension in a frame of its own.
PYTHON = rf"""
five@HOT loop five~2 < timed@result = f < main@HOT call five < <module>@^main\(
three@HOT loop three~2 < timed@result = f < main@^ +timed\($ < <module>@^main\(
two@HOT loop two~2 < timed@result = f < CALL_TWO < <module>@^main\(
timed@{TIMED} < main@HOT call five|^ +timed\($ < <module>@^main\(
timed@{TIMED} < CALL_TWO < <module>@^main\(
CALL_TWO < <module>@^main\(
main@while time|HOT call|^ +timed\($|three,  #|30000\)$ < <module>@^main\(
"""
# The lines of a module that have code. The first: before its first instruction, CPython says that a code
# object is in its first line.
MODULE = r'^(# SPDX|"""\w|from |import |def |@|if __name|main\(|used =)'
PYTHON_START = rf"""
<module>@calls.py:{MODULE}
<module>@clocked.py:{MODULE} < <module>@^from clocked
timed@line = f < main@HOT call five|^ +timed\($ < <module>@^main\(
timed@line = f < CALL_TWO < <module>@^main\(
write_truth@{{def write_truth}} < main@write_truth\( < <module>@^main\(
main@{{def main}} < <module>@^main\(
"""
NUMBA = r"""
*five@HOT five~2 < main@x = f\(x, 200_000 < <module>@^    main\(
*three@i \^ 3~2 < main@x = f\(x, 200_000 < <module>@^    main\(
*step@x \* 69069~2 < *two@step\(x, < main@x = f\(x, 200_000 < <module>@^    main\(
*two@step\(x,~2 < main@x = f\(x, 200_000 < <module>@^    main\(
main@while (sum|now)|for f, batch|begin = now|x = f\(x, 200_000|now = time|used\[f < <module>@^    main\(
"""
MAIN_START = rf"""
<module>@{MODULE}|^    main\(
main@{{def main}} < <module>@^    main\(
"""
LLJIT = r"""
runs@runs.src:10 < main@run\(4_000 < <module>@^    main\(
main@while time|run\(4_000 < <module>@^    main\(
"""
NODE = r"""
five@HOT five~2 < timed@x = f\(x, n < *@timed\(five
three@HOT three~2 < timed@x = f\(x, n < *@timed\(three
two@HOT two~2 < timed@x = f\(x, n < *@timed\(two
timed@{function timed} < *@timed\((five|three|two)
?anonymous?@^(const|let|for|if|process|'use)|timed\((five|three|two)
"""
JITDUMP = r"""
A@a.src:10 < jit_run@run\(3000000\) < main@HOT A
B@b.src:20 < jit_run@run\(3000000\) < main@HOT B
cpu_s@{double cpu_s} < jit_run@{void jit_run} < main@HOT (A|B)
jit_run@{void jit_run} < main@HOT (A|B)
"""
JITDUMP_START = r"""
main@{int main}
compile@{void compile} < main@compile\(
put_line@{void put_line} < compile@put_line < main@compile\(
put_load@{void put_load} < compile@put_load < main@compile\(
put_header@{void put_header} < main@put_header
put@{void put\(} < put_line@put\( < compile@put_line < main@compile\(
put@{void put\(} < put_load@put\( < compile@put_load < main@compile\(
put@{void put\(} < put_header@put\( < main@put_header
now_ns@{uint64_t now_ns} < put_line@now_ns < compile@put_line < main@compile\(
now_ns@{uint64_t now_ns} < put_load@now_ns < compile@put_load < main@compile\(
now_ns@{uint64_t now_ns} < put_header@now_ns < main@put_header
jit_page@{uint8_t \*jit_page} < main@jit_page
jit_write@{static void jit_write} < compile@jit_write < main@compile\(
"""
PERF_MAP = r"""
jitted_function@- < jit_run@run\(3000000\) < main@jit_run\(page
cpu_s@{double cpu_s} < jit_run@{void jit_run} < main@jit_run\(page
jit_run@{void jit_run} < main@jit_run\(page
"""
PERF_MAP_START = r"""
main@{int main}
make@{int make\(} < main@make\(
write_map@{int write_map} < make@write_map < main@make\(
jit_page@{uint8_t \*jit_page} < main@jit_page
jit_write@{static void jit_write} < main@jit_write\(
"""
ERLANG = r"""
hot:spin/2@^spin\( < hot:until/2@^until|true -> < hot:main/1@until\(End, 1
hot:until/2@^until|case|true ->|false -> < hot:main/1@until\(End, 1
hot:used_ms/0@used_ms < hot:until/2@case < hot:main/1@until\(End, 1
"""
# Other compiled code of a JVM.
JAVA_STUBS = r"Interpreter|StubRoutines.*|resolve_\w+_call|.*([Ss]tub|[Bb]lob|handler|Runtime1).*|.*\b(java|jdk|sun)\..*|.* Hot\.main.*"
# C++ code calls a compiled function through StubRoutines, interpreted code calls it directly, or through a table or
# a buffer; an adapter moves the arguments to where it wants them.
JAVA_GLUE = r"(I2C/C2I adapters|vtable chunks|InlineCacheBuffer) < (StubRoutines \(\d+\)|Interpreter|.*\b(java|jdk|sun)\..*)"


def three_of(five, three, two, main, head):
    """The chains of tests/workloads/hot.*: a function that calls three. @head: of the caller."""
    calls = ((five, "five", "(five|spin)"), (three, "three", "three"), (two, "two", "two"))
    return "\n".join([rf"{function}@HOT {word}~2 < {main}@\b(f\.|outer::)?{call}[(<]" for function, word, call in calls] +
                     [f"{main}@{{{head}}}"])


def python(version, title=""):
    call = "main@HOT call two"
    if int(version.split(".")[1]) < 12:
        call = f"*<listcomp>@HOT call two < {call}"
    return Program(title or f"CPython {version}", "calls.py clocked.py", PYTHON.replace("CALL_TWO", call),
                   PYTHON_START.replace("CALL_TWO", call), others=PYTHON_FILES, inside=r"\.(c|h)$", loop=PYTHON_LOOP,
                   imports_c=True)


def system_python():
    version = os.path.basename(os.path.realpath("/usr/bin/python3"))[len("python"):]
    return python(version if "." in version else "3.12", f"CPython {version} of the distribution")


def numba(version):
    return Program(f"Numba {version}", "known.py", NUMBA, MAIN_START, others=PYTHON_FILES + r"|\.(c|cpp|h|pyx)$|/include/c\+\+/",
                   inside=r"\.(c|cpp|h)$", loop=PYTHON_LOOP + "|" + JIT_LOOP)


PROGRAMS = {
    "c": Program("C", "hot.c", three_of("five", "three", "two", "main", "int main"), objects="hot" + NATIVE),
    "c++": Program("C++", "hot.cc", three_of("Five::spin", "three<*>", "outer::two", "main", "int main"),
                   objects="hotcc" + NATIVE),
    # Only these lines of main call the standard library, which has lines: it reads the argument, and it calls
    # the exit handlers of the C library.
    "rust": Program("Rust", "hot.rs", three_of("hot*::five", "hot*::three", "hot*::two", "hot*::main", "fn main"),
                    r"hot*::main@env::args|process::exit", objects=r"hotrs|libgcc_s\.so\.1" + NATIVE,
                    others=r"/library/|/rustc/", inside="/core/src/num/"),
    "go": Program("Go", "hot.go", three_of("main.five", "main.three", "main.two", "main.main", "func main"),
                  signal=r"runtime\.sigreturn__sigaction", objects=r"hot-go|\[vdso\]",
                  others=r"/src/(runtime|internal|os|syscall|sync)/|^<autogenerated>", inside="/src/runtime/|^<autogenerated>"),
    "inline": Program("inlined code", "inline.c", INLINE, objects="inline" + NATIVE),
    "pages": Program("C, each page fault", "pages.c", PAGES, PAGES_START, objects="pages" + NATIVE,
                     ratio={"HOT one": 1, "HOT two": 2, "HOT three": 3}),
    "kernel": Program("kernel", "syscalls.c", "main@{int main}", objects="syscalls" + NATIVE,
                      kernel=r"entry_SYSCALL_64\S* do_syscall_64.*"),
    **{f"python-{version}": python(version) for version in "3.9 3.10 3.11 3.12 3.13 3.14 3.15".split()},
    "python-system": system_python(),
    "numba-new": numba("(the newest)"), "numba-old": numba("0.56"),
    "node": Program("Node, `--perf-prof`", "hot.js", NODE, others=r"node:|^internal/|^<|/deps/(uv|v8)/|^/usr/include/",
                    loop=JIT_LOOP),
    "lljit": Program("GDB's JIT interface (LLVM)", "lljit.py runs.src", LLJIT, MAIN_START, others=PYTHON_FILES + r"|reuse\.py|\.(c|h)$",
                     inside=r"\.(c|h)$", loop=PYTHON_LOOP + "|" + JIT_LOOP),
    "jitdump": Program("jitdump, code that replaces code", "jit-reuse.c jit-code.h a.src b.src", JITDUMP, JITDUMP_START,
                       loop=JIT_LOOP, objects=r"jit-reuse|\[jit\]" + NATIVE),
    "erlang": Program("Erlang, `+JPperf true`", "hot.erl", ERLANG, "hot:main/1@{^main}", others=r"\.erl$",
                      inside=r"/(erts|kernel|stdlib)|erl$", loop=JIT_LOOP),
    "perf-map": Program("perf map: functions", "perfmap.c jit-code.h", PERF_MAP, PERF_MAP_START, jit="jitted_function",
                        loop=JIT_LOOP, objects=r"perfmap|\[jit\]" + NATIVE),
    "java": Program("OpenJDK, perf map: functions", "", "long Hot.spin*@-", jit="long Hot.spin*", stubs=JAVA_STUBS,
                    glue=JAVA_GLUE, loop=JIT_LOOP),
    "php": Program("PHP, `jit_debug`: functions", "", "*inner*@-", jit="*inner*", stubs=r"JIT\$\$.*|TRACE-\d+\$.*hot\.php.*",
                   loop=JIT_LOOP),
    "luajit": Program("LuaJIT, not described: no line", "", "?jit?@-", jit="?jit?"),
}
