/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a recording writes its profiles: the file name, and the user whose privileges
 * are used.
 */
#ifndef LB_RECORD_OUTPUT_H
#define LB_RECORD_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/io.h"
#include "profile/profile.h"
#include "record/sampling.h"
#include "record/window_files.h"
#include "worker/broker.h"

struct output {
	const struct sampling *config; /* borrowed */
	struct window_files files;
	struct io_folder folder; /* of the file named by -o itself */
	bool has_own; /* we have written that file */
};

/**
 * Opens the folder of the output @path, under sudo run with the rights of its user. It is
 * closed if that fails, which is told when the file is written.
 */
void output_open_folder(const struct sampling *o, const char *path,
			struct io_folder *ret);

/**
 * Checks the output, and that of the page (NULL: none), before sampling, so that a long
 * recording does not fail at its end.
 */
int output_check(const struct sampling *o, const char *page, struct error *err);

/** With a BROKER_OUTPUT, the broker's output does the work, and this one only asks. */
void output_init(struct output *out, const struct sampling *o);
void output_deinit(struct output *out);

/**
 * Packs @p and writes it. Any thread may call it: it uses only the output and @p.
 *
 * @begin_wall_ns, @id  of its window, see window_files_write(); @id NULL: writes the
 * file named by -o itself
 */
int output_write(struct output *out, const struct profile *p, int64_t begin_wall_ns,
		 struct window_id *id, struct error *err);

/**
 * Resolves the output's path again; later files are written to the folder that it now
 * names.
 */
void output_follow_folder(struct output *out);

/* Serve BROKER_WRITE_FILE and BROKER_FOLLOW_FOLDER. @ctx: the broker's struct output. */
broker_fn output_serve_write, output_serve_follow;

#endif
