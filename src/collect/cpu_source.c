// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/cpu_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"
#include "collect/perf_event.h"

/* Each source begins with this. */
static struct cpu_source *to_cpus(struct sample_source *source)
{
	return (struct cpu_source *)source;
}

void *cpu_source_new(size_t bytes, const struct cpu_source_ops *ops,
		     const struct sample_source_config *config)
{
	struct cpu_source *s = calloc(1, bytes);

	if (!s)
		return NULL;
	s->config = *config;
	s->ops = ops;
	return s;
}

void cpu_source_free(struct sample_source *source)
{
	struct cpu_source *s = to_cpus(source);

	for (size_t i = 0; i < s->nr; i++)
		s->ops->close(cpu_source_at(s, i));
	free(s->items);
	free(s);
}

static uint32_t cpu_at(const struct cpu_source *s, size_t i)
{
	return *(const uint32_t *)cpu_source_at(s, i);
}

static int add_cpu(struct cpu_source *s, uint32_t cpu, const char *times)
{
	int rc = vec_grow(&s->items, &s->cap, s->nr + 1, s->ops->item_bytes, 0);

	if (!rc)
		rc = s->ops->open(s, cpu, times, cpu_source_at(s, s->nr));
	if (!rc)
		s->nr++;
	return rc;
}

/* Keeps the account. The last item takes its place. */
static void drop_cpu(struct cpu_source *s, size_t i, const char *times)
{
	void *item = cpu_source_at(s, i);

	s->ops->account(s, item, times, &s->gone);
	s->ops->close(item);
	s->nr--;
	memmove(item, cpu_source_at(s, s->nr), s->ops->item_bytes);
}

static bool has_cpu(const struct cpu_source *s, uint32_t cpu)
{
	for (size_t i = 0; i < s->nr; i++)
		if (cpu_at(s, i) == cpu)
			return true;
	return false;
}

int cpu_source_start(struct sample_source *source, const char *times, struct error *err)
{
	struct cpu_source *s = to_cpus(source);
	struct cpu_set_list online = {0};
	int rc = cpu_list_online(&online);

	for (size_t i = 0; !rc && i < online.nr; i++) {
		rc = add_cpu(s, online.cpus[i], times);
		if (rc == -ENODEV)
			rc = 0; /* it went offline just now */
		else if (rc)
			perf_event_explain(rc, err);
	}
	cpu_list_deinit(&online);
	s->running = !rc;
	return rc;
}

void cpu_source_follow_cpus(struct sample_source *source)
{
	struct cpu_source *s = to_cpus(source);
	_cleanup_free_ char *times = NULL;
	struct cpu_set_list online = {0};
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
			log_debug("no event on CPU %u: %m, skipping", online.cpus[i]);
	cpu_list_deinit(&online);
}

/* If the CPU still is offline, cpu_source_follow_cpus() adds it later. */
void cpu_source_renew(struct cpu_source *s, size_t i)
{
	_cleanup_free_ char *times = cpu_times_read();
	uint32_t cpu = cpu_at(s, i);

	drop_cpu(s, i, times);
	if (add_cpu(s, cpu, times))
		log_debug("no new event on CPU %u: %m, skipping", cpu);
}

void cpu_source_stop(struct sample_source *source, const char *times)
{
	struct cpu_source *s = to_cpus(source);

	for (size_t i = 0; i < s->nr; i++)
		s->ops->pause(cpu_source_at(s, i));
	while (s->nr)
		drop_cpu(s, s->nr - 1, times);
	s->running = false;
}

uint32_t cpu_source_nr_cpus(const struct sample_source *source)
{
	return (uint32_t)((const struct cpu_source *)source)->nr;
}

void cpu_source_account(struct sample_source *source, const char *times,
			struct sample_source_account *ret)
{
	struct cpu_source *s = to_cpus(source);

	*ret = s->gone;
	for (size_t i = 0; i < s->nr; i++)
		s->ops->account(s, cpu_source_at(s, i), times, ret);
	/* For good: who asked once without the times cannot trust a later sum. */
	s->gone.is_unknown = ret->is_unknown;
}
