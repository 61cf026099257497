// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/cpu_clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#define ALL_TURNS ((1u << CPU_CLOCK_NR_PERIODS) - 1)
/*
 * A change costs 18 us, most of it on the sampled CPU: 0.01 % of each CPU. For all CPUs
 * together it costs at most 1 % of the collector's CPU.
 */
#define TURN_NS         250000000ULL
#define TURN_PER_CPU_NS 2000000ULL
#define TURN_TICKS      8 /* at low rates: minimum ticks of a turn */
#define RATE_UNIT       100000 /* the nominal rate */

uint64_t cpu_clock_random(uint64_t *state)
{
	/* Marsaglia's xorshift, with the shifts 13, 7 and 17 of his paper of 2003. */
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

uint64_t cpu_clock_period(uint64_t period_ns, unsigned int which, uint64_t random)
{
	bool is_far = which == 0 || which == CPU_CLOCK_NR_PERIODS - 1;
	uint64_t by = is_far ? 12000 + random % 8001 : 4000 + (random >> 32) % 8001;
	uint64_t rate = which < CPU_CLOCK_NR_PERIODS / 2 ? RATE_UNIT + by
							 : RATE_UNIT - by;

	return period_ns * RATE_UNIT / rate;
}

unsigned int cpu_clock_next(unsigned int which, unsigned int *turns, uint64_t random)
{
	unsigned int others, nr;

	if (!(*turns & ~(1u << which)))
		*turns = ALL_TURNS;
	others = *turns & ~(1u << which);
	for (nr = (unsigned int)(random % (unsigned int)__builtin_popcount(others)); nr;
	     nr--)
		others &= others - 1;
	*turns &= ~(others & -others);
	return (unsigned int)__builtin_ctz(others);
}

uint64_t cpu_clock_turn_ns(uint64_t period_ns, uint32_t nr_cpus, uint64_t random)
{
	uint64_t ns = TURN_NS;

	if (ns < TURN_PER_CPU_NS * nr_cpus)
		ns = TURN_PER_CPU_NS * nr_cpus;
	if (ns < TURN_TICKS * period_ns)
		ns = TURN_TICKS * period_ns;
	return ns / 2 + random % ns;
}

static struct cpu_clock_event *event_on(struct cpu_clock *c)
{
	return &c->events[c->level][c->which];
}

/* Opens the event @which of @level, and attaches the program. */
static int provide(struct cpu_clock *c, unsigned int level, unsigned int which)
{
	struct cpu_clock_event *event = &c->events[level][which];
	_cleanup_close_ int fd = -1;

	if (event->fd >= 0)
		return 0;
	fd = perf_event_open(PERF_COUNT_SW_CPU_CLOCK, (int)c->cpu, event->period_ns);
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, c->prog_fd))
		return -errno;
	event->fd = take_fd(&fd);
	return 0;
}

/*
 * Disables the old event first, so that no time counts twice. Return: 0, or -errno with
 * nothing changed.
 */
static int switch_to(struct cpu_clock *c, unsigned int level, unsigned int which)
{
	int rc = provide(c, level, which), before = event_on(c)->fd;

	if (rc)
		return rc;
	if (before >= 0)
		ioctl(before, PERF_EVENT_IOC_DISABLE, 0);
	rc = perf_event_enable(c->events[level][which].fd, &c->life);
	if (rc) {
		if (before >= 0)
			perf_event_enable(before, &c->life);
		return rc;
	}
	c->level = level;
	c->which = which;
	return 0;
}

int cpu_clock_start(struct cpu_clock *c, uint32_t cpu, int prog_fd, uint64_t period_ns,
		    unsigned int level, uint64_t seed, uint64_t idle_ns)
{
	int rc;

	*c = (struct cpu_clock){.cpu = cpu,
				.prog_fd = prog_fd,
				.period_ns = period_ns,
				.level = level,
				.before = level,
				.idle_ns = idle_ns,
				.random = seed ? seed : 1};
	for (unsigned int i = 0; i < CPU_CLOCK_NR_LEVELS; i++) {
		uint64_t random = cpu_clock_random(&c->random);

		for (unsigned int j = 0; j < CPU_CLOCK_NR_PERIODS; j++) {
			c->events[i][j].fd = -1;
			c->events[i][j].period_ns =
				cpu_clock_period(period_ns << i, j, random);
		}
	}
	rc = switch_to(c, level,
		       cpu_clock_next(CPU_CLOCK_NR_PERIODS, &c->turns,
				      cpu_clock_random(&c->random)));
	if (rc)
		cpu_clock_stop(c);
	return rc;
}

static void close_level(struct cpu_clock *c, unsigned int level)
{
	for (unsigned int i = 0; i < CPU_CLOCK_NR_PERIODS; i++) {
		if (c->events[level][i].fd >= 0)
			close(c->events[level][i].fd);
		c->events[level][i].fd = -1;
	}
}

void cpu_clock_stop(struct cpu_clock *c)
{
	/* Another level may have an event that was opened and could not be enabled. */
	for (unsigned int i = 0; i < CPU_CLOCK_NR_LEVELS; i++)
		close_level(c, i);
}

void cpu_clock_pause(struct cpu_clock *c)
{
	ioctl(event_on(c)->fd, PERF_EVENT_IOC_DISABLE, 0);
}

bool cpu_clock_change(struct cpu_clock *c, uint64_t now_ns, uint32_t nr_cpus)
{
	uint64_t random = cpu_clock_random(&c->random);
	bool is_first = !c->change_ns;
	unsigned int next;

	if (now_ns < c->change_ns)
		return true;
	c->change_ns = now_ns +
		       cpu_clock_turn_ns(c->period_ns << c->level, nr_cpus, random);
	if (is_first)
		return true;
	if (perf_event_is_dead(event_on(c)->fd, &c->life))
		return false;
	next = cpu_clock_next(c->which, &c->turns, random >> 32);
	if (switch_to(c, c->level, next))
		log_debug("cannot change the period on CPU %u: %m, skipping", c->cpu);
	return true;
}

static void add_level(const struct cpu_clock *c, unsigned int level,
		      struct cpu_clock_sum *sum)
{
	for (unsigned int i = 0; i < CPU_CLOCK_NR_PERIODS; i++) {
		const struct cpu_clock_event *e = &c->events[level][i];
		uint64_t ns = e->fd >= 0 ? perf_event_read(e->fd).enabled_ns : 0;

		sum->enabled_ns += ns;
		sum->ticks += (double)ns / (double)e->period_ns;
	}
}

/* Sums all events since the start. */
static struct cpu_clock_sum add_up(const struct cpu_clock *c)
{
	struct cpu_clock_sum sum = c->closed;

	add_level(c, c->level, &sum);
	if (c->before != c->level)
		add_level(c, c->before, &sum);
	return sum;
}

/*
 * How exactly the idle time @idle_ns is known, in which @ticks were due. It is the sum of
 * idle and iowait, each in steps of 10 ms (USER_HZ). Interrupts of an idle CPU are not
 * part of it, but ticks in them find the idle task. Each tick is such an interrupt, of
 * 12 us on a virtual machine (20 us are assumed); 0.5 % are assumed for others.
 */
static double idle_error_ns(double idle_ns, double ticks)
{
	return 2 * 10e6 + ticks * 20e3 + idle_ns * 0.005;
}

void cpu_clock_account(const struct cpu_clock *c, uint64_t idle_ns,
		       struct sample_source_account *sum)
{
	struct cpu_clock_sum all = add_up(c);
	double ticks = all.ticks - c->then.ticks, idle = 0, error_ns;
	double enabled_ns = (double)(all.enabled_ns - c->then.enabled_ns);
	bool is_known = idle_ns != CPU_IDLE_UNKNOWN && c->idle_ns != CPU_IDLE_UNKNOWN;

	sum->enabled_ns += all.enabled_ns;
	sum->due += c->due;
	sum->error += c->error;
	if (!is_known || enabled_ns <= 0)
		return;
	/* iowait may decrease now and then (proc(5)). */
	if (idle_ns > c->idle_ns)
		idle = fmin((double)(idle_ns - c->idle_ns), enabled_ns);
	error_ns = idle_error_ns(idle, ticks * idle / enabled_ns);
	sum->due += ticks * (1 - idle / enabled_ns);
	/* The periods of a level each end with a part of a tick. */
	sum->error += ticks * error_ns / enabled_ns + CPU_CLOCK_NR_PERIODS;
}

int cpu_clock_set_level(struct cpu_clock *c, unsigned int level, uint64_t idle_ns)
{
	unsigned int old = c->level;
	struct sample_source_account sum = {0};
	int rc;

	if (level == old)
		return 0;
	/*
	 * Idle time is known only for a whole interval, so finish the account of each
	 * level.
	 */
	cpu_clock_account(c, idle_ns, &sum);
	rc = switch_to(c, level, c->which);
	if (rc)
		return rc;
	/*
	 * Keep the previous level open: it is most likely the next one, and closing an
	 * event loses the elapsed part of its period. Older levels are disabled, so
	 * their counts are final.
	 */
	if (c->before != old && c->before != level) {
		add_level(c, c->before, &c->closed);
		close_level(c, c->before);
	}
	c->before = old;
	c->due = sum.due;
	c->error = sum.error;
	c->idle_ns = idle_ns;
	c->then = add_up(c);
	return 0;
}

/* ---- the sample source ---- */

static int clock_open(struct sample_source *s, uint32_t cpu, const char *times, void *ret)
{
	/*
	 * Permanent: what is due cannot be computed without the idle time at the start.
	 */
	s->gone.is_unknown |= !times;
	return cpu_clock_start(ret, cpu, s->prog_fd, s->period, s->level,
			       cpu_clock_random(&s->random), cpu_idle_ns(times, cpu));
}

static void clock_pause(void *item)
{
	cpu_clock_pause(item);
}

static void clock_close(void *item)
{
	cpu_clock_stop(item);
}

static bool clock_tick(void *item, uint64_t now_ns, uint32_t nr_cpus)
{
	return cpu_clock_change(item, now_ns, nr_cpus);
}

static int clock_set_level(void *item, unsigned int level, const char *times)
{
	struct cpu_clock *clock = item;

	return cpu_clock_set_level(clock, level, cpu_idle_ns(times, clock->cpu));
}

static void clock_account(const struct sample_source *s, const void *item,
			  const char *times, struct sample_source_account *sum)
{
	const struct cpu_clock *clock = item;

	(void)s;
	cpu_clock_account(clock, cpu_idle_ns(times, clock->cpu), sum);
	sum->is_unknown |= !times;
}

_Static_assert(offsetof(struct cpu_clock, cpu) == 0, "an item begins with its CPU");
const struct sample_source_kind cpu_clock_source = {
	.id = LB_SOURCE_CPU_CLOCK,
	.name = "cpu-clock",
	.values = {{"cpu", "nanoseconds"}},
	.is_clock = true,
	.item_bytes = sizeof(struct cpu_clock),
	.open = clock_open,
	.pause = clock_pause,
	.close = clock_close,
	.tick = clock_tick,
	.set_level = clock_set_level,
	.account = clock_account,
};
