/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What rows become a profile by: names, the decoder, the symbolizer, the profile and its
 * builder. All but the profile live on from window to window, and are made anew when they
 * have grown.
 */
#ifndef LB_RECORD_NAMING_H
#define LB_RECORD_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strpool.h"
#include "profile/profile.h"
#include "record/intake.h"
#include "record/profile_builder.h"
#include "record/sampling.h"
#include "symbolize/symbolizer.h"
#include "worker/worker.h"

struct naming {
	const struct sample_value *measure; /* what samples are worth; borrowed */
	struct strpool *names; /* of processes and of what addresses are called */
	struct strpool *pool; /* of the profile */
	struct worker *worker;
	struct symbolizer *symbolizer;
	struct profile *profile;
	struct profile_builder builder;

	uint64_t memory_bytes; /* resident, at most; 0: no limit */
	struct naming_size { /* behind the last renewal */
		uint64_t bytes; /* resident */
		uint64_t nr_images, nr_files; /* program images; files, opened or not */
		uint64_t nr_open; /* descriptors for targets */
	} renewed;
	uint64_t names_dropped, addresses_dropped; /* of what was renewed */
	bool said_too_small;
};

/** @n is zeroed; to be deinitialised in either case. Makes names and decoder. */
int naming_init(struct naming *n, const struct sampling *o, struct error *err);
void naming_deinit(struct naming *n);

/** Makes the rest, for the processes of @in, and the first profile. */
int naming_begin(struct naming *n, struct intake *in, struct error *err);

/** An empty profile instead of the one there is. Return: 0 or -ENOMEM. */
int naming_begin_profile(struct naming *n, struct error *err);

/** Does it hold so much memory that its profile is to be written and to begin anew? */
bool naming_is_full(const struct naming *n);

/** Keeps the text of the profile's hot source files in it. Return: 0 or -ENOMEM. */
int naming_collect_sources(struct naming *n, const struct attribution_options *options);

/**
 * Between two profiles, when all of the window that ended was named: makes anew what grows
 * with all that ever ran (names, addresses, images of processes that are gone), if it has
 * grown enough.
 *
 * @named_ns  all samples up to then are named
 */
int naming_renew(struct naming *n, struct intake *in, uint64_t named_ns,
		 struct error *err);

#endif
