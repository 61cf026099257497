/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile on the screen: attributed, with its sources, rendered. */
#ifndef LB_CLI_SHOW_H
#define LB_CLI_SHOW_H

#include "base/error.h"
#include "cli/options.h"
#include "profile/profile.h"

/**
 * Renders @p to stdout as the options say (run shows annotate's listing). With
 * --types its functions get other names; --skip-compile and filters drop samples.
 * @file_name     of the profile, for the listing's head; NULL: not from a file
 * @is_strangers  who wrote it is not to be believed: no file that it names is opened, and
 *                how many were not is said
 */
int show_profile(const struct options *o, struct profile *p, const char *file_name,
		 bool is_strangers, struct error *err);

#endif
