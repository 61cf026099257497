/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns rows into a profile: owns the names, the decoder, the symbolizer, the profile
 * and its builder. All but the profile are kept over several windows, and recreated
 * when they have grown.
 */
#ifndef LB_RECORD_NAMING_H
#define LB_RECORD_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strpool.h"
#include "base/time_share.h"
#include "profile/profile.h"
#include "record/intake.h"
#include "record/profile_builder.h"
#include "record/sampling.h"
#include "symbolize/kallsyms.h"
#include "symbolize/symbolizer.h"
#include "worker/worker.h"

struct naming {
	const struct sampling *config; /* borrowed */
	const struct sample_value *measure; /* what a sample measures; borrowed */
	struct strpool *names; /* names of processes and of addresses */
	struct strpool *pool; /* of the profile */
	struct worker *worker; /* decoder for naming; drains do not wait for it */
	struct time_share share; /* of its time */
	struct kallsyms_files kernel_files;
	struct symbolizer *symbolizer;
	struct profile *profile;
	uint64_t nr_profiles; /* begun; the number of the present one's tables */
	struct profile_builder builder;

	uint64_t memory_bytes; /* resident limit; 0: none */
	struct naming_size { /* after the last renewal */
		uint64_t bytes; /* resident */
		uint64_t nr_images, nr_files; /* program images; files, opened or not */
		uint64_t nr_open; /* descriptors for targets */
	} renewed;
	uint64_t names_dropped, addresses_dropped; /* before the last renewal */
	bool said_too_small;
	bool can_be_cut; /* a signal that ends the recording also ends the reading of sources */
};

/**
 * Creates the names and the decoder. @n is zeroed, @o is borrowed; deinitialise it on
 * failure too.
 */
int naming_init(struct naming *n, const struct sampling *o, struct error *err);
void naming_deinit(struct naming *n);

/** Creates the rest, for the processes of @in, and the first profile. */
int naming_begin(struct naming *n, struct intake *in, struct error *err);

/** Replaces the profile by an empty one. Return: 0 or -ENOMEM. */
int naming_begin_profile(struct naming *n, struct error *err);

/** Begins a window in the same profile: keeps its tables, and drops the rest. */
void naming_clear_profile(struct naming *n);

/**
 * Returns whether memory is so full that the profile must be written and a new one
 * begun.
 */
bool naming_is_full(const struct naming *n);

/** symbolizer_hurry() of its addresses. */
void naming_hurry(struct naming *n);

/** Stores the text of hot source files in the profile. Return: 0 or -ENOMEM. */
int naming_collect_sources(struct naming *n, const struct attribution_options *options);

/**
 * Frees and recreates data that grows with every process that ever ran (names,
 * addresses, images of processes that have exited), and the profile, if it has grown
 * enough. Call it between two profiles, when all samples of the window that ended are
 * named.
 *
 * @named_ns  all samples up to this time are named
 */
int naming_renew(struct naming *n, struct intake *in, uint64_t named_ns,
		 struct error *err);

#endif
