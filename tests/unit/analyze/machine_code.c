// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/profile/fixture.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/machine_code.h"

/*
 * Pieces of code of a program, and of a JIT that put two functions of two processes
 * at one address:
 *
 *	0  0x100  app.work       main.c:10, 11, with util.c:3 inlined
 *	1  0x200  app.work_hard  main.c:20
 *	2  0x300  other          lib/util.c:5
 *	3  0x400  app.work       a cold part: main.c:12
 *	4  0x900  __main__.dither   app.py:7   (JIT)
 *	5  0x900  __main__.blur     app.py:30  (JIT)
 */
struct scene {
	struct strpool *pool;
	struct profile *p;
	uint32_t program, jit, kernel;
};

static void add_code(struct profile *p, uint32_t mapping, uint64_t address, uint64_t size,
		     const char *rows)
{
	struct profile_code *code;
	char copy[256], *save = NULL;

	p->extra.codes = realloc(p->extra.codes,
				 (p->extra.nr_codes + 1) * sizeof(*p->extra.codes));
	code = &p->extra.codes[p->extra.nr_codes++];
	*code = (struct profile_code){
		.mapping = mapping, .address = address, .size_bytes = size};
	code->rows = calloc(8, sizeof(*code->rows));
	snprintf(copy, sizeof(copy), "%s", rows);
	for (char *f = strtok_r(copy, "|", &save); f; f = strtok_r(NULL, "|", &save)) {
		struct profile_line line = parse_frame(p, f);

		code->rows[code->nr_rows] = (struct profile_code_row){
			.address = address + 0x10 * code->nr_rows, .at = line};
		code->nr_rows++;
	}
}

static void add_codes(struct scene *s)
{
	struct profile *p = s->p;

	add_code(p, s->program, 0x100, 0x40,
		 "app.work@/src/main.c:10|app.work@/src/main.c:11|clamp@/src/util.c:3|"
		 "app.work@/src/main.c:11");
	add_code(p, s->program, 0x200, 0x20, "app.work_hard@/src/main.c:20");
	add_code(p, s->program, 0x300, 0x20, "other@/lib/util.c:5");
	add_code(p, s->program, 0x400, 0x10, "app.work@/src/main.c:12");
	add_code(p, s->jit, 0x900, 0x20, "__main__.dither@/src/app.py:7");
	add_code(p, s->jit, 0x900, 0x20, "__main__.blur@/src/app.py:30");
	p->extra.present = true;
}

static void add_samples(struct scene *s)
{
	struct profile *p = s->p;
	uint32_t fault = add_location(p, s->kernel, 0xffff, MISS_KERNEL, "page_fault");
	uint32_t load =
		add_location(p, s->program, 0x104, MISS_NONE, "app.work@/src/main.c:10");
	uint32_t clamp = add_location(p, s->program, 0x123, MISS_NONE,
				      "clamp@/src/util.c:3|app.work@/src/main.c:11");
	uint32_t caller = add_location(p, s->program, 0x208, MISS_NONE,
				       "app.work_hard@/src/main.c:20");

	add_stack(p, 0, 30, load);
	add_stack(p, 0, 5, fault, load, caller);
	add_stack(p, 0, 20, clamp, caller, caller); /* recursion counts once */
	add_stack(p, 0, 4,
		  add_location(p, s->program, 0x304, MISS_NONE, "other@/lib/util.c:5"));
	add_stack(
		p, 0, 6,
		add_location(p, s->program, 0x400, MISS_NONE, "app.work@/src/main.c:12"));
	add_stack(p, 0, 50,
		  add_location(p, s->jit, 0x904, MISS_NONE,
			       "__main__.dither@/src/app.py:7"));
	add_stack(p, 0, 40,
		  add_location(p, s->jit, 0x904, MISS_NONE,
			       "__main__.blur@/src/app.py:30"));
	/* Outside all pieces; another function of the JIT; no mapping. */
	add_stack(p, 0, 3, add_location(p, s->program, 0x140, MISS_NONE, "app.work@x:1"));
	add_stack(p, 0, 3,
		  add_location(p, s->jit, 0x908, MISS_NONE, "gone@/src/app.py:9"));
	add_stack(p, 0, 3, add_location(p, PROFILE_NONE, 0x104, MISS_NO_MAPPING, ""));
}

static void scene_init(struct scene *s)
{
	s->pool = strpool_new(1 << 20);
	s->p = profile_new(s->pool);
	s->program = add_mapping(s->p, "/src/app");
	s->jit = add_mapping(s->p, PROFILE_JIT);
	s->kernel = add_mapping(s->p, PROFILE_KERNEL);
	add_codes(s);
	add_samples(s);
}

static void scene_deinit(struct scene *s)
{
	profile_free(s->p);
	strpool_free(s->pool);
}

static struct machine_code *choose(const struct scene *s, const char *what)
{
	struct machine_code *m = NULL;
	struct error err = {0};

	if (machine_code_new(s->p, what, &m, &err))
		fail_msg("%s: %s", what ? what : "", err.text);
	return m;
}

/* @expected: indexes of the chosen codes in order, as "0 3". */
static void expect(const struct scene *s, const char *what, const char *expected)
{
	_cleanup_(machine_code_freep) struct machine_code *m = choose(s, what);
	char got[64] = "";

	for (size_t i = 0; i < m->nr; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%d",
			 i ? " " : "", (int)(m->pieces[i].code - s->p->extra.codes));
	if (strcmp(got, expected))
		fail_msg("%s: %s, not %s", what ? what : "", got, expected);
}

static void expect_error(const struct scene *s, const char *what, int code,
			 const char *words)
{
	struct machine_code *m = NULL;
	struct error err = {0};

	assert_int_equal(machine_code_new(s->p, what, &m, &err), code);
	assert_null(m);
	if (!strstr(err.text, words))
		fail_msg("%s: %s", what, err.text);
}

static void what_is_chosen(void **state)
{
	_cleanup_(scene_deinit) struct scene s = {0};

	(void)state;
	scene_init(&s);
	expect(&s, NULL, "0 3"); /* 55 + 6 in app.work are more than dither's 50 */
	expect(&s, machine_code_of_all, "0 4 5 3 2"); /* none without samples */
	expect(&s, "app.work", "0 3");
	expect(&s, "work", "0 3"); /* the last part of a name has precedence */
	expect(&s, "app.work_hard", "1");
	expect(&s, "hard", "1");
	expect(&s, "dither", "4");
	expect(&s, "clamp", "0"); /* inlined there */
	expect(&s, "cla", "0");
	expect(&s, "main.c:10", "0");
	expect(&s, "/src/main.c:11", "0");
	expect(&s, "main.c:12", "3");
	expect(&s, "src/util.c:3", "0");
	expect(&s, "util.c:5", "2");
	expect(&s, "main.c:20", "1"); /* it has no samples of its own */
	expect(&s, "app.py:30", "5");

	expect_error(&s, "r", -EINVAL, "app.work, app.work_hard, other");
	expect_error(&s, "app", -EINVAL, "several functions");
	expect_error(&s, "nothing", -ENOENT, "no function of this profile");
	expect_error(&s, "page_fault", -ENOENT, "no machine code of \"page_fault\"");
	expect_error(&s, "main.c:13", -ENOENT, "line 13 of main.c has no machine code");
	expect_error(&s, "ain.c:10", -ENOENT, "ends in \"ain.c\"");
	expect_error(&s, "main.c:0", -ENOENT, "no function");
	expect_error(&s, "main.c:99999999999", -ENOENT, "no function");
	expect_error(&s, ":7", -ENOENT, "no function");
}

static void none_at_all(void **state)
{
	struct scene s = {.pool = strpool_new(1 << 20)};

	(void)state;
	s.p = profile_new(s.pool);
	expect_error(&s, NULL, -ENOENT, "another tool wrote it");
	s.p->extra.present = true;
	expect_error(&s, "main", -ENOENT, "compile with -g");
	scene_deinit(&s);
}

static void too_many_pieces(void **state)
{
	_cleanup_(scene_deinit) struct scene s = {0};
	_cleanup_(machine_code_freep) struct machine_code *m = NULL;

	(void)state;
	scene_init(&s);
	for (uint64_t i = 0; i < 12; i++) {
		add_code(s.p, s.program, 0x10000 + 0x100 * i, 0x10, "copy@/src/c.c:1");
		add_stack(s.p, 0, (int64_t)i,
			  add_location(s.p, s.program, 0x10000 + 0x100 * i, MISS_NONE,
				       "copy@/src/c.c:1"));
	}
	m = choose(&s, "copy");
	assert_int_equal(m->nr, MACHINE_CODE_MAX_PIECES);
	assert_int_equal(m->pieces[0].self.samples, 11);
	assert_int_equal(m->nr_left_out,
			 3); /* the function without samples is not listed */
	assert_int_equal(m->left_out.samples, 1 + 2 + 3);
}

/* Instructions as the decoder gives them: one per four bytes. */
static void give_instructions(struct machine_piece *piece)
{
	piece->nr = piece->code->size_bytes / 4;
	piece->instructions = calloc(piece->nr, sizeof(*piece->instructions));
	for (size_t i = 0; i < piece->nr; i++)
		piece->instructions[i] = (struct instruction){
			.address = piece->code->address + 4 * i,
			.size_bytes = 4,
			.text = "nop",
			.flow = piece->code->address + 4 * i == 0x204 ? INSTRUCTION_CALL
								      : INSTRUCTION_ON};
}

static const struct placed_instruction *at(const struct machine_piece *piece,
					   uint64_t address)
{
	return &piece->placed[(address - piece->code->address) / 4];
}

static void samples_are_placed(void **state)
{
	_cleanup_(scene_deinit) struct scene s = {0};
	_cleanup_(machine_code_freep) struct machine_code *work = NULL, *hard = NULL;
	const struct machine_piece *piece;
	uint64_t sum = 0;

	(void)state;
	scene_init(&s);
	work = choose(&s, "app.work");
	give_instructions(&work->pieces[0]);
	assert_int_equal(machine_code_place(work, s.p), 0);
	piece = &work->pieces[0];
	assert_int_equal(piece->self.samples, 55);
	assert_int_equal(piece->kernel.samples, 5);
	assert_int_equal(at(piece, 0x104)->self.samples, 35);
	assert_int_equal(at(piece, 0x104)->self.cpu_ns, 35 * PERIOD_NS);
	assert_int_equal(at(piece, 0x104)->kernel.samples, 5);
	/* 0x123 is inside an instruction: its samples count for that one */
	assert_int_equal(at(piece, 0x120)->self.samples, 20);
	for (size_t i = 0; i < piece->nr; i++)
		sum += piece->placed[i].self.samples;
	assert_int_equal(sum, 55);

	assert_int_equal(at(piece, 0x10c)->own.line, 10);
	assert_int_equal(at(piece, 0x110)->own.line, 11);
	/* Inlined: the row has its own line; a sample of it gives the caller's line. */
	for (uint64_t address = 0x120; address < 0x130; address += 4) {
		assert_int_equal(at(piece, address)->row->at.line, 3);
		assert_int_equal(at(piece, address)->own.line, 11);
	}
	assert_int_equal(at(piece, 0x130)->own.line, 11);

	hard = choose(&s, "work_hard");
	give_instructions(&hard->pieces[0]);
	assert_int_equal(machine_code_place(hard, s.p), 0);
	assert_int_equal(hard->pieces[0].self.samples, 0);
	assert_int_equal(at(&hard->pieces[0], 0x204)->below.samples, 25);
	assert_int_equal(at(&hard->pieces[0], 0x208)->below.samples, 0);
}

/*
 * Inlined code without samples: the caller's line comes from other code of the same
 * line, if that is unambiguous.
 */
static void callers_of_inlined_code(void **state)
{
	static const struct {
		const char *second; /* frames of the second sample */
		uint32_t line; /* the caller's line for the row without samples */
	} cases[] = {
		{"leaf@/src/c.c:3|outer@/src/c.c:50", 50},
		{"leaf@/src/c.c:3|outer@/src/c.c:51", 0},
		{"leaf@/src/c.c:4|outer@/src/c.c:51", 50},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(scene_deinit) struct scene s = {0};
		_cleanup_(machine_code_freep) struct machine_code *m = NULL;

		scene_init(&s);
		add_code(s.p, s.program, 0x2000, 0x40,
			 i == 2 ? "leaf@/src/c.c:3|leaf@/src/c.c:4|leaf@/src/c.c:3"
				: "leaf@/src/c.c:3|leaf@/src/c.c:3|leaf@/src/c.c:3");
		add_stack(s.p, 0, 2,
			  add_location(s.p, s.program, 0x2000, MISS_NONE,
				       "leaf@/src/c.c:3|outer@/src/c.c:50"));
		add_stack(
			s.p, 0, 1,
			add_location(s.p, s.program, 0x2010, MISS_NONE, cases[i].second));
		m = choose(&s, "outer");
		give_instructions(&m->pieces[0]);
		assert_int_equal(machine_code_place(m, s.p), 0);
		assert_int_equal(at(&m->pieces[0], 0x2004)->own.line, 50);
		assert_int_equal(at(&m->pieces[0], 0x2020)->own.line, cases[i].line);
		assert_int_equal(at(&m->pieces[0], 0x2020)->row->at.line, 3);
	}
}

/* Rows of zero length say where inlined code was called. */
static void call_rows(void **state)
{
	_cleanup_(scene_deinit) struct scene s = {0};
	_cleanup_(machine_code_freep) struct machine_code *m = NULL;
	struct profile_code *code;

	(void)state;
	scene_init(&s);
	add_code(s.p, s.program, 0x2000, 0x50,
		 "outer@/src/c.c:9|outer@/src/c.c:50|leaf@/src/c.c:3|leaf@/src/c.c:4|"
		 "outer@/src/c.c:9|leaf@/src/c.c:5|outer@/src/c.c:60");
	code = &s.p->extra.codes[s.p->extra.nr_codes - 1];
	code->rows[1].address = code->rows[2].address = 0x2010;
	code->rows[3].address = 0x2020;
	code->rows[4].address = 0x2030;
	code->rows[5].address = 0x2040;
	code->rows[6].address = 0x2050; /* the end */
	m = choose(&s, "outer");
	give_instructions(&m->pieces[0]);
	assert_int_equal(machine_code_place(m, s.p), 0);
	assert_int_equal(machine_code_row(code, 0x2010)->at.line, 3);
	assert_int_equal(at(&m->pieces[0], 0x200c)->own.line, 9);
	assert_int_equal(at(&m->pieces[0], 0x2010)->own.line, 50);
	assert_int_equal(at(&m->pieces[0], 0x2010)->row->at.line, 3);
	assert_int_equal(at(&m->pieces[0], 0x202c)->own.line, 50);
	assert_int_equal(at(&m->pieces[0], 0x2030)->own.line, 9);
	/* No row or sample gives the caller. */
	assert_int_equal(at(&m->pieces[0], 0x2040)->own.line, 0);
	assert_int_equal(at(&m->pieces[0], 0x2040)->row->at.line, 5);
}

/* Two processes, one address: each piece gets the samples of its own function. */
static void same_address_of_two_processes(void **state)
{
	_cleanup_(scene_deinit) struct scene s = {0};
	_cleanup_(machine_code_freep) struct machine_code *dither = NULL, *blur = NULL;

	(void)state;
	scene_init(&s);
	dither = choose(&s, "dither");
	blur = choose(&s, "blur");
	assert_int_equal(dither->pieces[0].self.samples, 50);
	assert_int_equal(blur->pieces[0].self.samples, 40);
}

/* A forged file that pprof_read() accepts. */
static void forged_codes(void **state)
{
	_cleanup_(scene_deinit) struct scene s = {0};
	_cleanup_(machine_code_freep) struct machine_code *m = NULL;

	(void)state;
	scene_init(&s);
	add_code(s.p, s.program, UINT64_MAX - 1, UINT64_MAX, "wraps@/src/w.c:1");
	add_code(s.p, s.program, 0, UINT64_MAX, "all@/src/w.c:2");
	add_code(s.p, 77, 0x100, 0x40, "nowhere@/src/w.c:3");
	add_code(s.p, PROFILE_NONE, 0x100, 0x40, "");
	s.p->extra.codes[s.p->extra.nr_codes - 2].rows[0].at.function = PROFILE_NONE;
	expect(&s, "app.work", "0 3 7"); /* 0x140, which is in no other piece */
	expect(&s, "all", "7");
	m = choose(&s, "w.c:1");
	assert_int_equal(machine_code_place(m, s.p), 0);
	assert_int_equal(machine_code_row(m->pieces[0].code, 0)->at.line, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_chosen),
		cmocka_unit_test(none_at_all),
		cmocka_unit_test(too_many_pieces),
		cmocka_unit_test(samples_are_placed),
		cmocka_unit_test(callers_of_inlined_code),
		cmocka_unit_test(call_rows),
		cmocka_unit_test(same_address_of_two_processes),
		cmocka_unit_test(forged_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
