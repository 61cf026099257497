// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of CPU time: one clock on each CPU (cpu_clock.h). */
#include "base/cleanup.h"
#include "base/log.h"
#include "collect/cpu_clock.h"
#include "collect/cpu_source.h"
#include "collect/perf_event.h"

struct clock_source {
	struct cpu_source cpus; /* of struct cpu_clock */
	unsigned int level; /* of all clocks */
	uint64_t random; /* state, never 0 */
};

static int clock_open(struct cpu_source *cpus, uint32_t cpu, const char *times, void *ret)
{
	struct clock_source *s = (struct clock_source *)cpus;

	/* For good: what is due cannot be known without the idle time of its start. */
	cpus->gone.is_unknown |= !times;
	return cpu_clock_start(ret, cpu, cpus->config.prog_fd, cpus->config.period,
			       s->level, cpu_clock_random(&s->random),
			       cpu_idle_ns(times, cpu));
}

static void clock_pause(void *item)
{
	cpu_clock_pause(item);
}

static void clock_close(void *item)
{
	cpu_clock_stop(item);
}

static void clock_account(const struct cpu_source *cpus, const void *item,
			  const char *times, struct sample_source_account *sum)
{
	const struct cpu_clock *clock = item;
	struct cpu_clock_time time;

	(void)cpus;
	cpu_clock_time(clock, cpu_idle_ns(times, clock->cpu), &time);
	sum->enabled_ns += time.enabled_ns;
	sum->due += time.due;
	sum->is_unknown |= !times;
}

_Static_assert(offsetof(struct cpu_clock, cpu) == 0, "an item begins with its CPU");
static const struct cpu_source_ops ops = {.item_bytes = sizeof(struct cpu_clock),
					  .open = clock_open,
					  .pause = clock_pause,
					  .close = clock_close,
					  .account = clock_account};

static struct sample_source *clock_new(const struct sample_source_config *config)
{
	struct clock_source *s = cpu_source_new(sizeof(*s), &ops, config);

	if (!s)
		return NULL;
	s->random = config->seed ? config->seed : 1;
	return &s->cpus.source;
}

/*
 * Changes the periods of CPUs whose turn is over, so that no program runs in step with
 * them (cpu_clock.h), and restarts CPUs that were offline too briefly for
 * cpu_source_follow_cpus() to notice.
 */
static void clock_tick(struct sample_source *source, uint64_t now_ns)
{
	struct cpu_source *s = (struct cpu_source *)source;

	/* Downwards: a renewed clock moves to the end. */
	for (size_t i = s->nr; i-- > 0;)
		if (!cpu_clock_change(cpu_source_at(s, i), now_ns, (uint32_t)s->nr))
			cpu_source_renew(s, i);
}

static void clock_set_level(struct sample_source *source, unsigned int level)
{
	struct clock_source *s = (struct clock_source *)source;
	_cleanup_free_ char *times = cpu_times_read();

	s->level = level;
	s->cpus.gone.is_unknown |= !times;
	for (size_t i = 0; i < s->cpus.nr; i++) {
		struct cpu_clock *clock = cpu_source_at(&s->cpus, i);

		if (cpu_clock_set_level(clock, level, cpu_idle_ns(times, clock->cpu)))
			log_debug("no other rate on CPU %u: %m, skipping", clock->cpu);
	}
}

const struct sample_source_kind cpu_clock_source = {
	.id = LB_SOURCE_CPU_CLOCK,
	.name = "cpu-clock",
	.values = {{"cpu", "nanoseconds"}},
	.is_clock = true,
	.new = clock_new,
	.free = cpu_source_free,
	.start = cpu_source_start,
	.follow_cpus = cpu_source_follow_cpus,
	.tick = clock_tick,
	.set_level = clock_set_level,
	.stop = cpu_source_stop,
	.nr_cpus = cpu_source_nr_cpus,
	.account = cpu_source_account,
};
