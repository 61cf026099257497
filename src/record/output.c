// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/output.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

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

void output_open_folder(const struct sampling *o, const char *path, struct io_folder *ret)
{
	struct launch_user user;
	struct creds creds;

	*ret = (struct io_folder){.fd = -1, .failed = -EPERM};
	if (be_owner(o, &user, &creds, NULL))
		return;
	io_folder_open(path, ret);
	stop_being_owner(&user, &creds);
}

int output_check(const struct sampling *o, const char *page, struct error *err)
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
	if (!rc && page)
		rc = io_check_output(page, err);
	stop_being_owner(&user, &creds);
	return rc;
}

void output_init(struct output *out, const struct sampling *o)
{
	*out = (struct output){.config = o,
			       .files = {.output = o->output,
					 .keep = o->keep_windows,
					 .max_bytes = o->max_size_bytes,
					 .group_reads = o->group_reads}};
	out->folder.fd = -1;
	if (o->dry_run || o->taker || broker_is_there(BROKER_OUTPUT))
		return;
	/*
	 * output_check() opened it before; errors are reported when a file is written.
	 */
	output_open_folder(o, o->output, &out->folder);
	if (!o->target.is_command)
		window_files_open(&out->files);
}

void output_deinit(struct output *out)
{
	window_files_deinit(&out->files);
	io_folder_close(&out->folder);
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
	rc = io_write_file_in(&out->folder, o->output, data, len,
			      !o->output_given && !out->has_own, err);
	stop_being_owner(&user, &creds);
	out->has_own |= !rc;
	return rc;
}

/* @id  NULL: the file named by -o itself */
static int write_file(struct output *out, int64_t begin_s, struct window_id *id,
		      const void *data, size_t len, struct error *err)
{
	return id ? window_files_write(&out->files, begin_s, id, data, len, err)
		  : write_own(out, data, len, err);
}

/* ---- by the broker ---- */

struct file_request {
	int64_t begin_s;
	bool has_id;
	struct window_id id;
}; /* and a memfd with the file's content */

struct file_reply {
	struct window_id id;
	struct error err;
};

int output_serve_write(void *ctx, const struct broker_message *request,
		       struct broker_message *reply)
{
	const struct file_request *wanted = request->data;
	const struct output *out = ctx;
	struct file_reply *done = reply->data;
	void *data;
	uint64_t len;
	int rc;

	_Static_assert(sizeof(*done) <= BROKER_MAX_BYTES, "a reply has room for it");
	reply->len = sizeof(*done);
	rc = request->len == sizeof(*wanted) ? 0 : -EBADMSG;
	/* run has no windows. Their files would be root's, in a folder of its user. */
	if (!rc && wanted->has_id && out->config->target.is_command)
		rc = -EPERM;
	if (!rc)
		rc = broker_map_content(request, &data, &len);
	if (rc)
		return error_set(&done->err, rc, "cannot take what is to be written");
	done->id = wanted->id;
	rc = write_file(ctx, wanted->begin_s, wanted->has_id ? &done->id : NULL, data,
			len, &done->err);
	if (data)
		munmap(data, len);
	return rc;
}

static int ask_to_write(int64_t begin_s, struct window_id *id, const void *data,
			size_t len, struct error *err)
{
	struct file_request wanted = {.begin_s = begin_s, .has_id = id};
	struct broker_message request = {.data = &wanted, .len = sizeof(wanted)};
	struct file_reply done = {0};
	struct broker_message reply = {.data = &done, .len = sizeof(done)};
	int rc = broker_put_content(&request, data, len);

	if (id)
		wanted.id = *id;
	if (!rc)
		rc = broker_ask(BROKER_OUTPUT, BROKER_WRITE_FILE, &request, &reply);
	broker_drop_content(&request);
	if (rc && *done.err.text)
		*err = done.err;
	else if (rc)
		error_set(err, rc, "the profile could not be passed on: %s",
			  strerror(-rc));
	else if (id)
		*id = done.id;
	return rc;
}

/* ---- what the recorder calls ---- */

int output_write(struct output *out, const struct profile *p, int64_t begin_wall_ns,
		 struct window_id *id, struct error *err)
{
	int64_t begin_s = begin_wall_ns / (int64_t)CLOCK_SECOND_NS;
	_cleanup_free_ void *data = NULL;
	size_t len;

	if (pprof_write(p, true, &data, &len))
		return error_set(err, -ENOMEM, "out of memory");
	if (broker_is_there(BROKER_OUTPUT))
		return ask_to_write(begin_s, id, data, len, err);
	return write_file(out, begin_s, id, data, len, err);
}

static int follow(struct output *out)
{
	int rc = out->config->target.is_command ? -EPERM : window_files_open(&out->files);

	if (rc)
		return rc;
	io_folder_close(&out->folder);
	output_open_folder(out->config, out->config->output, &out->folder);
	return 0;
}

int output_serve_follow(void *ctx, const struct broker_message *request,
			struct broker_message *reply)
{
	(void)request;
	(void)reply;
	return follow(ctx);
}

void output_follow_folder(struct output *out)
{
	int rc = broker_is_there(BROKER_OUTPUT)
			 ? broker_ask(BROKER_OUTPUT, BROKER_FOLLOW_FOLDER, NULL, NULL)
			 : follow(out);

	if (rc)
		log_warning("cannot open the folder of %s: %s; new files continue to go "
			    "to the former folder",
			    out->config->output, strerror(-rc));
}
