// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lines of each part of a function, on programs built here: they must agree with
 * the frames of every single address, and with known answers for lines without code.
 * Needs gcc, g++ and clang.
 */
#include "unit/decode/dwarf/workload.h"

#define MAX_CODES 4096

/* A copy of the codes of one program. */
struct codes {
	struct code items[MAX_CODES];
	const char *functions[MAX_CODES];
	size_t hits[MAX_CODES]; /* index of the address each was requested for */
	size_t nr;
	struct got *got;
};

static void codes_deinit(struct codes *codes, size_t nr_addresses)
{
	for (size_t i = 0; i < codes->nr; i++) {
		const struct code *code = &codes->items[i];

		for (size_t k = 0; k < code->nr_rows; k++) {
			free((char *)code->rows[k].frame.function);
			free((char *)code->rows[k].frame.system_name);
			free((char *)code->rows[k].frame.file);
		}
		free((void *)code->rows);
		free((char *)codes->functions[i]);
	}
	forget(codes->got, nr_addresses);
	free(codes->got);
}

static void keep_frames(void *ctx, size_t i, enum miss miss, const struct frame *frames,
			size_t nr)
{
	keep(((struct codes *)ctx)->got, i, miss, frames, nr);
}

static void keep_code(void *ctx, size_t i, const struct frame *function,
		      const struct code *code)
{
	struct codes *codes = ctx;
	struct code_row *rows = calloc(code->nr_rows, sizeof(*rows));

	assert_true(codes->nr < MAX_CODES);
	assert_null(code->bytes);
	assert_int_equal(function->line, 0);
	for (size_t k = 0; k < code->nr_rows; k++) {
		rows[k] = code->rows[k];
		rows[k].frame.function = strdup(rows[k].frame.function);
		rows[k].frame.system_name = strdup(rows[k].frame.system_name);
		rows[k].frame.file = strdup(rows[k].frame.file);
	}
	codes->functions[codes->nr] = strdup(function->function);
	codes->hits[codes->nr] = i;
	codes->items[codes->nr] = *code;
	codes->items[codes->nr++].rows = rows;
}

static void resolve_codes(const char *program, const uint64_t *vaddrs, size_t nr,
			  const bool *wanted, struct codes *codes)
{
	_cleanup_(binary_freep) struct binary *b = NULL;
	_cleanup_(dwarf_source_freep) struct dwarf_source *d = NULL;
	_cleanup_close_ int fd = -1;
	struct needs needs = {0};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, program);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(open_source(fd, answer_need, &needs, &b, &d), 0);
	dwarf_source_want_code(d, keep_code, wanted);
	codes->got = calloc(nr, sizeof(*codes->got));
	assert_int_equal(dwarf_source_resolve(d, vaddrs, nr, keep_frames, codes), 0);
}

static const struct code_row *row_at(const struct code *code, uint64_t vaddr)
{
	const struct code_row *found = NULL;

	for (size_t i = 0; i < code->nr_rows && code->rows[i].address <= vaddr; i++)
		found = &code->rows[i];
	return found;
}

static bool has_row(const struct code *code, const struct frame *frame)
{
	for (size_t i = 0; i < code->nr_rows; i++)
		if (code->rows[i].frame.line == frame->line &&
		    !strcmp(code->rows[i].frame.file, frame->file) &&
		    !strcmp(code->rows[i].frame.function, frame->function))
			return true;
	return false;
}

/* Compares the frames of one address with the row of the code that contains it. */
static void check_address(const struct code *code, uint64_t vaddr, const struct got *got,
			  size_t *nr_other_function)
{
	const struct code_row *row = row_at(code, vaddr);

	if (!got->nr || !got->frames[0].line)
		return;
	if (!row)
		fail_msg("%#lx: no row", (unsigned long)vaddr);
	if (row->frame.line != got->frames[0].line ||
	    strcmp(row->frame.file, got->frames[0].file))
		fail_msg("%#lx: row %s:%u, frame %s:%u", (unsigned long)vaddr,
			 row->frame.file, row->frame.line, got->frames[0].file,
			 got->frames[0].line);
	*nr_other_function +=
		strcmp(row->frame.function, got->frames[0].function) != 0 ||
		strcmp(row->frame.system_name, got->frames[0].system_name) != 0;
	for (size_t i = 1; i < got->nr; i++)
		if (got->frames[i].line && !has_row(code, &got->frames[i]))
			fail_msg("%#lx: no row for the call on line %u",
				 (unsigned long)vaddr, got->frames[i].line);
}

static void check_program(const char *program)
{
	struct codes *codes = calloc(1, sizeof(*codes));
	size_t nr_checked = 0, nr_other_function = 0, nr;
	uint64_t start = 0, *vaddrs;

	/* Every byte of .text. */
	nr = text_of(program, &start);
	vaddrs = calloc(nr, sizeof(*vaddrs));
	for (size_t i = 0; i < nr; i++)
		vaddrs[i] = start + i;
	resolve_codes(program, vaddrs, nr, NULL, codes);
	assert_true(codes->nr >= 2);
	for (size_t i = 0; i < codes->nr; i++) {
		const struct code *code = &codes->items[i];
		uint64_t at = code->address, end = at + code->size_bytes;

		assert_true(vaddrs[codes->hits[i]] >= at && vaddrs[codes->hits[i]] < end);
		for (size_t k = 0; k < code->nr_rows; k++) {
			assert_true(code->rows[k].address >= at &&
				    code->rows[k].address <= end);
			at = code->rows[k].address;
		}
		for (size_t k = 0; k < nr; k++)
			if (vaddrs[k] >= code->address && vaddrs[k] < end) {
				check_address(code, vaddrs[k], &codes->got[k],
					      &nr_other_function);
				nr_checked++;
			}
	}
	print_message("%s: %zu pieces, %zu addresses, %zu in the midst of a row in "
		      "another function\n",
		      program, codes->nr, nr_checked, nr_other_function);
	assert_true(nr_checked >= 40);
	/* An inlined call can begin between two rows. */
	assert_true(nr_other_function * 50 <= nr_checked);
	codes_deinit(codes, nr);
	free(vaddrs);
	free(codes);
}

static void test_rows_are_the_frames_of_each_address(void **state)
{
	static const char *const builds[] = {
		"gcc -gdwarf-3",
		"gcc -gdwarf-4",
		"gcc -gdwarf-5",
		"gcc -gdwarf-5 -flto",
		"gcc -gdwarf-5 -gsplit-dwarf",
		TEST_CLANG " -gdwarf-4",
		TEST_CLANG " -gdwarf-5",
		TEST_CLANG " -gdwarf-5 -ffunction-sections -Wl,--gc-sections",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		bool clang = !strncmp(builds[i], "clang", 5);

		print_message("%s\n", builds[i]);
		assert_int_equal(
			shell("cd %s && %s -w -O2 -o c %s/inline.c && %s%s -w -O2 -o cc "
			      "%s/names.cc && %s -w -O2 -o bare %s/bare.c",
			      dir, builds[i], sources, clang ? TEST_CLANGXX : "g++",
			      strchr(builds[i], ' '), sources, builds[i], sources),
			0);
		check_program("c");
		check_program("cc");
		check_program("bare");
	}
}

/* Whether a row, even of length 0, is on the line of bare.c with @text. */
static bool line_has_row(const struct code *code, const char *text)
{
	uint32_t line = line_with("bare.c", text);

	for (size_t i = 0; i < code->nr_rows; i++)
		if (code->rows[i].frame.line == line &&
		    ends_with(code->rows[i].frame.file, "bare.c"))
			return true;
	return false;
}

static void check_lines(const struct code *code, const char *const *texts, bool expected)
{
	for (; *texts; texts++)
		if (line_has_row(code, *texts) != expected)
			fail_msg("\"%s\" has %s row", *texts, expected ? "no" : "a");
}

static void test_lines_without_code_have_no_row(void **state)
{
	static const char *const builds[] = {"gcc -gdwarf-5", "gcc -gdwarf-4",
					     TEST_CLANG " -gdwarf-5"};
	static const char *const with_code[] = {"CODE helper", "CODE loop",  "CODE same",
						"CODE call",   "CODE macro", "CODE write",
						NULL};
	static const char *const bare[] = {"BARE unused", "BARE dead",  "BARE merged",
					   "BARE store",  "BARE never", "a macro has",
					   NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		struct codes codes = {0};
		uint64_t vaddr;

		print_message("%s\n", builds[i]);
		assert_int_equal(
			shell("%s -w -O2 -o %s/bare %s/bare.c", builds[i], dir, sources),
			0);
		vaddr = probe("bare", "work");
		resolve_codes("bare", &vaddr, 1, NULL, &codes);
		assert_int_equal(codes.nr, 1);
		assert_string_equal(codes.functions[0], "work");
		assert_int_equal(codes.items[0].address, vaddr);
		check_lines(&codes.items[0], with_code, true);
		check_lines(&codes.items[0], bare, false);
		codes_deinit(&codes, 1);
	}
}

/* Lines of the split-off part have code, and rows of the sampled part include them. */
static void test_split_functions_know_all_their_lines(void **state)
{
	static const char *const lines[] = {"CODE cold", "CODE colder", "CODE hot", NULL};
	struct codes codes = {0};
	uint64_t vaddr, end;

	(void)state;
	assert_int_equal(shell("gcc -g -w -O2 -freorder-blocks-and-partition -o %s/bare "
			       "%s/bare.c",
			       dir, sources),
			 0);
	vaddr = probe("bare", "split");
	assert_true(symbol("bare", "split.cold") > 0);
	resolve_codes("bare", &vaddr, 1, NULL, &codes);
	assert_int_equal(codes.nr, 1);
	check_lines(&codes.items[0], lines, true);
	/* Lines with code only in the cold part have rows at the end, of length 0. */
	end = codes.items[0].address + codes.items[0].size_bytes;
	for (size_t i = 0; i < codes.items[0].nr_rows; i++)
		if (codes.items[0].rows[i].frame.line ==
		    line_with("bare.c", "CODE colder"))
			assert_int_equal(codes.items[0].rows[i].address, end);
	codes_deinit(&codes, 1);
}

static void test_only_what_is_wanted_is_told(void **state)
{
	struct codes codes = {0};
	static const bool wanted[] = {false, true, false};
	uint64_t vaddrs[3];

	(void)state;
	assert_int_equal(shell("gcc -g -w -O2 -o %s/bare %s/bare.c", dir, sources), 0);
	vaddrs[0] = probe("bare", "work");
	vaddrs[1] = probe("bare", "split");
	vaddrs[2] = 1; /* no code */
	resolve_codes("bare", vaddrs, 3, wanted, &codes);
	assert_int_equal(codes.nr, 1);
	assert_string_equal(codes.functions[0], "split");
	assert_int_equal(codes.hits[0], 1);
	codes_deinit(&codes, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_the_frames_of_each_address),
		cmocka_unit_test(test_lines_without_code_have_no_row),
		cmocka_unit_test(test_split_functions_know_all_their_lines),
		cmocka_unit_test(test_only_what_is_wanted_is_told),
	};

	return cmocka_run_group_tests(tests, setup_dir, remove_dir);
}
