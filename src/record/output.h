/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a recording writes its profiles: the file name and the user whose rights it uses.
 */
#ifndef LB_RECORD_OUTPUT_H
#define LB_RECORD_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"
#include "record/sampling.h"
#include "record/window_files.h"

struct output {
	const struct sampling *config; /* borrowed */
	struct window_files files;
	bool has_own; /* the output's own file was written by us */
};

/** Checks the output before sampling: an hour must not end with "no such directory". */
int output_check(const struct sampling *o, struct error *err);

void output_init(struct output *out, const struct sampling *o);
void output_deinit(struct output *out);

/**
 * Packs @p and writes it. Any thread may call it: it touches only the output and @p.
 *
 * @begin_wall_ns, @id  of its window, see window_files_write(); @id NULL: writes the
 *                      output's own file
 */
int output_write(struct output *out, const struct profile *p, int64_t begin_wall_ns,
		 struct window_id *id, struct error *err);

/** Resolves the output's name again; later files go to the folder it now leads to. */
void output_follow_folder(struct output *out);

#endif
