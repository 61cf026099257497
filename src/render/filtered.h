/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints which filters narrow a listing, as text and as JSON. */
#ifndef LB_RENDER_FILTERED_H
#define LB_RENDER_FILTERED_H

#include "render/json_value.h"
#include "render/listing.h"

/** "only container web (3f2a8c9d0e1f): 34.9 % of 12000 samples"; nothing if all are shown. */
void filtered_print(const struct listing *l, unsigned int margin);

/** The member "narrowed"; null if all are shown. */
json_t *filtered_value(struct json_builder *b, const struct filtered *n);

#endif
