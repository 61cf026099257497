/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_event_open(2): one event per online CPU, and what a refusal means. */
#ifndef LB_COLLECT_PERF_EVENT_H
#define LB_COLLECT_PERF_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** A disabled cpu-clock event on @cpu. Return: descriptor, or -errno (-ENODEV: offline). */
int perf_event_open_clock(int cpu, uint64_t period_ns);

/** The same for each @period-th page fault on @cpu. */
int perf_event_open_faults(int cpu, uint64_t period);

/** The same as the first of the calling thread, on whatever CPU. */
int perf_event_open_clock_of_caller(uint64_t period_ns);

/**
 * A disabled dummy event on @cpu that reports task life and executable mappings,
 * timed by CLOCK_MONOTONIC, with build ids where the kernel has them (5.12).
 */
int perf_event_open_tasks(int cpu, uint32_t watermark_bytes);

/** Turns a refusal into a sentence with its remedy. Returns @code. */
int perf_event_explain(int code, struct error *err);

/** What the event has counted; 0 when it cannot be read. */
uint64_t perf_event_value(int fd);

/** Time that the event was enabled, ns; 0 when it cannot be read. */
uint64_t perf_event_enabled_ns(int fd);

/*
 * A CPU that goes offline takes its events with it for good (perf_event_exit_cpu() of
 * kernel/events/core.c): when it is back, they can be switched on and read, but never
 * run. It may be away for an instant, and is while the machine sleeps; so what tells is
 * that an event did not run in time that has passed.
 */
struct perf_event_life {
	uint64_t ran_ns; /* of the event, when it was switched on */
	uint64_t since_ns; /* CLOCK_MONOTONIC: when that was */
};

/** Switches @fd on, which is off. Return: 0 or -errno. */
int perf_event_enable(int fd, struct perf_event_life *ret);

/** Has @fd, which was not switched off since, missed 50 ms and more? */
bool perf_event_is_dead(int fd, const struct perf_event_life *life);

/**
 * What the kernel says of the times of all CPUs; heap, NULL when it cannot be read (a
 * procfs that is mounted with subset=pid has no /proc/stat).
 */
char *cpu_times_read(void);

/**
 * Time that @cpu was idle since boot (idle and iowait of /proc/stat, in steps of
 * 10 ms), by @times, which may be NULL; CPU_IDLE_UNKNOWN when it is not in it, as CPUs
 * that are offline are not. The kernel stops timers on idle CPUs, so idle time cannot be
 * told from the ticks.
 */
#define CPU_IDLE_UNKNOWN UINT64_MAX
uint64_t cpu_idle_ns(const char *times, uint32_t cpu);

/**
 * Time since boot that a hypervisor kept CPUs from this machine while it wanted them, all
 * of them together (steal of /proc/stat, in steps of 10 ms); 0 when @times does not tell.
 * Where the kernel is built with CONFIG_PARAVIRT_TIME_ACCOUNTING, its clocks of tasks and
 * cgroups leave out what was taken from them (update_rq_clock_task() of kernel/sched/core.c);
 * a cpu-clock event does not.
 */
uint64_t cpus_stolen_ns(const char *times);

struct cpu_set_list {
	uint32_t *cpus; /* ascending; heap */
	size_t nr;
};

/** Parses "0-3,5". Return: 0, -EINVAL, -ENOMEM. */
int cpu_list_parse(const char *text, struct cpu_set_list *ret);
/** CPUs online now. */
int cpu_list_online(struct cpu_set_list *ret);
bool cpu_list_has(const struct cpu_set_list *list, uint32_t cpu);
void cpu_list_deinit(struct cpu_set_list *list);

#endif
