/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens perf events (perf_event_open(2)), one per online CPU, and explains errors. */
#ifndef LB_COLLECT_PERF_EVENT_H
#define LB_COLLECT_PERF_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/**
 * Opens a disabled software event.
 *
 * @event   enum perf_sw_ids
 * @cpu     -1: follows the calling thread on any CPU
 * @period  ns of a clock, else events per sample
 * Return: descriptor, or -errno (-ENODEV: offline).
 */
int perf_event_open(uint64_t event, int cpu, uint64_t period);

/**
 * Opens a disabled dummy event on @cpu that reports task life and executable mappings,
 * with CLOCK_MONOTONIC times, and build ids where the kernel has them (5.12).
 */
int perf_event_open_tasks(int cpu, uint32_t watermark_bytes);

/*
 * A perf uprobe: the kernel removes it with its descriptor, even if lineburn is killed. The
 * file has the type of its events.
 */
#define PERF_UPROBE_TYPE_PATH "/sys/bus/event_source/devices/uprobe/type"

/**
 * Does the kernel refuse the events of a CPU to this process as it is? Some distributions'
 * kernels ask for CAP_SYS_ADMIN if kernel.perf_event_paranoid is 3 or more.
 */
bool perf_event_is_refused(void);
/**
 * The same of uprobes. Since 6.16, and in newer stable versions of older kernels, they need
 * CAP_SYS_ADMIN again (linux ba677dbe77af).
 */
bool perf_event_is_uprobe_refused(void);

/** Turns an error into a message with its remedy. Returns @code. */
int perf_event_explain(int code, struct error *err);

/* In the order of read_format of perf_event_open(2). */
struct perf_event_times {
	uint64_t count;
	uint64_t enabled_ns; /* how long the event was enabled */
	uint64_t ran_ns;
};

/** Reads an event; zeroes when it cannot be read. */
struct perf_event_times perf_event_read(int fd);

/*
 * An event of a CPU that goes offline is dead (perf_event_exit_cpu() of
 * kernel/events/core.c): when the CPU is back, the event can be enabled and read, but
 * never runs. A CPU can be offline for just an instant, for example while the machine
 * sleeps. So a dead event is detected by not having run while time passed.
 */
struct perf_event_life {
	uint64_t ran_ns; /* of the event, when it was enabled */
	uint64_t since_ns; /* CLOCK_MONOTONIC: when it was enabled */
};

/** Enables @fd, which is disabled. Return: 0 or -errno. */
int perf_event_enable(int fd, struct perf_event_life *ret);

/** Returns whether @fd, enabled all the time since, missed 50 ms or more. */
bool perf_event_is_dead(int fd, const struct perf_event_life *life);

/**
 * Reads the times of all CPUs; heap, NULL if unreadable (a procfs mounted with
 * subset=pid has no /proc/stat).
 */
char *cpu_times_read(void);

/**
 * Returns the time that @cpu was idle since boot (idle and iowait of /proc/stat, in
 * steps of 10 ms), from @times, which may be NULL; CPU_IDLE_UNKNOWN if @times lacks the
 * CPU, as it does for offline ones. Needed because the kernel stops timers on idle
 * CPUs, so ticks do not show idle time.
 */
#define CPU_IDLE_UNKNOWN UINT64_MAX
uint64_t cpu_idle_ns(const char *times, uint32_t cpu);

/**
 * Returns the time that a hypervisor stole since boot, summed over all CPUs (steal of
 * /proc/stat, in steps of 10 ms); 0 if @times lacks it. With
 * CONFIG_PARAVIRT_TIME_ACCOUNTING the kernel's clocks of tasks and cgroups exclude
 * stolen time (update_rq_clock_task() of kernel/sched/core.c); a cpu-clock event
 * includes it.
 */
uint64_t cpus_stolen_ns(const char *times);

struct cpu_set_list {
	uint32_t *cpus; /* ascending; heap */
	size_t nr;
};

/** Parses "0-3,5". Return: 0, -EINVAL, -ENOMEM. */
int cpu_list_parse(const char *text, struct cpu_set_list *ret);
/** Reads which CPUs are online now. */
int cpu_list_online(struct cpu_set_list *ret);
bool cpu_list_has(const struct cpu_set_list *list, uint32_t cpu);
void cpu_list_deinit(struct cpu_set_list *list);

#endif
