// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of a function by hand, its bytes from a linked file, there and back. */
#include "unit/symbolize/elf_fixture.h"

#include "base/io.h"
#include "symbolize/jit/function_codes.h"

static const struct frame outer[] = {{"outer", "_outer", "/a.py", 10, 8, false}};
static const struct frame inlined[] = {{"leaf", "", "/b.py", 3, 1, true},
				       {"outer", "_outer", "/a.py", 11, 8, false}};
static const struct frame generated[] = {{"helper", "", "", 0, 0, true},
					 {"outer", "_outer", "/a.py", 12, 8, false}};
static const struct frame nowhere[] = {{"outer", "_outer", "", 0, 8, false}};

static void add(struct line_store *s, struct function_lines *f, uint64_t ip,
		const struct frame *frames, uint32_t nr)
{
	s->rows[f->nr_rows++] = (struct line_row){
		.ip = ip, .first_frame = (uint32_t)s->nr_frames, .nr_frames = nr};
	memcpy(&s->frames[s->nr_frames], frames, nr * sizeof(*frames));
	s->nr_frames += nr;
}

static void there_and_back(const struct image *m, const struct line_store *s,
			   const struct function_lines *f, struct strpool *pool,
			   struct answers *ret)
{
	struct answer_writer *a = answer_writer_new(0);
	struct wire_writer w = {0};
	struct wire_reader r;

	answers_deinit(ret);
	*ret = (struct answers){0};
	function_codes_add(a, m, s, f);
	answer_write(a, &w);
	answer_writer_free(a);
	r = (struct wire_reader){.data = w.data, .len = w.len};
	assert_int_equal(answers_read(&r, 0, pool, ret), 0);
	wire_writer_deinit(&w);
}

static void a_function(void **state)
{
	static const struct {
		uint64_t offset;
		const char *function, *file;
		uint32_t line;
	} expected[] = {
		{0, "outer", "/a.py", 10}, {4, "outer", "/a.py", 11},
		{4, "leaf", "/b.py", 3},   {9, "outer", "/a.py", 12},
		{11, "outer", "", 0},
	};
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	_cleanup_(answers_deinit) struct answers answers = {0}, none = {0};
	_cleanup_free_ char *bytes = NULL;
	struct line_row rows[8];
	struct frame frames[16];
	struct line_store s = {.rows = rows, .frames = frames};
	struct function_lines f = {0};
	struct image_symbols symbols = {0};
	struct image m;
	size_t len;

	(void)state;
	fixture_write("f.c", "int _start(int a, int b)\n{\n\treturn a / b * 77777;\n}\n");
	fixture_run("gcc -O1 -nostdlib -static -o f f.c");
	assert_int_equal(io_read_file("f", 1 << 20, &bytes, &len), 0);
	assert_true(image_open(bytes, len, &m));
	assert_int_equal(image_symbols_read(&m, &symbols), 0);
	for (size_t i = 0; i < symbols.nr; i++)
		if (!strcmp(symbols.items[i].name, "_start")) {
			f.start_ip = symbols.items[i].start_ip;
			f.end_ip = symbols.items[i].end_ip;
		}
	assert_true(f.end_ip > f.start_ip + 11);
	image_symbols_deinit(&symbols);

	there_and_back(&m, &s, &f, pool, &none);
	assert_int_equal(none.nr_codes, 0); /* no rows: nothing to tell */

	add(&s, &f, f.start_ip, outer, 1);
	add(&s, &f, f.start_ip + 2, outer, 1); /* the same line goes on */
	add(&s, &f, f.start_ip + 4, inlined, 2);
	add(&s, &f, f.start_ip + 9, generated, 2);
	add(&s, &f, f.start_ip + 11, nowhere, 1);
	there_and_back(&m, &s, &f, pool, &answers);
	assert_int_equal(answers.nr_codes, 1);
	assert_int_equal(answers.codes[0].address, f.start_ip);
	assert_int_equal(answers.codes[0].size_bytes, f.end_ip - f.start_ip);
	assert_int_equal(answers.codes[0].nr_rows, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct code_row *row = &answers.codes[0].rows[i];

		assert_int_equal(row->address, f.start_ip + expected[i].offset);
		assert_string_equal(row->function, expected[i].function);
		assert_string_equal(row->file, expected[i].file);
		assert_int_equal(row->line, expected[i].line);
	}
	/* 77777 is in the code as it is in the file. */
	assert_non_null(answers.codes[0].bytes);
	assert_non_null(memmem(answers.codes[0].bytes, answers.codes[0].size_bytes,
			       &(uint32_t){77777}, 4));

	f.end_ip = f.start_ip + CODE_MAX_BYTES + 1;
	there_and_back(&m, &s, &f, pool, &none);
	assert_int_equal(none.nr_codes, 0);
	f.end_ip = f.start_ip + CODE_MAX_BYTES; /* more than the image has */
	there_and_back(&m, &s, &f, pool, &none);
	assert_int_equal(none.nr_codes, 1);
	assert_null(none.codes[0].bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
