// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples page faults: a software event on each CPU, which the kernel counts in the
 * context that faulted, and never throttles (perf_swevent_event() of
 * kernel/events/core.c). So with a period of 1 there is exactly one sample per fault.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/perf_event.h"
#include "collect/sample_source.h"

struct fault_event {
	uint32_t cpu;
	int fd;
	struct perf_event_life life;
};

static int faults_open(struct sample_source *s, uint32_t cpu, const char *times,
		       void *ret)
{
	_cleanup_close_ int fd =
		perf_event_open(PERF_COUNT_SW_PAGE_FAULTS, (int)cpu, s->period);
	struct fault_event *event = ret;
	int rc;

	(void)times;
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, s->prog_fd))
		return -errno;
	event->cpu = cpu;
	rc = perf_event_enable(fd, &event->life);
	if (rc)
		return rc;
	event->fd = take_fd(&fd);
	return 0;
}

static void faults_pause(void *item)
{
	ioctl(((struct fault_event *)item)->fd, PERF_EVENT_IOC_DISABLE, 0);
}

static void faults_close(void *item)
{
	close(((struct fault_event *)item)->fd);
}

static void faults_account(const struct sample_source *s, const void *item,
			   const char *times, struct sample_source_account *sum)
{
	const struct fault_event *event = item;
	struct perf_event_times now = perf_event_read(event->fd);
	/* Only whole periods: an incomplete one is not due. */
	uint64_t due = now.count / s->period;

	(void)times;
	sum->enabled_ns += now.enabled_ns;
	sum->due += (double)due;
}

static bool faults_tick(void *item, uint64_t now_ns, uint32_t nr_cpus)
{
	const struct fault_event *event = item;

	(void)now_ns;
	(void)nr_cpus;
	return !perf_event_is_dead(event->fd, &event->life);
}

_Static_assert(offsetof(struct fault_event, cpu) == 0, "an item begins with its CPU");
const struct sample_source_kind page_fault_source = {
	.id = LB_SOURCE_PAGE_FAULTS,
	.name = "page-faults",
	.values = {{"page-faults", "count"}},
	.item_bytes = sizeof(struct fault_event),
	.open = faults_open,
	.pause = faults_pause,
	.close = faults_close,
	.tick = faults_tick,
	.account = faults_account,
};
