// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A source file of a target, as a recording stores it: first 4 * u16: lines that have
 * samples, then the text. What is stored are lines of the file, in order.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribution.h"
#include "analyze/source.h"
#include "lib/cost.h"

#define NR_HITS    4
#define HEAD_BYTES (NR_HITS * sizeof(uint16_t))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 30000, .per_byte = 100};

struct text {
	const uint8_t *bytes;
	size_t len;
};

static int read_text(void *ctx, const char *path, char **ret, size_t *ret_len,
		     int64_t *ret_mtime_ns)
{
	const struct text *text = ctx;
	char *copy = malloc(text->len + 1);

	(void)path;
	assert(copy);
	memcpy(copy, text->bytes, text->len);
	copy[text->len] = '\0';
	*ret = copy;
	*ret_len = text->len;
	*ret_mtime_ns = 1;
	return 0;
}

static void hit(struct profile *p, uint16_t line)
{
	const struct profile_function f = {.name = "f",
					   .system_name = "",
					   .filename = strpool_add(p->pool, "/a/f.py"),
					   .start_line = line / 2u};
	struct profile_line at = {.function = profile_add_function(p, &f), .line = line};
	uint32_t location = profile_add_location(
		p, PROFILE_NONE, p->nr_locations + UINT64_C(1), MISS_NONE, &at, 1);

	profile_add_sample(p, &location, 1, NULL, 0, 0, (int64_t[]){1, 1});
}

static void check_source(const struct profile_source *source, size_t len)
{
	uint32_t next = 1;

	assert(source->size_bytes == len);
	for (size_t i = 0; i < source->nr_runs; i++) {
		const struct profile_source_run *run = &source->runs[i];
		uint32_t nr = 1;

		assert(run->first_line >= next && run->nr_lines && run->text);
		for (const char *c = run->text; *c; c++)
			nr += *c == '\n';
		assert(nr == run->nr_lines);
		next = run->first_line + run->nr_lines;
	}
	assert(next <= source->nr_lines + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct attribution_options options = {0};
	const struct source_search search = {.is_strangers = true};
	struct text text = {data + HEAD_BYTES, size - HEAD_BYTES};
	struct attribution *a = NULL;
	struct strpool *pool;
	struct profile *p;
	uint16_t line;

	if (size < HEAD_BYTES)
		return -1;
	pool = strpool_new(1 << 20);
	p = profile_new(pool);
	p->extra.present = true;
	for (size_t i = 0; i < NR_HITS; i++) {
		memcpy(&line, data + i * sizeof(line), sizeof(line));
		hit(p, line);
	}
	assert(!attribution_new(p, &options, &a));
	assert(!source_collect(p, a, read_text, &text));
	assert(p->extra.nr_sources <= 1);
	if (p->extra.nr_sources)
		check_source(&p->extra.sources[0], text.len);
	assert(!source_attach(a, p, &search));
	attribution_free(a);
	profile_free(p);
	strpool_free(pool);
	return 0;
}
