// SPDX-License-Identifier: GPL-2.0-or-later
/* Code objects of the CPythons of this machine, read by a real reader. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "decode/python/frames.h"
#include "decode/requests.h"
#include "process/table.h"
#include "runtime/python/read.h"

/* Offsets of Include/cpython/code.h and unicodeobject.h of each version. */
static const struct lb_interp layouts[] = {
	{.version = 0x0309,
	 .code_filename = 104,
	 .code_qualname = 112,
	 .code_linetable = 120,
	 .code_firstlineno = 40,
	 .str_ascii = 48,
	 .str_wide = 72},
	{.version = 0x030a,
	 .code_filename = 104,
	 .code_qualname = 112,
	 .code_linetable = 120,
	 .code_firstlineno = 40,
	 .str_ascii = 48,
	 .str_wide = 72},
	{.version = 0x030b,
	 .code_filename = 112,
	 .code_qualname = 128,
	 .code_linetable = 136,
	 .code_firstlineno = 72,
	 .str_ascii = 48,
	 .str_wide = 72},
	{.version = 0x030c,
	 .code_filename = 112,
	 .code_qualname = 128,
	 .code_linetable = 136,
	 .code_firstlineno = 68,
	 .str_ascii = 40,
	 .str_wide = 56},
	{.version = 0x030d,
	 .code_filename = 112,
	 .code_qualname = 128,
	 .code_linetable = 136,
	 .code_firstlineno = 68,
	 .str_ascii = 40,
	 .str_wide = 56},
};

static struct lb_interp layout_of(uint32_t version)
{
	struct lb_interp l = {0};

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].version == version)
			l = layouts[i];
	l.str_length = 16;
	l.str_state = 32;
	l.bytes_size = 16;
	l.bytes_data = 32;
	return l;
}

/* ---- a Python that waits until its input is closed ---- */

struct target {
	pid_t pid;
	int in; /* closing it ends the Python */
	FILE *out;
	struct strpool *pool;
	struct process_table *table;
	struct process *process;
	struct worker *reader;
};

static void start_target(struct target *t, const char *python)
{
	struct worker_config reader_config = {.kind = WORKER_READER};
	struct process_table_config config = {.proc_path = "/proc"};
	int in[2], out[2];
	uint32_t tgid;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	t->pid = fork();
	assert_true(t->pid >= 0);
	if (!t->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execl(python, python, "-I", "tests/fixtures/python/cut_codes.py", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	t->in = in[1];
	t->out = fdopen(out[0], "r");
	assert_non_null(t->out);
	/* After its first line the process has executed Python. */
	assert_int_not_equal(ungetc(fgetc(t->out), t->out), EOF);
	tgid = (uint32_t)t->pid;
	t->pool = strpool_new(16 << 20);
	assert_int_equal(process_table_new(&config, t->pool, &t->table, NULL), 0);
	assert_int_equal(process_table_scan(t->table, &tgid, 1, NULL), 0);
	t->process = process_table_at(t->table, 0);
	assert_non_null(t->process);
	assert_int_equal(t->process->tgid, tgid);
	assert_int_equal(worker_new(&reader_config, &t->reader, NULL), 0);
}

static void end_target(struct target *t)
{
	close(t->in);
	waitpid(t->pid, NULL, 0);
}

static void stop_target(struct target *t)
{
	fclose(t->out);
	worker_free(t->reader);
	process_table_free(t->table);
	strpool_free(t->pool);
}

struct known {
	uint64_t addr, table_addr;
	uint32_t first_line, table_bytes;
	char file[4096], name[16384]; /* UTF-8 */
};

static void from_hex(char *text)
{
	size_t nr = strlen(text) / 2;

	for (size_t i = 0; i < nr; i++) {
		const char digits[3] = {text[2 * i], text[2 * i + 1], 0};

		text[i] = (char)strtoul(digits, NULL, 16);
	}
	text[nr] = 0;
}

/*
 * Reads the target's report, and adds records with only addresses, as the kernel side.
 */
static void get_known(struct target *t, uint32_t version, struct known *known, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct known *k = &known[i];
		struct lb_interp_code r = {.code_id = i,
					   .version = version,
					   .table_bytes = LB_INTERP_NOT_READ};

		assert_int_equal(fscanf(t->out, "%lx %lx %u %u %4095s %16383s", &k->addr,
					&k->table_addr, &k->first_line, &k->table_bytes,
					k->file, k->name),
				 6);
		from_hex(k->file);
		from_hex(k->name);
		r.code_addr = k->addr;
		r.table_addr = k->table_addr;
		r.first_line = k->first_line;
		assert_int_equal(
			process_add_interp_code(t->table, t->process, &r,
						offsetof(struct lb_interp_code, table)),
			0);
	}
	assert_int_equal(t->process->interp_codes.nr_cut, nr);
}

static void assert_text(const struct interp_text *t, const char *expected)
{
	_cleanup_free_ char *text =
		python_text_utf8(t->bytes, t->len, t->width, t->is_cut);

	assert_string_equal(text, expected);
}

#define NR_CODES 5

static void read_all(const char *python, uint32_t version)
{
	static struct known known[NR_CODES];
	const struct lb_interp layout = layout_of(version);
	const struct interp_codes *codes;
	char cut_name[INTERP_MAX_TEXT_BYTES + 4];
	struct target t;

	start_target(&t, python);
	codes = &t.process->interp_codes;
	get_known(&t, version, known, NR_CODES);
	/*
	 * A code object that was replaced since: its address holds another one, whose
	 * texts are not taken.
	 */
	t.process->interp_codes.items[4].first_line++;
	assert_int_equal(python_read_cut(t.reader, t.table, t.process, &layout),
			 WORKER_OK);
	assert_int_equal(codes->nr_cut, 0);
	for (size_t i = 0; i < NR_CODES; i++) {
		const struct interp_code *code = interp_codes_find(codes, i);

		if (i == 4) {
			assert_null(code->file.bytes);
			continue;
		}
		assert_text(&code->file, known[i].file);
		assert_int_equal(code->table.len, known[i].table_bytes);
		assert_false(code->table.is_cut);
		if (i == 3)
			continue;
		assert_text(&code->name, known[i].name);
	}
	memset(cut_name, 'n', INTERP_MAX_TEXT_BYTES);
	strcpy(cut_name + INTERP_MAX_TEXT_BYTES, "...");
	assert_text(&interp_codes_find(codes, 3)->name, cut_name);
	end_target(&t);
	stop_target(&t);
}

static void test_read(void **state)
{
	const uint32_t version = *(const uint32_t *)*state;
	const char *home = getenv("HOME");
	char pattern[512];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/usr/bin/python3.%u", version & 0xff);
	assert_true(glob(pattern, 0, NULL, &found) != GLOB_NOSPACE);
	snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/3.%u.*/bin/python3",
		 home ? home : "", version & 0xff);
	glob(pattern, GLOB_APPEND, NULL, &found);
	if (!found.gl_pathc) {
		print_message("no CPython 3.%u in /usr/bin or ~/.pyenv\n",
			      version & 0xff);
		globfree(&found);
		skip();
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		read_all(found.gl_pathv[i], version);
	globfree(&found);
}

/* For wrong layouts and ended processes nothing is read, and nothing is tried twice. */
static void test_nothing_there(void **state)
{
	struct lb_interp layout = layout_of(0x030b);
	static struct known known[NR_CODES];
	struct target t;

	(void)state;
	start_target(&t, "/usr/bin/python3");
	get_known(&t, 0x030b, known, NR_CODES);
	layout.code_linetable = LB_INTERP_CODE_BYTES;
	assert_int_equal(python_read_cut(t.reader, t.table, t.process, &layout),
			 WORKER_FAILED);
	assert_int_equal(t.process->interp_codes.nr_cut, 0);
	for (size_t i = 0; i < NR_CODES; i++) {
		t.process->interp_codes.items[i].is_cut = true;
		t.process->interp_codes.nr_cut++;
	}
	end_target(&t);
	layout = layout_of(0x030b);
	assert_int_equal(python_read_cut(t.reader, t.table, t.process, &layout),
			 WORKER_OK);
	assert_int_equal(t.process->interp_codes.nr_cut, 0);
	assert_null(interp_codes_find(&t.process->interp_codes, 0)->name.bytes);
	stop_target(&t);
}

int main(void)
{
#define READ(i) cmocka_unit_test_prestate(test_read, (void *)&layouts[i].version)
	const struct CMUnitTest tests[] = {
		READ(0), READ(1), READ(2),
		READ(3), READ(4), cmocka_unit_test(test_nothing_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
