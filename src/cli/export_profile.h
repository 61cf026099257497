/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a profile in the format of another tool. */
#ifndef LB_CLI_EXPORT_PROFILE_H
#define LB_CLI_EXPORT_PROFILE_H

#include <stddef.h>

#include "base/error.h"
#include "cli/show.h"
#include "export/export.h"
#include "profile/profile.h"
#include "render/render.h"

/* What is exported, and to where. Strings are borrowed. */
struct exporting {
	const struct export_format *format; /* NULL: a listing */
	const struct render_format *listing; /* annotate's; NULL: a format */
	const char *output; /* "-": stdout */
	const char **labels; /* heap; NULL: those of the format */
	size_t nr_labels, cap_labels;
	char *labels_text; /* heap: what labels point into */
};

/**
 * Checks the output before the work: stdout must not be a terminal, and the file not the
 * profile at @input ("-": stdin) itself. Return: 0 or -errno.
 */
int export_check_output(const struct exporting *e, const char *input, struct error *err);

/**
 * Exports @p, which the filters of @v change, to @out. Warns of files that have changed
 * since, if the reader of the format opens them.
 * @named  as for show_profile()
 * Return: 0 or -errno.
 */
int export_profile(const struct exporting *e, const struct viewing *v, struct profile *p,
		   const struct named_files *named, FILE *out, struct error *err);

#endif
