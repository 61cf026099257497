// SPDX-License-Identifier: GPL-2.0-or-later
/* What a step of naming may cost, whatever the mappings of a process are. */
#include "record/profile_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"

#define NR_ROWS   100
#define NR_FRAMES 100
#define NOWHERE   UINT64_C(0x1000)
#define MAPPED    UINT64_C(0x100000)

extern uint64_t fake_call_ns;

static struct strpool *pool;
static struct symbolizer *sym;
static struct process proc;
static struct stack_table rows;
static struct profile_builder builder;

/* Full of mappings that ended at 10. */
static void fill_log(void)
{
	struct mapping m = {.kind = MAPPING_FILE, .path = "/a", .from_ns = 1};

	for (uint64_t i = 0; i < MAPS_PAST_MAX; i++) {
		m.start = MAPPED + i * 0x2000;
		m.end = m.start + 0x1000;
		assert_int_equal(maps_add(&proc.maps, &m), 0);
	}
	maps_end_unseen(&proc.maps, 10);
	assert_int_equal(proc.maps.nr_past, MAPS_PAST_MAX);
}

static int begin(void **state)
{
	const struct symbolizer_config config = {.debug_dir = "/none"};
	__u64 ips[NR_FRAMES];
	struct sample s = {.tgid = 100,
			   .exec_id = 1,
			   .status = LB_STACK_COMPLETE,
			   .count = 1,
			   .first_ns = 5,
			   .last_ns = 20,
			   .user_ips = ips,
			   .nr_user = NR_FRAMES};

	(void)state;
	proc = (struct process){.tgid = 100, .root_fd = -1, .until_ns = UINT64_MAX};
	fill_log();
	for (size_t i = 0; i < NR_FRAMES; i++)
		ips[i] = NOWHERE + i;
	for (s.user_hash = 1; s.user_hash <= NR_ROWS; s.user_hash++)
		stack_table_add(&rows, &s, &proc, NULL, 0);
	pool = strpool_new(1 << 20);
	builder = (struct profile_builder){0};
	assert_int_equal(symbolizer_new(&config, pool, NULL, NULL, &sym, NULL), 0);
	builder.symbolizer = sym;
	profile_builder_give(&builder, &rows);
	assert_int_equal(profile_builder_step(&builder, NULL), 1);
	assert_int_equal(builder.work.step, BUILDER_WANT);
	return 0;
}

static int end(void **state)
{
	(void)state;
	profile_builder_deinit(&builder);
	symbolizer_free(sym);
	strpool_free(pool);
	maps_deinit(&proc.maps);
	return 0;
}

static enum miss miss_of(size_t row, size_t frame)
{
	return symbolizer_get(sym, builder.work.ids[row * NR_FRAMES + frame])->miss;
}

/* All look-ups of a stack pass a bounded number of ended mappings, and each stack as many. */
static void a_stack_passes_few_ended_mappings(void **state)
{
	(void)state;
	assert_int_equal(profile_builder_step(&builder, NULL), 1);
	assert_int_equal(builder.work.step, BUILDER_RESOLVE);
	for (size_t row = 0; row < NR_ROWS; row++)
		for (size_t i = 0; i < NR_FRAMES; i++)
			assert_int_equal(miss_of(row, i),
					 i < MAPS_PASSED_MAX / MAPS_PAST_MAX
						 ? MISS_NO_MAPPING
						 : MISS_AMBIGUOUS_TIME);
}

static void stacks_are_looked_up_for_a_few_milliseconds(void **state)
{
	size_t nr_steps = 0;

	(void)state;
	fake_call_ns = 5 * CLOCK_MS_NS;
	while (builder.work.step == BUILDER_WANT) {
		size_t nr = builder.work.next;

		assert_int_equal(profile_builder_step(&builder, NULL), 1);
		assert_in_range(builder.work.next - nr, 1, 4);
		nr_steps++;
	}
	fake_call_ns = 0;
	assert_in_range(nr_steps, NR_ROWS / 4, NR_ROWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_stack_passes_few_ended_mappings, begin,
						end),
		cmocka_unit_test_setup_teardown(
			stacks_are_looked_up_for_a_few_milliseconds, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
