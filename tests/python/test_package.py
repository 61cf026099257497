"""python/lineburn: finding and running lineburn, recording, source text, the listing, the magic."""

import gzip
import html.parser
import json
import os
import sys
import time
import tracemalloc
import types
import warnings
import zlib

from package import STUB, be_ipython, equal, holds, path, raised, will_sample
from suite import TOP, folder, write

import lineburn
from lineburn import _binary, _extra, _listing

SENTENCE = "the kernel does not let this user load BPF programs"
ADVICE = '; see what "lineburn doctor" says, or run it as root: sudo lineburn record -p 1'


def finds_the_program():
    home, clone = folder("prefix/share/lineburn/python/lineburn"), folder("clone/python/lineburn")
    installed = write(os.path.join(folder("prefix/bin"), "lineburn"), "")
    built = write(os.path.join(folder("clone"), "lineburn"), "")
    os.chmod(installed, 0o755)
    os.chmod(built, 0o755)
    file, named = _binary.__file__, os.environ.pop("LINEBURN")
    try:
        _binary.__file__ = os.path.join(clone, "_binary.py")
        equal("find-in-the-clone", _binary.find(), built)
        _binary.__file__ = os.path.join(home, "_binary.py")
        equal("find-installed", _binary.find(), installed)
        os.chmod(installed, 0o644)
        os.environ["PATH"], old = folder("prefix/empty"), os.environ["PATH"]
        holds("find-nothing", "set LINEBURN to its path" in (raised(lineburn.Error, _binary.find) or ""))
        os.environ["LINEBURN"] = installed
        holds("find-no-program", installed in (raised(lineburn.Error, _binary.find) or ""))
        os.environ["PATH"] = old
    finally:
        _binary.__file__ = file
        os.environ["LINEBURN"] = named
    equal("find-by-variable", _binary.find(), STUB)


def fails(status, uid, advice=""):
    os.environ.update(STUB_SAYS="lineburn: a warning\nlineburn: " + SENTENCE + advice, STUB_STATUS=str(status))
    geteuid, os.geteuid = os.geteuid, lambda: uid
    try:
        lineburn.profile().start()
    except lineburn.Error as e:
        return e
    finally:
        os.geteuid = geteuid
        del os.environ["STUB_SAYS"]
    return None


def says_what_to_do():
    lines = str(fails(3, 1000, ADVICE)).splitlines()
    equal("denied-sentence", lines[0], SENTENCE)
    holds("denied-setcap", "    sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep " + STUB in lines, lines)
    holds("denied-as-root", lines[-1].startswith("    sudo -E " + sys.executable), lines)
    error = fails(3, 0)
    equal("denied-root", (type(error), error.status, str(error)), (lineburn.NotAllowed, 3, SENTENCE))
    error = fails(1, 1000)
    equal("failed", (type(error), error.status, str(error)), (lineburn.Error, 1, SENTENCE))


def records():
    will_sample((path("a.py"), "f", 2, 30), (path("a.py"), "f", 3, 60), ("<string>", "g", 1, 10))
    write(path("a.py"), "def f():\n    one()\n    two()\n\n")
    os.environ["STUB_LOG"] = path("log")
    with lineburn.profile(500, path("p.pb.gz"), options=["--no-children"]) as p:
        holds("profile-not-yet", "before the recording has ended" in (raised(lineburn.Error, p.text) or ""))
    with open(path("log"), encoding="utf-8") as f:
        log = json.load(f)
    equal("profile-arguments", log[:log.index("--ready-fd")],
          ["record", "-p", str(os.getpid()), "-o", path("p.pb.gz"), "-F", "500", "--no-children"])
    equal("profile-lines", p.lines, [
        lineburn.Line(path("a.py"), 3, "f", 60.0, 60.0, 0.06, 0.06, 60, 60, "    two()"),
        lineburn.Line(path("a.py"), 2, "f", 30.0, 30.0, 0.03, 0.03, 30, 30, "    one()"),
        lineburn.Line("<string>", 1, "g", 10.0, 10.0, 0.01, 0.01, 10, 10, None)])
    holds("profile-text", "   60.0     60.0     3      two()\n" in p.text())
    holds("profile-again", "already" in (raised(lineburn.Error, p.start) or ""))
    kept = p.path
    with lineburn.profile() as p:
        temporary = p.path
    del p
    equal("profile-is-kept", (os.path.exists(kept), os.path.exists(os.path.dirname(temporary))), (True, False))


def adds_text():
    will_sample(("<cell>", "f", 2, 30), ("/nowhere/b.py", "g", 1, 10))
    with lineburn.profile(output=path("cell.pb.gz")):
        pass
    with open(path("cell.pb.gz"), "rb") as f:
        before = f.read()
    text = "def f():\n    return 'ü'\n\n# end\n"
    holds("text-added", _extra.add(path("cell.pb.gz"), {"<cell>": text, "/nowhere/b.py": "g()", "<nul>": "\0"}))
    with open(path("cell.pb.gz"), "rb") as f:
        after = f.read()
    member = zlib.decompressobj(31)
    member.decompress(before)
    plain = before[:len(before) - len(member.unused_data)]
    holds("text-leaves-pprof", after.startswith(plain))
    equal("text-mode", os.stat(path("cell.pb.gz")).st_mode & 0o777, 0o600)
    p = lineburn.Profile(path("cell.pb.gz"))
    equal("text-shown", [line.text for line in p.lines], ["    return 'ü'", "g()"])
    equal("text-from", {f["source"]["from"] for f in p.data["files"]}, {"recorded"})
    texts = _extra.Texts(p.path)
    equal("text-read", [texts.lines(name, range(9)) for name in ("<cell>", "/nowhere/b.py", "/none")], [
        {1: "def f():", 2: "    return 'ü'", 3: "", 4: "# end"}, {1: "g()"}, {}])
    equal("text-ends", (texts.lines("<cell>", {2, 9}), texts.ends("<cell>")), ({2: "    return 'ü'"}, [1, 4]))
    others = os.path.join(TOP, "tests/cli/data/go.pb.gz")
    equal("text-of-others", _extra.Texts(others).lines("/nowhere/b.py", range(9)), {})
    for name, data in (("cut", after[:-9]), ("none", b""), ("plain", plain), ("text", b"text"),
                       ("extra", gzip.compress(b"\x8a\xe2\x09\x05ab"))):
        with open(path("bad"), "wb") as f:
            f.write(data)
        refused = raised(lineburn.Error, _extra.Texts, path("bad"))
        equal("text-bad-" + name, (refused is None or "damaged" in refused, _extra.add(path("bad"), {"a": "b"})), (True, False))


def with_text(*fields, members=b""):
    """Writes a profile whose Extra has these fields."""
    with open(path("stranger.pb.gz"), "wb") as f:
        f.write(members + gzip.compress(_extra._field(_extra._EXTRA, b"".join(fields))))
    return path("stranger.pb.gz")


def source_of(text):
    return _extra._field(_extra._SOURCE, _extra._source("a.py", text))


def takes_no_more_than_lineburn_writes():
    """A small file of a stranger costs neither minutes nor gigabytes."""
    empty = gzip.compress(b"")
    for count, found in (1, {1: "x"}), (62, {1: "x"}), (20000, {}):
        profile = with_text(source_of("x"), members=empty * count)
        start = time.process_time()
        equal("text-behind-%d-members" % count, _extra.Texts(profile).lines("a.py", {1}), found)
    took = time.process_time() - start
    holds("text-members-cost-little", took < 0.1, "%.2f s" % took)
    for name, members in (("one", gzip.compress(bytes(40 << 20))), ("several", gzip.compress(bytes(4 << 20)) * 10)):
        profile = with_text(source_of("x"), members=members)
        equal("text-behind-too-much-in-" + name, _extra.Texts(profile).lines("a.py", {1}), {})
    profile = with_text(source_of("\n" * (1 << 20)))
    tracemalloc.start()
    equal("text-of-a-million-lines", _extra.Texts(profile).lines("a.py", {1 << 20}), {1 << 20: ""})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    holds("text-of-a-million-lines-is-small", peak < 16 << 20, "%d bytes" % peak)
    number = _extra._field(_extra._SOURCE, _extra._field(_extra._SOURCE_RUN, _extra._field(_extra._RUN_TEXT, 1 << 40)))
    for name, fields in (("text", [source_of("\n" * (9 << 20))] * 2), ("number-for-text", [number]),
                         ("fields", [b"\x08\x01"] * (_extra._MAX_FIELDS + 1))):
        said = raised(lineburn.Error, _extra.Texts, with_text(*fields))
        holds("text-refused-" + name, said and "record it again" in said, said)


class Tags(html.parser.HTMLParser):
    """Which tags and attributes the HTML has, and whether each is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.attributes = [], set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.open.append("/" + tag)


def shows_html():
    shown = lineburn.Profile(os.path.join(TOP, "tests/cli/data/hot.pb.gz"))._repr_html_()
    holds("html-line", " 50.6   50.6     15      for (unsigned long i = 0; i &lt; n; i++)" in shown)
    holds("html-context", "</span><span style=\"display:block;\">                 16      return x;" in shown)
    bad = "/a/<script>alert(1)</script>\"'&\u202e\x1b[1m.py"
    will_sample((bad, "<img src=x onerror=y>\n", 1, 30))
    with lineburn.profile(output=path("bad.pb.gz")) as p:
        pass
    _extra.add(p.path, {bad: "x = '</div></span>' \u2066"})
    shown = lineburn.Profile(p.path).html()
    tags = Tags(shown)
    equal("html-hostile", (tags.seen, tags.attributes, tags.open), ({"div", "p", "b", "span"}, {"style", "dir"}, []))
    holds("html-visible", "\\u202e\\u001b[1m.py" in shown and "\\u2066" in shown and
          not any(c in shown for c in "\u202e\u2066\x1b"))
    equal("html-share", [_listing._percent(value) for value in (0, 0.04, 0.06, 99.96)],
          ["     ", " <0.1", "  0.1", "100.0"])


def is_a_magic():
    shell = be_ipython()
    lineburn.load_ipython_extension(shell)
    magic = shell.magics["line_cell", "lineburn"]
    shown, sys.displayhook = [], lambda value: shown.append(value)
    try:
        os.environ["STUB_SAMPLES"] = path("cell-samples")
        shell.user_ns["tell"] = lambda code: write(path("cell-samples"), json.dumps(
            [[code.co_filename, "f", code.co_firstlineno + 1, 40, "python"]]))
        sys.modules["pandas"] = None
        magic("-F 250 -o " + path("magic.pb.gz"), "def f():\n    return 7\ntell(f.__code__)\nf()")
        with open(path("log"), encoding="utf-8") as f:
            log = json.load(f)
        equal("magic-options", (log[log.index("-F") + 1], log[log.index("-o") + 1]), ("250", path("magic.pb.gz")))
        # The magic's own line is line 1 in the notebook.
        line, = shell.displayed.pop().lines
        equal("magic-lines", (line.line, line.text), (3, "    return 7"))
        equal("magic-value", shown, [7])
        sys.modules["pandas"] = types.SimpleNamespace(DataFrame=lambda rows, columns: (rows, columns))
        rows, columns = magic("x = f(); f()")
        equal("magic-statement", (shell.user_ns["x"], shown, rows, columns), (7, [7], [line], lineburn.Line._fields))
        holds("magic-cell-name", "Cell In[3]:3" in shell.displayed[-1].html())
        holds("magic-wrong-option", "-x" in (raised(lineburn.Error, magic, "-x", "f()") or ""))
        holds("magic-no-statement", "takes a statement" in (raised(lineburn.Error, magic, " -F 99 ") or ""))
        holds("magic-raises", raised(ZeroDivisionError, magic, "", "1/0"))
    finally:
        sys.displayhook = sys.__displayhook__
        del sys.modules["pandas"]


def starts_the_hook():
    holds("numba-hook", [type(f).__module__ for f in sys.meta_path].count("lineburn_hook") == 1)
    sys.meta_path[:] = [f for f in sys.meta_path if type(f).__module__ != "lineburn_hook"]
    sys.modules["numba"] = types.ModuleType("numba")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        lineburn.load_ipython_extension(be_ipython())
        os.environ["LINEBURN_PYTHON_HOOK"] = "off"
        lineburn.load_ipython_extension(be_ipython())
    del sys.modules["numba"], os.environ["LINEBURN_PYTHON_HOOK"]
    equal("numba-too-late", [str(w.message).split(",")[0] for w in said], ["numba was imported before lineburn"])


finds_the_program()
says_what_to_do()
records()
adds_text()
takes_no_more_than_lineburn_writes()
shows_html()
is_a_magic()
starts_the_hook()
