/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matches code that is named on the command line: FUNC or FILE:LINE.
 *
 * Names are compared in steps: the whole name, its last part ("dither" for
 * "__main__.dither"), any part. The first step that matches a function decides.
 */
#ifndef LB_ANALYZE_CODE_QUERY_H
#define LB_ANALYZE_CODE_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

enum name_step {
	NAME_WHOLE,
	NAME_LAST_PART,
	NAME_ANY_PART,
	NR_NAME_STEPS,
};

bool name_matches(const char *name, const char *what, enum name_step step);

struct code_place {
	const char *file; /* points into the parsed text; not terminated */
	size_t file_len;
	uint32_t line; /* > 0 */
};

/** Parses FILE:LINE. Return: false if @what is a function's name. */
bool code_place_parse(const char *what, struct code_place *ret);

/** Is @path the file of the place? The place may have only its last components. */
bool code_place_is_in(const struct code_place *place, const char *path);

/* ---- names of specialisations ---- */

/**
 * Appends the system name, if it differs, to each function's name: "dither
 * [_ZN8__main__6dither...]". So specialisations are no longer merged into one function.
 */
void type_names_apply(struct profile *p);

#endif
