# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds line tables to Numba's code without changing an instruction.

Numba's own debug info (NUMBA_DEBUGINFO=1, debug=True) is a flag that also changes lowering,
inlining and optimisations: the code differs and is up to three times slower. The hook
leaves that flag as the program sets it. It replaces the builder that emits no debug info
by one that emits locations only: a compile unit of the kind
LineTablesOnly, a subprogram for each function, a location for each instruction. To LLVM
these are annotations that may not influence the code (llvm.org/docs/SourceLevelDebugging).

Known to work with Numba 0.56 to 0.68; check() checks the installed version.
"""

import dis
import functools
import inspect
import linecache
import os
import tokenize

from . import say

# Functions that Numba generates for a statement of the user: their own line numbers mean nothing.
_WRITTEN_FOR_CALLER = ("__numba_parfor_gufunc", "__numba_array_expr")

# The same versions as in Numba's own debug info: modules of both kinds are linked together.
_DWARF_VERSION = 4
_DEBUG_INFO_VERSION = 3
_WARN_IF_DIFFERENT = 2

# co_filename of a script is the path given on the command line, relative to this directory.
try:
    _start_dir = os.getcwd()
except OSError:
    _start_dir = "/"

_lowering_now = []  # lowerers, outermost first; Numba's compiler lock guards it
_functions = {}  # name in the object file -> (file, line, def line, name), of all functions with lines
_failed = False


class UnknownNumba(Exception):
    """The internals of this Numba differ from the known ones."""


def _fail(e: Exception) -> None:
    global _failed
    _failed = True
    say("functions compiled from now on get no lines: %s: %s" % (type(e).__name__, e))


def first_body_line(code) -> int:
    """The first line of a function's body that has code.

    Numba itself searches the syntax tree of the whole file, at each compilation.
    """
    first = code.co_firstlineno
    lines = [line for _, line in dis.findlinestarts(code) if line is not None and line > first]
    return min(lines, default=first + 1)


def def_line(code) -> int:
    """The line of a function's def. co_firstlineno is that of its first decorator."""
    first, body = code.co_firstlineno, first_body_line(code)
    if code.co_name == "<lambda>":
        return first
    lines = linecache.getlines(_absolute(code.co_filename))[first - 1:body]
    try:
        for token in tokenize.generate_tokens(iter(lines).__next__):
            if token.type == tokenize.NAME and token.string == "def":
                return first - 1 + token.start[0]
    except (tokenize.TokenError, SyntaxError):  # the text ends within the function
        pass
    return body - 1  # without the source


@functools.lru_cache(maxsize=4096)
def _absolute(path: str) -> str:
    at_start = os.path.normpath(os.path.join(_start_dir, path))
    return at_start if os.path.exists(at_start) else os.path.abspath(path)


class _Metadata:
    """The debug info nodes of one LLVM module."""

    def __init__(self, module, path: str):
        self.module = module
        self.path = path
        module.has_lineburn_lines = True
        self.file = self.file_node(path)
        self.unit = module.add_debug_info("DICompileUnit", {
            "language": _ir().DIToken("DW_LANG_C_plus_plus"),
            "file": self.file,
            "producer": "clang (Numba)",  # the same as Numba's; gdb skips prologues by it
            "runtimeVersion": 0,
            "isOptimized": True,
            "emissionKind": _ir().DIToken("LineTablesOnly"),
            # The only flag that adds the line of the def to line tables.
            "debugInfoForProfiling": True,
        }, is_distinct=True)
        self.signature = module.add_debug_info("DISubroutineType", {
            "types": module.add_metadata([]),
        })
        self._add_to_module()

    def _add_to_module(self) -> None:
        int32 = _ir().IntType(32)
        self._named("llvm.dbg.cu").add(self.unit)
        flags = self._named("llvm.module.flags")
        for name, version in (("Dwarf Version", _DWARF_VERSION),
                              ("Debug Info Version", _DEBUG_INFO_VERSION)):
            flag = self.module.add_metadata([int32(_WARN_IF_DIFFERENT), name, int32(version)])
            if flag not in flags.operands:
                flags.add(flag)

    def _named(self, name: str):
        return self.module.namedmetadata.get(name) or self.module.add_named_metadata(name)

    def file_node(self, path: str):
        path = _absolute(path)
        return self.module.add_debug_info("DIFile", {
            "directory": os.path.dirname(path),
            "filename": os.path.basename(path),
        })

    def subprogram(self, function, name: str, line: int, begin: int):
        """@line is that of the entry code, @begin that of the def; 0: not known."""
        node = self.module.add_debug_info("DISubprogram", {
            "name": name,
            "linkageName": function.name,
            "scope": self.file,
            "file": self.file,
            "line": begin,
            "type": self.signature,
            "isLocal": False,
            "isDefinition": True,
            "scopeLine": line,
            "isOptimized": True,
            "unit": self.unit,
        }, is_distinct=True)
        function.set_metadata("dbg", node)
        return node

    def location(self, subprogram, path: str, line: int):
        scope = subprogram
        if path != self.path:
            scope = self.module.add_debug_info("DILexicalBlockFile", {
                "scope": subprogram,
                "file": self.file_node(path),
                "discriminator": 0,
            })
        return self.module.add_debug_info("DILocation", {
            "line": line,
            "column": 1,
            "scope": scope,
        })


def _ir():
    from llvmlite import ir

    return ir


def _written_for(func_ir):
    """For a function that Numba generated: the (file, line) of the user's statement, or None."""
    path = func_ir.loc.filename
    if func_ir.func_id.func_name.startswith(_WRITTEN_FOR_CALLER) and _lowering_now:
        caller = _lowering_now[-1]
        resolve = getattr(caller.debuginfo, "resolve", None)
        return resolve(caller.loc) if resolve else (caller.loc.filename, caller.loc.line)
    if not path.startswith("<"):
        return None
    # The loops of a stencil: generated text that contains the user's statements.
    users = [inst.loc for block in func_ir.blocks.values() for inst in block.body
             if not inst.loc.filename.startswith("<")]
    first = min(users, key=lambda loc: loc.line, default=None)
    return (first.filename, first.line) if first else None


def _make_builder_class(dummy):
    class LineTableBuilder(dummy):
        """Lowering reports its current line here. Calls unknown to us do nothing (see dummy)."""

        def __init__(self, lowerer):
            func_ir = lowerer.func_ir
            self._lowerer = lowerer
            self._own_path = func_ir.loc.filename
            self._home = _written_for(func_ir)
            path, line = self._home or (self._own_path,
                                        first_body_line(func_ir.func_id.func.__code__) - 1)
            self.defn_line = line
            self.def_line = self._find_def(func_ir.func_id.func.__code__)
            self._metadata = _Metadata(lowerer.module, path)
            self._subprogram = None
            self._known = {}

        def _find_def(self, code) -> int:
            if not self._home:
                return def_line(code)
            caller = _lowering_now[-1].debuginfo if _lowering_now else None
            return getattr(caller, "def_line", 0)  # that of the user's function

        def resolve(self, loc):
            """The (file, line) of a place in this function."""
            is_own = loc.filename == self._own_path
            return self._home if is_own and self._home else (loc.filename, loc.line)

        def mark_subprogram(self, function, qualname, argnames, argtypes, line):
            try:
                path = self._metadata.path
                self._subprogram = self._metadata.subprogram(
                    function, qualname, self.defn_line, self.def_line)
                self._known = {}
                _functions[function.name] = (path, self.defn_line, self.def_line, qualname)
            except Exception as e:
                _fail(e)

        def mark_location(self, builder, line):
            try:
                if self._subprogram is None:
                    return
                loc = self._lowerer.loc
                path = self._own_path
                if getattr(loc, "line", None) == line:
                    path = loc.filename
                if line is None or line < 1:  # a generator's start on CPython 3.10
                    path, line = self._own_path, self.defn_line
                location = self._known.get((path, line))
                if location is None:
                    at = self._home if path == self._own_path else None
                    location = self._metadata.location(
                        self._subprogram, *(at or (path, line)))
                    self._known[path, line] = location
                builder.debug_metadata = location
            except Exception as e:  # keep the last location: LLVM needs one
                _fail(e)

    return LineTableBuilder


def remember(name: str, code) -> None:
    """Adds a cached function with lines, so that its wrappers get lines too."""
    _functions[name] = (
        code.co_filename, first_body_line(code) - 1, def_line(code), code.co_name)


def _inlinable_callee(function, call_type):
    for block in function.blocks:
        for instr in block.instructions:
            if not isinstance(instr, call_type) or "noinline" in instr.attributes:
                continue
            found = _functions.get(getattr(instr.callee, "name", None))
            if found:
                return found
    return None


def _mark_wrappers(module) -> None:
    """Gives lines to the loops that @vectorize, @guvectorize and prange put around a function.

    LLVM inlines the function into them, and drops the lines of code inlined into a function without lines.
    """
    call_type = _ir().CallInstr
    for function in list(module.functions):
        if not function.blocks or "dbg" in function.metadata:
            continue
        callee = _inlinable_callee(function, call_type)
        if not callee:
            continue
        path, line, begin, name = callee
        metadata = _Metadata(module, path)
        subprogram = metadata.subprogram(function, name, line, begin)
        location = metadata.location(subprogram, path, line)
        for block in function.blocks:
            for instr in block.instructions:
                if "dbg" not in instr.metadata:
                    instr.set_metadata("dbg", location)
        _functions[function.name] = callee


def _strip(module) -> bool:
    """Removes our debug info from a module. Return: whether there was any."""
    if not getattr(module, "has_lineburn_lines", False):
        return False
    module.namedmetadata.pop("llvm.dbg.cu", None)
    for function in module.functions:
        function.metadata.pop("dbg", None)
        for block in function.blocks:
            for instr in block.instructions:
                instr.metadata.pop("dbg", None)
                instr._clear_string_cache()
    # Nodes refer to each other by number, so the remaining ones keep their numbers.
    module.metadata[:] = [n for n in module.metadata if not isinstance(n, _ir().DIValue)]
    return True


def _is_for_this_cpu(lowerer, codegen) -> bool:
    """Excludes code for a GPU, and code compiled ahead of time into a file."""
    return isinstance(lowerer.library.codegen, codegen.JITCPUCodegen)


def _wrap_lowering(lowering, debuginfo, codegen) -> None:
    base = lowering.BaseLower
    init, lower = base.__init__, base.lower
    builder_class = _make_builder_class(debuginfo.DummyDIBuilder)

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)
        try:
            # With another type of builder, the program has asked for Numba's own debug info.
            if (not _failed and type(self.debuginfo) is debuginfo.DummyDIBuilder and
                    _is_for_this_cpu(self, codegen)):
                builder = builder_class(self)
                self.debuginfo = builder
                self.defn_loc = self.func_ir.loc.with_lineno(builder.defn_line)
        except Exception as e:
            _fail(e)

    @functools.wraps(lower)
    def lower_with_caller_known(self, *args, **kwargs):
        _lowering_now.append(self)
        try:
            return lower(self, *args, **kwargs)
        finally:
            _lowering_now.pop()

    base.__init__ = __init__
    base.lower = lower_with_caller_known


def _wrap_object_mode(pylowering) -> None:
    """In object mode Numba never reports the current line."""
    lowerer = pylowering.PyLower
    lower_inst = lowerer.lower_inst

    @functools.wraps(lower_inst)
    def lower_inst_at_line(self, inst):
        if hasattr(self.debuginfo, "resolve"):
            self.debuginfo.mark_location(self.builder, inst.loc.line)
        return lower_inst(self, inst)

    lowerer.lower_inst = lower_inst_at_line


def _wrap_library(codegen) -> None:
    library = codegen.CPUCodeLibrary
    add = library.add_ir_module

    @functools.wraps(add)
    def add_ir_module(self, ir_module):
        if not _failed and isinstance(self.codegen, codegen.JITCPUCodegen):
            try:
                _mark_wrappers(ir_module)
            except Exception as e:
                _fail(e)
        try:
            return add(self, ir_module)
        except RuntimeError as e:
            # LLVM refused the module and added nothing. Try again without our debug info.
            if not _strip(ir_module):
                raise
            added = add(self, ir_module)
            _fail(e)
            return added

    library.add_ir_module = add_ir_module


_EXPECTED = (
    ("numba.core.lowering", "BaseLower.__init__", {"context", "library", "fndesc", "func_ir"}),
    ("numba.core.lowering", "BaseLower.lower", {"self"}),
    ("numba.core.pylowering", "PyLower.lower_inst", {"inst"}),
    ("numba.core.debuginfo", "DummyDIBuilder.mark_location", {"builder", "line"}),
    ("numba.core.debuginfo", "DummyDIBuilder.mark_subprogram",
     {"function", "qualname", "argnames", "argtypes", "line"}),
    ("numba.core.codegen", "CPUCodeLibrary.add_ir_module", {"ir_module"}),
    ("numba.core.codegen", "JITCPUCodegen", set()),
    ("numba.core.ir", "Loc.with_lineno", {"line"}),
    ("llvmlite.ir", "Module.add_debug_info", {"kind", "operands", "is_distinct"}),
    ("llvmlite.ir", "CallInstr._clear_string_cache", set()),
    ("llvmlite.ir", "DIToken", set()),
    ("llvmlite.ir", "DIValue", set()),
)


def expect(expected) -> None:
    """Raises UnknownNumba unless each (module, name, parameters) is there."""
    for module_name, path, parameters in expected:
        thing = __import__(module_name, fromlist=["*"])
        for name in path.split("."):
            thing = getattr(thing, name, None)
        if thing is None:
            raise UnknownNumba("there is no %s.%s" % (module_name, path))
        if parameters and not parameters <= set(inspect.signature(thing).parameters):
            raise UnknownNumba("%s.%s takes other arguments" % (module_name, path))


def check(numba) -> None:
    """Raises UnknownNumba when what install() needs is not there."""
    try:
        expect(_EXPECTED)
    except UnknownNumba as e:
        raise UnknownNumba("Numba %s is not known yet (%s)" % (numba.__version__, e)) from None


def install() -> None:
    from numba.core import codegen, debuginfo, lowering, pylowering

    _wrap_lowering(lowering, debuginfo, codegen)
    _wrap_object_mode(pylowering)
    _wrap_library(codegen)
