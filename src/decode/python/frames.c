// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/python/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "decode/answer.h"
#include "decode/python/lines.h"
#include "decode/requests.h"
#include "lineburn_unwind.h"

#define UNIT_BYTES 2 /* of code per index */
/* Minimum sizes on the wire. */
#define WIRE_CODE_BYTES     26
#define WIRE_QUESTION_BYTES 8

static int by_place(const void *a, const void *b)
{
	const struct python_question *x = a, *y = b;

	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* A walk along the table of one code object; questions come in order of index. */
struct table_walk {
	const struct python_function_code *code;
	struct python_lines lines;
	struct python_range at;
	bool is_behind; /* the walk has passed the end of the table */
	bool has_begun; /* an instruction with a line was seen */
};

static void walk_begin(struct table_walk *w, const struct python_function_code *code)
{
	*w = (struct table_walk){.code = code};
	python_lines_init(&w->lines, code->version, code->first_line, code->table.bytes,
			  code->table.len, !code->table.is_cut);
}

/* Return: the line, or 0 with *@ret_miss saying why there is none. */
static uint32_t line_at(struct table_walk *w, uint32_t index, enum miss *ret_miss)
{
	uint64_t byte = (uint64_t)index * UNIT_BYTES;

	*ret_miss = MISS_NO_LINE;
	if (index == LB_FRAME_INDEX_UNKNOWN)
		return w->code->first_line;
	while (!w->is_behind && byte >= w->at.end) {
		w->is_behind = !python_lines_next(&w->lines, &w->at);
		w->has_begun |= !w->is_behind && w->at.line;
	}
	if (w->is_behind) {
		if (w->code->table.is_cut)
			*ret_miss = MISS_PYTHON_CUT;
		return 0;
	}
	return w->has_begun ? w->at.line : w->code->first_line;
}

/* Answers all questions about one code object. */
static int answer_code(const struct python_function_code *code,
		       const struct python_question *questions, size_t nr,
		       struct answer_writer *ret)
{
	_cleanup_free_ char *file = python_text_utf8(code->file.bytes, code->file.len,
						     code->file.width, code->file.is_cut);
	_cleanup_free_ char *name = python_text_utf8(code->name.bytes, code->name.len,
						     code->name.width, code->name.is_cut);
	struct table_walk walk;

	if (!file || !name)
		return -ENOMEM;
	walk_begin(&walk, code);
	for (size_t i = 0; i < nr; i++) {
		struct frame frame = {.function = name, .file = file};
		enum miss miss;

		frame.line = line_at(&walk, questions[i].index, &miss);
		frame.start_line = code->first_line;
		if (!*file) { /* without a file, the line is useless */
			frame.line = frame.start_line = 0;
			miss = MISS_PYTHON_LOST;
		}
		answer_set(ret, questions[i].number, 0, miss, &frame,
			   *file || *name ? 1 : 0);
	}
	return 0;
}

/**
 * Sorts and answers @questions. Cost: each table is walked once.
 * Return: 0 or -ENOMEM.
 */
static int python_answer(const struct python_function_code *codes,
			 struct python_question *questions, size_t nr,
			 struct answer_writer *ret)
{
	int err = 0;

	qsort(questions, nr, sizeof(*questions), by_place);
	for (size_t i = 0, end; i < nr && !err; i = end) {
		for (end = i + 1; end < nr && questions[end].code == questions[i].code;
		     end++)
			;
		err = answer_code(&codes[questions[i].code], &questions[i], end - i, ret);
	}
	return err;
}

/* ---- Serves DECODER_PYTHON_CODE ---- */

static void get_bytes(struct wire_reader *r, struct python_bytes *ret)
{
	ret->width = wire_get_u8(r);
	ret->is_cut = wire_get_u8(r) != 0;
	ret->bytes = wire_get_bytes(r, &ret->len);
}

int python_code_serve(struct worker_call *call, struct wire_reader *request,
		      const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(answer_writer_freep) struct answer_writer *answer = NULL;
	_cleanup_free_ struct python_function_code *codes = NULL;
	_cleanup_free_ struct python_question *questions = NULL;
	size_t nr_codes, nr;
	int err;

	(void)call;
	(void)fds;
	(void)nr_fds;
	nr_codes = answer_get_count(request, WIRE_CODE_BYTES, UINT32_MAX);
	codes = calloc(nr_codes + 1, sizeof(*codes));
	if (!codes)
		return -ENOMEM;
	for (size_t i = 0; i < nr_codes; i++) {
		codes[i].version = wire_get_u32(request);
		codes[i].first_line = wire_get_u32(request);
		if (codes[i].first_line > INT32_MAX)
			codes[i].first_line = 0;
		get_bytes(request, &codes[i].file);
		get_bytes(request, &codes[i].name);
		get_bytes(request, &codes[i].table);
	}
	nr = answer_get_count(request, WIRE_QUESTION_BYTES, UINT32_MAX);
	questions = calloc(nr + 1, sizeof(*questions));
	answer = answer_writer_new(nr);
	if (!questions || !answer)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		questions[i].code = wire_get_u32(request);
		questions[i].index = wire_get_u32(request);
		questions[i].number = (uint32_t)i;
		if (questions[i].code >= nr_codes)
			return -EBADMSG;
	}
	if (request->failed)
		return -EBADMSG;
	err = python_answer(codes, questions, nr, answer);
	if (err)
		return err;
	wire_put_u32(reply, MISS_NONE);
	answer_write(answer, reply);
	return 0;
}

/* ---- Python strings to UTF-8 ---- */

#define REPLACEMENT    0xfffd
#define MAX_CHAR_BYTES 4 /* of UTF-8 */

static const char cut_mark[] = "...";

/* Little-endian. */
static uint32_t char_at(const uint8_t *bytes, unsigned int width)
{
	uint32_t c = 0;

	for (unsigned int i = 0; i < width; i++)
		c |= (uint32_t)bytes[i] << 8 * i;
	return c;
}

/* Is it a surrogate that stands for its low byte (PEP 383)? */
static bool is_byte(uint32_t c)
{
	return c >= 0xdc80 && c <= 0xdcff;
}

static uint32_t known_char(uint32_t c)
{
	bool is_surrogate = c >= 0xd800 && c <= 0xdfff;

	return !c || (is_surrogate && !is_byte(c)) || c > 0x10ffff ? REPLACEMENT : c;
}

/* Writes @c at @at. Return: the end of it. */
static char *put_char(char *at, uint32_t c)
{
	if (c < 0x80 || is_byte(c)) {
		*at++ = (char)c;
		return at;
	}
	if (c < 0x800) {
		*at++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*at++ = (char)(0xe0 | c >> 12);
		} else {
			*at++ = (char)(0xf0 | c >> 18);
			*at++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*at++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*at++ = (char)(0x80 | (c & 0x3f));
	return at;
}

char *python_text_utf8(const void *bytes, size_t len, unsigned int width, bool is_cut)
{
	size_t nr = width == 1 || width == 2 || width == 4 ? len / width : 0;
	char *text = malloc(nr * MAX_CHAR_BYTES + sizeof(cut_mark)), *at = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < nr; i++)
		at = put_char(at, known_char(char_at((const uint8_t *)bytes + i * width,
						     width)));
	memcpy(at, is_cut && nr ? cut_mark : "", is_cut && nr ? sizeof(cut_mark) : 1);
	return text;
}
