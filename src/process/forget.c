// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a process table gives back while it lives on, so that a run of months holds what a
 * run of minutes does. Descriptors go first, when a window has been named; ids and
 * memory when those who keep tables beside them begin anew.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "process/jit_file.h"
#include "process/table.h"

/* Later than all that may still be told of a process that is gone. */
#define OVER_AFTER_NS 10000000000ull

bool image_is_gone(struct process_table *t, struct image *img, uint64_t time_ns)
{
	if (!img->is_newest)
		return true;
	if (process_is_alive(t, &img->proc)) {
		img->gone_ns = 0; /* it seemed to be: no descriptor was left */
		return false;
	}
	if (!img->gone_ns)
		img->gone_ns = clock_now_ns();
	return img->gone_ns < time_ns;
}

static bool is_over_now(struct process_table *t, struct image *img, uint64_t now_ns)
{
	return img->sampled_ns && img->last_sample_ns < now_ns && image_is_ended(img) &&
	       img->proc.until_ns + OVER_AFTER_NS < now_ns &&
	       image_is_gone(t, img, now_ns);
}

static void mark_used(const struct process *p, bool *is_used)
{
	for (size_t i = 0; i < p->maps.nr; i++)
		if (p->maps.items[i].file)
			is_used[p->maps.items[i].file->id] = true;
}

/* By what it has mapped, or had until samples of it were surely named. */
static void mark_mapped(const struct process *p, uint64_t now_ns, bool *is_used)
{
	for (size_t i = 0; i < p->maps.nr; i++) {
		const struct mapping *m = &p->maps.items[i];

		if (m->file &&
		    (m->until_ns == UINT64_MAX || m->until_ns + OVER_AFTER_NS >= now_ns))
			is_used[m->file->id] = true;
	}
}

void process_table_trim(struct process_table *t, uint64_t now_ns)
{
	_cleanup_free_ bool *is_used =
		calloc(file_cache_count(t->files), sizeof(*is_used));

	for (size_t i = 0; i < t->nr_ids; i++) {
		struct image *img = t->images[i];

		if (!img)
			continue;
		if (!img->proc.is_over && is_over_now(t, img, now_ns)) {
			img->proc.is_over = true;
			jit_file_deinit(&img->proc.perf_map, &t->budget);
			jit_file_deinit(&img->proc.jitdump, &t->budget);
			jit_file_init(&img->proc.perf_map);
			jit_file_init(&img->proc.jitdump);
		}
		if (is_used && !img->proc.is_over)
			mark_mapped(&img->proc, now_ns, is_used);
	}
	if (is_used)
		file_cache_close_unused(t->files, is_used);
}

static void forget_past(struct process_table *t, struct image *img, uint64_t now_ns)
{
	size_t nr = img->proc.maps.nr;

	if (now_ns > OVER_AFTER_NS)
		maps_forget(&img->proc.maps, now_ns - OVER_AFTER_NS);
	t->nr_mappings -= nr - img->proc.maps.nr;
}

void process_table_forget_ended(struct process_table *t, uint64_t now_ns)
{
	_cleanup_free_ bool *is_used =
		calloc(file_cache_count(t->files), sizeof(*is_used));

	process_table_trim(t, now_ns);
	cgroup_ids_forget(&t->cgroups, now_ns);
	for (size_t i = 0; i < t->nr_ids; i++)
		if (t->images[i] && t->images[i]->proc.is_over &&
		    t->images[i]->last_sample_ns < now_ns)
			t->images[i]->sampled_ns = 0;
	process_table_expire(t, now_ns);
	for (size_t i = 0; i < t->nr_ids; i++) {
		if (!t->images[i])
			continue;
		forget_past(t, t->images[i], now_ns);
		if (is_used)
			mark_used(&t->images[i]->proc, is_used);
	}
	if (is_used)
		file_cache_forget_unused(t->files, is_used);
}
