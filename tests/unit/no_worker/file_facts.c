// SPDX-License-Identifier: GPL-2.0-or-later
/* How often a decoder is asked about a file, with fakes of the decoder and the clock. */
#include "process/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "decode/operation.h"
#include "lib/fake_clock.h"
#include "worker/shared.h"

#define SECOND_NS UINT64_C(1000000000)

static struct shared_worker decoder;
static enum worker_answer how;
static size_t nr_asked;
static struct target_file file;

bool shared_worker_may_send(struct shared_worker *s, struct tenant who)
{
	(void)s;
	(void)who;
	return true;
}

/* Its answer says that the file is ELF, and no runtime. */
void shared_worker_send(struct shared_worker *s, const struct shared_request *request,
			struct wire_writer *content)
{
	struct wire_writer said = {.max = 4096};
	struct wire_reader reply;

	assert_ptr_equal(s, &decoder);
	assert_int_equal(request->op, DECODER_INSPECT);
	wire_writer_deinit(content);
	nr_asked++;
	wire_put_u32(&said, 1);
	for (size_t i = 0; i < NR_RUNTIMES; i++)
		wire_put_bytes(&said, NULL, 0);
	reply = (struct wire_reader){.data = said.data, .len = said.len};
	request->take(request->ctx, request->tag, how, &reply);
	wire_writer_deinit(&said);
}

static int begin(void **state)
{
	(void)state;
	free(file.facts);
	file = (struct target_file){.fd = 0, .path = "/bin/program"};
	fake_now_ns = SECOND_NS;
	nr_asked = 0;
	return 0;
}

static bool are_there(void)
{
	return file_facts_are_there(&file, &decoder, (struct tenant){0});
}

static void an_answer_is_final(void **state)
{
	static const enum worker_answer answers[] = {WORKER_OK, WORKER_FAILED,
						     WORKER_DEADLINE, WORKER_BAD_REPLY};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		begin(state);
		how = answers[i];
		assert_true(are_there());
		assert_int_equal(file.facts->is_elf, how == WORKER_OK);
		assert_true(are_there());
		assert_int_equal(nr_asked, 1);
	}
}

static void a_death_is_not_final(void **state)
{
	static const enum worker_answer answers[] = {WORKER_DIED, WORKER_CANNOT_START};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		begin(state);
		how = answers[i];
		assert_false(are_there());
		fake_now_ns += SECOND_NS - 1;
		assert_false(are_there());
		assert_int_equal(nr_asked, 1);
		fake_now_ns++;
		how = WORKER_OK;
		assert_true(are_there());
		assert_int_equal(nr_asked, 2);
		assert_true(file.facts->is_elf);
	}
}

static void two_deaths_are_final(void **state)
{
	(void)state;
	how = WORKER_DIED;
	assert_false(are_there());
	fake_now_ns += SECOND_NS;
	assert_true(are_there());
	assert_false(file.facts->is_elf);
	assert_true(are_there());
	assert_int_equal(nr_asked, 2);
}

static void a_refusal_leaves_it_to_others(void **state)
{
	(void)state;
	how = WORKER_REFUSED;
	assert_false(are_there());
	how = WORKER_OK;
	assert_true(are_there());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_answer_is_final, begin, begin),
		cmocka_unit_test_setup_teardown(a_death_is_not_final, begin, begin),
		cmocka_unit_test_setup_teardown(two_deaths_are_final, begin, begin),
		cmocka_unit_test_setup_teardown(a_refusal_leaves_it_to_others, begin,
						begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
