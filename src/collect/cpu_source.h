/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sample sources share that have an event on each CPU: they follow the CPUs. */
#ifndef LB_COLLECT_CPU_SOURCE_H
#define LB_COLLECT_CPU_SOURCE_H

#include "collect/sample_source.h"

struct cpu_source;

/*
 * Operations on the item of one CPU. @times is what cpu_times_read() returned just now, or
 * NULL if that failed.
 */
struct cpu_source_ops {
	size_t item_bytes; /* an item begins with its CPU, a uint32_t */
	/** Opens and starts an event on @cpu. Return: 0 or -errno (-ENODEV: offline). */
	int (*open)(struct cpu_source *s, uint32_t cpu, const char *times, void *ret);
	/** Stops the event; account() still works. */
	void (*pause)(void *item);
	void (*close)(void *item);
	/** Adds what was expected of the item to @sum. */
	void (*account)(const struct cpu_source *s, const void *item, const char *times,
			struct sample_source_account *sum);
};

/* The beginning of the source's own struct. */
struct cpu_source {
	struct sample_source source;
	struct sample_source_config config;
	const struct cpu_source_ops *ops;
	void *items; /* heap */
	size_t nr, cap;
	struct sample_source_account gone; /* of CPUs that went offline */
	bool running;
};

static inline void *cpu_source_at(const struct cpu_source *s, size_t i)
{
	return (char *)s->items + i * s->ops->item_bytes;
}

/** Allocates a source's own struct of @bytes. Return: NULL when out of memory. */
void *cpu_source_new(size_t bytes, const struct cpu_source_ops *ops,
		     const struct sample_source_config *config);

/** Restarts item @i, whose CPU was offline; it, or nothing, becomes the last. */
void cpu_source_renew(struct cpu_source *s, size_t i);

/* Operations of struct sample_source_kind. */
void cpu_source_free(struct sample_source *source);
int cpu_source_start(struct sample_source *source, const char *times, struct error *err);
void cpu_source_follow_cpus(struct sample_source *source);
void cpu_source_stop(struct sample_source *source, const char *times);
uint32_t cpu_source_nr_cpus(const struct sample_source *source);
void cpu_source_account(struct sample_source *source, const char *times,
			struct sample_source_account *ret);

#endif
