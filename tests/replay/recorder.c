// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The recorder's loop: a script of samples, events, signals and times goes in, profiles
 * come out. The machine has one CPU that is never idle, at 1000 Hz: a sample is due
 * each millisecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"
#include "base/vec.h"
#include "fake/machine.h"
#include "decode/runtimes.h"
#include "process/interp_code.h"
#include "process/maps.h"
#include "profile/labels.h"
#include "profile/pprof.h"
#include "record/recorder.h"

#define IP        0x400100 /* in the mapping at MAPPED_AT */
#define MAPPED_AT 0x400000
#define MAX_FILES 32

static const struct fake_image program = {.tgid = FAKE_FIRST_PID, .exec_id = 1};

static char folder[] = "/tmp/lineburn-replay.XXXXXX";
static char output[PATH_MAX];

/* The files of a recording, ordered by name. */
static struct {
	struct strpool *pool;
	struct profile *profiles[MAX_FILES];
	char *names[MAX_FILES];
	size_t nr;
} files;

static int enter(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(output, sizeof(output), "%s/r.pb.gz", folder);
	return 0;
}

static int leave(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int begin(void **state)
{
	(void)state;
	fake_reset();
	files.pool = strpool_new(1 << 20);
	return !files.pool;
}

static int is_file(const struct dirent *entry)
{
	return *entry->d_name != '.';
}

/* Removes the files of the recording. */
static int end(void **state)
{
	struct dirent **entries = NULL;
	int nr = scandir(folder, &entries, is_file, alphasort);
	char path[PATH_MAX];

	(void)state;
	for (int i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		unlink(path);
		free(entries[i]);
	}
	free(entries);
	for (size_t i = 0; i < files.nr; i++) {
		profile_free(files.profiles[i]);
		free(files.names[i]);
	}
	strpool_free(files.pool);
	memset(&files, 0, sizeof(files));
	return 0;
}

static struct profile *read_profile(const char *name)
{
	_cleanup_free_ char *data = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	struct profile *profile = NULL;
	struct error err = {0};
	char path[PATH_MAX];
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(io_read_all(fileno(file), PPROF_MAX_BYTES, &data, &len), 0);
	if (pprof_read(data, len, name, files.pool, &profile, &err))
		fail_msg("%s: %s", name, err.text);
	return profile;
}

static void read_files(void)
{
	struct dirent **entries = NULL;
	int nr = scandir(folder, &entries, is_file, alphasort);

	assert_in_range(nr, 0, MAX_FILES);
	for (int i = 0; i < nr; i++) {
		files.names[files.nr] = strdup(entries[i]->d_name);
		files.profiles[files.nr++] = read_profile(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

/* Records the script to its end and reads the files. */
static void record(struct sampling o)
{
	struct recorder *r = NULL;
	struct error err = {0};

	o.target.whole_machine = true;
	o.source = &cpu_clock_source;
	o.freq_hz = FAKE_HZ;
	o.output = output;
	o.output_given = true;
	if (recorder_new(&o, &r, &err) || recorder_run(r, &err))
		fail_msg("%s", err.text);
	recorder_free(r);
	read_files();
}

/* Starts a process whose image is known from its start. */
static void begin_program(const struct fake_image *image, const char *path)
{
	fake_fork(image->start_ms, 1, image->tgid);
	fake_exec(image->start_ms, image->tgid, "program");
	fake_map(image->start_ms, image->tgid, MAPPED_AT, path);
	fake_first_sample(image->start_ms + 1, image);
}

#define NR_PYTHONS 50

/* Each process needs a request to the decoder, with a new instruction each second. */
static void run_pythons(uint32_t until_ms)
{
	for (uint32_t i = 0; i < NR_PYTHONS; i++) {
		struct fake_image python = {FAKE_FIRST_PID + 1 + i, 1, 0};

		begin_program(&python, "/bin/python");
		fake_python_code(2, &python, i + 1);
		for (uint32_t at_ms = 10 + i; at_ms < until_ms; at_ms += NR_PYTHONS)
			fake_sample(
				at_ms, &python,
				LB_FRAME_OF(RUNTIME_PYTHON, i + 1, (at_ms - 1) / 1000),
				1);
	}
}

static const struct profile_losses *losses(size_t file)
{
	assert_in_range(file, 0, files.nr - 1);
	return &files.profiles[file]->extra.losses;
}

static uint64_t length_ms(size_t file)
{
	assert_in_range(file, 0, files.nr - 1);
	return files.profiles[file]->extra.wall_ns / FAKE_MS;
}

/* Samples of a profile whose leaf is in the mapping @path; NULL: all samples. */
static uint64_t samples_of(const struct profile *p, const char *path)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		const struct profile_location *l =
			&p->locations[p->sample_locations[s->first_location]];

		if (!path || (l->mapping != PROFILE_NONE &&
			      !strcmp(p->mappings[l->mapping].filename, path)))
			sum += (uint64_t)profile_value(p, s, p->count_value);
	}
	return sum;
}

static bool is_warned(size_t file, const char *text)
{
	const struct profile_extra *extra = &files.profiles[file]->extra;

	for (size_t i = 0; i < extra->nr_warnings; i++)
		if (strstr(extra->warnings[i], text))
			return true;
	return false;
}

/* Each sample has a time within the recording, to a bucket and a drain. */
static void check_times(const struct profile *p)
{
	uint64_t buckets = p->extra.wall_ns / p->times.bucket_ns + 2;

	assert_false(p->times_lost);
	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		uint64_t count = 0;

		for (uint32_t n = s->times.first; n; n = p->times.points[n - 1].next) {
			assert_in_range(
				series_offset(&p->times, p->times.points[n - 1].bucket),
				0, buckets);
			count += p->times.points[n - 1].count;
		}
		assert_int_equal(count, profile_value(p, s, p->count_value));
	}
}

/* Checks for each file that all samples are accounted for, and none twice. */
static void check_sums(void)
{
	for (size_t i = 0; i < files.nr; i++) {
		const struct profile_losses *l = losses(i);

		assert_int_equal(samples_of(files.profiles[i], NULL), l->counted);
		if (files.profiles[i]->nr_samples)
			check_times(files.profiles[i]);
		assert_int_equal(l->counted + l->lost_counts_full + l->lost_internal +
					 l->lost_drain + l->rows_dropped,
				 l->sampled);
		assert_int_equal(l->missed, l->due > l->ran ? l->due - l->ran : 0);
	}
}

/* Longest time between drains while sampling. The last two drains come after it. */
static uint64_t longest_gap_ms(void)
{
	uint64_t longest = fake.flips_ms[0];

	for (size_t i = 1; i + 1 < fake.nr_flips; i++)
		if (fake.flips_ms[i] - fake.flips_ms[i - 1] > longest)
			longest = fake.flips_ms[i] - fake.flips_ms[i - 1];
	return longest;
}

static uint64_t shortest_gap_ms(void)
{
	uint64_t shortest = fake.flips_ms[0];

	for (size_t i = 1; i + 2 < fake.nr_flips; i++)
		if (fake.flips_ms[i] - fake.flips_ms[i - 1] < shortest)
			shortest = fake.flips_ms[i] - fake.flips_ms[i - 1];
	return shortest;
}

/* ---- windows ---- */

static void steal(void *ctx)
{
	fake.stolen_ns += *(const uint64_t *)ctx;
}

/* Each window has its own ticks, missed ticks and steal time. The last ends early. */
static void windows_have_what_is_theirs(void **state)
{
	static const uint64_t counted[] = {1000, 990, 1000, 500},
			      missed[] = {0, 10, 0, 0};
	static const uint64_t stolen[] = {100, 250, 0, 0}, early = 200, late = 50;
	static const char *const names[] = {
		"r.20261121T160000Z.pb.gz", "r.20261121T160001Z.pb.gz",
		"r.20261121T160002Z.pb.gz", "r.20261121T160003Z.pb.gz"};

	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 1500, &program, IP);
	fake_samples(1510, 3501, &program, IP);
	fake_call(500, steal, (void *)&stolen[0]);
	fake_call(1003, steal, (void *)&late); /* while the drain of window 0 reads */
	fake_call(1700, steal, (void *)&early);
	fake_signal(3500, SIGINT);
	fake.drain_ms = 7; /* ticks during a drain belong to the next one */
	record((struct sampling){.window_s = 1});
	assert_int_equal(files.nr, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(files.names[i], names[i]);
		assert_int_equal(losses(i)->counted, counted[i]);
		assert_int_equal(losses(i)->missed, missed[i]);
		assert_int_equal(losses(i)->stolen_ns, stolen[i]);
		assert_int_equal(length_ms(i), i < 3 ? 1000 : 500);
		assert_int_equal(files.profiles[i]->time_nanos,
				 (FAKE_WALL_S + (int64_t)i) * 1000000000);
	}
	check_sums();
}

/*
 * A drain waits for earlier programs, maybe long. Samples and ticks of that time are the
 * next window's.
 */
static void a_window_ends_before_the_wait(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 3001, &program, IP);
	fake_signal(3000, SIGINT);
	fake.grace_ms = 70;
	record((struct sampling){.window_s = 1});
	assert_int_equal(files.nr, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(losses(i)->counted, 1000);
		assert_int_equal(losses(i)->missed, 0);
		assert_int_equal(length_ms(i), 1000);
	}
	check_sums();
}

/* The last window leaves no file for the few milliseconds after it. */
static void a_window_ends_with_the_recording(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 2100, &program, IP);
	record((struct sampling){.window_s = 1, .duration_s = 2});
	assert_int_equal(files.nr, 2);
	assert_int_equal(losses(0)->counted, 1000);
	assert_int_equal(losses(1)->counted, 1000);
	check_sums();
}

static void be_slow(void *ctx)
{
	fake.look_ms = *(const uint32_t *)ctx;
}

/* A late drain makes its window longer, and the next one shorter; the file warns. */
static void a_late_drain_ends_its_window_only(void **state)
{
	static const uint32_t slow = 400, fast = 0;

	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 3001, &program, IP);
	fake_call(999, be_slow, (void *)&slow);
	fake_call(1200, be_slow, (void *)&fast);
	fake_signal(3000, SIGTERM);
	record((struct sampling){.window_s = 1});
	assert_int_equal(files.nr, 3);
	assert_int_equal(shortest_gap_ms(), 100);
	assert_int_equal(length_ms(0), 1400);
	assert_int_equal(length_ms(1), 600);
	assert_int_equal(length_ms(2), 1000);
	assert_int_equal(losses(0)->counted, 1400);
	assert_int_equal(losses(1)->counted, 600);
	assert_true(is_warned(0, "Samples waited in the kernel for up to 0.5 s"));
	assert_false(is_warned(1, "Samples waited"));
	check_sums();
}

static void sampling_begins_behind_the_delay(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 1001, &program, IP);
	fake_signal(1000, SIGINT);
	record((struct sampling){.delay_s = 0.4});
	assert_int_equal(files.nr, 1);
	assert_int_equal(losses(0)->counted, 600);
	assert_int_equal(length_ms(0), 600);
	assert_int_equal(files.profiles[0]->time_nanos,
			 FAKE_WALL_S * 1000000000 + 400000000);
}

struct waiting {
	int fd;
	char said[16];
};

static void nothing_is_said_yet(void *ctx)
{
	struct waiting *w = ctx;

	assert_int_equal(read(w->fd, w->said, sizeof(w->said)), -1);
	assert_int_equal(errno, EAGAIN);
}

static void all_is_said(void *ctx)
{
	struct waiting *w = ctx;

	assert_int_equal(read(w->fd, w->said, sizeof(w->said)), 6);
	assert_memory_equal(w->said, "ready\n", 6);
	assert_int_equal(read(w->fd, w->said, sizeof(w->said)), 0);
}

static void who_waits_is_told_when_sampling_begins(void **state)
{
	struct waiting w;
	int pipe_fds[2];

	(void)state;
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
	w.fd = pipe_fds[0];
	begin_program(&program, "/bin/program");
	fake_samples(1, 1001, &program, IP);
	fake_call(390, nothing_is_said_yet, &w);
	fake_call(600, all_is_said, &w);
	fake_signal(1000, SIGINT);
	record((struct sampling){.delay_s = 0.4, .ready_fd = pipe_fds[1]});
	assert_int_equal(files.nr, 1);
	close(pipe_fds[0]);
}

/* ---- losses ---- */

static const struct loss {
	size_t offset; /* of the member of struct profile_losses */
	enum lb_counter counter; /* of the kernel side, if total is NULL */
	uint64_t *total; /* of another part; NULL: see counter */
} all_losses[] = {
#define BY_COUNTER(name, ctr)                                    \
	{                                                        \
		offsetof(struct profile_losses, name), ctr, NULL \
	}
#define BY_TOTAL(name, total)                                         \
	{                                                             \
		offsetof(struct profile_losses, name), 0, &fake.total \
	}
#define BY_WORKER(number)                                              \
	BY_TOTAL(decoder_deaths, worker[number].nr_died),              \
		BY_TOTAL(decoder_deaths, worker[number].nr_bad_reply), \
		BY_TOTAL(decoder_deadlines, worker[number].nr_deadline)
	BY_COUNTER(lost_counts_full, LB_CTR_LOST_COUNTS_FULL),
	BY_COUNTER(lost_internal, LB_CTR_LOST_INTERNAL),
	BY_COUNTER(lost_drain, LB_CTR_COUNTED), /* counted samples that no row has */
	BY_COUNTER(no_body, LB_CTR_NO_BODY),
	BY_TOTAL(no_body, totals.bodies_missing),
	BY_COUNTER(user_truncated, LB_CTR_USER_TRUNCATED),
	BY_COUNTER(kern_truncated, LB_CTR_KERN_TRUNCATED),
	BY_COUNTER(kern_failed, LB_CTR_KERN_FAILED),
	BY_COUNTER(idle, LB_CTR_IDLE),
	BY_COUNTER(other, LB_CTR_OTHER),
	BY_COUNTER(first_dropped, LB_CTR_FIRST_DROPPED),
	BY_TOTAL(processes_dropped, totals.targets_dropped),
	BY_TOTAL(processes_dropped, totals.cgroups_too_deep),
	BY_TOTAL(processes_dropped, targets_refused),
	BY_TOTAL(lost_events, totals.tasks_missed),
	BY_WORKER(FAKE_NAMER),
	BY_WORKER(FAKE_DECODER),
	BY_WORKER(FAKE_READER),
	BY_TOTAL(jit_objects_lost, jit.nr_lost),
	BY_TOTAL(jit_objects_foreign, jit.nr_foreign),
	BY_TOTAL(unwind_requests_dropped, unwind.nr_requests_dropped),
	BY_TOTAL(unwind_pages_evicted, unwind.nr_pages_evicted),
	BY_TOTAL(unwind_pages_refused, unwind.nr_pages_refused),
	BY_TOTAL(unwind_rules_refused, unwind.nr_rules_refused),
	BY_TOTAL(unwind_segments_refused, unwind.nr_segments_refused),
	BY_TOTAL(unwind_processes_refused, unwind.nr_processes_refused),
	BY_TOTAL(unwind_files_failed, unwind.nr_failed),
	BY_TOTAL(pythons_unknown, unwind.nr_interps_refused),
	BY_COUNTER(unwind_requests_dropped, LB_CTR_REQUEST_DROPPED),
	BY_COUNTER(guessed_frames, LB_CTR_GUESSED_FRAMES),
	BY_COUNTER(python_stale, LB_CTR_PYTHON_STALE),
	BY_COUNTER(python_faults, LB_CTR_PYTHON_FAULT),
	BY_COUNTER(python_codes_lost, LB_CTR_CODE_DROPPED),
};

/* A number of losses that differs between the windows. */
static uint64_t nr_lost(size_t loss, size_t window)
{
	return loss + 3 + 7 * window;
}

static bool is_of_sampled(enum lb_counter counter)
{
	return counter == LB_CTR_LOST_COUNTS_FULL || counter == LB_CTR_LOST_INTERNAL ||
	       counter == LB_CTR_COUNTED;
}

static void lose(void *ctx)
{
	size_t window = *(const size_t *)ctx;

	for (size_t i = 0; i < ARRAY_SIZE(all_losses); i++) {
		const struct loss *loss = &all_losses[i];
		uint64_t nr = nr_lost(i, window);

		if (loss->total) {
			*loss->total += nr;
			continue;
		}
		fake.slot.n[loss->counter] += nr;
		if (is_of_sampled(loss->counter))
			fake.slot.n[LB_CTR_SAMPLED] += nr;
	}
}

static void losses_are_told_in_their_window(void **state)
{
	static const size_t windows[] = {0, 1};

	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 2501, &program, IP);
	fake_call(500, lose, (void *)&windows[0]);
	fake_call(1500, lose, (void *)&windows[1]);
	fake_lost_events(500, 5);
	fake_lost_events(1500, 6);
	fake_signal(2500, SIGINT);
	record((struct sampling){.window_s = 1});
	assert_int_equal(files.nr, 3);
	for (size_t window = 0; window < 2; window++) {
		struct profile_losses want = {.lost_events = 5 + window};

		for (size_t i = 0; i < ARRAY_SIZE(all_losses); i++)
			*(uint64_t *)((char *)&want + all_losses[i].offset) +=
				nr_lost(i, window);
		for (size_t i = 0; i < ARRAY_SIZE(all_losses); i++) {
			size_t at = all_losses[i].offset;

			if (*(const uint64_t *)((const char *)losses(window) + at) !=
			    *(const uint64_t *)((const char *)&want + at))
				fail_msg("window %zu: loss %zu", window, i);
			assert_int_equal(
				*(const uint64_t *)((const char *)losses(2) + at), 0);
		}
		assert_int_equal(losses(window)->lost_events, want.lost_events);
		assert_int_equal(losses(window)->counted, 1000);
	}
	check_sums();
}

/* Code objects for which the process table has no room are counted as lost. */
static void codes_beyond_the_maximum_are_told(void **state)
{
	(void)state;
	begin_program(&program, "/bin/python");
	for (uint32_t id = 1; id <= INTERP_MAX_CODES + 3; id++)
		fake_python_code(2, &program, id);
	fake_samples(1, 1501, &program, IP);
	fake_signal(1500, SIGINT);
	record((struct sampling){.window_s = 1});
	assert_int_equal(files.nr, 2);
	assert_int_equal(losses(0)->python_codes_lost, 3);
	assert_int_equal(losses(1)->python_codes_lost, 0);
}

/* Files that cannot be opened have an entry each: four times the descriptor limit. */
static void files_beyond_the_maximum_are_told(void **state)
{
	char paths[40][16];

	(void)state;
	begin_program(&program, "/bin/program");
	for (uint64_t i = 0; i < ARRAY_SIZE(paths); i++) {
		uint64_t at = UINT64_C(0x10000000) + (i << 20);

		snprintf(paths[i], sizeof(paths[i]), "/lib/%u", (unsigned int)i);
		fake_map(1, program.tgid, at, paths[i]);
		fake_sample(10, &program, at + 0x100, 1);
	}
	fake_samples(1000, 1501, &program, IP);
	fake_signal(1500, SIGINT);
	record((struct sampling){.window_s = 1, .limits.files = 8});
	assert_int_equal(files.nr, 2);
	/* At least: a root of each mount namespace of this machine takes a descriptor, too. */
	assert_true(losses(0)->files_dropped >= 1 + ARRAY_SIZE(paths) - 4 * 8);
	assert_int_equal(losses(1)->files_dropped, 0);
	check_sums();
}

/* A program may map what it likes. The mappings over the limit have no names. */
static void mappings_beyond_the_maximum_are_told(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	for (uint64_t i = 0; i < MAPS_LIVE_MAX + 5; i++)
		fake_map(1, program.tgid, UINT64_C(0x10000000) + (i << 21), "/lib/x");
	fake_samples(10, 1501, &program, IP);
	fake_signal(1500, SIGINT);
	record((struct sampling){.window_s = 1});
	assert_int_equal(files.nr, 2);
	assert_in_range(losses(0)->mappings_dropped, 5, 8);
	assert_int_equal(losses(1)->mappings_dropped, 0);
	check_sums();
}

static void addresses_beyond_the_maximum_are_told(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	for (uint32_t at_ms = 1; at_ms <= 30; at_ms++)
		fake_sample(at_ms, &program, IP + at_ms, 1);
	fake_samples(1000, 1501, &program, IP + 1);
	fake_signal(1500, SIGINT);
	record((struct sampling){.window_s = 1, .limits.addresses = 20});
	assert_int_equal(files.nr, 2);
	assert_int_equal(losses(0)->addresses_dropped, 10);
	assert_int_equal(losses(1)->addresses_dropped, 0);
	check_sums();
}

/*
 * Samples without room for a name are kept under a name that says so. How many names
 * fit depends on the machine that runs the test: its processes are scanned at the
 * start.
 */
static void record_names_beyond(struct sampling o)
{
	char paths[100][128];
	uint64_t nr;

	begin_program(&program, "/bin/program");
	for (uint64_t i = 0; i < ARRAY_SIZE(paths); i++) {
		uint64_t at = UINT64_C(0x10000000) + (i << 20);

		snprintf(paths[i], sizeof(paths[i]), "/lib/%0100u", (unsigned int)i);
		fake_map(1, program.tgid, at, paths[i]);
		fake_sample(10, &program, at + 0x100, 1);
	}
	fake_signal(500, SIGINT);
	record(o);
	assert_int_equal(files.nr, 1);
	nr = samples_of(files.profiles[0], "[too many names]");
	assert_in_range(nr, 10, losses(0)->counted);
	assert_true(losses(0)->names_dropped >= nr);
	check_sums();
}

static void names_beyond_the_maximum_are_told(void **state)
{
	(void)state;
	record_names_beyond((struct sampling){.limits.name_bytes = 10000});
}

static void names_have_half_of_the_memory(void **state)
{
	(void)state;
	record_names_beyond((struct sampling){.memory_bytes = 20000});
}

#define MANY_STACKS    100000
#define MANY_PROCESSES 10000

/* Each stack once in a drain, in @*ctx drains. */
static uint64_t deliver_many(void *ctx, const struct sampler_handlers *handlers)
{
	uint32_t *nr_drains = ctx;

	if (!*nr_drains)
		return 0;
	--*nr_drains;
	for (uint32_t i = 0; i < MANY_STACKS; i++) {
		__u64 ips[] = {IP + i, IP + i % 100, IP + i % 10};
		struct sample sample = {
			.start_boottime_ns = FAKE_BEGIN_NS,
			.tgid = FAKE_FIRST_PID + i % MANY_PROCESSES,
			.exec_id = 1,
			.count = 1,
			.values = {1000000},
			.first_ns = fake.now_ns,
			.last_ns = fake.now_ns,
			.user_hash = i + 1,
			.user_ips = ips,
			.nr_user = ARRAY_SIZE(ips),
		};

		handlers->sample(handlers->ctx, &sample);
	}
	return MANY_STACKS;
}

/* The first @nr of the many processes run; the others are unknown. */
static void begin_many(uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		begin_program(&(struct fake_image){FAKE_FIRST_PID + i, 1, 0},
			      "/bin/program");
}

/* A hundred thousand stacks of ten thousand processes: all are there, and only once. */
static void many_stacks_are_counted(void **state)
{
	uint32_t nr_drains = 3;

	(void)state;
	begin_many(MANY_PROCESSES);
	fake.rows = deliver_many;
	fake.rows_ctx = &nr_drains;
	fake_signal(500, SIGINT);
	record((struct sampling){0});
	assert_int_equal(files.nr, 1);
	assert_int_equal(files.profiles[0]->nr_samples, MANY_STACKS);
	assert_int_equal(losses(0)->counted, 3 * MANY_STACKS);
	assert_int_equal(losses(0)->addresses_dropped, 0);
	check_sums();
}

/*
 * Limits that they exceed are told: the memory of the rows that wait while a file is
 * written, and the number of addresses. Samples whose addresses are over the limit are
 * counted.
 */
static void many_stacks_beyond_the_limits_are_told(void **state)
{
	uint32_t nr_drains = 15;

	(void)state;
	begin_many(MANY_PROCESSES);
	fake.rows = deliver_many;
	fake.rows_ctx = &nr_drains;
	fake.write_ms = 450;
	fake_signal(1600, SIGINT);
	/* Half of the memory is for the waiting rows: room for some 80,000. */
	record((struct sampling){
		.window_s = 1, .memory_bytes = 32 << 20, .limits.addresses = 40000});
	assert_int_equal(files.nr, 2);
	assert_int_equal(losses(0)->sampled, 10 * MANY_STACKS);
	assert_int_equal(losses(0)->rows_dropped, 0);
	assert_int_equal(losses(0)->counted, 10 * MANY_STACKS);
	assert_true(losses(0)->addresses_dropped >= MANY_STACKS - 40000);
	assert_int_equal(losses(1)->sampled, 5 * MANY_STACKS);
	/* Four drains came while the first file was written. */
	assert_in_range(losses(1)->rows_dropped, 4 * 10000, 4 * 60000);
	check_sums();
}

/* ---- attribution of samples to images ---- */

/*
 * A process that ends during its exec has no user stack and no name, and is told of. A
 * kernel thread is not.
 */
static void processes_without_a_name_are_told(void **state)
{
	struct fake_image brief = {FAKE_FIRST_PID, 1, 100},
			  kthread = {FAKE_FIRST_PID + 1, 0, 100};

	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(110, 200, &program, IP);
	fake_sample(150, &brief, 0, 3);
	fake_sample(150, &kthread, 0, 5);
	fake_signal(1000, SIGINT);
	record((struct sampling){0});
	assert_true(is_warned(0, "1 process lived too briefly to be named (3 samples)."));
	check_sums();
}

/* Three programs with one pid and address: an exec, then a new process. */
static void samples_go_to_their_image(void **state)
{
	struct fake_image first = {FAKE_FIRST_PID, 1, 100},
			  second = {FAKE_FIRST_PID, 2, 100},
			  third = {FAKE_FIRST_PID, 1, 600};

	(void)state;
	begin_program(&first, "/bin/first");
	fake_samples(110, 200, &first, IP);
	fake_exec(300, second.tgid, "second");
	fake_map(300, second.tgid, MAPPED_AT, "/bin/second");
	fake_samples(310, 370, &second, IP);
	fake_exit(450, second.tgid);
	begin_program(&third, "/bin/third");
	fake_samples(610, 640, &third, IP);
	fake_signal(5000, SIGINT);
	fake.interval_ms = 1000; /* one drain reads the samples of all three */
	record((struct sampling){0});
	assert_int_equal(files.nr, 1);
	assert_int_equal(samples_of(files.profiles[0], "/bin/first"), 90);
	assert_int_equal(samples_of(files.profiles[0], "/bin/second"), 60);
	assert_int_equal(samples_of(files.profiles[0], "/bin/third"), 30);
	assert_int_equal(losses(0)->counted, 180);
}

static uint64_t samples_of_user(const struct profile *p, const char *user)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		for (uint32_t k = 0; k < s->nr_labels; k++) {
			const struct profile_label *l = &p->labels[s->first_label + k];

			if (!strcmp(l->key, LABEL_USER) && !strcmp(l->str, user))
				sum += (uint64_t)profile_value(p, s, p->count_value);
		}
	}
	return sum;
}

/* The user of a row; LB_NO_ID: the row has none. */
static void deliver_of(const struct sampler_handlers *handlers, uint32_t uid,
		       uint64_t count)
{
	__u64 ip = IP;
	struct sample sample = {
		.start_boottime_ns = FAKE_BEGIN_NS,
		.tgid = program.tgid,
		.exec_id = program.exec_id,
		.count = count,
		.values = {count * 1000000},
		.first_ns = fake.now_ns,
		.last_ns = fake.now_ns,
		.user_hash = uid,
		.user_ips = &ip,
		.nr_user = 1,
		.uid = uid,
		.has_uid = uid != LB_NO_ID,
	};

	handlers->sample(handlers->ctx, &sample);
}

/* Both users had it in one drain, before which the second one was told. */
static uint64_t deliver_two_users(void *ctx, const struct sampler_handlers *handlers)
{
	struct lb_first_sample first = {.start_boottime_ns = FAKE_BEGIN_NS,
					.time_ns = fake.now_ns,
					.tgid = program.tgid,
					.exec_id = program.exec_id,
					.ids = {.uid = 1000, .gid = 1000}};
	bool *is_done = ctx;

	if (*is_done)
		return 0;
	*is_done = true;
	handlers->first_sample(handlers->ctx, &first);
	first.ids.uid = 1001;
	handlers->first_sample(handlers->ctx, &first);
	deliver_of(handlers, 1000, 80);
	deliver_of(handlers, 1001, 20);
	deliver_of(handlers, LB_NO_ID, 3);
	return 103;
}

/* A program that is another user's since, without an exec. */
static void samples_go_to_their_user(void **state)
{
	bool is_done = false;

	(void)state;
	begin_program(&program, "/bin/program");
	fake.rows = deliver_two_users;
	fake.rows_ctx = &is_done;
	fake_signal(1000, SIGINT);
	record((struct sampling){0});
	assert_int_equal(samples_of_user(files.profiles[0], "1000"), 80);
	assert_int_equal(samples_of_user(files.profiles[0], "1001"), 20 + 3);
	assert_int_equal(losses(0)->counted, 103);
}

/* The exec event comes after the read of events, before the program's first sample. */
static void an_exec_is_told_late(void **state)
{
	static const uint32_t slow = 10, fast = 0;
	struct fake_image before = {FAKE_FIRST_PID, 1, 100},
			  after = {FAKE_FIRST_PID, 2, 100};

	(void)state;
	fake_fork(100, 1, before.tgid);
	fake_exec(100, before.tgid, "before");
	fake_map(100, before.tgid, MAPPED_AT, "/bin/before");
	fake_call(199, be_slow, (void *)&slow);
	fake_exec(205, after.tgid, "after");
	fake_map(205, after.tgid, MAPPED_AT, "/bin/after");
	fake_first_sample(207, &after);
	fake_samples(207, 307, &after, IP);
	fake_call(400, be_slow, (void *)&fast);
	fake_signal(1000, SIGINT);
	record((struct sampling){0});
	assert_int_equal(samples_of(files.profiles[0], "/bin/after"), 100);
}

static void miss(void *ctx)
{
	(void)ctx;
	fake.totals.tasks_missed++;
}

/*
 * The drain that sees that a program was skipped looks for the rule of a child whose fork
 * was told with that drain. It has ended, so it does not get one.
 */
static void a_skipped_fork_is_looked_for(void **state)
{
	const uint32_t child = FAKE_FIRST_PID + 1;
	size_t nr = 0;

	(void)state;
	fake.target = FAKE_FIRST_PID;
	begin_program(&program, "/bin/program");
	fake_fork(250, program.tgid, child);
	fake_call(450, miss, NULL);
	fake_fork(650, 1, child + 1);
	fake_signal(1000, SIGINT);
	record((struct sampling){0});
	for (size_t i = 0; i < fake.nr_rules_asked; i++) {
		assert_in_range(fake.rules_asked[i].tgid, FAKE_FIRST_PID, child);
		if (fake.rules_asked[i].tgid != child)
			continue;
		assert_int_equal(fake.rules_asked[i].at_ms, 500);
		nr++;
	}
	assert_int_equal(nr, 1);
}

/* A new mapping takes an address: rows of drains before and after it stay apart. */
static void an_address_changes_its_owner(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 90, &program, IP);
	fake_map(150, program.tgid, MAPPED_AT, "/lib/loaded");
	fake_samples(210, 250, &program, IP);
	fake_signal(1000, SIGINT);
	record((struct sampling){0});
	assert_int_equal(samples_of(files.profiles[0], "/bin/program"), 89);
	assert_int_equal(samples_of(files.profiles[0], "/lib/loaded"), 40);
}

/* ---- signals ---- */

/* The file has no samples, of no time, which is that of the end. */
static void int_comes_before_sampling(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 1001, &program, IP);
	fake_signal(500, SIGINT);
	record((struct sampling){.delay_s = 10});
	assert_int_equal(files.nr, 1);
	assert_int_equal(losses(0)->counted, 0);
	assert_int_equal(length_ms(0), 0);
	assert_int_equal(files.profiles[0]->time_nanos,
			 FAKE_WALL_S * 1000000000 + 500000000);
}

static struct profile *snapshot;

static void take_snapshot(void *ctx)
{
	snapshot = read_profile(ctx);
}

/* A snapshot has the samples until then. The end writes the file again with all. */
static void usr1_writes_the_file_so_far(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 1001, &program, IP);
	fake_signal(450, SIGUSR1);
	fake_call(500, take_snapshot, "r.pb.gz");
	fake_signal(1000, SIGINT);
	record((struct sampling){0});
	assert_int_equal(snapshot->extra.losses.counted, 450);
	assert_int_equal(samples_of(snapshot, NULL), 450);
	assert_int_equal(snapshot->extra.wall_ns / FAKE_MS, 450);
	assert_int_equal(files.nr, 1);
	assert_int_equal(losses(0)->counted, 1000);
	assert_int_equal(length_ms(0), 1000);
	/* Comments of the profile are not duplicated by the snapshot. */
	assert_true(snapshot->nr_comments > 0);
	assert_int_equal(files.profiles[0]->nr_comments, snapshot->nr_comments);
	profile_free(snapshot);
	check_sums();
}

/* If the end comes before the snapshot is written, only the final file is written. */
static void usr1_comes_before_the_end(void **state)
{
	(void)state;
	run_pythons(1001);
	fake.name_ms = 30;
	fake_signal(900, SIGUSR1);
	fake_signal(1000, SIGINT);
	record((struct sampling){0});
	assert_int_equal(fake.nr_writes, 1);
	assert_int_equal(files.nr, 1);
	check_sums();
}

/* A snapshot is written to the file of its window, which has all samples at its end. */
static void usr1_shows_the_window(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 2001, &program, IP);
	fake_signal(1450, SIGUSR1);
	fake_call(1500, take_snapshot, "r.20261121T160000Z.pb.gz");
	fake_signal(2000, SIGINT);
	record((struct sampling){.window_s = 10});
	assert_int_equal(snapshot->extra.losses.counted, 1450);
	profile_free(snapshot);
	assert_int_equal(files.nr, 1);
	assert_int_equal(losses(0)->counted, 2000);
	check_sums();
}

/*
 * A signal while the names of the end are looked up: all samples are written, in both
 * files, and those without names say so. The decoder is asked no more.
 */
static void a_second_signal_skips_names(void **state)
{
	(void)state;
	run_pythons(2001);
	fake.name_ms = 30;
	fake_signal(1500, SIGINT);
	fake_signal(1900, SIGTERM);
	record((struct sampling){.window_s = 1});
	assert_int_equal(files.nr, 2);
	assert_int_equal(losses(0)->counted + losses(1)->counted, 1491);
	assert_in_range(fake.nr_requests, 1, NR_PYTHONS - 1);
	assert_in_range(fake.writes_ms[0], 1900, 1929);
	assert_int_equal(fake.writes_ms[1], fake.writes_ms[0]);
	assert_true(is_warned(0, "a signal asked for the end while"));
	assert_true(is_warned(1, "a signal asked for the end while"));
	check_sums();
}

/* Nor do signals that came before, or say nothing new. */
static void other_signals_skip_no_names(void **state)
{
	(void)state;
	run_pythons(1001);
	fake.name_ms = 30;
	fake_signal(1000, SIGINT);
	fake_signal(1000, SIGINT);
	fake_signal(1200, SIGHUP);
	fake_signal(1300, SIGUSR1);
	fake_signal(1400, SIGCHLD);
	record((struct sampling){0});
	assert_int_equal(fake.nr_requests, NR_PYTHONS);
	assert_int_equal(files.nr, 1);
	assert_false(is_warned(0, "a signal asked for the end while"));
	check_sums();
}

/* A file that is written is waited for, and has all names. */
static void a_signal_comes_while_the_file_is_written(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 1001, &program, IP);
	fake.write_ms = 2450;
	fake_signal(1000, SIGINT);
	fake_signal(1100, SIGHUP);
	fake_signal(2000, SIGINT);
	record((struct sampling){0});
	assert_int_equal(fake.nr_writes, 1);
	assert_int_equal(files.nr, 1);
	assert_int_equal(losses(0)->counted, 1000);
	assert_in_range(fake_now_ms(), 3450, 3500);
	assert_false(is_warned(0, "a signal asked for the end while"));
	check_sums();
}

static void hup_begins_a_new_file(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 1001, &program, IP);
	fake_signal(400, SIGHUP);
	fake_signal(1000, SIGINT);
	record((struct sampling){0});
	assert_int_equal(files.nr, 2);
	assert_string_equal(files.names[0], "r.20261121T160000Z.pb.gz");
	assert_string_equal(files.names[1], "r.pb.gz");
	assert_int_equal(losses(0)->counted, 400);
	assert_int_equal(losses(1)->counted, 600);
	assert_int_equal(length_ms(1), 600);
	check_sums();
}

/* ---- slow writes and slow naming ---- */

/* Drains go on while a file is written. Their samples are in the next file. */
static void a_slow_disk_holds_up_no_drain(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 5001, &program, IP);
	fake.write_ms = 2450;
	fake_signal(5000, SIGINT);
	record((struct sampling){.window_s = 1});
	assert_int_equal(longest_gap_ms(), 100);
	assert_int_equal(fake.nr_writes, 3);
	assert_int_equal(fake.writes_ms[0], 1000);
	assert_int_equal(fake.writes_ms[1], 3450);
	assert_int_equal(files.nr, 3);
	assert_int_equal(losses(0)->counted, 1000);
	assert_int_equal(losses(1)->counted, 2450);
	assert_int_equal(losses(2)->counted, 1550);
	assert_int_equal(length_ms(0) + length_ms(1) + length_ms(2), 5000);
	check_sums();
}

static void set_file_limit(void *ctx)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = ctx ? 0 : limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* Samples of a file that could not be written are in the next file that can. */
static void samples_of_a_file_that_fails_are_kept(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 4001, &program, IP);
	fake_call(900, set_file_limit, &output);
	fake_call(2500, set_file_limit, NULL);
	fake_signal(4000, SIGINT);
	record((struct sampling){.window_s = 1});
	assert_int_equal(fake.nr_writes, 4);
	assert_int_equal(files.nr, 2);
	assert_int_equal(losses(0)->counted, 3000);
	assert_int_equal(length_ms(0), 3000);
	assert_int_equal(losses(1)->counted, 1000);
	assert_int_equal(files.profiles[0]->extra.nr_warnings,
			 files.profiles[1]->extra.nr_warnings);
	check_sums();
}

static void fill_memory(void *ctx)
{
	fake.rss_bytes = *(const uint64_t *)ctx;
}

/*
 * If memory is short, samples of a file that could not be written are dropped; the next
 * file says so.
 */
static void samples_of_a_file_that_fails_take_memory(void **state)
{
	static const uint64_t much = 80 << 20;

	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 1001, &program, IP);
	fake_call(250, set_file_limit, &output);
	fake_call(250, fill_memory, (void *)&much);
	fake_call(350, set_file_limit, NULL);
	fake_signal(1000, SIGINT);
	record((struct sampling){.memory_bytes = 100 << 20});
	assert_int_equal(files.nr, 1);
	assert_int_equal(losses(0)->counted, 700);
	assert_true(is_warned(0, "300 samples before these are lost"));
}

/* When the profile takes too much memory its file is written and a new one begins. */
static void memory_ends_a_window(void **state)
{
	static const uint64_t much = 80 << 20;

	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 1001, &program, IP);
	fake_call(250, fill_memory, (void *)&much);
	fake.write_ms = 450; /* memory is still full at the next drains */
	fake_signal(1000, SIGINT);
	record((struct sampling){.memory_bytes = 100 << 20});
	assert_int_equal(files.nr, 2);
	assert_int_equal(fake.nr_writes, 2);
	assert_int_equal(losses(0)->counted, 300);
	assert_int_equal(length_ms(0), 300);
	assert_int_equal(losses(1)->counted, 700);
	check_sums();
}

/* All files of a window count as one, and have its name. */
static void files_of_a_full_memory_are_of_their_window(void **state)
{
	static const uint64_t much = 80 << 20;

	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 3001, &program, IP);
	fake_call(1250, fill_memory, (void *)&much);
	fake_signal(3000, SIGINT);
	record((struct sampling){
		.window_s = 1, .memory_bytes = 100 << 20, .keep_windows = 2});
	assert_int_equal(files.nr, 3);
	assert_int_equal(losses(0)->counted, 300);
	assert_int_equal(losses(1)->counted, 700);
	assert_int_equal(losses(2)->counted, 1000);
	assert_null(strstr(files.names[0], "_02"));
	assert_non_null(strstr(files.names[1], "_02"));
	assert_null(strstr(files.names[2], "_02"));
}

/* Rows that wait while a file is written are bounded. */
static void rows_beside_a_file_are_bounded(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	for (uint32_t at_ms = 1; at_ms <= 3000; at_ms++)
		fake_sample(at_ms, &program, IP + at_ms, 1);
	fake.write_ms = 450;
	fake_signal(3000, SIGINT);
	record((struct sampling){.window_s = 1, .memory_bytes = 64 << 10});
	assert_int_equal(files.nr, 3);
	assert_int_equal(losses(0)->rows_dropped, 0);
	for (size_t i = 1; i < 3; i++) {
		assert_int_equal(losses(i)->sampled, 1000);
		/* of the 400 rows drained while the previous file was written */
		assert_in_range(losses(i)->rows_dropped, 200, 400);
	}
	check_sums();
}

/*
 * Rows that wait for a busy decoder are bounded; dropped ones count in the next window.
 */
static void rows_beside_a_slow_decoder_are_bounded(void **state)
{
	struct fake_image python = {FAKE_FIRST_PID + 1, 1, 0};

	(void)state;
	begin_program(&program, "/bin/program");
	begin_program(&python, "/bin/python");
	fake_python_code(2, &python, 1);
	for (uint32_t at_ms = 1; at_ms <= 3000; at_ms++) {
		if (at_ms % 1000 == 500)
			fake_sample(at_ms, &python,
				    LB_FRAME_OF(RUNTIME_PYTHON, 1, at_ms / 1000), 1);
		else
			fake_sample(at_ms, &program, IP + at_ms, 1);
	}
	fake.name_ms = 450;
	fake_signal(3000, SIGINT);
	record((struct sampling){.window_s = 1, .memory_bytes = 64 << 10});
	assert_int_equal(files.nr, 3);
	assert_int_equal(losses(0)->rows_dropped, 0);
	for (size_t i = 1; i < 3; i++)
		assert_in_range(losses(i)->rows_dropped, 200, 400);
	check_sums();
}

/* Naming takes 1.5 s, but no drain is late. */
static void drains_come_between_the_steps_of_naming(void **state)
{
	(void)state;
	run_pythons(4001);
	fake.name_ms = 30;
	fake_signal(4000, SIGINT);
	record((struct sampling){.window_s = 1});
	assert_true(fake.nr_requests >= 3 * NR_PYTHONS);
	assert_int_equal(fake.writes_ms[0], 1000 + NR_PYTHONS * 30);
	assert_int_equal(longest_gap_ms(), 100);
	assert_int_equal(length_ms(0), 1000);
	assert_int_equal(losses(0)->counted, 991);
	assert_int_equal(losses(0)->counted + losses(1)->counted + losses(2)->counted,
			 3991);
	check_sums();
}

/*
 * One file takes the decoder 2.5 s. No drain is late, events and snapshots go on, and
 * samples taken meanwhile have their process.
 */
static void a_slow_decoder_holds_up_no_drain(void **state)
{
	struct fake_image python = {FAKE_FIRST_PID, 1, 0},
			  brief = {FAKE_FIRST_PID + 1, 1, 1500};

	(void)state;
	begin_program(&python, "/bin/python");
	fake_python_code(2, &python, 1);
	for (uint32_t at_ms = 3; at_ms <= 4000; at_ms++)
		fake_sample(at_ms, &python, LB_FRAME_OF(RUNTIME_PYTHON, 1, 0), 1);
	begin_program(&brief, "/bin/brief");
	fake_samples(1510, 1520, &brief, IP);
	fake_exit(1550, brief.tgid);
	fake.name_ms = 2500;
	fake_signal(1200, SIGUSR1);
	fake_signal(4000, SIGINT);
	record((struct sampling){.window_s = 1});
	assert_int_equal(longest_gap_ms(), 100);
	assert_in_range(fake.longest_answer_ms, 0, 10);
	assert_int_equal(fake.writes_ms[0], 1000 + 2500);
	assert_int_equal(files.nr, 3);
	assert_int_equal(length_ms(0), 1000);
	assert_int_equal(losses(0)->counted, 998);
	assert_int_equal(losses(0)->decoder_deadlines, 1);
	assert_int_equal(samples_of(files.profiles[1], "/bin/brief"), 10);
	assert_int_equal(losses(1)->lost_events + losses(2)->lost_events, 0);
	assert_int_equal(losses(0)->counted + losses(1)->counted + losses(2)->counted,
			 3998 + 10);
	check_sums();
}

/* The decoder that the kernel side waits for takes two seconds for each file of a user. */
static void slow_unwind_rows_hold_up_no_drain(void **state)
{
	(void)state;
	fake.rows_ms = 2000;
	fake_exec(0, program.tgid, "program");
	fake_map(0, program.tgid, MAPPED_AT, "/no/such/file");
	for (uint32_t i = 0; i < 8; i++) {
		struct fake_image other = {.tgid = FAKE_FIRST_PID + 1 + i, .exec_id = 1};

		fake_exec(1, other.tgid, "other");
		fake_first_sample(150 + i, &other);
	}
	fake_samples(0, 20000, &program, IP);
	record((struct sampling){.duration_s = 20});
	assert_int_equal(losses(0)->counted, 20000);
	/* A request waits for its answer for 20 ms at most. */
	assert_in_range(longest_gap_ms(), 100, 120);
	/* The user is put off after four seconds of work. */
	assert_int_equal(fake.nr_rows_taken, 3);
	assert_in_range(fake.rows_taken_ms[0], 2150, 2160);
	assert_in_range(fake.rows_taken_ms[1], 4150, 4360);
	assert_in_range(fake.rows_taken_ms[2], 12150, 12560);
}

/* The recording ends at once while the decoder is busy. */
static void a_slow_decoder_does_not_hold_up_the_end(void **state)
{
	(void)state;
	run_pythons(1501);
	fake.name_ms = 2500;
	fake_signal(1500, SIGINT);
	record((struct sampling){.window_s = 1});
	assert_int_equal(fake.flips_ms[fake.nr_flips - 1], 1500);
	assert_int_equal(files.nr, 2);
	assert_int_equal(length_ms(0), 1000);
	assert_int_equal(length_ms(1), 500);
	assert_int_equal(losses(0)->counted + losses(1)->counted, 1491);
	check_sums();
}

/* Naming goes on without a wait while notices of the kernel side are answered. */
static void a_storm_does_not_hold_up_naming(void **state)
{
	const struct fake_image first = {FAKE_FIRST_PID + 1, 1, 0};

	(void)state;
	run_pythons(1501);
	for (uint32_t at_ms = 100; at_ms <= 1500; at_ms++)
		fake_first_sample(at_ms, &first);
	fake.name_ms = 2;
	fake_signal(1500, SIGINT);
	record((struct sampling){.window_s = 1});
	assert_int_equal(fake.writes_ms[0], 1000 + NR_PYTHONS * 2);
	check_sums();
}

/* Puts off the decoder's answers, so that the end shows how many are left for it. */
static void slow_down(void *ctx)
{
	fake.name_ms = *(const uint32_t *)ctx;
}

/* After the end of a command only what ran last is named: most names are known. */
static void run_names_ahead(void **state)
{
	static const uint32_t slow_ms = 200;

	(void)state;
	run_pythons(2501);
	fake.name_ms = 10;
	fake_call(2499, slow_down, (void *)&slow_ms);
	fake_signal(2500, SIGINT);
	record((struct sampling){.names_ahead = true});
	/* At 1 and at 2 s; the instruction of the third second is new at the end. */
	assert_int_equal(fake.nr_requests, 3 * NR_PYTHONS);
	assert_int_equal(fake.nr_flips, 24 + 2);
	assert_int_equal(longest_gap_ms(), 100);
	assert_int_equal(files.nr, 1);
	assert_int_equal(losses(0)->counted, 2491);
	check_sums();
}

/* Nothing is left to the decoder if the last second has nothing new. */
static void run_ends_without_the_decoder(void **state)
{
	const struct fake_image python = {FAKE_FIRST_PID, 1, 0};

	(void)state;
	begin_program(&python, "/bin/python");
	fake_python_code(2, &python, 1);
	for (uint32_t at_ms = 3; at_ms <= 3000; at_ms++)
		fake_sample(at_ms, &python, LB_FRAME_OF(RUNTIME_PYTHON, 1, 0), 1);
	fake.name_ms = 300;
	fake_signal(3000, SIGINT);
	record((struct sampling){.names_ahead = true});
	assert_int_equal(fake.nr_requests, 1);
	assert_int_equal(fake.last_request_ms, 1300);
	assert_int_equal(fake.writes_ms[0], 3000);
	assert_int_equal(losses(0)->counted, 2998);
	check_sums();
}

/* The command ends while the decoder is busy for the names ahead: they are waited for. */
static void run_ends_while_it_names_ahead(void **state)
{
	(void)state;
	run_pythons(1101);
	fake.name_ms = 30;
	fake_signal(1100, SIGINT);
	record((struct sampling){.names_ahead = true});
	/* Those ahead are done, which began at 1000 ms; then come those of the end. */
	assert_int_equal(fake.nr_requests, 2 * NR_PYTHONS);
	assert_int_equal(fake.last_request_ms, 1000 + 2 * NR_PYTHONS * 30);
	assert_int_equal(files.nr, 1);
	assert_int_equal(losses(0)->counted, 1091);
	assert_int_equal(fake.flips_ms[fake.nr_flips - 1], 1100);
	check_sums();
}

/* A signal ends the sampling at once. Naming goes on after it without drains. */
static void naming_does_not_hold_up_the_end(void **state)
{
	(void)state;
	run_pythons(2001);
	fake.name_ms = 30;
	fake_signal(1500, SIGINT);
	record((struct sampling){.window_s = 1});
	assert_int_equal(files.nr, 2);
	assert_int_equal(length_ms(0), 1000);
	assert_in_range(length_ms(1), 500, 500 + 30);
	assert_in_range(fake.flips_ms[fake.nr_flips - 1], 1500, 1530);
	assert_int_equal(fake.flips_ms[fake.nr_flips - 1],
			 fake.flips_ms[fake.nr_flips - 2]);
	assert_int_equal(fake.last_request_ms, 1000 + 2 * NR_PYTHONS * 30);
	check_sums();
}

/* ---- when to drain, and how often to sample ---- */

static void a_slot_that_is_half_full_is_drained(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 501, &program, IP);
	fake_half_full(250);
	fake_signal(500, SIGINT);
	record((struct sampling){0});
	assert_int_equal(fake.flips_ms[1], 200);
	assert_int_equal(fake.flips_ms[2], 250);
	assert_int_equal(fake.flips_ms[3], 300);
	assert_int_equal(losses(0)->counted, 500);
}

/*
 * Each new image wakes the loop, which answers the first at once, then many together.
 */
static void a_storm_is_answered_together(void **state)
{
	(void)state;
	for (uint32_t at_ms = 1; at_ms <= 3000; at_ms++) {
		struct fake_image image = {FAKE_FIRST_PID + at_ms, 1, at_ms};

		fake_fork(at_ms, 1, image.tgid);
		fake_first_sample(at_ms, &image);
	}
	fake_signal(3000, SIGINT);
	record((struct sampling){0});
	assert_in_range(fake.nr_looks, 300, 1500);
	assert_in_range(fake.longest_answer_ms, 1, 10);
}

static void get_cheap(void *ctx)
{
	(void)ctx;
	fake.program_ns_a_tick = 100;
}

/*
 * The cost is 4 % where 1 % is allowed: the rate drops to a quarter at once, and rises
 * again when the cost allows it.
 */
static void the_budget_is_kept(void **state)
{
	(void)state;
	begin_program(&program, "/bin/program");
	fake_samples(1, 14001, &program, IP);
	fake.program_ns_a_tick = 40000;
	fake_call(2000, get_cheap, NULL);
	fake_signal(14000, SIGINT);
	record((struct sampling){.budget_ppm = 10000});
	assert_int_equal(fake.nr_levels, 3);
	assert_int_equal(fake.levels[0], 2);
	assert_int_equal(fake.levels[1], 1);
	assert_int_equal(fake.levels[2], 0);
	assert_int_equal(files.profiles[0]->extra.cost.longest_period_ns, 4000000);
	assert_in_range(files.profiles[0]->extra.cost.lowered_ns / FAKE_MS, 10000, 12000);
	assert_true(is_warned(0, "The rate was lowered, to 250 Hz at the least"));
	assert_int_equal(files.profiles[0]->period, 0);
}

#define REPLAY(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		REPLAY(windows_have_what_is_theirs),
		REPLAY(a_window_ends_before_the_wait),
		REPLAY(a_window_ends_with_the_recording),
		REPLAY(a_late_drain_ends_its_window_only),
		REPLAY(sampling_begins_behind_the_delay),
		REPLAY(who_waits_is_told_when_sampling_begins),
		REPLAY(losses_are_told_in_their_window),
		REPLAY(codes_beyond_the_maximum_are_told),
		REPLAY(files_beyond_the_maximum_are_told),
		REPLAY(mappings_beyond_the_maximum_are_told),
		REPLAY(addresses_beyond_the_maximum_are_told),
		REPLAY(names_beyond_the_maximum_are_told),
		REPLAY(names_have_half_of_the_memory),
		REPLAY(many_stacks_are_counted),
		REPLAY(many_stacks_beyond_the_limits_are_told),
		REPLAY(processes_without_a_name_are_told),
		REPLAY(samples_go_to_their_image),
		REPLAY(samples_go_to_their_user),
		REPLAY(an_exec_is_told_late),
		REPLAY(a_skipped_fork_is_looked_for),
		REPLAY(an_address_changes_its_owner),
		REPLAY(int_comes_before_sampling),
		REPLAY(usr1_writes_the_file_so_far),
		REPLAY(usr1_shows_the_window),
		REPLAY(usr1_comes_before_the_end),
		REPLAY(a_second_signal_skips_names),
		REPLAY(other_signals_skip_no_names),
		REPLAY(a_signal_comes_while_the_file_is_written),
		REPLAY(hup_begins_a_new_file),
		REPLAY(a_slow_disk_holds_up_no_drain),
		REPLAY(samples_of_a_file_that_fails_are_kept),
		REPLAY(samples_of_a_file_that_fails_take_memory),
		REPLAY(memory_ends_a_window),
		REPLAY(files_of_a_full_memory_are_of_their_window),
		REPLAY(rows_beside_a_file_are_bounded),
		REPLAY(rows_beside_a_slow_decoder_are_bounded),
		REPLAY(drains_come_between_the_steps_of_naming),
		REPLAY(a_slow_decoder_holds_up_no_drain),
		REPLAY(slow_unwind_rows_hold_up_no_drain),
		REPLAY(a_slow_decoder_does_not_hold_up_the_end),
		REPLAY(a_storm_does_not_hold_up_naming),
		REPLAY(naming_does_not_hold_up_the_end),
		REPLAY(run_names_ahead),
		REPLAY(run_ends_without_the_decoder),
		REPLAY(run_ends_while_it_names_ahead),
		REPLAY(a_slot_that_is_half_full_is_drained),
		REPLAY(a_storm_is_answered_together),
		REPLAY(the_budget_is_kept),
	};

	signal(SIGXFSZ, SIG_IGN); /* writes beyond the limit fail instead */
	return cmocka_run_group_tests(tests, enter, leave);
}
