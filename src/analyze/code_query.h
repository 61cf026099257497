/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How people name code on the command line: FUNC or FILE:LINE.
 *
 * A name is compared in steps, and the first step at which there is a function
 * decides: the whole name, its last part ("dither" for "__main__.dither"), any part.
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
	const char *file; /* within the text that was parsed; not terminated */
	size_t file_len;
	uint32_t line; /* > 0 */
};

/** FILE:LINE. Return: false when @what is none, and is a name then. */
bool code_place_parse(const char *what, struct code_place *ret);

/** Is the file of the place this one? Whole names at the end of a path do. */
bool code_place_is_in(const struct code_place *place, const char *path);

/* ---- names of specialisations ---- */

/**
 * Gives each function that has a system name of its own a name that says which
 * specialisation it is: "dither [_ZN8__main__6dither...]". So functions of one name
 * are no longer one.
 */
void type_names_apply(struct profile *p);

#endif
