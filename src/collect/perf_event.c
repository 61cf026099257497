// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/perf_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/as_root.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/vec.h"

#define ONLINE_PATH "/sys/devices/system/cpu/online"
#define MAX_CPUS    8192 /* CONFIG_NR_CPUS is at most this */
#define READ_FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
/* More than the two clocks differ; a dead event stays dead, so its lag exceeds this. */
#define DEAD_NS      50000000ULL
#define DRIFT_OF_ALL 100 /* a hundredth */

static int open_event(struct perf_event_attr *attr, int cpu)
{
	/* No CPU: follows the calling thread on any CPU. */
	int fd = (int)syscall(SYS_perf_event_open, attr, cpu < 0 ? 0 : -1, cpu, -1,
			      PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int perf_event_open(uint64_t event, int cpu, uint64_t period)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = event,
		.sample_period = period,
		.read_format = READ_FORMAT,
		.disabled = 1,
	};

	return open_event(&attr, cpu);
}

bool perf_event_is_refused(void)
{
	int fd = perf_event_open(PERF_COUNT_SW_CPU_CLOCK, 0, CLOCK_SECOND_NS);

	if (fd >= 0)
		close(fd);
	return fd == -EACCES || fd == -EPERM;
}

/* The rights are checked before the probe, which has no path. */
bool perf_event_is_uprobe_refused(void)
{
	_cleanup_free_ char *type = NULL;
	struct perf_event_attr attr = {.size = sizeof(attr), .disabled = 1};
	size_t len;
	int fd;

	if (io_read_file(PERF_UPROBE_TYPE_PATH, 64, &type, &len))
		return false;
	attr.type = (uint32_t)strtoul(type, NULL, 10);
	fd = open_event(&attr, 0);
	if (fd >= 0)
		close(fd);
	return fd == -EACCES || fd == -EPERM;
}

int perf_event_open_tasks(int cpu, uint32_t watermark_bytes)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.read_format = READ_FORMAT,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.build_id = 1,
		.watermark = 1,
		.wakeup_watermark = watermark_bytes,
		.disabled = 1,
	};
	int fd = open_event(&attr, cpu);

	if (fd == -EINVAL) {
		attr.build_id = 0;
		fd = open_event(&attr, cpu);
	}
	return fd;
}

int perf_event_explain(int code, struct error *err)
{
	char advice[AS_ROOT_MAX_BYTES];

	switch (-code) {
	case EACCES:
	case EPERM:
		return error_set_exit(
			err, EXIT_SYSTEM, code,
			"the kernel does not allow perf events here; see what "
			"\"lineburn doctor\" says%s",
			as_root_advice(advice, sizeof(advice)));
	case EMFILE:
		return error_set_exit(
			err, EXIT_SYSTEM, code,
			"too many open files; raise the limit with ulimit -n");
	case ENOENT:
	case EOPNOTSUPP:
	case ENOSYS:
		return error_set_exit(
			err, EXIT_SYSTEM, code,
			"this kernel has no perf events (CONFIG_PERF_EVENTS)");
	default:
		errno = -code;
		return error_set_exit(err, EXIT_SYSTEM, code,
				      "cannot open a perf event: %m; "
				      "see what \"lineburn doctor\" says");
	}
}

struct perf_event_times perf_event_read(int fd)
{
	struct perf_event_times times;

	if (read(fd, &times, sizeof(times)) != sizeof(times))
		return (struct perf_event_times){0};
	return times;
}

/* Reads the clock after enabling, so that a live event never seems to lag. */
int perf_event_enable(int fd, struct perf_event_life *ret)
{
	ret->ran_ns = perf_event_read(fd).ran_ns;
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	ret->since_ns = clock_now_ns();
	return 0;
}

bool perf_event_is_dead(int fd, const struct perf_event_life *life)
{
	uint64_t passed_ns = clock_now_ns() - life->since_ns;
	uint64_t ran_ns = perf_event_read(fd).ran_ns - life->ran_ns;

	return passed_ns > ran_ns + DEAD_NS + passed_ns / DRIFT_OF_ALL;
}

char *cpu_times_read(void)
{
	char *text = NULL;
	size_t len;

	return io_read_file("/proc/stat", 4u << 20, &text, &len) ? NULL : text;
}

uint64_t cpu_idle_ns(const char *times, uint32_t cpu)
{
	unsigned long long idle, iowait;
	char name[24];
	const char *line;

	snprintf(name, sizeof(name), "\ncpu%u ", cpu);
	line = times ? strstr(times, name) : NULL;
	if (!line ||
	    sscanf(line + strlen(name), "%*u %*u %*u %llu %llu", &idle, &iowait) != 2)
		return CPU_IDLE_UNKNOWN;
	return (idle + iowait) * 1000000000ULL / (unsigned long long)sysconf(_SC_CLK_TCK);
}

uint64_t cpus_stolen_ns(const char *times)
{
	unsigned long long stolen;

	if (!times || sscanf(times, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &stolen) != 1)
		return 0;
	return stolen * 1000000000ULL / (unsigned long long)sysconf(_SC_CLK_TCK);
}

int cpu_list_parse(const char *text, struct cpu_set_list *ret)
{
	_cleanup_free_ uint32_t *cpus = NULL;
	size_t nr = 0, cap = 0;

	while (*text && *text != '\n') {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end == text)
			return -EINVAL;
		if (*end == '-') {
			text = end + 1;
			last = strtoul(text, &end, 10);
			if (end == text)
				return -EINVAL;
		}
		if (last < first || last >= MAX_CPUS ||
		    (*end && *end != ',' && *end != '\n'))
			return -EINVAL;
		if (vec_grow(&cpus, &cap, nr + (last - first + 1), sizeof(*cpus),
			     MAX_CPUS))
			return -ENOMEM;
		for (unsigned long cpu = first; cpu <= last; cpu++)
			cpus[nr++] = (uint32_t)cpu;
		text = *end == ',' ? end + 1 : end;
	}
	if (!nr)
		return -EINVAL;
	ret->cpus = take_ptr(cpus);
	ret->nr = nr;
	return 0;
}

int cpu_list_online(struct cpu_set_list *ret)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	int rc = io_read_file(ONLINE_PATH, 64 * 1024, &text, &len);

	return rc ? rc : cpu_list_parse(text, ret);
}

bool cpu_list_has(const struct cpu_set_list *list, uint32_t cpu)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->cpus[i] == cpu)
			return true;
	return false;
}

void cpu_list_deinit(struct cpu_set_list *list)
{
	free(list->cpus);
	*list = (struct cpu_set_list){0};
}
