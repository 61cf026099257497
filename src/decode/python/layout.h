/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Offsets in each CPython: from a table, since 3.13 from its own _Py_DebugOffsets. */
#ifndef LB_DECODE_PYTHON_LAYOUT_H
#define LB_DECODE_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lineburn_unwind.h"

#define PYTHON_OLDEST 0x0309 /* PY_VERSION_HEX >> 16 */
#define PYTHON_NEWEST 0x030f

/* The lists that lead from _PyRuntime to the thread states. Offsets in bytes. */
struct python_lists {
	uint16_t runtime_interpreters; /* the first interpreter */
	uint16_t interpreter_next,
		interpreter_threads; /* next interpreter, first thread state */
	uint16_t thread_prev, thread_next, thread_interpreter;
	uint16_t thread_id; /* pthread_self() */
};

struct python_layout {
	struct lb_interp frames; /* eval_lo and eval_hi are 0 */
	struct python_lists lists;
};

/** Returns the layout of a version without _Py_DebugOffsets; NULL: not in the table. */
const struct python_layout *python_layout_find(uint32_t version);

/**
 * Size of the _Py_DebugOffsets at _PyRuntime, from 3.13 on. 0: the version has none, or
 * one of unknown layout.
 */
size_t python_debug_bytes(uint32_t version);

#define PYTHON_MAX_DEBUG_BYTES 1024

/**
 * Reads a _Py_DebugOffsets.
 *
 * @bytes  python_debug_bytes() of them, hostile
 * @ret    set only on success
 * Return: is this a release of @version, with plausible offsets? Free-threaded builds
 * are refused from 3.14 on: each thread has its own copy of the instructions there, and
 * the kind of a str is in another byte.
 */
bool python_layout_read(uint32_t version, const void *bytes, struct python_layout *ret);

/** Are all offsets within what the kernel side reads? Also used to check replies. */
bool python_layout_is_sane(const struct lb_interp *l);

#endif
