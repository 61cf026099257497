// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples page faults: a software event on each CPU, which the kernel counts in the
 * context that faulted, and never throttles (perf_swevent_event() of
 * kernel/events/core.c). So with a period of 1 there is exactly one sample per fault.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"
#include "collect/perf_event.h"
#include "collect/sample_source.h"

struct cpu_event {
	uint32_t cpu;
	int fd;
	struct perf_event_life life;
};

struct fault_source {
	struct sample_source source;
	struct sample_source_config config;
	struct cpu_event *events;
	size_t nr, cap;
	/* Of CPUs that went offline. */
	uint64_t gone_ns, gone_due;
	bool running;
};

/* The source is its first member. */
static struct fault_source *to_faults(struct sample_source *source)
{
	return (struct fault_source *)source;
}

static struct sample_source *faults_new(const struct sample_source_config *config)
{
	struct fault_source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = *config;
	return &s->source;
}

static void faults_free(struct sample_source *source)
{
	struct fault_source *s = to_faults(source);
	for (size_t i = 0; i < s->nr; i++)
		close(s->events[i].fd);
	free(s->events);
	free(s);
}

/* -ENODEV: it is offline. */
static int add_cpu(struct fault_source *s, uint32_t cpu)
{
	struct cpu_event event = {.cpu = cpu};
	_cleanup_close_ int fd = -1;
	int rc = vec_grow(&s->events, &s->cap, s->nr + 1, sizeof(*s->events), 0);

	if (rc)
		return rc;
	fd = perf_event_open_faults((int)cpu, s->config.period);
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, s->config.prog_fd))
		return -errno;
	rc = perf_event_enable(fd, &event.life);
	if (rc)
		return rc;
	event.fd = take_fd(&fd);
	s->events[s->nr++] = event;
	return 0;
}

static uint64_t due_of(const struct fault_source *s, const struct cpu_event *event)
{
	return perf_event_value(event->fd) / s->config.period;
}

static void drop_cpu(struct fault_source *s, size_t i)
{
	s->gone_ns += perf_event_enabled_ns(s->events[i].fd);
	s->gone_due += due_of(s, &s->events[i]);
	close(s->events[i].fd);
	s->events[i] = s->events[--s->nr];
}

static int faults_start(struct sample_source *source, struct error *err)
{
	struct fault_source *s = to_faults(source);
	struct cpu_set_list online = {0};
	int rc = cpu_list_online(&online);

	for (size_t i = 0; !rc && i < online.nr; i++) {
		rc = add_cpu(s, online.cpus[i]);
		if (rc == -ENODEV)
			rc = 0; /* it went offline just now */
		else if (rc)
			perf_event_explain(rc, err);
	}
	cpu_list_deinit(&online);
	s->running = !rc;
	return rc;
}

static bool has_cpu(const struct fault_source *s, uint32_t cpu)
{
	for (size_t i = 0; i < s->nr; i++)
		if (s->events[i].cpu == cpu)
			return true;
	return false;
}

static void faults_follow_cpus(struct sample_source *source)
{
	struct fault_source *s = to_faults(source);
	struct cpu_set_list online = {0};

	if (!s->running || cpu_list_online(&online))
		return;
	for (size_t i = s->nr; i-- > 0;)
		if (!cpu_list_has(&online, s->events[i].cpu) ||
		    perf_event_is_dead(s->events[i].fd, &s->events[i].life))
			drop_cpu(s, i);
	for (size_t i = 0; i < online.nr; i++)
		if (!has_cpu(s, online.cpus[i]) && add_cpu(s, online.cpus[i]))
			log_debug("no event on CPU %u: %m, skipping", online.cpus[i]);
	cpu_list_deinit(&online);
}

static void faults_tick(struct sample_source *source, uint64_t now_ns)
{
	(void)source;
	(void)now_ns;
}

static void faults_stop(struct sample_source *source)
{
	struct fault_source *s = to_faults(source);
	for (size_t i = 0; i < s->nr; i++)
		ioctl(s->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	while (s->nr)
		drop_cpu(s, s->nr - 1);
	s->running = false;
}

static uint32_t faults_nr_cpus(const struct sample_source *source)
{
	return (uint32_t)((const struct fault_source *)source)->nr;
}

static void faults_account(struct sample_source *source,
			   struct sample_source_account *ret)
{
	struct fault_source *s = to_faults(source);
	uint64_t due = s->gone_due;

	*ret = (struct sample_source_account){.enabled_ns = s->gone_ns};
	for (size_t i = 0; i < s->nr; i++) {
		ret->enabled_ns += perf_event_enabled_ns(s->events[i].fd);
		due += due_of(s, &s->events[i]);
	}
	ret->due = (double)due;
}

const struct sample_source_kind page_fault_source = {
	.id = LB_SOURCE_PAGE_FAULTS,
	.name = "page-faults",
	.values = {{"page-faults", "count"}},
	.new = faults_new,
	.free = faults_free,
	.start = faults_start,
	.follow_cpus = faults_follow_cpus,
	.tick = faults_tick,
	.stop = faults_stop,
	.nr_cpus = faults_nr_cpus,
	.account = faults_account,
};
