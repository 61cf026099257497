// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/recording.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "base/log.h"
#include "base/private_rss.h"
#include "process/proc_dir.h"

/* Estimates (missed ticks) may come out lower later on: then nothing came. */
static uint64_t more(uint64_t now, uint64_t told)
{
	return now > told ? now - told : 0;
}

void losses_since(const struct profile_losses *told, const struct profile_losses *now,
		  struct profile_losses *ret)
{
#define SINCE(name) ret->name = more(now->name, told->name);
	PROFILE_LOSSES(SINCE)
#undef SINCE
	ret->due = ret->sampled + ret->missed;
}

void losses_add(struct profile_losses *told, const struct profile_losses *window)
{
#define ADD(name) told->name += window->name;
	PROFILE_LOSSES(ADD)
#undef ADD
}

void cost_since(const struct profile_cost *told, const struct profile_cost *now,
		struct profile_cost *ret)
{
	*ret = *now;
	ret->bpf_runs = more(now->bpf_runs, told->bpf_runs);
	ret->bpf_ns = more(now->bpf_ns, told->bpf_ns);
	ret->collector_cpu_ns = more(now->collector_cpu_ns, told->collector_cpu_ns);
	ret->lowered_ns = more(now->lowered_ns, told->lowered_ns);
}

void cost_add(struct profile_cost *told, const struct profile_cost *window)
{
	told->bpf_runs += window->bpf_runs;
	told->bpf_ns += window->bpf_ns;
	told->collector_cpu_ns += window->collector_cpu_ns;
	told->lowered_ns += window->lowered_ns;
}

static void log_tables(const struct profile_losses *l,
		       const struct process_table_stats *p,
		       const struct jit_watch_totals *j,
		       const struct unwind_feeder_totals *u)
{
	log_debug(
		"JIT objects: %llu held (%llu bytes), %llu lost, %llu of another format; "
		"%llu list walks, %llu not whole, %llu processes banned",
		(unsigned long long)p->nr_jit_objects,
		(unsigned long long)p->nr_jit_bytes,
		(unsigned long long)l->jit_objects_lost,
		(unsigned long long)l->jit_objects_foreign,
		(unsigned long long)j->nr_walks, (unsigned long long)j->nr_walks_failed,
		(unsigned long long)j->nr_banned);
	log_debug(
		"unwind tables: %llu requests; %llu rows, %llu rules, %llu objects, %llu "
		"processes, %llu segments held; %llu questions took %.0f ms; %llu "
		"interpreters",
		(unsigned long long)u->nr_requests, (unsigned long long)u->nr_rows,
		(unsigned long long)u->nr_rules, (unsigned long long)u->nr_objects,
		(unsigned long long)u->nr_processes, (unsigned long long)u->nr_segments,
		(unsigned long long)u->nr_asked, (double)u->ask_ns / 1e6,
		(unsigned long long)u->nr_interps_found);
}

static void fill_losses(struct recording *r, const struct sampler_totals *t)
{
	struct profile_losses now, *l = &now;
	struct process_table_stats processes;
	struct symbolizer_stats symbols;
	struct worker_stats worker;
	struct unwind_feeder_totals unwind;
	struct jit_watch_totals jit;
	const __u64 *n = t->ctr.n;

	process_table_stats(r->session.processes, &processes);
	symbolizer_stats(r->symbolizer, &symbols);
	worker_stats(r->worker, &worker);
	jit_watch_totals(r->session.jit, &jit);
	unwind_feeder_totals(r->session.unwind, &unwind);
	*l = (struct profile_losses){
		.due = t->due,
		.sampled = n[LB_CTR_SAMPLED],
		.missed = t->missed,
		.stolen_ns = t->stolen_ns,
		.lost_counts_full = n[LB_CTR_LOST_COUNTS_FULL],
		.lost_internal = n[LB_CTR_LOST_INTERNAL],
		.lost_drain = t->lost_drain,
		.rows_dropped = r->session.rows.nr_dropped + r->builder.nr_dropped,
		.no_body = n[LB_CTR_NO_BODY] + t->bodies_missing,
		.user_truncated = n[LB_CTR_USER_TRUNCATED],
		.kern_truncated = n[LB_CTR_KERN_TRUNCATED],
		.kern_failed = n[LB_CTR_KERN_FAILED],
		.idle = n[LB_CTR_IDLE],
		.other = n[LB_CTR_OTHER],
		.first_dropped = n[LB_CTR_FIRST_DROPPED],
		.lost_events = processes.nr_lost_events,
		.processes_dropped = processes.nr_dropped + t->targets_dropped +
				     t->cgroups_too_deep +
				     target_nr_refused(r->session.target),
		.files_dropped = processes.nr_files_dropped,
		.names_dropped = r->names_dropped + strpool_nr_dropped(r->names) +
				 strpool_nr_dropped(r->pool),
		.addresses_dropped = r->addresses_dropped + symbols.nr_over_limit,
		.decoder_deaths = worker.nr_died + worker.nr_bad_reply,
		.decoder_deadlines = worker.nr_deadline,
		.jit_objects_lost = processes.nr_jit_lost + jit.nr_lost,
		.jit_objects_foreign = jit.nr_foreign + processes.nr_jit_foreign,
		.unwind_requests_dropped = n[LB_CTR_REQUEST_DROPPED] +
					   unwind.nr_requests_dropped,
		.unwind_pages_evicted = unwind.nr_pages_evicted,
		.unwind_pages_refused = unwind.nr_pages_refused,
		.unwind_rules_refused = unwind.nr_rules_refused,
		.unwind_segments_refused = unwind.nr_segments_refused,
		.unwind_processes_refused = unwind.nr_processes_refused,
		.unwind_files_failed = unwind.nr_failed,
		.guessed_frames = n[LB_CTR_GUESSED_FRAMES],
		.pythons_unknown = unwind.nr_interps_refused,
		.python_stale = n[LB_CTR_PYTHON_STALE],
		.python_faults = n[LB_CTR_PYTHON_FAULT],
		.python_codes_lost = n[LB_CTR_CODE_DROPPED] +
				     processes.nr_interp_codes_lost,
	};
	log_tables(l, &processes, &jit, &unwind);
	/* counted + lost = sampled: what was dropped on the way is lost too. */
	l->counted = t->rows_counted - l->rows_dropped;
	losses_since(&r->told_losses, l, &r->profile->extra.losses);
}

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000ULL + (uint64_t)t->tv_usec * 1000;
}

static void fill_cost(struct recording *r, const struct sampler_totals *t)
{
	struct profile_cost now;
	struct unwind_feeder_totals unwind;
	struct jit_watch_totals jit;
	struct worker_stats worker, reader;
	const struct sample_rate *rate = &r->session.rate;
	struct rusage usage;

	jit_watch_totals(r->session.jit, &jit);
	unwind_feeder_totals(r->session.unwind, &unwind);
	worker_stats(r->worker, &worker);
	worker_stats(r->session.reader, &reader);
	getrusage(RUSAGE_SELF, &usage);
	now = (struct profile_cost){
		.bpf_runs = t->ctr.n[LB_CTR_SAMPLED],
		.bpf_ns = t->ctr.n[LB_CTR_RUN_NS],
		.collector_cpu_ns = timeval_ns(&usage.ru_utime) +
				    timeval_ns(&usage.ru_stime) + worker.cpu_ns +
				    reader.cpu_ns,
		.collector_peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024,
		.map_bytes = sampler_map_bytes(r->session.sampler) +
			     task_ring_bytes(r->session.tasks) + jit.map_bytes +
			     unwind.row_bytes,
	};
	if (rate->budget_ppm) {
		now.budget_ppm = rate->budget_ppm;
		now.tick_ns = rate->tick_ns;
		now.lowered_ns = rate->lowered_ns;
		now.longest_period_ns = sample_rate_period_ns(rate, rate->lowest_level);
	}
	cost_since(&r->told_cost, &now, &r->profile->extra.cost);
}

static void tell_budget(struct profile *p)
{
	const struct profile_cost *cost = &p->extra.cost;
	char text[160];

	if (!cost->lowered_ns)
		return;
	snprintf(text, sizeof(text),
		 "The rate was lowered, to %.3g Hz at the least, for %.1f s of %.1f s "
		 "because of --budget %g%%.",
		 1e9 / (double)cost->longest_period_ns, (double)cost->lowered_ns / 1e9,
		 (double)p->extra.wall_ns / 1e9, (double)cost->budget_ppm / 1e4);
	profile_add_warning(p, text);
}

/* What this system does not let us see. */
static void tell_what_is_hidden(struct recording *r, const struct sampler_totals *totals)
{
	struct profile *p = r->profile;
	struct symbolizer_stats symbols;

	symbolizer_stats(r->symbolizer, &symbols);
	if (totals->idle_unknown)
		profile_add_warning(p, "How many ticks were missed, and how much time a "
				       "hypervisor took, is not known, because "
				       "/proc/stat cannot be read.");
	if (proc_hides_others())
		profile_add_warning(p, "/proc hides the processes of other users "
				       "(hidepid), so theirs have no names and no lines: "
				       "run as root, or add CAP_SYS_PTRACE.");
	if (r->session.user_walk_note)
		profile_add_warning(p, r->session.user_walk_note);
	if (*r->window.note)
		profile_add_warning(p, r->window.note);
	if (symbols.kernel_is_hidden)
		profile_add_warning(p, "The kernel's functions have no names, because "
				       "/proc/kallsyms hides their addresses: run as "
				       "root, or set kernel.kptr_restrict to 0 or 1.");
}

static void tell_unnamed(struct profile *p, const struct profile_builder *f)
{
	char text[128];

	if (!f->unnamed.nr_items)
		return;
	snprintf(text, sizeof(text),
		 "%zu process%s lived too briefly to be named (%llu samples).",
		 f->unnamed.nr_items, f->unnamed.nr_items == 1 ? "" : "es",
		 (unsigned long long)f->nr_unnamed_samples);
	profile_add_warning(p, text);
}

static void tell_of_one_path(struct profile *p, const struct profile_builder *f)
{
	char text[160];

	if (!f->files.nr_not_told)
		return;
	snprintf(text, sizeof(text),
		 "%llu source files were not told from others of their path, of which "
		 "there "
		 "are too many: lines of one may be shown as another's.",
		 (unsigned long long)f->files.nr_not_told);
	profile_add_warning(p, text);
}

/* The kernel has room for so long, if no two stacks are the same; then it counts losses. */
static void tell_hold_up(struct recording *r)
{
	struct session *s = &r->session;
	uint64_t held_ns = s->flip.longest_ns;
	char text[160];

	s->flip.longest_ns = 0;
	log_debug("longest time between two drains: %llu ms",
		  (unsigned long long)held_ns / 1000000);
	if (held_ns < sampler_room_ms(s->sampler) * 1000000ULL)
		return;
	snprintf(text, sizeof(text),
		 "Samples waited in the kernel for up to %.1f s, because lineburn was "
		 "held up: what it had no room for is among the lost.",
		 (double)held_ns / 1e9);
	profile_add_warning(r->profile, text);
}

void recording_fill_extra(struct recording *r)
{
	struct profile *p = r->profile;
	struct profile_extra *extra = &p->extra;
	const struct sampler_totals *totals = &r->window.totals;
	struct utsname name;

	extra->present = true;
	extra->version = LINEBURN_VERSION;
	extra->target = target_describe(&r->config->target, r->pool);
	extra->freq_hz = r->config->freq_hz;
	extra->nr_cpus = totals->nr_cpus;
	extra->wall_ns = r->window.end_ns - r->window.begin_ns;
	if (!uname(&name)) {
		extra->host = strpool_add(r->pool, name.nodename);
		extra->kernel_release = strpool_add(r->pool, name.release);
		extra->arch = strpool_add(r->pool, name.machine);
	}
	if (r->config->argv)
		profile_set_command(p, r->config->argv);
	fill_losses(r, totals);
	fill_cost(r, totals);
	tell_budget(p);
	tell_unnamed(p, &r->builder);
	tell_of_one_path(p, &r->builder);
	/* The mean of the periods of all samples: each has its own (cpu_clock.h). */
	p->period = extra->cost.lowered_ns
			    ? 0
			    : (int64_t)sample_rate_period_ns(&r->session.rate, 0);
	p->time_nanos = r->window.begin_wall_ns;
	p->duration_nanos = (int64_t)extra->wall_ns;
	tell_what_is_hidden(r, totals);
	tell_hold_up(r);
	profile_add_summary(p);
}

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
