/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cuts a serialised Profile into runs of whole top-level fields, each of which
 * is a Profile by itself: unpacked one after the other they need little memory,
 * and what is not wanted is stepped over.
 */
#ifndef LB_PROFILE_PPROF_PARTS_H
#define LB_PROFILE_PPROF_PARTS_H

#include <stddef.h>
#include <stdint.h>

#define PPROF_PART_BYTES  (64u << 10) /* a run ends here; one field alone may be longer */
#define PPROF_EXTRA_FIELD 20001
#define PPROF_WANT(field) (UINT32_C(1) << (field)) /* fields 1 to 31 */
#define PPROF_WANT_EXTRA  UINT32_C(1)

struct pprof_part {
	const uint8_t *data; /* borrowed */
	size_t len;
};

/**
 * The next run of wanted fields from *at, which moves behind it.
 * Return: 1, 0 when there is none, -EBADMSG when these are no protobuf fields.
 */
int pprof_part_next(const uint8_t **at, const uint8_t *end, uint32_t wanted,
		    struct pprof_part *ret);

#endif
