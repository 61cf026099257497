// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording whose windows are taken, as top does, in place of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "fake/machine.h"
#include "live/history.h"
#include "record/recorder.h"

#define IP        0x400100
#define MAPPED_AT 0x400000
#define MAX_TAKEN 16

static const struct fake_image program = {.tgid = FAKE_FIRST_PID, .exec_id = 1};

/* What the windows were when they were taken. */
static struct {
	struct window {
		uint64_t counted, missed, wall_ms, tables;
		uint64_t samples, locations, sources;
	} items[MAX_TAKEN];
	size_t nr;
	bool wants_sources;
	size_t nr_asked; /* how often the recorder asked for that */
	struct history *history;
} taken;

static void take(void *ctx, const struct profile *p, uint64_t tables)
{
	uint64_t samples = 0;

	(void)ctx;
	assert_in_range(taken.nr, 0, MAX_TAKEN - 1);
	for (size_t i = 0; i < p->nr_samples; i++)
		samples += (uint64_t)profile_value(p, &p->samples[i], p->count_value);
	taken.items[taken.nr++] = (struct window){
		.counted = p->extra.losses.counted,
		.missed = p->extra.losses.missed,
		.wall_ms = p->extra.wall_ns / FAKE_MS,
		.tables = tables,
		.samples = samples,
		.locations = p->nr_locations,
		.sources = p->extra.nr_sources,
	};
	assert_int_equal(history_add(taken.history, p, tables), 0);
}

static bool wants_sources(void *ctx)
{
	(void)ctx;
	taken.nr_asked++;
	return taken.wants_sources;
}

static int begin(void **state)
{
	(void)state;
	fake_reset();
	memset(&taken, 0, sizeof(taken));
	taken.history = history_new(2);
	return !taken.history;
}

static int end(void **state)
{
	(void)state;
	history_free(taken.history);
	return 0;
}

/* Records the script to its end, with windows of a second. */
static void record(uint64_t memory_bytes)
{
	static const struct window_taker taker = {take, wants_sources, NULL};
	struct sampling o = {
		.window_s = 1, .taker = &taker, .memory_bytes = memory_bytes};
	struct recorder *r = NULL;
	struct error err = {0};

	o.target.whole_machine = true;
	o.source = &cpu_clock_source;
	o.freq_hz = FAKE_HZ;
	if (recorder_new(&o, &r, &err) || recorder_run(r, &err))
		fail_msg("%s", err.text);
	recorder_free(r);
}

static void begin_program(void)
{
	fake_fork(program.start_ms, 1, program.tgid);
	fake_exec(program.start_ms, program.tgid, "program");
	fake_map(program.start_ms, program.tgid, MAPPED_AT, "/bin/program");
	fake_first_sample(program.start_ms + 1, &program);
}

/* Each window has its own samples; addresses of earlier ones keep their numbers. */
static void windows_share_their_tables(void **state)
{
	static const uint64_t counted[] = {1000, 990, 1000, 500};
	static const uint64_t locations[] = {1, 2, 2, 3};
	const struct profile *all;

	(void)state;
	begin_program();
	fake_samples(1, 1001, &program, IP);
	fake_samples(1011, 2001, &program, IP + 1);
	fake_samples(2001, 3001, &program, IP);
	fake_samples(3001, 3501, &program, IP + 2);
	fake_signal(3500, SIGINT);
	record(0);
	assert_int_equal(taken.nr, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct window *w = &taken.items[i];

		assert_int_equal(w->counted, counted[i]);
		assert_int_equal(w->samples, counted[i]);
		assert_int_equal(w->missed, i == 1 ? 10 : 0);
		assert_int_equal(w->wall_ms, i < 3 ? 1000 : 500);
		assert_int_equal(w->locations, locations[i]);
		assert_int_equal(w->tables, taken.items[0].tables);
		assert_int_equal(w->sources, 0);
	}
	/* The last two windows, joined. */
	all = history_profile(taken.history);
	assert_int_equal(all->extra.losses.counted, 1500);
	assert_int_equal(all->extra.wall_ns, 1500 * FAKE_MS);
	assert_int_equal(all->nr_samples, 2);
	assert_int_equal(all->locations[profile_stack(all, &all->samples[0])[0]].address,
			 IP - MAPPED_AT);
	assert_int_equal(all->locations[profile_stack(all, &all->samples[1])[0]].address,
			 IP + 2 - MAPPED_AT);
}

static void fill_memory(void *ctx)
{
	fake.rss_bytes = *(const uint64_t *)ctx;
}

/* When memory is short the tables begin anew, and the taker is told. */
static void full_memory_begins_new_tables(void **state)
{
	static const uint64_t much = 80 << 20, little = 0;

	(void)state;
	begin_program();
	fake_samples(1, 1001, &program, IP);
	fake_samples(1001, 2501, &program, IP + 1);
	fake_call(1250, fill_memory, (void *)&much);
	fake_call(1350, fill_memory, (void *)&little);
	fake_signal(2500, SIGINT);
	record(100 << 20);
	assert_int_equal(taken.nr, 4);
	assert_int_equal(taken.items[1].tables, taken.items[0].tables);
	assert_int_not_equal(taken.items[2].tables, taken.items[0].tables);
	assert_int_equal(taken.items[1].locations, 2);
	assert_int_equal(taken.items[2].locations, 1);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(taken.items[i].samples, taken.items[i].counted);
	assert_int_equal(taken.items[0].samples + taken.items[1].samples +
				 taken.items[2].samples + taken.items[3].samples,
			 2500);
}

/* Texts are read only for windows that want them. */
static void sources_are_asked_for(void **state)
{
	(void)state;
	begin_program();
	fake_samples(1, 2001, &program, IP);
	fake_signal(2000, SIGINT);
	record(0);
	assert_int_equal(taken.nr_asked, taken.nr);
}

/* There is no file that SIGHUP or SIGUSR1 could ask for: they end it as others do. */
static void any_signal_ends_it(void **state)
{
	static const int signals[] = {SIGHUP, SIGUSR1, SIGTERM, SIGINT};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		begin_program();
		fake_samples(1, 3001, &program, IP);
		fake_signal(1500, signals[i]);
		record(0);
		assert_int_equal(taken.nr, 2);
		assert_int_equal(taken.items[1].counted, 500);
		end(state);
		begin(state);
	}
}

#define REPLAY(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		REPLAY(windows_share_their_tables),
		REPLAY(full_memory_begins_new_tables),
		REPLAY(sources_are_asked_for),
		REPLAY(any_signal_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
