/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runtimes call their code, in perf maps and jitdumps, taken apart where the
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

/* Pieces point into the name that was split, or at constants; not terminated. */
struct jit_name {
	const char *function;
	size_t function_len;
	const char *file; /* as the runtime wrote it */
	size_t file_len; /* 0: not in the name */
	uint32_t start_line; /* where the function starts; 0: not in the name */
	uint32_t start_column; /* same */
	/*
	 * V8's baseline (^) and interpreted (~) code: what a jitdump gives as its
	 * addresses are offsets in the bytecode, not in the machine code.
	 */
	bool bytecode_positions;
};

/** Never fails: in doubt the whole name is the function. */
void jit_name_split(const char *raw, size_t len, struct jit_name *ret);

/**
 * The path that a runtime means: "file:///a%20b.mjs" (ES modules of Node) is
 * "/a b.mjs"; anything else is itself. Interned in @pool.
 */
const char *jit_path(struct strpool *pool, const char *file, size_t len);

/** The frame of a function that is only known by name: no line. */
struct frame jit_name_frame(const char *raw, struct strpool *pool);

#endif
