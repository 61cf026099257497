// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Offsets are from a compiler for a 64-bit machine, with the headers of CPython 3.9.18,
 * 3.10.13, 3.11.7 and 3.12.1: Include/cpython/{code,pystate,
 * unicodeobject,bytesobject}.h, frameobject.h (3.9, 3.10), and
 * Include/internal/pycore_{frame,interp,runtime}.h.
 *
 * Words of identity do not change during the life of a code object: no reference
 * counts, warm-up counters, caches, weak references, or monitoring.
 */
#include "decode/python/layout.h"

#include <string.h>

#include "base/cleanup.h"

/* struct PyCodeObject, PyASCIIObject and PyBytesObject of 3.9 and 3.10. */
#define OLD_OBJECTS                                                             \
	.code_filename = 104, .code_qualname = 112 /* co_name: no qualname */,  \
	.code_linetable = 120, .code_firstlineno = 40,                          \
	.code_identity = {40, 48, 56, 64, 72, 104, 112, 120}, .str_length = 16, \
	.str_state = 32, .str_ascii = 48, .str_wide = 72, .bytes_size = 16,     \
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
		    .link = LB_LINK_EVAL,
		    .ts_frame = 24,
		    .frame_code = 32,
		    .frame_previous = 24,
		    .frame_ip = 104,
		    .ip_is_index = 2,
		    .frame_bytes = 112,
		    OLD_OBJECTS},
	 .lists = OLD_LISTS},
	{.frames = {.version = 0x030a,
		    .link = LB_LINK_OBJECT,
		    .ts_frame = 24,
		    .ts_cframe = 48,
		    .cframe_previous = 8,
		    .frame_code = 32,
		    .frame_previous = 24,
		    .frame_ip = 96,
		    .frame_owner = 108,
		    .ip_is_index = 1,
		    .frame_bytes = 116,
		    OLD_OBJECTS},
	 .lists = OLD_LISTS},
	{.frames = {.version = 0x030b,
		    .link = LB_LINK_CFRAME,
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
		    .link = LB_LINK_CFRAME,
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

static bool frame_is_sane(const struct lb_interp *l)
{
	return l->frame_bytes <= LB_INTERP_FRAME_BYTES && l->frame_bytes >= 8 &&
	       l->frame_code <= l->frame_bytes - 8 &&
	       l->frame_previous <= l->frame_bytes - 8 &&
	       l->frame_ip <= l->frame_bytes - 8 && l->frame_owner < l->frame_bytes &&
	       l->frame_owner <= LB_INTERP_FRAME_BYTES - 8 && l->ip_is_index <= 2 &&
	       l->entry_has_code <= 1 && l->code_tag_mask <= 7;
}

static bool code_is_sane(const struct lb_interp *l)
{
	if (l->code_bytes > LB_INTERP_CODE_BYTES || l->code_bytes < 8 ||
	    l->code_filename > l->code_bytes - 8 ||
	    l->code_qualname > l->code_bytes - 8 ||
	    l->code_linetable > l->code_bytes - 8 ||
	    l->code_firstlineno > l->code_bytes - 8)
		return false;
	for (size_t i = 0; i < LB_INTERP_IDENTITY_WORDS; i++)
		if (l->code_identity[i] > l->code_bytes - 8)
			return false;
	return true;
}

bool python_layout_is_sane(const struct lb_interp *l)
{
	return l->version >= PYTHON_OLDEST && l->version <= PYTHON_NEWEST &&
	       l->link <= LB_LINK_SHIM && l->ts_is_in_table <= 1 && frame_is_sane(l) &&
	       code_is_sane(l);
}

/*
 * From 3.13 on _PyRuntime begins with a struct _Py_DebugOffsets (pycore_runtime.h,
 * 3.14: pycore_debug_offsets.h): u64 words, most of them offsets. Its layout differs in
 * each version; the numbers below are of 3.13.0, 3.13.18, 3.14.10 and 3.15.2.
 */

/* The first words are the same in all versions. */
enum {
	WORD_COOKIE,
	WORD_VERSION,
	WORD_FREE_THREADED,
};

enum member {
	RUNTIME_INTERPRETERS,
	INTERPRETER_NEXT,
	INTERPRETER_THREADS,
	THREAD_PREV,
	THREAD_NEXT,
	THREAD_INTERPRETER,
	THREAD_FRAME,
	THREAD_ID,
	FRAME_PREVIOUS,
	FRAME_CODE,
	FRAME_IP,
	FRAME_OWNER,
	CODE_FILENAME,
	CODE_NAME,
	CODE_QUALNAME,
	CODE_LINETABLE,
	CODE_FIRSTLINENO,
	CODE_LOCALNAMES,
	CODE_LOCALKINDS,
	CODE_BYTECODE,
	BYTES_SIZE,
	BYTES_DATA,
	STR_STATE,
	STR_LENGTH,
	STR_ASCII,
	NR_MEMBERS,
};

#define FIRST_WITH_DEBUG 0x030d

struct form {
	uint16_t bytes; /* size of _Py_DebugOffsets */
	uint8_t code_tag_mask; /* of _PyInterpreterFrame.f_executable (pycore_stackref.h) */
};

static const struct form forms[] = {{584, 0}, {760, 7}, {888, 7}};

/* Number of the word that has a member's offset, in 3.13, 3.14 and 3.15. */
static const uint8_t words_of[NR_MEMBERS][ARRAY_SIZE(forms)] = {
	[RUNTIME_INTERPRETERS] = {5, 5, 5}, [INTERPRETER_NEXT] = {8, 8, 8},
	[INTERPRETER_THREADS] = {9, 9, 9},  [THREAD_PREV] = {20, 23, 23},
	[THREAD_NEXT] = {21, 24, 24},       [THREAD_INTERPRETER] = {22, 25, 25},
	[THREAD_FRAME] = {23, 26, 26},      [THREAD_ID] = {24, 27, 30},
	[FRAME_PREVIOUS] = {29, 32, 40},    [FRAME_CODE] = {30, 33, 41},
	[FRAME_IP] = {31, 34, 42},          [FRAME_OWNER] = {33, 36, 44},
	[CODE_FILENAME] = {35, 40, 48},     [CODE_NAME] = {36, 41, 49},
	[CODE_QUALNAME] = {37, 42, 50},     [CODE_LINETABLE] = {38, 43, 51},
	[CODE_FIRSTLINENO] = {39, 44, 52},  [CODE_LOCALNAMES] = {41, 46, 54},
	[CODE_LOCALKINDS] = {42, 47, 55},   [CODE_BYTECODE] = {43, 48, 56},
	[BYTES_SIZE] = {65, 75, 87},        [BYTES_DATA] = {66, 76, 88},
	[STR_STATE] = {68, 78, 90},         [STR_LENGTH] = {69, 79, 91},
	[STR_ASCII] = {70, 80, 92},
};

static const char cookie[8] = "xdebugpy";

#define FIRST_WITH_THREAD_BYTECODE 0x030e
#define RELEASE_CANDIDATE          0xc /* PY_RELEASE_LEVEL: not stable before it */
#define OWNED_BY_C                 3 /* enum _frameowner: FRAME_OWNED_BY_CSTACK, 3.14: _INTERPRETER */
#define WIDE_EXTRA                 16 /* PyCompactUnicodeObject: utf8_length, utf8 */

static bool is_known(uint32_t version)
{
	return version >= FIRST_WITH_DEBUG &&
	       version - FIRST_WITH_DEBUG < ARRAY_SIZE(forms);
}

size_t python_debug_bytes(uint32_t version)
{
	return is_known(version) ? forms[version - FIRST_WITH_DEBUG].bytes : 0;
}

static bool is_release(uint32_t version, const uint64_t *words)
{
	return !memcmp(&words[WORD_COOKIE], cookie, sizeof(cookie)) &&
	       words[WORD_VERSION] >> 16 == version &&
	       (words[WORD_VERSION] >> 4 & 0xf) >= RELEASE_CANDIDATE &&
	       words[WORD_FREE_THREADED] <= 1 &&
	       !(words[WORD_FREE_THREADED] && version >= FIRST_WITH_THREAD_BYTECODE);
}

/* Return: do all fit into 16 bits, also with WIDE_EXTRA added? */
static bool read_offsets(uint32_t version, const uint64_t *words, uint16_t *off)
{
	for (size_t i = 0; i < NR_MEMBERS; i++) {
		uint64_t v = words[words_of[i][version - FIRST_WITH_DEBUG]];

		if (v > UINT16_MAX - WIDE_EXTRA)
			return false;
		off[i] = (uint16_t)v;
	}
	return true;
}

static uint16_t max_u16(uint16_t a, uint16_t b)
{
	return a > b ? a : b;
}

static void set_frames(struct lb_interp *p, const uint16_t *off)
{
	uint16_t end = max_u16(max_u16(off[FRAME_CODE], off[FRAME_PREVIOUS]) + 8,
			       max_u16(off[FRAME_IP] + 8, off[FRAME_OWNER] + 1));

	p->link = LB_LINK_SHIM;
	p->ts_frame = off[THREAD_FRAME];
	p->frame_code = off[FRAME_CODE];
	p->frame_previous = off[FRAME_PREVIOUS];
	p->frame_ip = off[FRAME_IP];
	p->frame_owner = off[FRAME_OWNER];
	p->owner_shim = OWNED_BY_C;
	p->frame_bytes = end <= LB_INTERP_FRAME_BYTES ? (uint8_t)((end + 7) & ~7) : 0;
}

static void set_code(struct lb_interp *p, const uint16_t *off)
{
	const uint16_t identity[LB_INTERP_IDENTITY_WORDS] = {
		off[BYTES_SIZE], /* ob_size, the same in all variable-size objects */
		off[CODE_FIRSTLINENO] & ~7, /* co_stacksize, co_firstlineno */
		off[CODE_FILENAME],
		off[CODE_NAME],
		off[CODE_QUALNAME],
		off[CODE_LINETABLE],
		off[CODE_LOCALNAMES],
		off[CODE_LOCALKINDS],
	};

	memcpy(p->code_identity, identity, sizeof(identity));
	for (size_t i = 0; i < ARRAY_SIZE(identity); i++)
		p->code_bytes = max_u16(p->code_bytes, identity[i] + 8);
	p->code_bytecode = off[CODE_BYTECODE];
	p->code_filename = off[CODE_FILENAME];
	p->code_qualname = off[CODE_QUALNAME];
	p->code_linetable = off[CODE_LINETABLE];
	p->code_firstlineno = off[CODE_FIRSTLINENO];
}

static void set_objects(struct lb_interp *p, const uint16_t *off)
{
	p->str_length = off[STR_LENGTH];
	p->str_state = off[STR_STATE];
	p->str_ascii = off[STR_ASCII];
	p->str_wide = off[STR_ASCII] + WIDE_EXTRA;
	p->bytes_size = off[BYTES_SIZE];
	p->bytes_data = off[BYTES_DATA];
}

bool python_layout_read(uint32_t version, const void *bytes, struct python_layout *ret)
{
	struct python_layout l = {.frames = {.version = version}};
	uint64_t words[PYTHON_MAX_DEBUG_BYTES / sizeof(uint64_t)];
	uint16_t off[NR_MEMBERS];

	if (!is_known(version))
		return false;
	memcpy(words, bytes, python_debug_bytes(version));
	if (!is_release(version, words) || !read_offsets(version, words, off))
		return false;
	l.frames.code_tag_mask = forms[version - FIRST_WITH_DEBUG].code_tag_mask;
	set_frames(&l.frames, off);
	set_code(&l.frames, off);
	set_objects(&l.frames, off);
	l.lists = (struct python_lists){
		.runtime_interpreters = off[RUNTIME_INTERPRETERS],
		.interpreter_next = off[INTERPRETER_NEXT],
		.interpreter_threads = off[INTERPRETER_THREADS],
		.thread_prev = off[THREAD_PREV],
		.thread_next = off[THREAD_NEXT],
		.thread_interpreter = off[THREAD_INTERPRETER],
		.thread_id = off[THREAD_ID],
	};
	if (!python_layout_is_sane(&l.frames))
		return false;
	*ret = l;
	return true;
}
