// SPDX-License-Identifier: GPL-2.0-or-later
/* What a profile says about itself: the command, warnings, comments, a summary. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "profile/profile.h"

static int add_sentence(struct profile *p, const char ***list, size_t *nr, size_t *cap,
			const char *sentence)
{
	int r = vec_grow(list, cap, *nr + 1, sizeof(**list), PROFILE_MAX_SENTENCES);

	if (r)
		return r;
	(*list)[(*nr)++] = strpool_add(p->pool, sentence);
	return 0;
}

int profile_add_warning(struct profile *p, const char *sentence)
{
	struct profile_extra *extra = &p->extra;

	return add_sentence(p, &extra->warnings, &extra->nr_warnings,
			    &extra->cap_warnings, sentence);
}

int profile_add_comment(struct profile *p, const char *sentence)
{
	return add_sentence(p, &p->comments, &p->nr_comments, &p->cap_comments, sentence);
}

int profile_set_command(struct profile *p, char *const *argv)
{
	const char **copy = NULL;
	size_t nr = 0;

	if (argv && argv[0]) {
		while (argv[nr])
			nr++;
		copy = calloc(nr + 1, sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		for (size_t i = 0; i < nr; i++)
			copy[i] = strpool_add(p->pool, argv[i]);
	}
	free(p->extra.command);
	p->extra.command = copy;
	return 0;
}

/* The command line, cut where @size ends. */
static void print_command(char *buf, size_t size, const char *const *command)
{
	size_t used = 0;

	buf[0] = '\0';
	for (; *command && used < size; command++)
		used += (size_t)snprintf(buf + used, size - used, " %s", *command);
}

/*
 * lineburn 0.1.0: 5012 samples, 50.6 s of CPU in 60.0 s on 4 CPUs at 99 Hz, 0 lost,
 * 12 missed; ./a.out 3
 */
int profile_add_summary(struct profile *p)
{
	const struct profile_extra *extra = &p->extra;
	uint64_t samples = 0, cpu_ns = 0;
	char command[256], sentence[768];

	for (size_t i = 0; i < p->nr_samples; i++) {
		samples += (uint64_t)profile_value(p, &p->samples[i], p->count_value);
		cpu_ns += (uint64_t)profile_value(p, &p->samples[i], p->cpu_value);
	}
	if (extra->command)
		print_command(command, sizeof(command), extra->command);
	else
		snprintf(command, sizeof(command), " %s", extra->target);
	snprintf(sentence, sizeof(sentence),
		 "lineburn %s: %" PRIu64 " samples, %.1f s of CPU in %.1f s on %u CPUs "
		 "at %u Hz, %" PRIu64 " lost, %" PRIu64 " missed;%s",
		 extra->version, samples, (double)cpu_ns / 1e9,
		 (double)extra->wall_ns / 1e9, extra->nr_cpus, extra->freq_hz,
		 extra->losses.sampled - extra->losses.counted, extra->losses.missed,
		 command);
	return profile_add_comment(p, sentence);
}
