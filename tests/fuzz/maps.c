// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text of /proc/PID/maps, then the log of mappings built from its lines: the mappings
 * of a text ascend, and the log must keep its invariants for lines in any order.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/maps.h"
#include "lib/cost.h"
#include "lib/small_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 130};

struct state {
	struct maps maps;
	uint64_t now_ns;
};

static int add(void *ctx, const struct mapping *m)
{
	struct state *state = ctx;
	struct mapping at = *m;
	const struct mapping *found;

	assert(m->start < m->end && m->path);
	/* The low bits of the file offset say how much later the mapping was made. */
	state->now_ns += m->file_off & 3;
	at.from_ns = state->now_ns;
	if (!maps_add(&state->maps, &at))
		assert(maps_find(&state->maps, m->start, state->now_ns, state->now_ns,
				 &found) == MAPS_FOUND &&
		       found->start <= m->start && found->end >= m->end);
	return 0;
}

static int ascend(void *ctx, const struct mapping *m)
{
	uint64_t *end = ctx;

	assert(m->start >= *end && m->end > m->start);
	*end = m->end;
	return 0;
}

/* Each line is a text of its own. */
static void parse_lines(const char *text, size_t size, struct strpool *pool,
			int (*fn)(void *ctx, const struct mapping *m),
			struct state *state)
{
	const char *end = text + size;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *next = newline ? newline + 1 : end;

		maps_parse(text, (size_t)(next - text), 1, pool, fn, state);
		text = next;
	}
}

static void check_log(const struct maps *maps)
{
	const struct mapping *found;

	assert(maps->nr_live + maps->nr_past == maps->nr && maps->nr <= MAPS_MAX &&
	       maps->nr_past <= MAPS_PAST_MAX);
	for (size_t i = 0; i < maps->nr_live; i++) {
		const struct mapping *m = &maps->items[maps->live[i]];

		assert(m->start < m->end && m->until_ns == UINT64_MAX);
		assert(!i || maps->items[maps->live[i - 1]].end <= m->start);
		assert(maps_find(maps, m->end - 1, UINT64_MAX - 1, UINT64_MAX - 1,
				 &found) == MAPS_FOUND &&
		       found == m);
	}
	for (size_t i = 0; i < maps->nr_past; i++) {
		const struct mapping *m = &maps->items[maps->past[i]];

		assert(m->from_ns <= m->until_ns && m->until_ns != UINT64_MAX);
		assert(!i || maps->items[maps->past[i - 1]].until_ns <= m->until_ns);
	}
	for (size_t i = 1; i < maps->nr; i++)
		assert(maps->items[i - 1].from_ns <= maps->items[i].from_ns);
}

/* Who had the addresses of the latest mappings that ended, while they lived. */
static void check_past(const struct maps *maps)
{
	size_t first = maps->nr_past > 16 ? maps->nr_past - 16 : 0;
	size_t left = MAPS_PASSED_MAX;

	for (size_t i = first; i < maps->nr_past; i++) {
		const struct mapping *m = &maps->items[maps->past[i]], *found = NULL;
		enum maps_answer answer =
			maps_find(maps, m->start, m->from_ns, m->until_ns, &found);

		assert(answer != MAPS_FOUND ||
		       (found->start <= m->start && found->end > m->start &&
			found->from_ns <= m->until_ns && found->until_ns >= m->from_ns));
		maps_table_was_stale(maps, m->start, m->from_ns, m->until_ns, &left);
	}
}

static int see(void *ctx, const struct mapping *m)
{
	struct state *state = ctx;

	if (m->file_off & 4)
		maps_see(&state->maps, m->start, m->end);
	return 0;
}

/* A read shows some of the mappings: the others are gone. */
static void check_read(struct state *state, const uint8_t *data, size_t size,
		       struct strpool *pool)
{
	parse_lines((const char *)data, size, pool, see, state);
	maps_end_unseen(&state->maps, state->now_ns);
	check_log(&state->maps);
	for (size_t i = 0; i < state->maps.nr_live; i++)
		assert(!state->maps.items[state->maps.live[i]].is_seen);
	parse_lines((const char *)data, size, pool, add, state);
	check_log(&state->maps);
}

/* What ended in the first half of the time is dropped. No table is stale once it was told. */
static void check_later(struct maps *maps, uint64_t now_ns)
{
	size_t left = MAPS_PASSED_MAX;

	maps_forget(maps, now_ns / 2);
	check_log(maps);
	for (size_t i = 0; i < maps->nr_past; i++)
		assert(maps->items[maps->past[i]].until_ns > now_ns / 2);
	maps_told(maps, now_ns);
	for (size_t i = 0; i < maps->nr_live; i++) {
		const struct mapping *m = &maps->items[maps->live[i]];

		assert(!maps_table_was_stale(maps, m->start, now_ns, now_ns, &left));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strpool *pool = strpool_new(1 << 20);
	struct state state = {0};
	uint64_t end = 0;
	struct maps copy;

	assert(pool);
	maps_parse((const char *)data, size, 1, pool, ascend, &end);
	parse_lines((const char *)data, size, pool, add, &state);
	check_log(&state.maps);
	if (!maps_copy(&copy, &state.maps)) {
		assert(copy.nr == state.maps.nr_live);
		check_log(&copy);
		maps_deinit(&copy);
	}
	check_past(&state.maps);
	check_read(&state, data, size, pool);
	check_later(&state.maps, state.now_ns);
	maps_deinit(&state.maps);
	strpool_free(pool);
	return 0;
}
