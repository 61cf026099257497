// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annotate --asm of a hand-made profile, compared with tests/golden/asm.<variant>. The
 * instructions are given by hand; nothing is decoded here.
 * LB_GOLDEN_UPDATE=1 (make golden-update) accepts the current output.
 */
#include "unit/profile/fixture.h"
#include "lib/golden.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/source.h"
#include "render/asm.h"
#include "render/render.h"

#define EVIL "\033[2J\xff\xe2\x80\xae\n"

static const char source[] = "#include \"util.h\"\n"
			     "\n"
			     "int mean(const int *x, int n)\n"
			     "{\n"
			     "\tint sum = 0;\n"
			     "\tfor (int i = 0; i < n; i++)\n"
			     "\t\tsum += div_of(x[i], n);\n"
			     "\treturn check(sum);\n"
			     "}";

struct decoded {
	uint64_t address;
	const char *text;
	enum instruction_flow flow;
	uint64_t target;
};

/* int div_of(int a, int b) { return a / b; } is inlined at line 7. */
static const struct decoded decoded[] = {
	{0x1139, "test esi, esi", INSTRUCTION_ON, 0},
	{0x113b, "jle 0x115c", INSTRUCTION_JUMP, 0x115c},
	{0x113d, "xor ecx, ecx", INSTRUCTION_ON, 0},
	{0x113f, "xor r8d, r8d", INSTRUCTION_ON, 0},
	{0x1142, "nop", INSTRUCTION_ON, 0},
	{0x1143, "mov eax, dword ptr [rdi + rcx*4]", INSTRUCTION_ON, 0},
	{0x1146, "cdq", INSTRUCTION_ON, 0},
	{0x1147, "idiv esi", INSTRUCTION_ON, 0},
	{0x1149, "add r8d, eax", INSTRUCTION_ON, 0},
	{0x114c, "inc rcx", INSTRUCTION_ON, 0},
	{0x114f, "cmp esi, ecx", INSTRUCTION_ON, 0},
	{0x1151, "jg 0x1143", INSTRUCTION_JUMP, 0x1143},
	{0x1153, "mov edi, r8d", INSTRUCTION_ON, 0},
	{0x1156, "call 0x1030", INSTRUCTION_CALL, 0x1030},
	{0x115b, "ret", INSTRUCTION_ON, 0},
	{0x115c, "xor edi, edi", INSTRUCTION_ON, 0},
	{0x115e, "jmp 0x1030", INSTRUCTION_JUMP, 0x1030},
};
#define CODE_START 0x1139
#define CODE_END   0x1163

struct scene {
	struct strpool *pool;
	struct profile *p;
	struct attribution *a;
	struct machine_code *m;
	bool is_namesake; /* the code's file is not the one with the text */
};

static uint32_t add_function(struct profile *p, const char *name, const char *file,
			     uint32_t start_line)
{
	return profile_add_function(p,
				    &(struct profile_function){.name = name,
							       .system_name = "",
							       .filename = file,
							       .start_line = start_line});
}

static void add_code(struct profile *p, uint32_t mapping, uint32_t mean, uint32_t div_of)
{
	const struct profile_code_row rows[] = {
		{0x1139, {mean, 6}}, {0x113d, {mean, 5}},   {0x1142, {PROFILE_NONE, 0}},
		{0x1143, {mean, 7}}, {0x1146, {div_of, 3}}, {0x1149, {mean, 7}},
		{0x114c, {mean, 6}}, {0x1153, {mean, 8}},   {0x115c, {mean, 5}},
		{0x115e, {mean, 8}},
	};
	struct profile_code *code = calloc(1, sizeof(*code));

	*code = (struct profile_code){.mapping = mapping,
				      .address = CODE_START,
				      .size_bytes = CODE_END - CODE_START,
				      .nr_rows = ARRAY_SIZE(rows)};
	code->rows = malloc(sizeof(rows));
	memcpy(code->rows, rows, sizeof(rows));
	p->extra.codes = code;
	p->extra.nr_codes = p->extra.cap_codes = 1;
}

static void add_source(struct profile *p, const char *path)
{
	struct profile_source *s = calloc(1, sizeof(*s));

	s->path = strpool_add(p->pool, path);
	s->nr_lines = 9;
	s->runs = calloc(1, sizeof(*s->runs));
	s->nr_runs = 1;
	s->runs[0].first_line = 1;
	s->runs[0].nr_lines = 9;
	s->runs[0].text = strdup(source);
	p->extra.sources = s;
	p->extra.nr_sources = p->extra.cap_sources = 1;
}

static uint32_t at(struct profile *p, uint32_t mapping, uint64_t address,
		   const struct profile_line *lines, size_t nr)
{
	return profile_add_location(p, mapping, address, MISS_NONE, lines, nr);
}

/* 880 of 1000 samples are just after the division, 20 of them while the kernel ran. */
static void add_samples(struct profile *p, uint32_t mapping, uint32_t mean,
			uint32_t div_of)
{
	const struct profile_line in_loop[] = {{mean, 6}}, in_sum[] = {{mean, 7}};
	const struct profile_line in_div[] = {{div_of, 3}, {mean, 7}};
	const struct profile_line in_call[] = {{mean, 8}};
	uint32_t kernel = add_location(p, add_mapping(p, PROFILE_KERNEL), 0xffff,
				       MISS_KERNEL, "tick");
	uint32_t check = add_location(p, mapping, 0x1030, MISS_NO_DEBUG_INFO, "check");
	uint32_t add = at(p, mapping, 0x1149, in_sum, 1);

	add_stack(p, 0, 860, add);
	add_stack(p, 0, 20, kernel, add);
	add_stack(p, 0, 11, at(p, mapping, 0x1143, in_sum, 1));
	add_stack(p, 0, 24, at(p, mapping, 0x1147, in_div, 2));
	add_stack(p, 0, 12, at(p, mapping, 0x114f, in_loop, 1));
	add_stack(p, 0, 1, at(p, mapping, 0x113b, in_loop, 1));
	add_stack(p, 0, 72, check, at(p, mapping, 0x115b, in_call, 1));
}

/* Sets the instructions that a decoder would give. */
static void set_instructions(struct machine_piece *piece, const char *last_text)
{
	piece->nr = ARRAY_SIZE(decoded);
	piece->instructions = calloc(piece->nr, sizeof(*piece->instructions));
	piece->bytes = calloc(1, CODE_END - CODE_START);
	for (size_t i = 0; i < piece->nr; i++) {
		uint64_t end = i + 1 < piece->nr ? decoded[i + 1].address : CODE_END;

		piece->bytes[decoded[i].address - CODE_START] = (uint8_t)i;
		piece->instructions[i] = (struct instruction){
			.address = decoded[i].address,
			.size_bytes = (uint32_t)(end - decoded[i].address),
			.flow = decoded[i].flow,
			.has_target = decoded[i].target,
			.target = decoded[i].target,
			.text = decoded[i].text,
		};
	}
	if (last_text)
		piece->instructions[8].text = last_text;
}

static void scene_init(struct scene *s, const char *object, const char *name)
{
	const struct attribution_options options = {0};
	struct error err = {0};
	uint32_t mapping, mean, div_of;

	s->pool = strpool_new(1 << 20);
	s->p = profile_new(s->pool);
	s->p->period = PERIOD_NS;
	s->p->period_type = (struct profile_value_type){"cpu", "nanoseconds"};
	s->p->extra.present = true;
	s->p->extra.freq_hz = 100;
	s->p->extra.wall_ns = 12000000000;
	s->p->extra.nr_cpus = 2;
	mapping = add_mapping(s->p, object);
	mean = add_function(s->p, name, "/home/me/mean.c", 3);
	if (s->is_namesake) {
		const char *path = s->p->functions[mean].filename;

		s->p->functions[mean].filename = profile_add_namesake(s->p, path);
		add_stack(s->p, 0, 5000,
			  add_location(s->p, mapping, 0x10, MISS_NONE,
				       "other@/home/me/mean.c:7"));
	}
	div_of = add_function(s->p, "div_of", "/home/me/util.h", 1);
	add_samples(s->p, mapping, mean, div_of);
	add_code(s->p, mapping, mean, div_of);
	add_source(s->p, "/home/me/mean.c");
	assert_int_equal(attribution_new(s->p, &options, &s->a), 0);
	assert_int_equal(source_attach(s->a, s->p, &(struct source_search){0}), 0);
	if (machine_code_new(s->p, NULL, &s->m, &err))
		fail_msg("%s", err.text);
	assert_int_equal(s->m->nr, 1);
}

static void scene_deinit(struct scene *s)
{
	machine_code_free(s->m);
	attribution_free(s->a);
	profile_free(s->p);
	strpool_free(s->pool);
}

/* ---- golden ---- */

static char *render(const struct scene *s, const struct render_options *opts, bool json)
{
	const struct render_input in = {.profile = s->p,
					.attribution = s->a,
					.file_name = "mean.pb.gz",
					.machine_code = s->m};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal((json ? render_annotate_json : render_annotate)(&in, opts, out),
			 0);
	fclose(out);
	return text;
}

static void listings(void **state)
{
	static const struct {
		const char *name;
		struct render_options opts;
	} cases[] = {
		{"txt", {.width = 100, .context = 2, .min_share = 0.005}},
		{"80.txt", {.width = 80, .context = 0, .min_share = 0.005}},
		{"narrow.txt", {.width = 20, .context = 0, .min_share = 0.05}},
		{"whole.txt", {.context = 1000}},
		{"colour.txt",
		 {.colour = true, .width = 100, .context = 1, .min_share = 0.005}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(scene_deinit) struct scene s = {0};
		_cleanup_free_ char *text = NULL;
		char name[64];

		scene_init(&s, "/home/me/mean", "mean");
		set_instructions(&s.m->pieces[0], NULL);
		assert_int_equal(machine_code_place(s.m, s.p), 0);
		text = render(&s, &cases[i].opts, false);
		golden_check_harmless(text, cases[i].opts.colour);
		golden_check_head(text, cases[i].opts.width);
		snprintf(name, sizeof(name), "asm.%s", cases[i].name);
		golden_compare(name, text);
	}
}

static void json(void **state)
{
	_cleanup_(scene_deinit) struct scene s = {0};
	_cleanup_free_ char *text = NULL;
	json_t *root, *piece, *instruction;
	char *pieces;
	json_int_t samples = 0;
	size_t i;

	(void)state;
	scene_init(&s, "/home/me/mean", "mean");
	set_instructions(&s.m->pieces[0], NULL);
	assert_int_equal(machine_code_place(s.m, s.p), 0);
	text = render(&s, &(struct render_options){.context = 2}, true);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	pieces = json_dumps(json_object_get(root, "asm"),
			    JSON_INDENT(1) | JSON_ENSURE_ASCII);
	golden_compare("asm.json", pieces);
	free(pieces);
	piece = json_array_get(json_object_get(root, "asm"), 0);
	json_array_foreach(json_object_get(piece, "instructions"), i, instruction)
		samples += json_integer_value(json_object_get(instruction, "samples"));
	assert_int_equal(samples, 928);
	assert_int_equal(samples, json_integer_value(json_object_get(piece, "samples")));
	json_decref(root);
}

/* Another container's file with this path has the text, and more samples. */
static void text_of_a_namesake(void **state)
{
	_cleanup_(scene_deinit) struct scene s = {0};
	_cleanup_free_ char *text = NULL;

	(void)state;
	s.is_namesake = true;
	scene_init(&s, "/home/me/mean", "mean");
	set_instructions(&s.m->pieces[0], NULL);
	assert_int_equal(machine_code_place(s.m, s.p), 0);
	text = render(&s, &(struct render_options){.context = 2}, false);
	assert_non_null(strstr(text, "line 7   "));
	assert_null(strstr(text, "div_of(x[i]"));
}

static void of_a_stranger(void **state)
{
	_cleanup_(scene_deinit) struct scene s = {0};
	_cleanup_free_ char *text = NULL, *as_json = NULL;

	(void)state;
	scene_init(&s, "[jit]", "mean" EVIL);
	set_instructions(&s.m->pieces[0], "movabs rax, ?" EVIL);
	s.m->pieces[0].not_linked = true;
	s.m->pieces[0].note = "looked for " EVIL;
	s.m->nr_left_out = 3;
	s.m->left_out.samples = 4;
	assert_int_equal(machine_code_place(s.m, s.p), 0);
	text = render(&s, &(struct render_options){.width = 100, .context = 1}, false);
	golden_check_harmless(text, false);
	golden_compare("asm.hostile.txt", text);
	as_json = render(&s, &(struct render_options){.width = 100}, true);
	for (const char *c = as_json; *c; c++)
		assert_true((unsigned char)*c < 0x80);
}

static void without_instructions(void **state)
{
	_cleanup_(scene_deinit) struct scene s = {0};
	_cleanup_free_ char *text = NULL, *as_json = NULL;

	(void)state;
	scene_init(&s, "/home/me/mean", "mean");
	s.m->pieces[0].note =
		"no instructions: looked for /home/me/mean: No such file or "
		"directory; run annotate where that file is";
	assert_int_equal(machine_code_place(s.m, s.p), 0);
	text = render(&s, &(struct render_options){.width = 80, .context = 1}, false);
	golden_compare("asm.no-file.txt", text);
	as_json = render(&s, &(struct render_options){.width = 80}, true);
	assert_non_null(strstr(as_json, "\"instructions\": []"));
}

/* ---- rows ---- */

/*
 * Samples at instructions marked in @hot, all of one line. Rows as "i", gaps as ".n".
 */
static void expect_rows(const char *hot, size_t context, const char *expected)
{
	struct profile p = {0};
	struct machine_piece piece = {.function = PROFILE_NONE, .nr = strlen(hot)};
	_cleanup_(asm_lines_deinit) struct asm_lines lines = {0};
	const struct profile_code_row line = {0, {PROFILE_NONE, 1}},
				      other_line = {1, {PROFILE_NONE, 2}};
	struct asm_rows rows = {.lines = &lines, .context = context};
	struct asm_row row;
	char got[256] = "";

	piece.placed = calloc(piece.nr, sizeof(*piece.placed));
	for (size_t i = 0; i < piece.nr; i++)
		piece.placed[i] = (struct placed_instruction){
			.self = {.samples = hot[i] == 'x'},
			/* '|': another line, a gap in this one */
			.row = hot[i] == '|' ? &other_line : &line,
			.own = {PROFILE_NONE, 0},
		};
	assert_int_equal(asm_lines_init(&lines, &p, &piece), 0);
	rows.line = &lines.items[0];
	while (asm_rows_next(&rows, &row)) {
		size_t used = strlen(got);

		if (row.instruction)
			snprintf(got + used, sizeof(got) - used, "%d ",
				 (int)(row.instruction - piece.placed));
		else
			snprintf(got + used, sizeof(got) - used, ".%d ",
				 (int)row.nr_skipped);
	}
	free(piece.placed);
	assert_string_equal(got, expected);
}

static void collapsed_rows(void **state)
{
	(void)state;
	expect_rows("-----x-----", 0, ".5 5 .5 ");
	expect_rows("-----x-----", 2, ".3 3 4 5 6 7 .3 ");
	expect_rows("-x-x-", 0, "0 1 2 3 4 "); /* a gap of one is shown instead */
	expect_rows("--x----x--", 1, "0 1 2 3 .2 6 7 8 9 ");
	expect_rows("--|x|--", 5, ".2 3 .2 "); /* context does not cross a gap */
	expect_rows("x", 1000, "0 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listings),
		cmocka_unit_test(json),
		cmocka_unit_test(text_of_a_namesake),
		cmocka_unit_test(of_a_stranger),
		cmocka_unit_test(without_instructions),
		cmocka_unit_test(collapsed_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
