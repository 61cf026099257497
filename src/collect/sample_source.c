// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/sample_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"
#include "collect/perf_event.h"

static const struct sample_source_kind *const kinds[LB_NR_SOURCES] = {
	[LB_SOURCE_CPU_CLOCK] = &cpu_clock_source,
	[LB_SOURCE_PAGE_FAULTS] = &page_fault_source,
};

const struct sample_source_kind *sample_source_named(const char *name)
{
	for (size_t i = 0; i < LB_NR_SOURCES; i++)
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	return NULL;
}

const char *sample_source_name(size_t i)
{
	return i < LB_NR_SOURCES ? kinds[i]->name : NULL;
}

static void *item_at(const struct sample_source *s, size_t i)
{
	return (char *)s->items + i * s->kind->item_bytes;
}

void sample_source_deinit(struct sample_source *s)
{
	for (size_t i = 0; i < s->nr; i++)
		s->kind->close(item_at(s, i));
	free(s->items);
}

static uint32_t cpu_at(const struct sample_source *s, size_t i)
{
	return *(const uint32_t *)item_at(s, i);
}

static int add_cpu(struct sample_source *s, uint32_t cpu, const char *times)
{
	int rc = vec_grow(&s->items, &s->cap, s->nr + 1, s->kind->item_bytes, 0);

	if (!rc)
		rc = s->kind->open(s, cpu, times, item_at(s, s->nr));
	if (!rc)
		s->nr++;
	return rc;
}

/* Removes an item, but keeps its account. The last item takes its place. */
static void drop_cpu(struct sample_source *s, size_t i, const char *times)
{
	void *item = item_at(s, i);

	s->kind->account(s, item, times, &s->gone);
	s->kind->close(item);
	s->nr--;
	memmove(item, item_at(s, s->nr), s->kind->item_bytes);
}

static bool has_cpu(const struct sample_source *s, uint32_t cpu)
{
	for (size_t i = 0; i < s->nr; i++)
		if (cpu_at(s, i) == cpu)
			return true;
	return false;
}

int sample_source_start(struct sample_source *s, const char *times, struct error *err)
{
	_cleanup_(cpu_list_deinit) struct cpu_set_list online = {0};
	int rc = cpu_list_online(&online);

	for (size_t i = 0; !rc && i < online.nr; i++) {
		rc = add_cpu(s, online.cpus[i], times);
		if (rc == -ENODEV)
			rc = 0; /* it has just gone offline */
		else if (rc)
			perf_event_explain(rc, err);
	}
	s->running = !rc;
	return rc;
}

void sample_source_follow_cpus(struct sample_source *s)
{
	_cleanup_free_ char *times = NULL;
	_cleanup_(cpu_list_deinit) struct cpu_set_list online = {0};
	size_t nr_here = 0;

	if (!s->running || cpu_list_online(&online))
		return;
	for (size_t i = 0; i < s->nr; i++)
		nr_here += cpu_list_has(&online, cpu_at(s, i));
	if (nr_here < online.nr || nr_here < s->nr)
		times = cpu_times_read();
	for (size_t i = s->nr; i-- > 0;)
		if (!cpu_list_has(&online, cpu_at(s, i)))
			drop_cpu(s, i, times);
	for (size_t i = 0; i < online.nr; i++)
		if (!has_cpu(s, online.cpus[i]) && add_cpu(s, online.cpus[i], times))
			log_debug("cannot open the event of CPU %u: %m, skipping",
				  online.cpus[i]);
}

/*
 * Reopens the event of a CPU that was offline too briefly for
 * sample_source_follow_cpus() to notice. If it is offline now, that function adds it
 * later.
 */
static void renew(struct sample_source *s, size_t i)
{
	_cleanup_free_ char *times = cpu_times_read();
	uint32_t cpu = cpu_at(s, i);

	drop_cpu(s, i, times);
	if (add_cpu(s, cpu, times))
		log_debug("cannot open the event of CPU %u again: %m, skipping", cpu);
}

void sample_source_tick(struct sample_source *s, uint64_t now_ns)
{
	/* Backwards, because a reopened event moves to the end. */
	for (size_t i = s->nr; i-- > 0;)
		if (!s->kind->tick(item_at(s, i), now_ns, (uint32_t)s->nr))
			renew(s, i);
}

void sample_source_set_level(struct sample_source *s, unsigned int level)
{
	_cleanup_free_ char *times = NULL;

	if (!s->kind->set_level)
		return;
	times = cpu_times_read();
	s->level = level;
	s->gone.is_unknown |= !times;
	for (size_t i = 0; i < s->nr; i++)
		if (s->kind->set_level(item_at(s, i), level, times))
			log_debug("cannot change the rate on CPU %u: %m, skipping",
				  cpu_at(s, i));
}

void sample_source_stop(struct sample_source *s, const char *times)
{
	for (size_t i = 0; i < s->nr; i++)
		s->kind->pause(item_at(s, i));
	while (s->nr)
		drop_cpu(s, s->nr - 1, times);
	s->running = false;
}

void sample_source_account(struct sample_source *s, const char *times,
			   struct sample_source_account *ret)
{
	*ret = s->gone;
	for (size_t i = 0; i < s->nr; i++)
		s->kind->account(s, item_at(s, i), times, ret);
	/*
	 * Permanent: once the times were unreadable, later sums are not complete
	 * either.
	 */
	s->gone.is_unknown = ret->is_unknown;
}
