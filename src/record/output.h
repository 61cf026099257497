/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a recording's profiles go: under which name, with whose rights. */
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

/** Before sampling: an hour must not end with "no such directory". */
int output_check(const struct sampling *o, struct error *err);

void output_init(struct output *out, const struct sampling *o);
void output_deinit(struct output *out);

/**
 * Packs @p and writes it. May be called in a thread: it touches the output and @p only.
 *
 * @begin_wall_ns, @id  of its window, as window_files_write() takes them; @id NULL: it goes
 *                      to the output's own file
 */
int output_write(struct output *out, const struct profile *p, int64_t begin_wall_ns,
		 struct window_id *id, struct error *err);

/** From now on files go to the folder that the output's name leads to now. */
void output_follow_folder(struct output *out);

#endif
