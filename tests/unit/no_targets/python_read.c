// SPDX-License-Identifier: GPL-2.0-or-later
/* What becomes of code objects whose texts a reader cannot give: its answers are a test's. */
#include "runtime/python/read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/wire.h"
#include "process/process.h"

static enum worker_answer answer;
static struct wire_writer reply;

enum worker_answer worker_call(struct worker *w, uint32_t op, const void *request,
			       size_t len, const int *fds, size_t nr_fds,
			       worker_need_fn need, void *need_ctx,
			       unsigned int deadline_ms, struct wire_reader *ret,
			       int *ret_error)
{
	(void)w, (void)op, (void)request, (void)len, (void)fds, (void)nr_fds, (void)need;
	(void)need_ctx, (void)deadline_ms, (void)ret_error;
	*ret = (struct wire_reader){.data = reply.data, .len = reply.len};
	return answer;
}

/* ---- fixture ---- */

static struct interp_store *store;
static struct process proc;

/* A code object of which only the first characters of its names were copied. */
static int begin(void **state)
{
	static struct lb_interp_code record;

	(void)state;
	record = (struct lb_interp_code){.code_id = 1,
					 .code_addr = 0x1000,
					 .table_addr = 0x2000,
					 .version = 0x030b,
					 .file_chars = 1000,
					 .name_chars = 1000,
					 .table_bytes = 5000,
					 .file_width = 1,
					 .name_width = 1};
	memset(record.file, 'f', sizeof(record.file));
	memset(record.name, 'n', sizeof(record.name));
	proc = (struct process){.tgid = 1};
	reply = (struct wire_writer){.max = WORKER_MAX_REQUEST_BYTES};
	if (interp_store_new(1 << 20, &store))
		return -1;
	return interp_codes_add(&proc.interp_codes, store, &record,
				offsetof(struct lb_interp_code, table));
}

static int end(void **state)
{
	(void)state;
	interp_codes_deinit(&proc.interp_codes);
	interp_store_free(store);
	wire_writer_deinit(&reply);
	return 0;
}

static void read_cut(enum worker_answer its)
{
	const struct lb_interp layout = {.version = 0x030b};

	answer = its;
	assert_int_equal(python_read_cut(NULL, NULL, &proc, &layout), its);
}

/* ---- tests ---- */

/* Others' helpers are stuck, or there is no memory: it is read later. */
static void without_a_reader_nothing_is_given_up(void **state)
{
	(void)state;
	read_cut(WORKER_CANNOT_START);
	assert_int_equal(proc.interp_codes.nr_cut, 1);
	read_cut(WORKER_REFUSED);
	assert_int_equal(proc.interp_codes.nr_cut, 1);
	read_cut(WORKER_DIED);
	assert_int_equal(proc.interp_codes.nr_cut, 0);
}

/* Its names are not there any more, but its lines are. */
static void a_table_is_taken_beside_names_that_are_gone(void **state)
{
	const struct interp_code *code;

	(void)state;
	wire_put_u8(&reply, 1);
	for (int i = 0; i < 2; i++) {
		wire_put_u8(&reply, 0);
		wire_put_u8(&reply, 1);
		wire_put_bytes(&reply, NULL, 0);
	}
	wire_put_u8(&reply, 1);
	wire_put_u8(&reply, 0);
	wire_put_bytes(&reply, "lines", 5);
	read_cut(WORKER_OK);
	code = interp_codes_find(&proc.interp_codes, 1);
	assert_int_equal(code->table.len, 5);
	assert_memory_equal(code->table.bytes, "lines", 5);
	assert_false(code->table.is_cut);
	assert_int_equal(code->file.len, LB_INTERP_TEXT_BYTES);
	assert_true(code->file.is_cut && code->name.is_cut);
	assert_int_equal(proc.interp_codes.nr_cut, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_a_reader_nothing_is_given_up,
						begin, end),
		cmocka_unit_test_setup_teardown(
			a_table_is_taken_beside_names_that_are_gone, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
