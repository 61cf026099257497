// SPDX-License-Identifier: GPL-2.0-or-later
/* Names and lines of hand-made code objects, by a real worker (this program again). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decode/python/frames.h"
#include "decode/runtimes.h"
#include "lineburn_unwind.h"
#include "process/interp_code.h"
#include "symbolize/symbolizer.h"

/* ---- texts ---- */

static void assert_utf8(const void *bytes, size_t len, unsigned int width, bool is_cut,
			const char *expected)
{
	_cleanup_free_ uint8_t *copy = malloc(len ? len : 1);
	_cleanup_free_ char *text = NULL;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	text = python_text_utf8(copy, len, width, is_cut);
	assert_string_equal(text, expected);
}

static void test_text(void **state)
{
	static const uint16_t wide[] = {'f', 0xe9, 0x20ac, 0xdce9, 0xd83d, 0xde00, 0};
	static const uint32_t widest[] = {'f',     0x7ff,    0x800,   0xffff,
					  0x1f600, 0x10ffff, 0x110000};

	(void)state;
	assert_utf8("", 0, 1, false, "");
	assert_utf8("", 0, 0, true, ""); /* not read */
	assert_utf8("dither", 6, 1, false, "dither");
	assert_utf8("caf\xe9\x80\xff", 6, 1, false, "caf\u00e9\xc2\x80\u00ff");
	assert_utf8("a\0b", 3, 1, false, "a\ufffdb");
	assert_utf8("name", 4, 1, true, "name...");
	/* In a str, a surrogate pair is not a character. */
	assert_utf8(wide, sizeof(wide), 2, false, "f\u00e9\u20ac\xe9\ufffd\ufffd\ufffd");
	assert_utf8(wide, sizeof(wide) - 9, 2, true, "f\u00e9..."); /* half a one */
	assert_utf8(widest, sizeof(widest), 4, false,
		    "f\u07ff\u0800\uffff\U0001f600\U0010ffff\ufffd");
	assert_utf8("abc", 3, 3, false, "");
}

/* ---- code objects ---- */

static struct strpool *pool;
static struct worker *worker;
static struct symbolizer *sym;
static struct interp_store *store;
static struct process proc;

static int start(void **state)
{
	struct symbolizer_config config = {0};

	(void)state;
	proc = (struct process){.root_fd = -1, .tgid = 7};
	pool = strpool_new(16 << 20);
	return !pool || worker_new(&(struct worker_config){0}, &worker, NULL) ||
	       symbolizer_new(&config, pool, worker, NULL, &sym, NULL) ||
	       interp_store_new(INTERP_STORE_DEFAULT_BYTES, &store);
}

static int stop(void **state)
{
	(void)state;
	interp_codes_deinit(&proc.interp_codes);
	interp_store_free(store);
	symbolizer_free(sym);
	worker_free(worker);
	strpool_free(pool);
	return 0;
}

/* Adds a code object at 0x1000 * @id, with lines from @first_line on. */
static void add(uint64_t id, const char *file, const char *name, uint32_t first_line,
		const char *table, uint32_t len, uint32_t whole_len)
{
	struct lb_interp_code r = {.code_id = id,
				   .code_addr = 0x1000 * id,
				   .version = 0x030b,
				   .first_line = first_line,
				   .file_chars = (uint32_t)strlen(file),
				   .name_chars = (uint32_t)strlen(name),
				   .file_width = *file != 0,
				   .name_width = *name != 0,
				   .table_bytes = whole_len,
				   .table_copied = len};

	memcpy(r.file, file,
	       strlen(file) < sizeof(r.file) ? strlen(file) : sizeof(r.file));
	memcpy(r.name, name, strlen(name));
	memcpy(r.table, table, len);
	assert_int_equal(interp_codes_add(&proc.interp_codes, store, &r, sizeof(r)), 0);
}

static uint32_t want(uint64_t id, uint32_t index)
{
	return symbolizer_want(sym, &proc, LB_FRAME_OF(RUNTIME_PYTHON, id, index),
			       FRAME_RETURN, 5, 9);
}

static void assert_frame(uint32_t id, const char *function, const char *file,
			 uint32_t line)
{
	const struct resolved *r = symbolizer_get(sym, id);

	assert_string_equal(r->object->name, "[python]");
	assert_int_equal(r->object->kind, OBJECT_INTERP);
	assert_int_equal(r->nr_frames, 1);
	assert_string_equal(r->frames[0].function, function);
	assert_string_equal(r->frames[0].file, file);
	assert_int_equal(r->frames[0].line, line);
	assert_int_equal(r->miss, line ? MISS_NONE : r->miss);
	assert_ptr_equal(r->process, &proc);
}

/* Creation of closure cells without a line, two lines, then clean-up without a line. */
static const char table[] = "\xf8\xd8\x02\x03\xd8\x02\x03\xf9";

static void test_lines(void **state)
{
	uint32_t ids[8];

	(void)state;
	add(1, "/srv/app.py", "A.f.<locals>.g", 10, table, 8, 8);
	add(2, "<frozen importlib._bootstrap>", "<module>", 1, table, 8, 8);
	ids[0] = want(1, 2);
	ids[1] = want(1, 0);
	ids[2] = want(2, 1);
	ids[3] = want(1, 1);
	ids[4] = want(1, LB_FRAME_INDEX_UNKNOWN);
	ids[5] = want(1, 3);
	ids[6] = want(1, 4);
	ids[7] = want(1, 5); /* past all code */
	assert_int_equal(want(1, 2), ids[0]); /* not minus 1 */
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	assert_frame(ids[0], "A.f.<locals>.g", "/srv/app.py", 12);
	assert_frame(ids[1], "A.f.<locals>.g", "/srv/app.py", 10);
	assert_frame(ids[2], "<module>", "<frozen importlib._bootstrap>", 2);
	assert_frame(ids[3], "A.f.<locals>.g", "/srv/app.py", 11);
	assert_frame(ids[4], "A.f.<locals>.g", "/srv/app.py", 10);
	for (size_t i = 5; i < 8; i++) {
		assert_frame(ids[i], "A.f.<locals>.g", "/srv/app.py", 0);
		assert_int_equal(symbolizer_get(sym, ids[i])->miss, MISS_NO_LINE);
	}
	assert_int_equal(symbolizer_get(sym, ids[0])->frames[0].start_line, 10);
	assert_string_equal(symbolizer_get(sym, ids[0])->frames[0].system_name, "");
	assert_int_equal(symbolizer_get(sym, ids[0])->address, 0x1004);
	assert_int_equal(symbolizer_get(sym, ids[4])->address, 0x1000);
}

static void test_relative(void **state)
{
	uint32_t ids[4];

	(void)state;
	proc.cwd = "/srv/job";
	add(1, "lib/x.py", "f", 1, table, 8, 8);
	add(2, "<string>", "f", 1, table, 8, 8);
	add(3, "/x.py", "f", 1, table, 8, 8);
	for (uint32_t i = 0; i < 3; i++)
		ids[i] = want(i + 1, 1);
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	assert_frame(ids[0], "f", "/srv/job/lib/x.py", 2);
	assert_frame(ids[1], "f", "<string>", 2);
	assert_frame(ids[2], "f", "/x.py", 2);
	proc.cwd = "/";
	ids[3] = want(1, 2);
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	assert_frame(ids[3], "f", "/lib/x.py", 3);
}

static void test_lost(void **state)
{
	uint32_t ids[5];

	(void)state;
	add(1, "", "", 10, table, 8, 8); /* no text could be read */
	add(2, "", "f", 10, table, 8, 8);
	add(3, "/srv/app.py", "", 10, table, 8, 8);
	ids[0] = want(1, 1);
	ids[1] = want(2, 1);
	ids[2] = want(3, 1);
	ids[3] = want(9, 1); /* its record was lost */
	ids[4] = symbolizer_want(sym, NULL, LB_FRAME_OF(RUNTIME_PYTHON, 1, 1), FRAME_LEAF,
				 0, 0);
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	assert_int_equal(symbolizer_get(sym, ids[0])->nr_frames, 0);
	assert_int_equal(symbolizer_get(sym, ids[0])->miss, MISS_PYTHON_LOST);
	assert_frame(ids[1], "f", "", 0);
	assert_int_equal(symbolizer_get(sym, ids[1])->miss, MISS_PYTHON_LOST);
	assert_frame(ids[2], "", "/srv/app.py", 11);
	assert_int_equal(symbolizer_get(sym, ids[3])->nr_frames, 0);
	assert_int_equal(symbolizer_get(sym, ids[3])->miss, MISS_PYTHON_LOST);
	assert_string_equal(symbolizer_get(sym, ids[3])->object->name, "[python]");
	assert_int_equal(symbolizer_get(sym, ids[4])->miss, MISS_NO_PROCESS);
	assert_string_equal(symbolizer_get(sym, ids[4])->object->name, "[python]");
}

static void test_cut(void **state)
{
	char file[400] = "/", expected[400];
	uint32_t ids[3];

	(void)state;
	memset(file + 1, 'd', sizeof(file) - 2);
	snprintf(expected, sizeof(expected), "%.256s...", file);
	add(1, file, "f", 10, table, 4, 8);
	ids[0] = want(1, 1);
	ids[1] = want(1, 2);
	ids[2] = want(1, LB_FRAME_INDEX_UNKNOWN);
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	assert_frame(ids[0], "f", expected, 11);
	assert_frame(ids[1], "f", expected, 0);
	assert_int_equal(symbolizer_get(sym, ids[1])->miss, MISS_PYTHON_CUT);
	assert_frame(ids[2], "f", expected, 10);
}

/* More code objects than fit a request, and a code id that two processes use. */
static void test_many(void **state)
{
	static char name[16], long_table[4096];
	static uint32_t ids[5000];
	struct process other = {.root_fd = -1, .tgid = 8};
	struct lb_interp_code r = {.code_id = 1, .file_width = 1, .name_width = 1};
	uint32_t id;

	(void)state;
	memset(long_table, '\x80', sizeof(long_table));
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		memcpy(long_table + 4088, name, 8); /* unique last entry */
		add(i, "/srv/app.py", name, i + 1, long_table, 4096, 4096);
		ids[4999 - i] = want(i, i & 1);
	}
	assert_int_equal(interp_codes_add(&other.interp_codes, store, &r,
					  offsetof(struct lb_interp_code, table)),
			 0);
	id = symbolizer_want(sym, &other, LB_FRAME_OF(RUNTIME_PYTHON, 1, 0), FRAME_LEAF,
			     0, 0);
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		assert_frame(ids[4999 - i], name, "/srv/app.py", i + 1);
	}
	assert_int_equal(symbolizer_get(sym, id)->nr_frames, 0);
	interp_codes_deinit(&other.interp_codes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test_setup_teardown(test_lines, start, stop),
		cmocka_unit_test_setup_teardown(test_relative, start, stop),
		cmocka_unit_test_setup_teardown(test_lost, start, stop),
		cmocka_unit_test_setup_teardown(test_cut, start, stop),
		cmocka_unit_test_setup_teardown(test_many, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
