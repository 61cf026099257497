// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects made by Numba and clang (tests/fixtures/jit/make.sh): every byte is compared
 * with another DWARF reader and an independent version of the rules (expect.py). Also
 * tests the times of registrations.
 */
#include <errno.h>

#include "registered.h"

#include "decode/numba/name.h"

#define EVER UINT64_MAX

/* ---- lines ---- */

/* Frames as "app.py:12 app.py:19"; "-": none. */
static void chain_text(const struct answer *a, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < a->nr_frames; i++) {
		const struct frame *f = &a->frames[i];
		const char *slash = strrchr(f->file, '/');

		assert_int_equal(f->inlined, i + 1 < a->nr_frames);
		if (f->line)
			len += (size_t)snprintf(buf + len, size - len, "%s%s:%u",
						len ? " " : "",
						slash ? slash + 1 : f->file, f->line);
	}
	if (!len)
		snprintf(buf, size, "-");
}

/* Whether a function starts at @offset of the first object's code. */
static bool has_function(const struct registered *r, uint64_t offset)
{
	struct image_symbols symbols = {0};
	struct jit_image m;
	bool has;

	assert_true(image_open(r->items[0].bytes, r->items[0].len, &m));
	assert_int_equal(image_symbols_read(&m, &symbols), 0);
	has = image_symbols_at(&symbols, r->items[0].code.start_ip + offset);
	image_symbols_deinit(&symbols);
	return has;
}

/* Compares all bytes of the first object with NAME.expect. */
static void check_lines(const struct registered *r, const char *name)
{
	const struct registered_object *o = &r->items[0];
	size_t nr = o->code.end_ip - o->code.start_ip, offset = 0, rows = 0;
	struct ask *asks = calloc(nr, sizeof(*asks));
	char path[256], line[512], want[512] = "", got[512];
	struct served s = {0};
	FILE *f;

	snprintf(path, sizeof(path), FIXTURES "%s.expect", name);
	f = fopen(path, "re");
	assert_non_null(f);
	for (size_t i = 0; i < nr; i++)
		asks[i] = (struct ask){o->code.start_ip + i, 100, 200};
	registered_ask(r, asks, nr, &s);
	assert_int_equal(s.object_miss, MISS_NONE);
	assert_int_equal(s.nr_bad, 0);
	while (fgets(line, sizeof(line), f)) {
		char *text;
		size_t start = strtoul(line, &text, 16);

		text[strcspn(text, "\n")] = '\0';
		for (; offset < nr && (offset < start || !*line); offset++) {
			if (!*want || !has_function(r, offset))
				continue;
			chain_text(&s.answers.items[offset], got, sizeof(got));
			if (strcmp(got, want))
				fail_msg("%s: %zx is %s, not %s", name, offset, got,
					 want);
		}
		snprintf(want, sizeof(want), "%s", text + 1);
		rows++;
	}
	assert_true(rows > 2);
	for (; offset < nr; offset++) {
		if (!has_function(r, offset))
			continue;
		chain_text(&s.answers.items[offset], got, sizeof(got));
		assert_string_equal(got, want);
	}
	fclose(f);
	free(asks);
	served_deinit(&s);
}

static void lines_are_the_users(void **state)
{
	static const char *const names[] = {
		"arrays-inline",
		"bag-inline",
		"calls-inline",
		"calls-lines",
		"counting-lines",
		"dither-inline",
		"polys-old",
		"psum-hook",
		"psum-hook-body",
		"psum-inline",
		"psum-old",
		"reduced-old",
		"calls-plain",
		"inlined-x86_64-dwarf4",
		"inlined-x86_64-dwarf5",
		"inlined-aarch64-dwarf4",
		"inlined-aarch64-dwarf5",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct registered r = {0};

		registered_load(&r, names[i], 0, EVER, 0);
		check_lines(&r, names[i]);
		registered_deinit(&r);
	}
}

/* A prange body has its own object; the file's name is in its function's object. */
static void a_prange_finds_its_function_elsewhere(void **state)
{
	struct registered r = {0};
	struct served s = {0};
	const struct answer *a;

	(void)state;
	registered_load(&r, "psum-inline-body", 0, EVER, 0);
	a = registered_at(&r, 0, 0x350, &s);
	assert_int_equal(a->miss, MISS_NO_LINE);
	assert_string_equal(a->frames[0].function, "prange body");
	registered_load(&r, "calls-inline", 0, EVER, 0x10000);
	registered_load(&r, "psum-inline", 0, EVER, 0x20000);
	check_lines(&r, "psum-inline-body");
	a = registered_at(&r, 0, 0x350, &s);
	assert_string_equal(a->frames[0].function, "prange in psum");
	assert_string_equal(a->frames[0].file, "/tmp/lineburn-jit-app/app.py");
	assert_non_null(strstr(a->frames[0].system_name, "__numba_parfor_gufunc_"));
	served_deinit(&s);
	registered_deinit(&r);
}

/*
 * PHP 8.2 gives each trace line 1 of a file "unknown". php-trace.o is what it registered
 * for a loop in a function "inner".
 */
static void a_file_called_unknown_has_no_lines(void **state)
{
	struct registered r = {0};
	struct served s = {0};
	const struct answer *a;

	(void)state;
	registered_load(&r, "php-trace", 0, EVER, 0);
	a = registered_at(&r, 0, 10, &s);
	assert_int_equal(a->miss, MISS_JIT_NO_LINES);
	assert_string_equal(a->frames[0].function, "TRACE-1$inner$6");
	assert_string_equal(a->frames[0].file, "");
	assert_int_equal(a->frames[0].line, 0);
	assert_int_equal(a->frames[0].start_line, 0);
	served_deinit(&s);
	registered_deinit(&r);
}

/* ---- names ---- */

static void check_names(const char *object, uint64_t offset, const char *const *functions,
			const uint32_t *start_lines, size_t nr)
{
	struct registered r = {0};
	struct served s = {0};
	const struct answer *a;

	registered_load(&r, object, 0, EVER, 0);
	a = registered_at(&r, 0, offset, &s);
	assert_int_equal(a->nr_frames, nr);
	for (size_t i = 0; i < nr; i++) {
		assert_string_equal(a->frames[i].function, functions[i]);
		assert_int_equal(a->frames[i].start_line, start_lines[i]);
	}
	/* The argument types are in the system name. */
	assert_true(!strncmp(a->frames[nr - 1].system_name, "_ZN3app", 7) ||
		    !strncmp(a->frames[nr - 1].system_name, "_ZN7cpython", 11));
	served_deinit(&s);
	registered_deinit(&r);
}

static void names_are_readable(void **state)
{
	static const char *const inlined[] = {"app.square", "app.calls"};
	static const char *const method[] = {"app.Bag.fill"};
	static const char *const wrapper[] = {"app.calls (call from Python)"};

	(void)state;
	check_names("calls-inline", 0x84, inlined, (uint32_t[]){11, 16}, 2);
	/* Only line tables: the module's name comes from the enclosing function. */
	check_names("calls-lines", 0x84, inlined, (uint32_t[]){0, 0}, 2);
	check_names("bag-inline", 0, method, (uint32_t[]){81}, 1);
	check_names("calls-inline", 0x250, wrapper, (uint32_t[]){0}, 1);
}

static void a_function_without_lines_has_its_name(void **state)
{
	struct registered r = {0};
	struct served s = {0};
	const struct answer *a;

	(void)state;
	registered_load(&r, "calls-plain", 0, EVER, 0);
	a = registered_at(&r, 0, 0, &s);
	assert_int_equal(a->miss, MISS_JIT_NO_LINES);
	assert_int_equal(a->nr_frames, 1);
	assert_string_equal(a->frames[0].function, "app.calls");
	assert_int_equal(a->frames[0].line, 0);
	served_deinit(&s);
	registered_deinit(&r);
}

/* ---- code ---- */

static bool has_row(const struct code *code, const char *function, uint32_t line)
{
	for (size_t i = 0; i < code->nr_rows; i++)
		if (code->rows[i].frame.line == line &&
		    !strcmp(code->rows[i].frame.function, function))
			return true;
	return false;
}

static void code_of_hit_functions_is_sent(void **state)
{
	struct registered r = {0};
	struct served s = {0};
	const struct code *code;
	uint32_t low, high;

	(void)state;
	registered_load(&r, "calls-inline", 0, EVER, 0);
	registered_at(&r, 0, 0x84, &s);
	assert_int_equal(s.answers.nr_codes, 1);
	code = &s.answers.codes[0];
	assert_int_equal(code->address, r.items[0].code.start_ip);
	assert_int_equal(code->size_bytes, 563);
	assert_memory_equal(code->bytes, r.items[0].code.bytes, 563);
	assert_true(has_row(code, "app.square", 12));
	assert_true(has_row(code, "app.calls", 20));
	assert_false(has_row(code, "app.calls", 17)); /* total = 0.0 */
	/* A wrapper without lines has no code rows. */
	registered_at(&r, 0, 0x250, &s);
	assert_int_equal(s.answers.nr_codes, 0);
	registered_deinit(&r);
	/* The prange's body is elsewhere: no line in it is marked as without code. */
	registered_load(&r, "psum-inline", 0, EVER, 0);
	registered_at(&r, 0, 0, &s);
	assert_int_equal(s.answers.nr_codes, 1);
	code = &s.answers.codes[0];
	low = high = code->rows[0].frame.line;
	for (size_t i = 0; i < code->nr_rows; i++) {
		if (strcmp(code->rows[i].frame.function, "app.psum"))
			continue;
		low = code->rows[i].frame.line < low ? code->rows[i].frame.line : low;
		high = code->rows[i].frame.line > high ? code->rows[i].frame.line : high;
	}
	assert_true(high >= low + 4);
	for (uint32_t line = low; line <= high; line++)
		assert_true(has_row(code, "app.psum", line));
	served_deinit(&s);
	registered_deinit(&r);
}

/* ---- times ---- */

#define IP 0x7f0012340000

static const char *function_of(const struct answer *a)
{
	return a->nr_frames ? a->frames[a->nr_frames - 1].function : "";
}

/* Checks the owner of the first byte of code in [first, last]; "" with @miss. */
static void check_owner(const struct registered *r, uint64_t first, uint64_t last,
			const char *function, enum miss miss)
{
	const struct ask ask = {IP, first, last};
	struct served s = {0};
	const struct answer *a;

	registered_ask(r, &ask, 1, &s);
	a = &s.answers.items[0];
	assert_string_equal(function_of(a), function);
	assert_int_equal(a->miss, miss);
	served_deinit(&s);
}

static void addresses_are_used_again(void **state)
{
	struct registered r = {0};

	(void)state;
	registered_load(&r, "calls-inline", 100, 200, IP);
	registered_load(&r, "bag-inline", 200, 300, IP);
	check_owner(&r, 0, 99, "", MISS_JIT_UNKNOWN);
	check_owner(&r, 100, 199, "app.calls", MISS_NONE);
	check_owner(&r, 199, 200, "", MISS_AMBIGUOUS_TIME);
	check_owner(&r, 200, 299, "app.Bag.fill", MISS_NONE);
	check_owner(&r, 300, 300, "", MISS_JIT_UNKNOWN);
	/* No other object was registered there. */
	check_owner(&r, 90, 150, "app.calls", MISS_NONE);
	check_owner(&r, 250, 350, "app.Bag.fill", MISS_NONE);
	registered_deinit(&r);
}

static void the_newest_of_several_has_the_address(void **state)
{
	struct registered r = {0};

	(void)state;
	registered_load(&r, "bag-inline", 200, EVER, IP); /* none is unregistered */
	registered_load(&r, "calls-inline", 0, EVER, IP);
	registered_load(&r, "polys-old", 0, EVER, IP);
	check_owner(&r, 0, 150, "app.calls", MISS_NONE); /* newest first */
	check_owner(&r, 200, 250, "app.Bag.fill", MISS_NONE);
	check_owner(&r, 150, 250, "", MISS_AMBIGUOUS_TIME);
	registered_deinit(&r);
}

static void the_same_function_is_no_change(void **state)
{
	struct registered r = {0};

	(void)state;
	registered_load(&r, "calls-inline", 0, 100, IP);
	registered_load(&r, "calls-inline", 100, EVER, IP);
	check_owner(&r, 50, 150, "app.calls", MISS_NONE);
	registered_load(&r, "calls-inline", 120, EVER, IP);
	check_owner(&r, 50, 150, "", MISS_AMBIGUOUS_TIME); /* too many changes */
	registered_deinit(&r);
}

static void walked(struct registered *r, const char *name, uint64_t from_ns,
		   uint64_t seen_ns, uint64_t until_ns)
{
	registered_load(r, name, from_ns, until_ns, IP)->seen_ns = seen_ns;
}

/* Objects found only by list walks: the owner between two walks is unknown. */
static void walks_do_not_tell_who_ran(void **state)
{
	struct registered r = {0};

	(void)state;
	walked(&r, "calls-inline", 0, 20, 100);
	check_owner(&r, 10, 15, "app.calls", MISS_NONE); /* no other object was there */
	check_owner(&r, 50, 60, "app.calls", MISS_NONE);
	check_owner(&r, 90, 99, "app.calls", MISS_NONE);
	check_owner(&r, 90, 100, "", MISS_AMBIGUOUS_TIME);
	check_owner(&r, 100, 110, "", MISS_JIT_UNKNOWN);
	/* The same code again. */
	walked(&r, "calls-inline", 200, 220, EVER);
	walked(&r, "calls-inline", 300, 320, 400);
	check_owner(&r, 250, 260, "app.calls", MISS_NONE);
	check_owner(&r, 199, 210, "", MISS_AMBIGUOUS_TIME);
	check_owner(&r, 200, 210, "app.calls", MISS_NONE);
	/* Another object, when some were gone. */
	walked(&r, "bag-inline", 500, 520, EVER);
	check_owner(&r, 50, 60, "", MISS_AMBIGUOUS_TIME);
	check_owner(&r, 250, 260, "", MISS_AMBIGUOUS_TIME);
	check_owner(&r, 550, 560, "", MISS_AMBIGUOUS_TIME);
	registered_deinit(&r);
}

/* Code that was never unregistered: the newest has the address once a walk found it. */
static void of_walked_code_that_stays_the_newest_has_the_address(void **state)
{
	struct registered r = {0};

	(void)state;
	walked(&r, "calls-inline", 0, 20, EVER);
	walked(&r, "bag-inline", 100, 120, EVER);
	check_owner(&r, 30, 40, "app.calls", MISS_NONE);
	check_owner(&r, 105, 110, "", MISS_AMBIGUOUS_TIME);
	check_owner(&r, 115, 130, "", MISS_AMBIGUOUS_TIME);
	check_owner(&r, 120, 130, "app.Bag.fill", MISS_NONE);
	registered_deinit(&r);
	/* Found by walks that could not read the whole list: no order is known. */
	walked(&r, "calls-inline", 0, 20, EVER);
	walked(&r, "bag-inline", 0, 120, EVER);
	check_owner(&r, 130, 140, "", MISS_AMBIGUOUS_TIME);
	check_owner(&r, 30, 40, "", MISS_AMBIGUOUS_TIME);
	registered_deinit(&r);
	/* Found by one walk: the list has the newest first. */
	walked(&r, "bag-inline", 0, 20, EVER);
	walked(&r, "calls-inline", 0, 20, EVER);
	check_owner(&r, 30, 40, "app.Bag.fill", MISS_NONE);
	registered_deinit(&r);
	/* Its registration time is exact; objects found earlier do not change it. */
	walked(&r, "calls-inline", 0, 20, EVER);
	registered_load(&r, "bag-inline", 100, EVER, IP);
	check_owner(&r, 30, 40, "app.calls", MISS_NONE);
	check_owner(&r, 100, 110, "app.Bag.fill", MISS_NONE);
	registered_deinit(&r);
	/* The walk's object may be newer or older than the registered one. */
	registered_load(&r, "bag-inline", 100, EVER, IP);
	walked(&r, "calls-inline", 50, 120, EVER);
	check_owner(&r, 130, 140, "", MISS_AMBIGUOUS_TIME);
	registered_deinit(&r);
}

/* ---- hostile ---- */

static void broken_objects_are_counted(void **state)
{
	struct registered r = {0};
	struct served s = {0};
	const struct ask ask = {IP, 100, 200};

	(void)state;
	registered_load(&r, "calls-inline", 0, EVER, IP);
	registered_add(&r, "FOR1 something of Erlang's", 26, 0, EVER, 0);
	registered_add(&r, r.items[0].bytes, 60, 0, EVER, 0);
	registered_add(&r, "", 0, 0, EVER, 0); /* not copied: not counted */
	registered_ask(&r, &ask, 1, &s);
	assert_int_equal(s.nr_bad, 2);
	assert_string_equal(function_of(&s.answers.items[0]), "app.calls");
	/* Truncated sections: their addresses are known, but no names or lines. */
	r.items[0].len = r.items[0].code.bytes - r.items[0].bytes + 100;
	registered_ask(&r, &ask, 1, &s);
	assert_int_equal(s.answers.items[0].miss, MISS_JIT_UNKNOWN);
	served_deinit(&s);
	registered_deinit(&r);
}

static void requests_are_bounded(void **state)
{
	struct wire_writer w = {0}, reply = {0};
	struct wire_reader r;
	int fd = memfd_create("none", MFD_CLOEXEC);

	(void)state;
	wire_put_u32(&w, UINT32_MAX); /* number of objects, which are missing */
	wire_put_u64(&w, 0);
	r = (struct wire_reader){.data = w.data, .len = w.len};
	assert_int_equal(gdbjit_serve(NULL, &r, &fd, 1, &reply), -EBADMSG);
	r = (struct wire_reader){.data = w.data, .len = w.len};
	assert_int_equal(gdbjit_serve(NULL, &r, &fd, 0, &reply), -EINVAL);
	wire_writer_deinit(&w);
	wire_writer_deinit(&reply);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_the_users),
		cmocka_unit_test(a_prange_finds_its_function_elsewhere),
		cmocka_unit_test(a_file_called_unknown_has_no_lines),
		cmocka_unit_test(names_are_readable),
		cmocka_unit_test(a_function_without_lines_has_its_name),
		cmocka_unit_test(code_of_hit_functions_is_sent),
		cmocka_unit_test(addresses_are_used_again),
		cmocka_unit_test(the_newest_of_several_has_the_address),
		cmocka_unit_test(the_same_function_is_no_change),
		cmocka_unit_test(walks_do_not_tell_who_ran),
		cmocka_unit_test(of_walked_code_that_stays_the_newest_has_the_address),
		cmocka_unit_test(broken_objects_are_counted),
		cmocka_unit_test(requests_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
