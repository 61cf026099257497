/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explains the columns of a listing. */
#ifndef LB_RENDER_LEGEND_H
#define LB_RENDER_LEGEND_H

#include "render/listing.h"

/**
 * For annotate: "self: CPU on the line itself ...; good to +-1.3 points".
 * @no_code  the listing marks lines without code
 */
void legend_of_lines(const struct listing *l, bool no_code);

/** Returns the sign shown instead of a figure for a line without code: one column. */
const char *legend_no_code_sign(const struct render_options *opts);

/** Explains the columns of tables of functions. */
void legend_of_functions(const struct listing *l);

#endif
