/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts lineburn.Extra (lineburn.proto), which has the data that pprof cannot store,
 * to and from the model.
 */
#ifndef LB_PROFILE_EXTRA_H
#define LB_PROFILE_EXTRA_H

#include "profile/arena.h"
#include "profile/profile.h"

#define EXTRA_VERSION 1

struct profile_order;

/* How the file differs from the tables of the model. */
struct extra_file {
	uint32_t first_mapping; /* as in mapping_id_of() */
	const struct profile_order *order;
	/* number of placeholder functions, which are the last ones */
	uint32_t nr_stand_ins;
};

/**
 * Packs p->extra, the misses of locations and the statuses of samples. Ids are places in
 * the file, + 1.
 * Return: 0 and a heap buffer, or -ENOMEM.
 */
int extra_pack(const struct profile *p, const struct extra_file *file, uint8_t **ret,
	       size_t *ret_len);

struct id_table;

/* Ids in the file of the tables that an Extra refers to. */
struct extra_ids {
	const struct id_table *location, *mapping, *function;
};

/**
 * Unpacks the same into @p, whose tables are already read.
 *
 * @arena        for the unpacked message; reset by the caller
 *
 * Ignores unknown names (of a newer lineburn). An unknown version leaves extra.present
 * false and adds a comment.
 * Return: 0, -EBADMSG (malformed), -EFBIG (over the arena), -ENOMEM.
 */
int extra_unpack(struct profile *p, const uint8_t *data, size_t len,
		 const struct extra_ids *ids, struct arena *arena);

#endif
