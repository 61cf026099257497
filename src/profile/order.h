/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of a profile's tables in its file. Similar items are neighbours, which makes
 * the packed file an eighth smaller: samples by their stacks from the outermost frame on,
 * locations by address, functions (and with them, strings) by file.
 */
#ifndef LB_PROFILE_ORDER_H
#define LB_PROFILE_ORDER_H

#include "profile/profile.h"

struct profile_order {
	/* Indices of the model, in the order of the file. Heap. */
	uint32_t *functions, *locations, *samples;
	/* Places in the file, by index of the model. Heap. */
	uint32_t *function_places, *location_places;
};

/**
 * @first_mapping  as in mapping_id_of()
 * Return: 0 or -ENOMEM; @ret is to be freed in any case.
 */
int profile_order_init(struct profile_order *ret, const struct profile *p,
		       uint32_t first_mapping);
void profile_order_deinit(struct profile_order *order);

#endif
