/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the page of a comparison knows, as JSON that may stand inside of <script>
 * (page_json.h). Figures have as many digits as in diff --json. docs/formats.md does not
 * describe it: diff.js, which the page contains, reads it.
 */
#ifndef LB_RENDER_DIFF_PAGE_H
#define LB_RENDER_DIFF_PAGE_H

#include "render/render.h"

#define DIFF_PAGE_MAX_ROWS  3000 /* lines, functions; the largest differences */
#define DIFF_PAGE_MAX_FILES 2000
#define DIFF_PAGE_MAX_NODES 12000 /* of the flame graph */

struct diff_page {
	char *facts; /* heap: what was compared, figures, sources */
	char *stacks; /* heap: the flame graph */
};

/**
 * @limit  most lines and functions; 0: as many as a page holds
 * Return: 0 or -ENOMEM.
 */
int diff_page_new(const struct render_input *in, size_t limit, struct diff_page *ret);
void diff_page_deinit(struct diff_page *d);

/** Writes "before.pb.gz - after.pb.gz" into @buf, for a title. */
void diff_page_title(const struct profile_diff *d, char *buf, size_t size);

#endif
