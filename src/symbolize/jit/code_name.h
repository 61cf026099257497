/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoder side: names that runtimes give their code, in perf maps and jitdumps. */
#ifndef LB_SYMBOLIZE_JIT_CODE_NAME_H
#define LB_SYMBOLIZE_JIT_CODE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/frame.h"

#define CODE_NAME_MAX 4096 /* longer names are cut */

struct code_name {
	char function[CODE_NAME_MAX]; /* readable */
	char file[CODE_NAME_MAX]; /* "" not told */
	uint32_t start_line; /* 0 not told */
	bool is_v8;
};

/**
 * Takes @raw apart where its form is certain: V8 ("JS:*work /path/app.js:10:5",
 * "LazyCompile:~f file:///x.mjs:1:1") and CPython ("py::work:/path/app.py").
 * Anything else is a function's name as it stands.
 */
void code_name_parse(const char *raw, size_t len, struct code_name *ret);

/** A frame over @name, without a line. Its strings are borrowed. */
struct frame code_name_frame(const struct code_name *name, const char *raw);

#endif
