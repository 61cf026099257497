// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/naming.h"

#include <errno.h>
#include <malloc.h>

#include "analyze/source.h"
#include "base/log.h"
#include "base/private_rss.h"
#include "record/wakeups.h"

/* Growth since the last renewal that triggers another one at the end of a window. */
#define RENEW_IMAGES 8192
#define RENEW_FILES  4096
#define RENEW_OPEN   128 /* roots; files are closed at each window's end */

/* A user's files may take the decoder as long as one file may, at once. */
#define NAMING_BURST_NS UINT64_C(20000000000)

/* Returns the limit of resident memory; 0: no limit. */
static uint64_t memory_limit(const struct sampling *o)
{
	if (o->memory_bytes || o->target.is_command)
		return o->memory_bytes;
	if (o->duration_s > 0 && !o->window_s)
		return 0;
	return (uint64_t)DEFAULT_MEMORY_MIB << 20;
}

/*
 * At most half of the memory: names that survive a renewal are there twice, and a tenant's
 * part of them alone must not begin a new file.
 */
static size_t max_name_bytes(const struct naming *n)
{
	uint64_t half = n->memory_bytes / 2;

	if (n->config->limits.name_bytes)
		return n->config->limits.name_bytes;
	return half && half < POOL_MAX_BYTES ? half : POOL_MAX_BYTES;
}

static struct strpool *new_names(const struct naming *n)
{
	struct strpool *pool = strpool_new(max_name_bytes(n));

	if (pool && !target_follows_processes(&n->config->target))
		strpool_share(pool);
	return pool;
}

int naming_init(struct naming *n, const struct sampling *o, struct error *err)
{
	n->config = o;
	n->memory_bytes = memory_limit(o);
	n->builder = (struct profile_builder){
		.keep_tid = o->keep_tid,
		.keep_code = !o->taker,
		.is_shared = !target_follows_processes(&o->target),
		.dump = o->dump == DUMP_FRAMES,
	};
	kallsyms_files_open(&n->kernel_files, "/proc/kallsyms", "/proc/modules");
	n->share = (struct time_share){
		.is_shared = !target_follows_processes(&o->target),
		.burst_ns = NAMING_BURST_NS,
	};
	n->names = new_names(n);
	if (!n->names)
		return error_set(err, -ENOMEM, "out of memory");
	return worker_new(NULL, &n->worker, err);
}

void naming_deinit(struct naming *n)
{
	profile_builder_deinit(&n->builder);
	profile_free(n->profile);
	symbolizer_free(n->symbolizer);
	worker_free(n->worker);
	strpool_free(n->pool);
	strpool_free(n->names);
	kallsyms_files_close(&n->kernel_files);
}

static int symbolizer_begin(struct naming *n, struct intake *in, struct error *err)
{
	struct symbolizer_config config = {
		.kernel_files = &n->kernel_files,
		.share = &n->share,
		.kernel_code = &in->kernel_code,
		.debug_dir = "/usr/lib/debug",
		.names_often = n->config->names_ahead || n->config->taker,
		.max_addresses = n->config->limits.addresses,
		.is_shared = process_table_is_shared(in->processes)};

	return symbolizer_new(&config, n->names, n->worker, in->processes, &n->symbolizer,
			      err);
}

int naming_begin_profile(struct naming *n, struct error *err)
{
	_cleanup_(strpool_freep) struct strpool *pool = new_names(n);
	struct profile *profile = pool ? profile_new(pool) : NULL;

	if (!profile)
		return error_set(err, -ENOMEM, "out of memory");
	profile_set_measure(profile, n->measure->type, n->measure->unit);
	if (n->pool)
		n->names_dropped += strpool_nr_dropped(n->pool);
	profile_free(n->profile);
	strpool_free(n->pool);
	n->profile = profile;
	n->nr_profiles++;
	n->pool = take_ptr(pool);
	profile_builder_begin(&n->builder, n->profile, n->symbolizer, n->names);
	return 0;
}

void naming_clear_profile(struct naming *n)
{
	profile_clear_samples(n->profile);
	profile_clear_extra(n->profile);
	n->builder.users.has_unasked = false;
}

int naming_begin(struct naming *n, struct intake *in, struct error *err)
{
	int rc = symbolizer_begin(n, in, err);

	n->measure = &in->config->source->values[0];
	return rc ? rc : naming_begin_profile(n, err);
}

void naming_hurry(struct naming *n)
{
	symbolizer_hurry(n->symbolizer);
}

static int read_source(void *ctx, const char *path, char **ret, size_t *ret_len,
		       int64_t *ret_mtime_ns)
{
	struct naming *n = ctx;
	struct look_facts facts = {0};
	int rc;

	if (n->can_be_cut && wakeups_end_is_pending())
		return -EINTR;
	rc = source_names_read(&n->builder.files, path, ret, ret_len, &facts);
	*ret_mtime_ns = facts.mtime_ns;
	return rc;
}

int naming_collect_sources(struct naming *n, const struct attribution_options *options)
{
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	int rc = attribution_new(n->profile, options, &a);

	if (!rc)
		rc = source_collect(n->profile, a, read_source, n);
	if (!rc)
		source_names_tell_owners(&n->builder.files);
	return rc;
}

bool naming_is_full(const struct naming *n)
{
	uint64_t limit = n->memory_bytes / 2;

	if (limit < n->renewed.bytes + n->memory_bytes / 4)
		limit = n->renewed.bytes + n->memory_bytes / 4;
	return n->memory_bytes && private_rss_bytes() > limit;
}

/*
 * Frees and recreates data that grows with every process that ever ran: names,
 * addresses, and the images of processes that have exited.
 */
static int renew(struct naming *n, struct intake *in, uint64_t named_ns,
		 struct error *err)
{
	struct strpool *names = new_names(n);
	struct symbolizer_stats symbols;

	if (!names)
		return error_set(err, -ENOMEM, "out of memory");
	symbolizer_stats(n->symbolizer, &symbols);
	n->addresses_dropped += symbols.nr_over_limit;
	n->names_dropped += strpool_nr_dropped(n->names);
	symbolizer_free(n->symbolizer);
	n->symbolizer = NULL;
	/* Keeps images that rows of the next window refer to. */
	process_table_forget_ended(in->processes, named_ns);
	unwind_feeder_forget_files(in->unwind);
	jit_watch_forget_files(in->jit);
	process_table_set_pool(in->processes, names);
	strpool_free(n->names);
	n->names = names;
	return symbolizer_begin(n, in, err);
}

static struct naming_size size_of(const struct intake *in)
{
	struct process_table_stats stats;

	process_table_stats(in->processes, &stats);
	return (struct naming_size){.bytes = private_rss_bytes(),
				    .nr_images = stats.nr_processes,
				    .nr_files = stats.nr_files_known,
				    .nr_open = stats.nr_files_open};
}

/*
 * A part of the memory limit is for data that outlives windows, the rest for a window's
 * samples.
 */
static bool is_to_be_renewed(const struct naming *n, const struct naming_size *now)
{
	uint64_t limit = n->memory_bytes / 4;

	if (limit < n->renewed.bytes + n->memory_bytes / 8)
		limit = n->renewed.bytes + n->memory_bytes / 8;
	return (n->memory_bytes && now->bytes > limit) ||
	       now->nr_images > n->renewed.nr_images + RENEW_IMAGES ||
	       now->nr_files > n->renewed.nr_files + RENEW_FILES ||
	       now->nr_open > n->renewed.nr_open + RENEW_OPEN;
}

int naming_renew(struct naming *n, struct intake *in, uint64_t named_ns,
		 struct error *err)
{
	struct naming_size before;
	int rc;

	process_table_trim(in->processes, named_ns);
	kernel_code_forget(&in->kernel_code, named_ns);
	unwind_feeder_forget_files(in->unwind);
	before = size_of(in);
	if (!is_to_be_renewed(n, &before))
		return 0;
	rc = renew(n, in, named_ns, err);
	if (!rc)
		rc = naming_begin_profile(n, err);
	if (rc)
		return rc;
	malloc_trim(0);
	n->renewed = size_of(in);
	log_debug("renewed: %llu MiB resident, before %llu; %llu images, before %llu",
		  (unsigned long long)n->renewed.bytes >> 20,
		  (unsigned long long)before.bytes >> 20,
		  (unsigned long long)n->renewed.nr_images,
		  (unsigned long long)before.nr_images);
	if (n->memory_bytes && n->renewed.bytes > n->memory_bytes / 4 * 3 &&
	    !n->said_too_small) {
		n->said_too_small = true;
		log_warning("lineburn needs %llu MiB to track the processes of this "
			    "machine, more than --memory has room for; raise --memory",
			    (unsigned long long)n->renewed.bytes >> 20);
	}
	return 0;
}
