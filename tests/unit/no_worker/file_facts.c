// SPDX-License-Identifier: GPL-2.0-or-later
/* How often a decoder is asked about a file, with fakes of the decoder and the clock. */
#include "base/clock.h"
#include "process/file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "decode/operation.h"
#include "lib/fake_clock.h"
#include "unit/no_worker/fakes.h"
#include "worker/shared.h"

/* ---- worker/worker.h ---- */

enum worker_answer (*fake_worker)(uint32_t op, struct wire_reader *request,
				  struct wire_reader *ret);

static enum worker_answer next;
static struct wire_reader next_reply;

static uint64_t begun_ns; /* the last call */

void worker_send(struct worker *w, uint32_t op, const void *request, size_t len,
		 const int *fds, size_t nr_fds, worker_need_fn need, void *need_ctx,
		 unsigned int deadline_ms)
{
	begun_ns = clock_now_ns();
	struct wire_reader r = {.data = request, .len = len};

	(void)w, (void)fds, (void)nr_fds, (void)need, (void)need_ctx, (void)deadline_ms;
	next = fake_worker(op, &r, &next_reply);
}

uint64_t worker_begin_ns(const struct worker *w)
{
	(void)w;
	return begun_ns;
}

enum worker_answer worker_receive(struct worker *w, struct wire_reader *ret,
				  int *ret_error)
{
	(void)w, (void)ret_error;
	*ret = next_reply;
	return next;
}

enum worker_answer worker_call(struct worker *w, uint32_t op, const void *request,
			       size_t len, const int *fds, size_t nr_fds,
			       worker_need_fn need, void *need_ctx,
			       unsigned int deadline_ms, struct wire_reader *ret,
			       int *ret_error)
{
	worker_send(w, op, request, len, fds, nr_fds, need, need_ctx, deadline_ms);
	return worker_receive(w, ret, ret_error);
}

int worker_new(const struct worker_config *config, struct worker **ret, struct error *err)
{
	(void)config, (void)ret;
	return error_set(err, -ENOSYS, "there is no worker");
}

void worker_free(struct worker *w)
{
	(void)w;
}

void worker_stats(const struct worker *w, struct worker_stats *ret)
{
	(void)w;
	*ret = (struct worker_stats){0};
}

void worker_serves(struct worker *w, struct tenant who)
{
	(void)w, (void)who;
}

void worker_wait(const struct worker *w)
{
	(void)w;
}

void worker_wait_until(const struct worker *w, int64_t until_ns)
{
	(void)w, (void)until_ns;
}

void worker_trim(struct worker *w)
{
	(void)w;
}

void worker_cancel(struct worker *w)
{
	(void)w;
}

bool worker_waits(const struct worker *w, struct worker_wait *ret)
{
	(void)w, (void)ret;
	return false;
}

uint64_t worker_slow_ns(const struct worker *w)
{
	(void)w;
	return 0;
}

void worker_charges_nobody(struct worker *w)
{
	(void)w;
}

uint64_t worker_last_stuck(const struct worker *w)
{
	(void)w;
	return 0;
}

size_t worker_take_fds(struct worker *w, int *ret, size_t max)
{
	(void)w, (void)ret, (void)max;
	return 0;
}

/* ---- the decoder ---- */

#define SECOND_NS UINT64_C(1000000000)

static struct shared_worker decoder;
static enum worker_answer how;
static size_t nr_asked;
static struct target_file file;

static struct wire_writer said = {.max = 4096};

/* The file is ELF, and no runtime. */
static struct wire_reader answer(void)
{
	nr_asked++;
	wire_writer_deinit(&said);
	wire_put_u32(&said, 1);
	for (size_t i = 0; i < NR_RUNTIMES; i++)
		wire_put_bytes(&said, NULL, 0);
	return (struct wire_reader){.data = said.data, .len = said.len};
}

static enum worker_answer inspect(uint32_t op, struct wire_reader *request,
				  struct wire_reader *ret)
{
	(void)request;
	assert_int_equal(op, DECODER_INSPECT);
	*ret = answer();
	return how;
}

static int begin(void **state)
{
	(void)state;
	free(file.facts);
	file = (struct target_file){.fd = 0, .path = "/bin/program"};
	fake_now_ns = SECOND_NS;
	nr_asked = 0;
	fake_worker = inspect;
	shared_worker_init(&decoder, NULL, false);
	return 0;
}

static bool are_there(void)
{
	return file_facts_are_there(&file, &decoder, (struct tenant){0});
}

static void an_answer_is_final(void **state)
{
	static const enum worker_answer answers[] = {WORKER_OK, WORKER_FAILED,
						     WORKER_BAD_REPLY};

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
	assert_int_equal(file_facts_late_until(&file), 0);
	fake_now_ns += SECOND_NS;
	assert_true(are_there());
	assert_false(file.facts->is_elf);
	assert_true(are_there());
	assert_int_equal(nr_asked, 2);
}

/* The decoder is asked again after @seconds, and not before. */
static void be_asked_after(uint64_t seconds)
{
	size_t nr = nr_asked;

	assert_int_equal(file_facts_late_until(&file), fake_now_ns + seconds * SECOND_NS);
	fake_now_ns += seconds * SECOND_NS - 1;
	assert_false(are_there());
	assert_null(file_facts_get(&file, NULL, (struct tenant){0}));
	assert_int_equal(nr_asked, nr);
	fake_now_ns++;
	are_there();
	assert_int_equal(nr_asked, nr + 1);
}

static void a_late_answer_is_not_final(void **state)
{
	(void)state;
	how = WORKER_DEADLINE;
	assert_false(are_there());
	for (uint64_t s = 10; s < 2560; s *= 2)
		be_asked_after(s);
	be_asked_after(2560);
	be_asked_after(2560);
	how = WORKER_OK;
	be_asked_after(2560);
	assert_true(file.facts->is_elf);
}

/* The first death after that is not final either. */
static void a_late_decoder_may_die(void **state)
{
	(void)state;
	how = WORKER_DEADLINE;
	assert_false(are_there());
	how = WORKER_DIED;
	be_asked_after(10);
	assert_false(are_there());
	assert_int_equal(nr_asked, 2);
	fake_now_ns += SECOND_NS;
	how = WORKER_DEADLINE;
	assert_false(are_there());
	how = WORKER_DIED;
	be_asked_after(20);
	assert_true(are_there());
	assert_false(file.facts->is_elf);
}

/* The entry becomes another file's. */
static void another_file_was_never_late(void **state)
{
	(void)state;
	how = WORKER_DEADLINE;
	assert_false(are_there());
	be_asked_after(10);
	file.use++;
	file.inspect_from_ns = 0;
	assert_int_equal(file_facts_late_until(&file), 0);
	assert_false(are_there());
	be_asked_after(10);
}

/* Of a file in memory, for which the loop waits. */
static void who_waits_for_facts_waits_once_in_a_pause(void **state)
{
	(void)state;
	how = WORKER_DEADLINE;
	for (int i = 0; i < 10; i++)
		assert_null(file_facts_get(&file, NULL, (struct tenant){0}));
	assert_int_equal(nr_asked, 1);
	be_asked_after(10);
	fake_now_ns += 20 * SECOND_NS;
	how = WORKER_OK;
	assert_true(file_facts_get(&file, NULL, (struct tenant){0})->is_elf);
	assert_int_equal(nr_asked, 3);
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
		cmocka_unit_test_setup_teardown(a_late_answer_is_not_final, begin, begin),
		cmocka_unit_test_setup_teardown(a_late_decoder_may_die, begin, begin),
		cmocka_unit_test_setup_teardown(another_file_was_never_late, begin,
						begin),
		cmocka_unit_test_setup_teardown(who_waits_for_facts_waits_once_in_a_pause,
						begin, begin),
		cmocka_unit_test_setup_teardown(a_refusal_leaves_it_to_others, begin,
						begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
