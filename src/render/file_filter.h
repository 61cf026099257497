/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --file SUFFIX, the same in every format. */
#ifndef LB_RENDER_FILE_FILTER_H
#define LB_RENDER_FILE_FILTER_H

#include <stdbool.h>
#include <string.h>

#include "render/render.h"

/** True without a filter. */
static inline bool file_filter_matches(const struct render_options *opts,
				       const char *path)
{
	const char *suffix = opts->file_filter;
	size_t path_len = strlen(path), suffix_len = suffix ? strlen(suffix) : 0;

	return path_len >= suffix_len &&
	       (!suffix_len || !strcmp(path + path_len - suffix_len, suffix));
}

#endif
