// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strpool.h"
#include "profile/mirror.h"

#define POOL_BYTES ((size_t)1 << 30) /* the recorder's limit of memory comes first */

struct history {
	struct strpool *pool;
	struct profile *all; /* the tables, and the samples that were asked for last */
	uint64_t tables;
	struct profile **windows; /* samples only; a ring */
	size_t nr, max, next;
	uint64_t nr_lost;
};

void history_clear(struct history *h)
{
	for (size_t i = 0; i < h->max; i++) {
		profile_free(h->windows[i]);
		h->windows[i] = NULL;
	}
	h->nr = h->next = 0;
}

static int begin_tables(struct history *h, uint64_t tables)
{
	history_clear(h);
	profile_free(h->all);
	strpool_free(h->pool);
	h->pool = strpool_new(POOL_BYTES);
	h->all = h->pool ? profile_new(h->pool) : NULL;
	h->tables = tables;
	return h->all ? 0 : -ENOMEM;
}

struct history *history_new(size_t nr_windows)
{
	_cleanup_(history_freep) struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->windows = calloc(nr_windows, sizeof(struct profile *));
	if (!h->windows)
		return NULL;
	h->max = nr_windows;
	return begin_tables(h, 0) ? NULL : take_ptr(h);
}

void history_free(struct history *h)
{
	if (!h)
		return;
	if (h->windows)
		history_clear(h);
	free(h->windows);
	profile_free(h->all);
	strpool_free(h->pool);
	free(h);
}

/* What is said about the recording as a whole. The texts go to the pool of @to. */
static void copy_facts(struct profile *to, const struct profile *from)
{
	struct profile_extra *extra = &to->extra;

	profile_set_measure(to, from->value_types[1].type, from->value_types[1].unit);
	to->period = from->period;
	extra->present = true;
	extra->freq_hz = from->extra.freq_hz;
	extra->nr_cpus = from->extra.nr_cpus;
	extra->arch = strpool_add(to->pool, from->extra.arch);
}

/* A window: its samples and figures. Its tables are those of h->all. */
static struct profile *window_of(struct history *h, const struct profile *p)
{
	_cleanup_(profile_freep) struct profile *window = profile_new(h->pool);

	if (!window || profile_copy_samples(window, p))
		return NULL;
	window->extra.wall_ns = p->extra.wall_ns;
	window->extra.losses = p->extra.losses;
	window->extra.cost = p->extra.cost;
	return take_ptr(window);
}

static int add(struct history *h, const struct profile *p)
{
	struct profile *window;

	if (profile_copy_tables(h->all, p) || profile_copy_sources(h->all, p))
		return -ENOMEM;
	window = window_of(h, p);
	if (!window)
		return -ENOMEM;
	copy_facts(h->all, p);
	profile_free(h->windows[h->next]);
	h->windows[h->next] = window;
	h->next = (h->next + 1) % h->max;
	h->nr = h->nr < h->max ? h->nr + 1 : h->max;
	return 0;
}

int history_add(struct history *h, const struct profile *p, uint64_t tables)
{
	int rc = 0;

	if (!h->all || tables != h->tables)
		rc = begin_tables(h, tables);
	if (!rc)
		rc = add(h, p);
	if (rc) {
		h->nr_lost++;
		/* Parts of the tables may be missing: begin anew with the next window. */
		h->tables = tables - 1;
	}
	return rc;
}

static void add_figures(struct profile_extra *to, const struct profile_extra *from)
{
	to->wall_ns += from->wall_ns;
	profile_losses_add(&to->losses, &from->losses);
	profile_cost_add(&to->cost, &from->cost);
}

struct profile *history_profile(struct history *h)
{
	struct profile *p = h->all;

	if (!p)
		return NULL;
	profile_clear_samples(p);
	p->extra.wall_ns = 0;
	p->extra.losses = (struct profile_losses){0};
	p->extra.cost = (struct profile_cost){0};
	/* From the oldest to the newest. */
	for (size_t i = 0; i < h->nr; i++) {
		size_t at = (h->next + h->max - h->nr + i) % h->max;

		if (profile_copy_samples(p, h->windows[at]))
			return NULL;
		add_figures(&p->extra, &h->windows[at]->extra);
	}
	p->duration_nanos = (int64_t)p->extra.wall_ns;
	return p;
}

uint64_t history_nr_lost(const struct history *h)
{
	return h->nr_lost;
}

bool history_has_source(const struct history *h, const char *path)
{
	const struct profile_extra *extra = h->all ? &h->all->extra : NULL;

	for (size_t i = 0; extra && i < extra->nr_sources; i++)
		if (!strcmp(extra->sources[i].path, path) && extra->sources[i].nr_runs)
			return true;
	return false;
}
