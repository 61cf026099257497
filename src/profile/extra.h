/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts lineburn.Extra (lineburn.proto), the data without a field in pprof, from and
 * to the model.
 */
#ifndef LB_PROFILE_EXTRA_H
#define LB_PROFILE_EXTRA_H

#include "profile/arena.h"
#include "profile/profile.h"

#define EXTRA_VERSION 1

/* How the file differs from the tables of the model. */
struct extra_file {
	uint32_t first_mapping; /* as in mapping_id_of() */
	uint32_t nr_stand_ins; /* the last functions: they stand for code without one */
};

/**
 * Packs p->extra, the misses of locations (id: index + 1) and the statuses of samples.
 * Return: 0 and a heap buffer, or -ENOMEM.
 */
int extra_pack(const struct profile *p, const struct extra_file *file, uint8_t **ret,
	       size_t *ret_len);

struct id_table;

/* The ids in the file of the tables that an Extra refers to. */
struct extra_ids {
	const struct id_table *location, *mapping, *function;
};

/**
 * Unpacks the same into @p, whose tables are already read.
 *
 * @arena        for the unpacked message; reset by the caller
 *
 * Unknown names (of a newer lineburn) are ignored. An unknown version leaves
 * extra.present false and adds a comment.
 * Return: 0, -EBADMSG (malformed), -EFBIG (over the arena), -ENOMEM.
 */
int extra_unpack(struct profile *p, const uint8_t *data, size_t len,
		 const struct extra_ids *ids, struct arena *arena);

#endif
