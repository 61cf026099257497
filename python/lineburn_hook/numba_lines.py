# SPDX-License-Identifier: GPL-2.0-or-later
"""Line tables in Numba's code, and not one instruction changed.

Numba's own debug info (NUMBA_DEBUGINFO=1, debug=True) is a flag that lowering, inlining
and its optimisations look at: the code becomes another one, up to three times slower.
Here that flag stays as the program has it. A lowering that would use the builder that
emits no debug info gets one that emits locations only: a compile unit of the kind
LineTablesOnly, a subprogram for each function, a location for each instruction. To LLVM
these are annotations that may not influence the code (llvm.org/docs/SourceLevelDebugging).

Known to fit Numba 0.56 to 0.68; check() tells whether it does.
"""

import dis
import functools
import inspect
import os

from . import say

# Functions that Numba writes for a statement of the user's: their own lines mean nothing.
_WRITTEN_FOR_CALLER = ("__numba_parfor_gufunc", "__numba_array_expr")

# As Numba's own debug info has it: modules of both kinds are linked together.
_DWARF_VERSION = 4
_DEBUG_INFO_VERSION = 3
_WARN_IF_DIFFERENT = 2

# co_filename of a script is as it was given, so it means this directory.
try:
    _start_dir = os.getcwd()
except OSError:
    _start_dir = "/"

_lowering_now = []  # lowerers, outermost first; Numba's compiler lock guards it
_functions = {}  # name in the object file -> (file, line, name), of all that has lines
_failed = False


class UnknownNumba(Exception):
    """Its internals are not as known."""


def _fail(e: Exception) -> None:
    global _failed
    _failed = True
    say("functions compiled from now on get no lines: %s: %s" % (type(e).__name__, e))


def first_body_line(code) -> int:
    """The first line of a function's body that has code.

    Numba looks for it in the syntax tree of the whole file, at each compilation.
    """
    first = code.co_firstlineno
    lines = [line for _, line in dis.findlinestarts(code) if line is not None and line > first]
    return min(lines, default=first + 1)


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
            "producer": "clang (Numba)",  # as Numba says; gdb reads prologues by it
            "runtimeVersion": 0,
            "isOptimized": True,
            "emissionKind": _ir().DIToken("LineTablesOnly"),
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

    def subprogram(self, function, name: str, line: int):
        node = self.module.add_debug_info("DISubprogram", {
            "name": name,
            "linkageName": function.name,
            "scope": self.file,
            "file": self.file,
            "line": line,
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
    """For a function that Numba wrote: the user's (file, line) that it stands for, or None."""
    path = func_ir.loc.filename
    if func_ir.func_id.func_name.startswith(_WRITTEN_FOR_CALLER) and _lowering_now:
        caller = _lowering_now[-1]
        resolve = getattr(caller.debuginfo, "resolve", None)
        return resolve(caller.loc) if resolve else (caller.loc.filename, caller.loc.line)
    if not path.startswith("<"):
        return None
    # A stencil's loops: written as text, the user's statements put inside.
    users = [inst.loc for block in func_ir.blocks.values() for inst in block.body
             if not inst.loc.filename.startswith("<")]
    first = min(users, key=lambda loc: loc.line, default=None)
    return (first.filename, first.line) if first else None


def _make_builder_class(dummy):
    class LineTableBuilder(dummy):
        """What lowering calls to say where it is; new calls do nothing (see dummy)."""

        def __init__(self, lowerer):
            func_ir = lowerer.func_ir
            self._lowerer = lowerer
            self._own_path = func_ir.loc.filename
            self._home = _written_for(func_ir)
            path, line = self._home or (self._own_path,
                                        first_body_line(func_ir.func_id.func.__code__) - 1)
            self.defn_line = line
            self._metadata = _Metadata(lowerer.module, path)
            self._subprogram = None
            self._known = {}

        def resolve(self, loc):
            """The (file, line) of a place in this function."""
            is_own = loc.filename == self._own_path
            return self._home if is_own and self._home else (loc.filename, loc.line)

        def mark_subprogram(self, function, qualname, argnames, argtypes, line):
            try:
                path = self._metadata.path
                self._subprogram = self._metadata.subprogram(function, qualname, self.defn_line)
                self._known = {}
                _functions[function.name] = (path, self.defn_line, qualname)
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
            except Exception as e:  # the last location stays: LLVM wants one
                _fail(e)

    return LineTableBuilder


def remember(name: str, code) -> None:
    """A function with lines that came from the cache, for what will be built around it."""
    _functions[name] = (code.co_filename, first_body_line(code) - 1, code.co_name)


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
    """The loops that @vectorize, @guvectorize and prange put around a function.

    LLVM inlines the function there, and drops lines that come into code without any.
    """
    call_type = _ir().CallInstr
    for function in list(module.functions):
        if not function.blocks or "dbg" in function.metadata:
            continue
        callee = _inlinable_callee(function, call_type)
        if not callee:
            continue
        path, line, name = callee
        metadata = _Metadata(module, path)
        subprogram = metadata.subprogram(function, name, line)
        location = metadata.location(subprogram, path, line)
        for block in function.blocks:
            for instr in block.instructions:
                if "dbg" not in instr.metadata:
                    instr.set_metadata("dbg", location)
        _functions[function.name] = callee


def _strip(module) -> bool:
    """Takes our debug info out of a module again. Return: was there any?"""
    if not getattr(module, "has_lineburn_lines", False):
        return False
    module.namedmetadata.pop("llvm.dbg.cu", None)
    for function in module.functions:
        function.metadata.pop("dbg", None)
        for block in function.blocks:
            for instr in block.instructions:
                instr.metadata.pop("dbg", None)
                instr._clear_string_cache()
    # Nodes are printed by number: those that stay keep theirs.
    module.metadata[:] = [n for n in module.metadata if not isinstance(n, _ir().DIValue)]
    return True


def _is_for_this_cpu(lowerer, codegen) -> bool:
    """Not for a GPU, and not ahead of time into a file that is kept."""
    return isinstance(lowerer.library.codegen, codegen.JITCPUCodegen)


def _wrap_lowering(lowering, debuginfo, codegen) -> None:
    base = lowering.BaseLower
    init, lower = base.__init__, base.lower
    builder_class = _make_builder_class(debuginfo.DummyDIBuilder)

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)
        try:
            # Another type: the program asked for Numba's own debug info.
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
    """Numba says nowhere in object mode which line it is at."""
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
            # LLVM refuses it: because of us? Nothing was added yet, so try without.
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
