// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Disassembles pieces of code with a real worker: code of a file built by gcc, code
 * stored in the profile, and files that are gone or were replaced.
 */
#include <elf.h>
#include <sys/stat.h>

#include "base/strpool.h"
#include "cli/disassembly.h"
#include "unit/decode/elf/fixture.h"

struct scene {
	struct strpool *pool;
	struct profile *p;
	struct machine_code *m;
	size_t nr_withheld;
};

static uint64_t number_of(const char *command)
{
	char line[256];

	fixture_line(line, sizeof(line), "%s", command);
	return strtoull(line, NULL, 16);
}

static const struct named_files own_files, strangers = {.is_strangers = true};

/* A piece of code of work() in the program @filename; @bytes are stored unless NULL. */
static void scene_init(struct scene *s, const char *filename, const char *build_id,
		       const void *bytes, size_t nr_bytes)
{
	struct profile_code *code;
	struct error err = {0};

	s->pool = strpool_new(1 << 20);
	s->p = profile_new(s->pool);
	profile_add_mapping(s->p, &(struct profile_mapping){.filename = filename,
							    .build_id = build_id});
	profile_add_function(
		s->p, &(struct profile_function){.name = "work", .filename = "/prog.c"});
	s->p->extra.present = true;
	code = s->p->extra.codes = calloc(1, sizeof(*code));
	s->p->extra.nr_codes = s->p->extra.cap_codes = 1;
	code->rows = calloc(1, sizeof(*code->rows));
	code->rows[0].at.line = 1;
	code->nr_rows = 1;
	if (bytes) {
		code->address = 0x1000;
		code->size_bytes = nr_bytes;
		code->bytes = malloc(nr_bytes);
		memcpy(code->bytes, bytes, nr_bytes);
	} else {
		code->address = number_of("nm -S prog | sed -n 's/ .* T work$//p'");
		code->size_bytes =
			number_of("nm -S prog | sed -n 's/^[^ ]* \\([^ ]*\\) T "
				  "work$/\\1/p'");
	}
	code->rows[0].address = code->address;
	assert_int_equal(machine_code_new(s->p, "work", &s->m, &err), 0);
	assert_int_equal(disassembly_fill(s->m, s->p, &own_files, &s->nr_withheld), 0);
}

static void scene_deinit(struct scene *s)
{
	machine_code_free(s->m);
	profile_free(s->p);
	strpool_free(s->pool);
}

static void expect_note(const char *filename, const char *build_id, const char *words)
{
	_cleanup_(scene_deinit) struct scene s = {0};

	scene_init(&s, filename, build_id, NULL, 0);
	assert_int_equal(s.m->pieces[0].nr, 0);
	if (!strstr(s.m->pieces[0].note, words))
		fail_msg("%s: %s", filename, s.m->pieces[0].note);
}

static void path_of(char *buf, size_t size, const char *name)
{
	snprintf(buf, size, "%s/%s", fixture_dir, name);
}

static void build_id_of(char *buf, size_t size)
{
	fixture_line(buf, size, "readelf -n prog | sed -n 's/.*Build ID: //p'");
}

static int setup(void **state)
{
	if (fixture_setup(state))
		return -1;
	fixture_write("prog.c", "int work(int n, int d)\n{\n\treturn n / d;\n}\n\n"
				"int main(int argc, char **argv)\n{\n"
				"\treturn work(argc, argv[0][0]);\n}\n");
	return fixture_try("gcc -g -O1 -o prog prog.c") ? 0 : -1;
}

static bool has_text(const struct machine_piece *piece, const char *text)
{
	for (size_t i = 0; i < piece->nr; i++)
		if (strstr(piece->instructions[i].text, text))
			return true;
	return false;
}

static void code_of_a_file(void **state)
{
	char path[128], id[64];
	static const char *const marks[] = {"", " (deleted)"};

	(void)state;
	build_id_of(id, sizeof(id));
	assert_int_equal(strlen(id), 40);
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		_cleanup_(scene_deinit) struct scene s = {0};
		struct machine_piece *piece;

		path_of(path, sizeof(path), "prog");
		strcat(path, marks[i]);
		scene_init(&s, path, id, NULL, 0);
		piece = &s.m->pieces[0];
		assert_string_equal(piece->note, "");
		assert_true(piece->nr > 2);
		assert_true(has_text(piece, "div"));
		assert_true(has_text(piece, "ret"));
		assert_false(piece->not_linked);
	}
}

static void file_without_a_build_id(void **state)
{
	_cleanup_(scene_deinit) struct scene s = {0};
	char path[128];

	(void)state;
	path_of(path, sizeof(path), "prog");
	scene_init(&s, path, "", NULL, 0);
	assert_true(has_text(&s.m->pieces[0], "div"));
	assert_non_null(strstr(s.m->pieces[0].note, "not known"));
}

static void files_that_are_not_there(void **state)
{
	char path[128], id[64];

	(void)state;
	build_id_of(id, sizeof(id));
	path_of(path, sizeof(path), "gone");
	expect_note(path, id, "No such file or directory; run annotate where");
	path_of(path, sizeof(path), "prog");
	expect_note(path, "0011223344556677889900112233445566778899",
		    "it is not the build that ran");
	path_of(path, sizeof(path), "prog.c");
	expect_note(path, "", "not an ELF file");
	path_of(path, sizeof(path), "pipe");
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_note(path, id, "not a regular file");
	expect_note(fixture_dir, id, "not a regular file");
	expect_note("/proc/self/exe", id, "looked for");
	expect_note("/dev/null", id, "not a regular file");
	expect_note("prog", id, "not in a file");
	expect_note("[vdso]", id, "not in a file");
	expect_note("", "", "not in a file");
}

/*
 * A profile of another user must not make lineburn print a file that it names: only
 * code stored in the profile is shown.
 */
static void a_strangers_profile_opens_no_file(void **state)
{
	static const uint8_t code[] = {0x90, 0xc3};
	char prog[128], id[64];
	_cleanup_(scene_deinit) struct scene own = {0}, s = {0};
	size_t nr = 0;

	(void)state;
	path_of(prog, sizeof(prog), "prog");
	build_id_of(id, sizeof(id));
	scene_init(&own, prog, id, NULL, 0);
	assert_int_not_equal(own.m->pieces[0].nr, 0);
	assert_int_equal(own.nr_withheld, 0);
	machine_code_free(take_ptr(own.m));
	assert_int_equal(machine_code_new(own.p, "work", &own.m, NULL), 0);
	assert_int_equal(disassembly_fill(own.m, own.p, &strangers, &nr), 0);
	assert_int_equal(own.m->pieces[0].nr, 0);
	assert_int_equal(nr, 1);
	assert_non_null(strstr(own.m->pieces[0].note, "use --sources"));

	scene_init(&s, "[jit]", "", code, sizeof(code));
	machine_code_free(take_ptr(s.m));
	s.p->extra.arch = strpool_add(s.pool, "x86_64");
	assert_int_equal(machine_code_new(s.p, NULL, &s.m, NULL), 0);
	assert_int_equal(disassembly_fill(s.m, s.p, &strangers, &nr), 0);
	assert_int_equal(s.m->pieces[0].nr, 2);
	assert_int_equal(nr, 1);
}

static void fill_again(struct scene *s, const struct named_files *named, size_t *nr)
{
	machine_code_free(take_ptr(s->m));
	assert_int_equal(machine_code_new(s->p, "work", &s->m, NULL), 0);
	assert_int_equal(disassembly_fill(s->m, s->p, named, nr), 0);
}

/* A program of a stranger may have had root's file at its path. */
static void root_opens_what_everybody_may_read(void **state)
{
	const struct named_files careful = {.is_careful = true};
	_cleanup_(scene_deinit) struct scene s = {0};
	char prog[128], id[64];
	size_t nr = 0;

	(void)state;
	if (geteuid()) {
		print_message("skip: needs root\n");
		skip();
	}
	path_of(prog, sizeof(prog), "prog");
	build_id_of(id, sizeof(id));
	assert_int_equal(chmod(fixture_dir, 0755), 0);
	assert_int_equal(chmod(prog, 0755), 0);
	scene_init(&s, prog, id, NULL, 0);
	fill_again(&s, &careful, &nr);
	assert_true(has_text(&s.m->pieces[0], "div"));
	assert_int_equal(chmod(prog, 0750), 0);
	fill_again(&s, &careful, &nr);
	assert_int_equal(s.m->pieces[0].nr, 0);
	assert_non_null(strstr(s.m->pieces[0].note, "use --sources"));
	assert_int_equal(nr, 1);
	fill_again(&s, &own_files, &nr);
	assert_true(has_text(&s.m->pieces[0], "div"));
	assert_int_equal(nr, 1);
	assert_int_equal(chmod(prog, 0755), 0);
}

static void code_in_the_profile(void **state)
{
	static const uint8_t x86[] = {0x48, 0xf7, 0xfe, 0xe8, 0, 0, 0, 0, 0xc3};
	static const uint8_t arm[] = {0x20, 0x0c, 0xc2, 0x1a, 0xc0, 0x03, 0x5f, 0xd6};
	static const struct {
		const char *arch;
		const void *bytes;
		size_t nr;
		const char *text;
	} cases[] = {
		{"x86_64", x86, sizeof(x86), "idiv rsi"},
		{"x86_64", x86, sizeof(x86), "call ?"},
		{"aarch64", arm, sizeof(arm), "sdiv w0, w1, w2"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(scene_deinit) struct scene s = {0};

		scene_init(&s, "[jit]", "", cases[i].bytes, cases[i].nr);
		machine_code_free(take_ptr(s.m));
		s.p->extra.arch = strpool_add(s.pool, cases[i].arch);
		assert_int_equal(machine_code_new(s.p, NULL, &s.m, NULL), 0);
		assert_int_equal(disassembly_fill(s.m, s.p, &own_files, &s.nr_withheld),
				 0);
		assert_string_equal(s.m->pieces[0].note, "");
		assert_true(has_text(&s.m->pieces[0], cases[i].text));
		assert_memory_equal(s.m->pieces[0].bytes, cases[i].bytes, cases[i].nr);
		assert_true(s.m->pieces[0].not_linked);

		machine_code_free(take_ptr(s.m));
		s.p->extra.arch = strpool_add(s.pool, "riscv64");
		assert_int_equal(machine_code_new(s.p, NULL, &s.m, NULL), 0);
		assert_int_equal(disassembly_fill(s.m, s.p, &own_files, &s.nr_withheld),
				 0);
		assert_int_equal(s.m->pieces[0].nr, 0);
		assert_non_null(strstr(s.m->pieces[0].note, "machine"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_of_a_file),
		cmocka_unit_test(file_without_a_build_id),
		cmocka_unit_test(files_that_are_not_there),
		cmocka_unit_test(a_strangers_profile_opens_no_file),
		cmocka_unit_test(root_opens_what_everybody_may_read),
		cmocka_unit_test(code_in_the_profile),
	};

	return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
