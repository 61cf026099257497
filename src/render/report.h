/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of functions, for report, and for annotate when nothing has a line. */
#ifndef LB_RENDER_REPORT_H
#define LB_RENDER_REPORT_H

#include "render/listing.h"

/** Prints at most @max_rows (0: all) functions of at least opts->min_share. */
void functions_table(struct listing *l, size_t max_rows);

#endif
