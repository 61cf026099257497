/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sample source: a kernel event that runs the sampling program on every CPU. Each
 * sample names its source and has a weight in that source's unit.
 * A new source is an id (enum lb_source), a file with its operations, and a row of the
 * table.
 */
#ifndef LB_COLLECT_SAMPLE_SOURCE_H
#define LB_COLLECT_SAMPLE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/sample.h"

/* The beginning of each source's own struct. */
struct sample_source {
	const struct sample_source_kind *kind;
};

struct sample_source_config {
	int prog_fd; /* of the program to run for each sample; borrowed */
	uint64_t period; /* > 0: amount of the first value per sample */
	uint64_t seed; /* a random number */
};

/* Expected samples since the start, on all CPUs. */
struct sample_source_account {
	uint64_t enabled_ns; /* sum over CPUs of the time that events were enabled */
	double due; /* samples expected while CPUs were not idle */
	bool is_unknown; /* the kernel did not provide what due needs */
};

struct sample_source_kind {
	enum lb_source id;
	const char *name; /* as -e takes it */
	/* Units of a sample's values. The kernel side sums the periods in the first. */
	struct sample_value {
		const char *type, *unit; /* as pprof names them */
	} values[LB_NR_VALUES];
	bool is_clock; /* samples come at a rate, and the period is in nanoseconds */

	/** Opens nothing yet. Return: heap, NULL when out of memory. */
	struct sample_source *(*new)(const struct sample_source_config *config);
	void (*free)(struct sample_source *source);
	/**
	 * Opens and starts an event on every online CPU.
	 * @times  here and below: what cpu_times_read() returned just now; may be NULL
	 */
	int (*start)(struct sample_source *source, const char *times, struct error *err);
	/** Picks up CPUs that came online and drops those that went. Cheap when nothing changed. */
	void (*follow_cpus)(struct sample_source *source);
	/** Called a few times a second: changes what depends on time. */
	void (*tick)(struct sample_source *source, uint64_t now_ns);
	/** Sets one sample per 2^@level periods; NULL: the source has one rate only. */
	void (*set_level)(struct sample_source *source, unsigned int level);
	/** Stops the samples. */
	void (*stop)(struct sample_source *source, const char *times);
	/** Returns the number of CPUs with an event now. */
	uint32_t (*nr_cpus)(const struct sample_source *source);
	void (*account)(struct sample_source *source, const char *times,
			struct sample_source_account *ret);
};

extern const struct sample_source_kind cpu_clock_source, page_fault_source;

/** Finds a source by name. Return: NULL: there is none. */
const struct sample_source_kind *sample_source_named(const char *name);

#endif
