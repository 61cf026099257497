/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Offsets in each CPython: a table, and from 3.13 on its own _Py_DebugOffsets. */
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
		interpreter_threads; /* the next, its first thread state */
	uint16_t thread_prev, thread_next, thread_interpreter;
	uint16_t thread_id; /* pthread_self() */
};

struct python_layout {
	struct lb_interp frames; /* eval_lo and eval_hi are 0 */
	struct python_lists lists;
};

/** Of a version that has no _Py_DebugOffsets. NULL: not known, or it has them. */
const struct python_layout *python_layout_find(uint32_t version);

/**
 * Bytes of _Py_DebugOffsets at _PyRuntime, from 3.13 on. 0: this version has none, or of
 * a form that is not known.
 */
size_t python_debug_bytes(uint32_t version);

#define PYTHON_MAX_DEBUG_BYTES 1024

/**
 * @bytes  python_debug_bytes() of them, hostile
 * Return: is this a final release of @version, with offsets that can be? @ret is set
 * only then. Builds without the GIL are not known from 3.14 on: each thread has a copy of
 * the instructions there, and the kind of a str is in another byte.
 */
bool python_layout_read(uint32_t version, const void *bytes, struct python_layout *ret);

/** Do all offsets lie within what the kernel side reads? For replies, too. */
bool python_layout_is_sane(const struct lb_interp *l);

#endif
