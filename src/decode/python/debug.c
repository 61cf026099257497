// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From 3.13 on _PyRuntime begins with a struct _Py_DebugOffsets (pycore_runtime.h, 3.14:
 * pycore_debug_offsets.h): u64 words, most of them offsets. Its own form is another in
 * each version; those below are of 3.13.0, 3.13.18, 3.14.10 and 3.15.2.
 */
#include "decode/python/layout.h"

#include <string.h>

#include "base/cleanup.h"

/* The first words, the same in all. */
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
	uint16_t bytes; /* of the whole */
	uint8_t code_tag_mask; /* of _PyInterpreterFrame.f_executable (pycore_stackref.h) */
};

static const struct form forms[] = {{584, 0}, {760, 7}, {888, 7}};

/* Which word says where a member is, in 3.13, 3.14 and 3.15. */
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
#define RELEASE_CANDIDATE          0xc /* PY_RELEASE_LEVEL: earlier ones still changed */
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

/* Return: do all fit, with room for what is added to them? */
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

static void set_frames(struct lb_python *p, const uint16_t *off)
{
	uint16_t end = max_u16(max_u16(off[FRAME_CODE], off[FRAME_PREVIOUS]) + 8,
			       max_u16(off[FRAME_IP] + 8, off[FRAME_OWNER] + 1));

	p->link = LB_PY_LINK_SHIM;
	p->ts_frame = off[THREAD_FRAME];
	p->frame_code = off[FRAME_CODE];
	p->frame_previous = off[FRAME_PREVIOUS];
	p->frame_ip = off[FRAME_IP];
	p->frame_owner = off[FRAME_OWNER];
	p->owner_shim = OWNED_BY_C;
	p->frame_bytes = end <= LB_PY_FRAME_BYTES ? (uint8_t)((end + 7) & ~7) : 0;
}

static void set_code(struct lb_python *p, const uint16_t *off)
{
	const uint16_t identity[LB_PY_IDENTITY_WORDS] = {
		off[BYTES_SIZE], /* ob_size: of every object with one */
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

static void set_objects(struct lb_python *p, const uint16_t *off)
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
