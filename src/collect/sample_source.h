/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sample source: a kernel event on each CPU that runs the sampling program. Each
 * sample names its source and has a weight in that source's unit. To add a source, add
 * an id (enum lb_source), a file with its operations, and a row of the table.
 */
#ifndef LB_COLLECT_SAMPLE_SOURCE_H
#define LB_COLLECT_SAMPLE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lineburn.h"

/* Expected samples since the start, on all CPUs. */
struct sample_source_account {
	uint64_t enabled_ns; /* sum over CPUs of the time that events were enabled */
	double due; /* samples expected while CPUs were not idle */
	double error; /* due is exact to this number of samples */
	bool is_unknown; /* the kernel did not report what due is computed from */
};

struct sample_source {
	const struct sample_source_kind *kind;
	int prog_fd; /* of the program to run for each sample; borrowed */
	uint64_t period; /* > 0: amount of the first value per sample */
	uint64_t random; /* state, never 0 */
	unsigned int level; /* one sample per 2^level periods */
	void *items; /* of kind->item_bytes each; heap */
	size_t nr, cap; /* CPUs with an event now */
	struct sample_source_account gone; /* of CPUs that went offline */
	bool running;
};

/*
 * Operations on the item of one CPU. @times is what cpu_times_read() has just returned,
 * or NULL if that failed.
 */
struct sample_source_kind {
	enum lb_source id;
	const char *name; /* value of option -e */
	/*
	 * Units of a sample's values. The kernel side adds up the periods in the first
	 * one.
	 */
	struct sample_value {
		const char *type, *unit; /* as pprof names them */
	} values[LB_NR_VALUES];
	bool is_clock; /* samples come at a rate, and the period is in nanoseconds */

	size_t item_bytes; /* an item begins with its CPU, a uint32_t */
	/** Opens and starts an event on @cpu. Return: 0 or -errno (-ENODEV: offline). */
	int (*open)(struct sample_source *s, uint32_t cpu, const char *times, void *ret);
	/** Stops the event; account() still works. */
	void (*pause)(void *item);
	void (*close)(void *item);
	/**
	 * Called a few times a second: changes what depends on time. Return: false if
	 * the CPU was offline meanwhile; then the item must be reopened.
	 */
	bool (*tick)(void *item, uint64_t now_ns, uint32_t nr_cpus);
	/** Sets the level. Return: 0 or -errno. NULL: the source has only one rate. */
	int (*set_level)(void *item, unsigned int level, const char *times);
	/** Adds the samples expected of the item to @sum. */
	void (*account)(const struct sample_source *s, const void *item,
			const char *times, struct sample_source_account *sum);
};

extern const struct sample_source_kind cpu_clock_source, page_fault_source;

/** Finds a source by name. Return: NULL: there is none. */
const struct sample_source_kind *sample_source_named(const char *name);

/** Returns the name of source @i. Return: NULL: there are no more. */
const char *sample_source_name(size_t i);

/** Closes the events. */
void sample_source_deinit(struct sample_source *s);

/** Opens and starts an event on every online CPU. */
int sample_source_start(struct sample_source *s, const char *times, struct error *err);
/**
 * Adds CPUs that came online and drops those that went offline. Cheap if none changed.
 */
void sample_source_follow_cpus(struct sample_source *s);
void sample_source_tick(struct sample_source *s, uint64_t now_ns);
/** Does nothing if the source has only one rate. */
void sample_source_set_level(struct sample_source *s, unsigned int level);
/** Stops sampling. */
void sample_source_stop(struct sample_source *s, const char *times);
void sample_source_account(struct sample_source *s, const char *times,
			   struct sample_source_account *ret);

#endif
