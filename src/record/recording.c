// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/recording.h"

#include <errno.h>
#include <malloc.h>

#include "base/log.h"
#include "base/private_rss.h"

/* More than behind the last renewal: time for another one, at the end of a window. */
#define RENEW_IMAGES 8192
#define RENEW_FILES  4096
#define RENEW_OPEN   128 /* beside files, which are closed at each end: roots */

void recording_deinit(struct recording *r)
{
	window_files_deinit(&r->files);
	profile_builder_deinit(&r->builder);
	profile_free(r->profile);
	symbolizer_free(r->symbolizer);
	worker_free(r->worker);
	session_deinit(&r->session);
	strpool_free(r->pool);
	strpool_free(r->names);
}

void recording_keep_up(struct recording *r)
{
	struct error err = {0};

	if (r->is_busy && session_keep_up(&r->session, &err))
		log_debug("%s", err.text);
}

static void resolved_one(void *ctx)
{
	recording_keep_up(ctx);
}

static int symbolizer_begin(struct recording *r, struct error *err)
{
	struct symbolizer_config config = {.kallsyms_path = "/proc/kallsyms",
					   .debug_dir = "/usr/lib/debug",
					   .resolved_one = resolved_one,
					   .ctx = r};

	return symbolizer_new(&config, r->names, r->worker, r->session.processes,
			      &r->symbolizer, err);
}

int recording_begin_profile(struct recording *r, struct error *err)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(POOL_MAX_BYTES);
	struct profile *profile = pool ? profile_new(pool) : NULL;

	if (!profile)
		return error_set(err, -ENOMEM, "out of memory");
	if (r->pool)
		r->names_dropped += strpool_nr_dropped(r->pool);
	profile_free(r->profile);
	strpool_free(r->pool);
	r->profile = profile;
	r->pool = take_ptr(pool);
	profile_builder_begin(&r->builder, r->profile, r->symbolizer, r->names);
	return 0;
}

/* What may be resident; 0: as much as it takes. */
static uint64_t memory_limit(const struct sampling *o)
{
	if (o->memory_bytes || o->target.is_command)
		return o->memory_bytes;
	if (o->duration_s > 0 && !o->window_s)
		return 0;
	return (uint64_t)DEFAULT_MEMORY_MIB << 20;
}

int recording_init(struct recording *r, const struct sampling *o,
		   recording_drained_fn drained, struct error *err)
{
	struct worker_config worker_config = {0};
	int rc;

	r->config = o;
	r->memory_bytes = memory_limit(o);
	r->files = (struct window_files){.output = o->output,
					 .keep = o->keep_files,
					 .max_bytes = o->max_size_bytes};
	r->builder = (struct profile_builder){
		.keep_tid = o->keep_tid,
		.dump = o->dump == DUMP_FRAMES,
	};
	r->session.signal_fd = r->session.timer_fd = r->session.epoll_fd = -1;
	r->names = strpool_new(POOL_MAX_BYTES);
	if (!r->names)
		return error_set(err, -ENOMEM, "out of memory");
	rc = worker_new(&worker_config, &r->worker, err);
	if (rc)
		return rc;
	r->session.config = o;
	r->session.pool = r->names;
	r->session.worker = r->worker;
	r->session.drained = drained;
	r->session.drained_ctx = r;
	rc = session_init(&r->session, err);
	if (!rc)
		rc = symbolizer_begin(r, err);
	/* It was asked for before (cli/commands.c): what goes wrong is said with a file. */
	if (!rc && o->window_s > 0 && !o->dry_run)
		window_files_open(&r->files);
	return rc ? rc : recording_begin_profile(r, err);
}

bool recording_is_full(const struct recording *r)
{
	uint64_t limit = r->memory_bytes / 2;

	if (limit < r->renewed.bytes + r->memory_bytes / 4)
		limit = r->renewed.bytes + r->memory_bytes / 4;
	return r->memory_bytes && private_rss_bytes() > limit;
}

/*
 * What grows with all that ever ran is made anew: names, addresses, and the images of
 * processes that are gone.
 */
static int renew(struct recording *r, struct error *err)
{
	struct strpool *names = strpool_new(POOL_MAX_BYTES);
	struct symbolizer_stats symbols;

	if (!names)
		return error_set(err, -ENOMEM, "out of memory");
	symbolizer_stats(r->symbolizer, &symbols);
	r->addresses_dropped += symbols.nr_over_limit;
	r->names_dropped += strpool_nr_dropped(r->names);
	symbolizer_free(r->symbolizer);
	r->symbolizer = NULL;
	/* But for those that rows of the next window refer to. */
	process_table_forget_ended(r->session.processes, r->window.named_ns);
	unwind_feeder_forget_files(r->session.unwind);
	jit_watch_forget_files(r->session.jit);
	process_table_set_pool(r->session.processes, names);
	strpool_free(r->names);
	r->names = r->session.pool = names;
	return symbolizer_begin(r, err);
}

static struct recording_size size_of(const struct recording *r)
{
	struct process_table_stats stats;

	process_table_stats(r->session.processes, &stats);
	return (struct recording_size){.bytes = private_rss_bytes(),
				       .nr_images = stats.nr_processes,
				       .nr_files = stats.nr_files_known,
				       .nr_open = stats.nr_files_open};
}

/* A part of the memory is for what lives on, another one for a window's samples. */
static bool is_to_be_renewed(const struct recording *r, const struct recording_size *now)
{
	uint64_t limit = r->memory_bytes / 4;

	if (limit < r->renewed.bytes + r->memory_bytes / 8)
		limit = r->renewed.bytes + r->memory_bytes / 8;
	return (r->memory_bytes && now->bytes > limit) ||
	       now->nr_images > r->renewed.nr_images + RENEW_IMAGES ||
	       now->nr_files > r->renewed.nr_files + RENEW_FILES ||
	       now->nr_open > r->renewed.nr_open + RENEW_OPEN;
}

int recording_renew(struct recording *r, struct error *err)
{
	struct recording_size before;
	int rc;

	process_table_trim(r->session.processes, r->window.named_ns);
	unwind_feeder_forget_files(r->session.unwind);
	before = size_of(r);
	if (!is_to_be_renewed(r, &before))
		return 0;
	rc = renew(r, err);
	if (rc)
		return rc;
	profile_builder_begin(&r->builder, r->profile, r->symbolizer, r->names);
	malloc_trim(0);
	r->renewed = size_of(r);
	log_debug("renewed: %llu MiB resident, before %llu; %llu images, before %llu",
		  (unsigned long long)r->renewed.bytes >> 20,
		  (unsigned long long)before.bytes >> 20,
		  (unsigned long long)r->renewed.nr_images,
		  (unsigned long long)before.nr_images);
	if (r->memory_bytes && r->renewed.bytes > r->memory_bytes / 4 * 3 &&
	    !r->said_too_small) {
		r->said_too_small = true;
		log_warning("what runs on this machine takes %llu MiB to follow: more "
			    "than --memory has room for",
			    (unsigned long long)r->renewed.bytes >> 20);
	}
	return 0;
}
