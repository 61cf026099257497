/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Splits the names that runtimes give their code in perf maps and jitdumps, where the
 * pattern is certain:
 *
 *   JS:*foo /app/x.js:12:5       V8 (also LazyCompile: Function: Eval: Script:)
 *   py::Klass.foo:/app/x.py      CPython 3.12
 *   TRACE_7::/app/x.lua:3        LuaJIT with LUAJIT_USE_PERFTOOLS
 *   TRACE-1$inner$4              PHP 8, opcache.jit_debug
 *   $lists:map/2                 Erlang/OTP 25
 *
 * Anything else (Java, .NET, V8's Builtin: RegExp: Stub: ...) stays as written.
 */
#ifndef LB_DECODE_JIT_NAME_H
#define LB_DECODE_JIT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strpool.h"
#include "decode/frame.h"

#define JIT_NAME_MAX_BYTES 4096 /* longer names are cut */

/* The parts point into the name that was split, or at constants; not terminated. */
struct jit_name {
	const char *function;
	size_t function_len;
	const char *file; /* as the runtime wrote it */
	size_t file_len; /* 0: not in the name */
	uint32_t start_line; /* where the function starts; 0: not in the name */
	uint32_t start_column; /* same */
	/*
	 * V8's baseline (^) and interpreted (~) code: the addresses in its jitdump are
	 * offsets in the bytecode, not in the machine code.
	 */
	bool bytecode_positions;
};

/** Never fails: in doubt the whole name is the function. */
void jit_name_split(const char *raw, size_t len, struct jit_name *ret);

/**
 * Converts a runtime's name of a file to a path: "file:///a%20b.mjs" (ES modules of
 * Node) is "/a b.mjs"; anything else stays. Interned in @pool.
 */
const char *jit_path(struct strpool *pool, const char *file, size_t len);

/** The frame, without a line, of a function of which only the name is known. */
struct frame jit_name_frame(const char *raw, struct strpool *pool);

#endif
