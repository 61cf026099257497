/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a profile in the formats of other tools. An exporter looks nothing up: its
 * input has everything it writes.
 */
#ifndef LB_EXPORT_EXPORT_H
#define LB_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/attribution.h"
#include "base/error.h"
#include "profile/profile.h"

struct export_input {
	const struct profile *profile;
	const struct attribution *attribution; /* of the profile */
	const uint8_t *phases; /* enum phase of each sample */
	const char *const *labels; /* keys of the labels to keep */
	size_t nr_labels;
	bool stable_labels; /* as line_stacks_labels.is_stable */
};

struct export_output {
	void *data; /* heap */
	size_t len;
	/* A sentence about what was left out, for the user; NULL: nothing. Interned. */
	const char *note;
};

/** Return: 0, -EFBIG (over a limit of the format) or -ENOMEM, with a message in @err. */
typedef int (*export_fn)(const struct export_input *in, struct export_output *ret,
			 struct error *err);

/*
 * pprof as servers take it: lines instead of addresses, self as in annotate, at most 4
 * MiB unpacked and 16,000 samples. A larger profile loses callers (line_stacks_cut()).
 */
int export_pprof(const struct export_input *in, struct export_output *ret,
		 struct error *err);

/* One row per format. */
struct export_format {
	const char *name; /* "pprof" */
	export_fn write;
};
extern const struct export_format export_formats[];
extern const size_t nr_export_formats;

/** Finds a format. NULL: there is none with that name. */
const struct export_format *export_format_find(const char *name);

/* Labels that are kept by default: none of them has a new value at each start. */
extern const char *const export_labels[];
extern const size_t nr_export_labels;

#endif
