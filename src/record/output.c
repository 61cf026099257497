// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/output.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/creds.h"
#include "base/io.h"
#include "base/log.h"
#include "launch/launch.h"
#include "profile/pprof.h"

/*
 * Under sudo, run writes with the privileges of the calling user, so that this user
 * owns the file, and it can only be written where this user may write.
 * stop_being_owner() ends it.
 */
static int be_owner(const struct sampling *o, struct launch_user *user,
		    struct creds *creds, struct error *err)
{
	*user = (struct launch_user){0};
	if (!o->target.is_command)
		return 0;
	launch_user_find(user);
	if (user->is_other && creds_become(creds, user->uid, user->gid))
		return error_set(err, -EPERM, "cannot write %s as %s", o->output,
				 user->name);
	return 0;
}

static void stop_being_owner(const struct launch_user *user, const struct creds *creds)
{
	if (user->is_other)
		creds_restore(creds);
}

int output_check(const struct sampling *o, struct error *err)
{
	struct launch_user user;
	struct creds creds;
	char path[PATH_MAX];
	int rc;

	if (o->dry_run || o->taker)
		return 0;
	/* A signal or full memory makes any recording write a window's file. */
	if (!o->target.is_command &&
	    window_path(o->output, &(struct window_id){.number = WINDOW_MAX_NUMBER}, path,
			sizeof(path)))
		return error_set(err, -ENAMETOOLONG,
				 "%s is too long, since lineburn may add a time to the "
				 "name; give -o a shorter name",
				 o->output);
	rc = be_owner(o, &user, &creds, err);
	if (rc)
		return rc;
	rc = io_check_output(o->output, err);
	stop_being_owner(&user, &creds);
	return rc;
}

void output_init(struct output *out, const struct sampling *o)
{
	*out = (struct output){.config = o,
			       .files = {.output = o->output,
					 .keep = o->keep_files,
					 .max_bytes = o->max_size_bytes}};
	/*
	 * output_check() opened it before; errors are reported when a file is written.
	 */
	if (o->window_s > 0 && !o->dry_run && !o->taker)
		window_files_open(&out->files);
}

void output_deinit(struct output *out)
{
	window_files_deinit(&out->files);
}

/* Writes the file named by -o itself, which run and some recordings have. */
static int write_own(struct output *out, const void *data, size_t len, struct error *err)
{
	const struct sampling *o = out->config;
	struct launch_user user;
	struct creds creds;
	int rc = be_owner(o, &user, &creds, err);

	if (rc)
		return rc;
	/* Our own earlier file is not an older result that must be kept. */
	rc = io_write_file_atomic(o->output, data, len, !o->output_given && !out->has_own,
				  err);
	stop_being_owner(&user, &creds);
	out->has_own |= !rc;
	return rc;
}

int output_write(struct output *out, const struct profile *p, int64_t begin_wall_ns,
		 struct window_id *id, struct error *err)
{
	_cleanup_free_ void *data = NULL;
	size_t len;

	if (pprof_write(p, true, &data, &len))
		return error_set(err, -ENOMEM, "out of memory");
	if (!id)
		return write_own(out, data, len, err);
	return window_files_write(&out->files, begin_wall_ns / (int64_t)CLOCK_SECOND_NS,
				  id, data, len, err);
}

void output_follow_folder(struct output *out)
{
	int rc = window_files_open(&out->files);

	if (rc)
		log_warning("cannot open the folder of %s: %s; new files continue to go "
			    "to the former folder",
			    out->config->output, strerror(-rc));
}
