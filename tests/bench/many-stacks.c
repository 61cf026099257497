// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a profile of many different stacks, for the commands that read profiles.
 *
 *	many-stacks STACKS FILE [SEED]
 *
 * A stack has up to 40 frames, in 500 files of 20 functions with 10 hot lines each. It
 * shares its outermost frames with the stack before, all but 5 of them on average, as
 * the stacks of one program do. A tenth of the frames is inlined.
 */
#include <stdio.h>
#include <stdlib.h>

#include "profile/labels.h"
#include "profile/pprof.h"

#define NR_FILES     500
#define NR_FUNCTIONS (NR_FILES * 20)
#define NR_LINES     10
#define MAX_FRAMES   40
#define MIN_FRAMES   10
#define PERIOD_NS    1001001

static uint64_t state = 1;

/* The same numbers in each run with one seed. */
static uint32_t below(uint32_t limit)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((state >> 33) % limit);
}

static struct profile_line line_of(struct profile *p, uint32_t function, uint32_t line)
{
	char name[64], file[64];
	struct profile_function f = {.name = name, .filename = file, .system_name = ""};

	snprintf(name, sizeof(name), "module_%u_function_%u", function % NR_FILES,
		 function);
	snprintf(file, sizeof(file), "/home/user/src/project/package/module_%u.c",
		 function % NR_FILES);
	f.start_line = function / NR_FILES * 100 + 1;
	return (struct profile_line){profile_add_function(p, &f),
				     f.start_line + 1 + 3 * line};
}

static uint32_t random_location(struct profile *p, uint32_t mapping)
{
	uint32_t function = below(NR_FUNCTIONS), line = below(NR_LINES);
	struct profile_line lines[2] = {line_of(p, function, line)};
	bool is_inlined = function % 10 == 0;

	if (is_inlined)
		lines[1] = line_of(p, (function + 1) % NR_FUNCTIONS, line);
	return profile_add_location(
		p, mapping, 0x400000 + ((uint64_t)function * NR_LINES + line) * 16,
		MISS_NONE, lines, is_inlined ? 2 : 1);
}

/* Each of its samples is at another time of a minute. Of a million none is known. */
static void add_times(struct profile *p, uint32_t sample, int64_t count)
{
	struct series times = {0};
	struct series_list list = {0};
	const struct series_lists all = {&list, 1, sizeof(list)};

	while (count-- > 0)
		series_add(&times, &list, below(60000) * 1000000ULL, 1, &all);
	profile_add_times(p, sample, &times, &list);
	series_deinit(&times);
}

static void add_stacks(struct profile *p, uint32_t nr)
{
	uint32_t mapping = profile_add_mapping(
		p, &(struct profile_mapping){.filename = "/home/user/bin/program",
					     .start = 0x400000,
					     .limit = 0x4000000,
					     .has_functions = true,
					     .has_filenames = true,
					     .has_line_numbers = true,
					     .has_inline_frames = true});
	uint32_t outermost_first[MAX_FRAMES], leaf_first[MAX_FRAMES], depth = 0;

	for (uint32_t i = 0; i < nr; i++) {
		char comm[16];
		const struct profile_label label = {
			.key = LABEL_COMM, .str = comm, .unit = ""};
		int64_t count = 1 + below(3);
		uint32_t cut = below(10), grow = 1 + below(10);

		snprintf(comm, sizeof(comm), "worker-%u", i * 10 / nr);
		depth = depth > MIN_FRAMES + cut ? depth - cut : MIN_FRAMES;
		while (grow-- > 0 && depth < MAX_FRAMES)
			outermost_first[depth++] = random_location(p, mapping);
		for (uint32_t k = 0; k < MIN_FRAMES && !i; k++)
			outermost_first[k] = random_location(p, mapping);
		for (uint32_t k = 0; k < depth; k++)
			leaf_first[k] = outermost_first[depth - 1 - k];
		add_times(p,
			  profile_add_sample(p, leaf_first, depth, &label, 1,
					     LB_STACK_COMPLETE,
					     (int64_t[]){count, count * PERIOD_NS}),
			  count);
	}
}

int main(int argc, char **argv)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(POOL_MAX_BYTES);
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_free_ void *data = NULL;
	size_t len;
	FILE *out;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: many-stacks STACKS FILE [SEED]\n");
		return 2;
	}
	if (argc == 4)
		state = strtoul(argv[3], NULL, 10);
	add_stacks(p, (uint32_t)strtoul(argv[1], NULL, 10));
	p->extra.present = true;
	if (pprof_write(p, true, &data, &len))
		return 1;
	out = fopen(argv[2], "w");
	return !out || fwrite(data, 1, len, out) != len || fclose(out);
}
