// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Offsets are those that a compiler gives on a 64-bit machine for the headers of
 * CPython 3.9.18, 3.10.13, 3.11.7 and 3.12.1: Include/cpython/{code,pystate,
 * unicodeobject,bytesobject}.h, frameobject.h (3.9, 3.10), and
 * Include/internal/pycore_{frame,interp,runtime}.h.
 *
 * Words of identity are those that a code object has from its creation to its end:
 * no counts of references, warm-ups, caches, weak references, or monitoring.
 */
#include "decode/python/layout.h"

#include "base/cleanup.h"

/* struct PyCodeObject, PyASCIIObject and PyBytesObject of 3.9 and 3.10. */
#define OLD_OBJECTS                                                               \
	.code_filename = 104, .code_qualname = 112 /* co_name: no other there */, \
	.code_linetable = 120, .code_firstlineno = 40,                            \
	.code_identity = {40, 48, 56, 64, 72, 104, 112, 120}, .str_length = 16,   \
	.str_state = 32, .str_ascii = 48, .str_wide = 72, .bytes_size = 16,       \
	.bytes_data = 32, .code_bytes = 128

/* _PyRuntimeState, PyInterpreterState and PyThreadState of 3.9 and 3.10. */
#define OLD_LISTS                                                             \
	{                                                                     \
		.runtime_interpreters = 32, .interpreter_next = 0,            \
		.interpreter_threads = 8, .thread_prev = 0, .thread_next = 8, \
		.thread_interpreter = 16, .thread_id = 176                    \
	}

static const struct python_layout layouts[] = {
	{.frames = {.version = 0x0309,
		    .link = LB_PY_LINK_EVAL,
		    .ts_frame = 24,
		    .frame_code = 32,
		    .frame_previous = 24,
		    .frame_ip = 104,
		    .ip_is_index = 2,
		    .frame_bytes = 112,
		    OLD_OBJECTS},
	 .lists = OLD_LISTS},
	{.frames = {.version = 0x030a,
		    .link = LB_PY_LINK_OBJECT,
		    .ts_frame = 24,
		    .ts_cframe = 48,
		    .cframe_previous = 8,
		    .frame_code = 32,
		    .frame_previous = 24,
		    .frame_ip = 96,
		    .ip_is_index = 1,
		    .frame_bytes = 104,
		    OLD_OBJECTS},
	 .lists = OLD_LISTS},
	{.frames = {.version = 0x030b,
		    .link = LB_PY_LINK_CFRAME,
		    .ts_frame = 56,
		    .cframe_frame = 8,
		    .cframe_previous = 16,
		    .frame_code = 32,
		    .frame_previous = 48,
		    .frame_ip = 56,
		    .frame_owner = 68, /* is_entry */
		    .owner_entry = 1,
		    .entry_has_code = 1,
		    .frame_bytes = 72,
		    .code_bytecode = 184,
		    .code_filename = 112,
		    .code_qualname = 128,
		    .code_linetable = 136,
		    .code_firstlineno = 72,
		    .code_identity = {16, 24, 32, 72, 96, 112, 128, 136},
		    .code_bytes = 144,
		    .str_length = 16,
		    .str_state = 32,
		    .str_ascii = 48,
		    .str_wide = 72,
		    .bytes_size = 16,
		    .bytes_data = 32},
	 .lists = {.runtime_interpreters = 40,
		   .interpreter_next = 0,
		   .interpreter_threads = 16,
		   .thread_prev = 0,
		   .thread_next = 8,
		   .thread_interpreter = 16,
		   .thread_id = 152}},
	{.frames = {.version = 0x030c,
		    .link = LB_PY_LINK_CFRAME,
		    .ts_frame = 56,
		    .cframe_frame = 0,
		    .cframe_previous = 8,
		    .frame_code = 0,
		    .frame_previous = 8,
		    .frame_ip = 56,
		    .frame_owner = 70,
		    .owner_entry = 3, /* FRAME_OWNED_BY_CSTACK */
		    .frame_bytes = 72,
		    .code_bytecode = 192,
		    .code_filename = 112,
		    .code_qualname = 128,
		    .code_linetable = 136,
		    .code_firstlineno = 68,
		    .code_identity = {16, 24, 32, 64, 96, 112, 128, 136},
		    .code_bytes = 144,
		    .str_length = 16,
		    .str_state = 32,
		    .str_ascii = 40,
		    .str_wide = 56,
		    .bytes_size = 16,
		    .bytes_data = 32},
	 .lists = {.runtime_interpreters = 40,
		   .interpreter_next = 0,
		   .interpreter_threads = 72,
		   .thread_prev = 0,
		   .thread_next = 8,
		   .thread_interpreter = 16,
		   .thread_id = 136}},
};

const struct python_layout *python_layout_find(uint32_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].frames.version == version)
			return &layouts[i];
	return NULL;
}

/* ---- bounds ---- */

static bool frame_is_sane(const struct lb_python *l)
{
	return l->frame_bytes <= LB_PY_FRAME_BYTES && l->frame_bytes >= 8 &&
	       l->frame_code <= l->frame_bytes - 8 &&
	       l->frame_previous <= l->frame_bytes - 8 &&
	       l->frame_ip <= l->frame_bytes - 8 && l->frame_owner < l->frame_bytes &&
	       l->frame_owner <= LB_PY_FRAME_BYTES - 8 && l->ip_is_index <= 2 &&
	       l->entry_has_code <= 1 && l->code_tag_mask <= 7;
}

static bool code_is_sane(const struct lb_python *l)
{
	if (l->code_bytes > LB_PY_CODE_BYTES || l->code_bytes < 8 ||
	    l->code_filename > l->code_bytes - 8 ||
	    l->code_qualname > l->code_bytes - 8 ||
	    l->code_linetable > l->code_bytes - 8 ||
	    l->code_firstlineno > l->code_bytes - 8)
		return false;
	for (size_t i = 0; i < LB_PY_IDENTITY_WORDS; i++)
		if (l->code_identity[i] > l->code_bytes - 8)
			return false;
	return true;
}

bool python_layout_is_sane(const struct lb_python *l)
{
	return l->version >= PYTHON_OLDEST && l->version <= PYTHON_NEWEST &&
	       l->link <= LB_PY_LINK_SHIM && l->ts_is_in_table <= 1 && frame_is_sane(l) &&
	       code_is_sane(l);
}
