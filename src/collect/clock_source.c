// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of CPU time: one clock on each CPU (cpu_clock.h). */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"
#include "collect/cpu_clock.h"
#include "collect/perf_event.h"
#include "collect/sample_source.h"

struct clock_source {
	struct sample_source source;
	struct sample_source_config config;
	struct cpu_clock *clocks;
	size_t nr_clocks, cap_clocks;
	unsigned int level; /* of all clocks */
	struct cpu_clock_time gone; /* of CPUs that went offline */
	uint64_t random; /* state, never 0 */
	bool running;
	bool idle_unknown; /* the kernel does not provide idle times */
};

/* The source is its first member. */
static struct clock_source *to_clock(struct sample_source *source)
{
	return (struct clock_source *)source;
}

static struct sample_source *clock_new(const struct sample_source_config *config)
{
	struct clock_source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = *config;
	s->random = config->seed ? config->seed : 1;
	return &s->source;
}

static void clock_free(struct sample_source *source)
{
	struct clock_source *s = to_clock(source);
	for (size_t i = 0; i < s->nr_clocks; i++)
		cpu_clock_stop(&s->clocks[i]);
	free(s->clocks);
	free(s);
}

/* Reads the times of all CPUs, for cpu_idle_ns(). */
static char *read_times(struct clock_source *s)
{
	char *times = cpu_times_read();

	if (!times)
		s->idle_unknown = true;
	return times;
}

/* Starts a clock on @cpu. -ENODEV: it is offline. */
static int add_cpu(struct clock_source *s, uint32_t cpu, const char *times)
{
	int rc;

	if (vec_grow(&s->clocks, &s->cap_clocks, s->nr_clocks + 1, sizeof(*s->clocks), 0))
		return -ENOMEM;
	rc = cpu_clock_start(&s->clocks[s->nr_clocks], cpu, s->config.prog_fd,
			     s->config.period, s->level, cpu_clock_random(&s->random),
			     cpu_idle_ns(times, cpu));
	if (!rc)
		s->nr_clocks++;
	return rc;
}

static bool has_clock(const struct clock_source *s, uint32_t cpu)
{
	for (size_t i = 0; i < s->nr_clocks; i++)
		if (s->clocks[i].cpu == cpu)
			return true;
	return false;
}

static void drop_cpu(struct clock_source *s, size_t i, const char *times)
{
	struct cpu_clock_time time;

	cpu_clock_time(&s->clocks[i], cpu_idle_ns(times, s->clocks[i].cpu), &time);
	s->gone.enabled_ns += time.enabled_ns;
	s->gone.due += time.due;
	cpu_clock_stop(&s->clocks[i]);
	s->clocks[i] = s->clocks[--s->nr_clocks];
}

static int clock_start(struct sample_source *source, struct error *err)
{
	struct clock_source *s = to_clock(source);
	_cleanup_free_ char *times = read_times(s);
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

static void clock_follow_cpus(struct sample_source *source)
{
	struct clock_source *s = to_clock(source);
	_cleanup_free_ char *times = NULL;
	struct cpu_set_list online = {0};
	size_t nr_here = 0;

	if (!s->running || cpu_list_online(&online))
		return;
	for (size_t i = 0; i < s->nr_clocks; i++)
		nr_here += cpu_list_has(&online, s->clocks[i].cpu);
	if (nr_here < online.nr || nr_here < s->nr_clocks)
		times = read_times(s);
	for (size_t i = s->nr_clocks; i-- > 0;)
		if (!cpu_list_has(&online, s->clocks[i].cpu))
			drop_cpu(s, i, times);
	for (size_t i = 0; i < online.nr; i++)
		if (!has_clock(s, online.cpus[i]) && add_cpu(s, online.cpus[i], times))
			log_debug("no event on CPU %u: %m, skipping", online.cpus[i]);
	cpu_list_deinit(&online);
}

static void clock_stop(struct sample_source *source)
{
	struct clock_source *s = to_clock(source);
	_cleanup_free_ char *times = read_times(s);

	for (size_t i = 0; i < s->nr_clocks; i++)
		cpu_clock_pause(&s->clocks[i]);
	while (s->nr_clocks)
		drop_cpu(s, s->nr_clocks - 1, times);
	s->running = false;
}

/* Restarts a CPU that was offline. If it still is, clock_follow_cpus() adds it later. */
static void renew_cpu(struct clock_source *s, size_t i)
{
	_cleanup_free_ char *times = read_times(s);
	uint32_t cpu = s->clocks[i].cpu;

	drop_cpu(s, i, times);
	if (add_cpu(s, cpu, times))
		log_debug("no new event on CPU %u: %m, skipping", cpu);
}

/*
 * Changes the periods of CPUs whose turn is over, so that no program runs in step with
 * them (cpu_clock.h), and restarts CPUs that were offline too briefly for
 * clock_follow_cpus() to notice.
 */
static void clock_tick(struct sample_source *source, uint64_t now_ns)
{
	struct clock_source *s = to_clock(source);
	if (!s->running)
		return;
	/* Downwards: a renewed clock moves to the end. */
	for (size_t i = s->nr_clocks; i-- > 0;)
		if (!cpu_clock_change(&s->clocks[i], now_ns, (uint32_t)s->nr_clocks))
			renew_cpu(s, i);
}

static void clock_set_level(struct sample_source *source, unsigned int level)
{
	struct clock_source *s = to_clock(source);
	_cleanup_free_ char *times = read_times(s);

	s->level = level;
	for (size_t i = 0; s->running && i < s->nr_clocks; i++)
		if (cpu_clock_set_level(&s->clocks[i], level,
					cpu_idle_ns(times, s->clocks[i].cpu)))
			log_debug("no other rate on CPU %u: %m, skipping",
				  s->clocks[i].cpu);
}

static uint32_t clock_nr_cpus(const struct sample_source *source)
{
	return (uint32_t)((const struct clock_source *)source)->nr_clocks;
}

static void clock_account(struct sample_source *source, struct sample_source_account *ret)
{
	struct clock_source *s = to_clock(source);
	_cleanup_free_ char *times = read_times(s);

	*ret = (struct sample_source_account){.enabled_ns = s->gone.enabled_ns,
					      .due = s->gone.due};
	for (size_t i = 0; i < s->nr_clocks; i++) {
		struct cpu_clock_time time;

		cpu_clock_time(&s->clocks[i], cpu_idle_ns(times, s->clocks[i].cpu),
			       &time);
		ret->enabled_ns += time.enabled_ns;
		ret->due += time.due;
	}
	ret->is_unknown = s->idle_unknown;
}

const struct sample_source_kind cpu_clock_source = {
	.id = LB_SOURCE_CPU_CLOCK,
	.name = "cpu-clock",
	.values = {{"cpu", "nanoseconds"}},
	.is_clock = true,
	.new = clock_new,
	.free = clock_free,
	.start = clock_start,
	.follow_cpus = clock_follow_cpus,
	.tick = clock_tick,
	.set_level = clock_set_level,
	.stop = clock_stop,
	.nr_cpus = clock_nr_cpus,
	.account = clock_account,
};
