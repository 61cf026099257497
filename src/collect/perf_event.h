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

/**
 * A disabled dummy event on @cpu that reports task life and executable mappings,
 * timed by CLOCK_MONOTONIC, with build ids where the kernel has them (5.12).
 */
int perf_event_open_tasks(int cpu, uint32_t watermark_bytes);

/** Turns a refusal into a sentence with its remedy. Returns @code. */
int perf_event_explain(int code, struct error *err);

/** Time that the event was enabled, ns; 0 when it cannot be read. */
uint64_t perf_event_enabled_ns(int fd);

/**
 * Time that @cpu was idle since boot (idle and iowait of /proc/stat, in steps of
 * 10 ms); 0 when it cannot be read. The kernel stops timers on idle CPUs, so idle
 * time cannot be told from the ticks.
 */
uint64_t cpu_idle_ns(uint32_t cpu);

struct cpu_set_list {
	uint32_t *cpus; /* ascending; heap */
	size_t nr;
};

/** Parses "0-3,5". Return: 0, -EINVAL, -ENOMEM. */
int cpu_list_parse(const char *text, struct cpu_set_list *ret);
/** CPUs online now. */
int cpu_list_online(struct cpu_set_list *ret);
void cpu_list_deinit(struct cpu_set_list *list);

#endif
