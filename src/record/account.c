// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/account.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "base/as_root.h"
#include "base/log.h"
#include "opener/opener.h"
#include "process/proc_dir.h"
#include "record/shares.h"
#include "worker/broker.h"

/* Returns the increase; 0 if an estimate (due ticks) has decreased. */
static uint64_t increase(uint64_t now, uint64_t told)
{
	return now > told ? now - told : 0;
}

void losses_since(const struct profile_losses *told, const struct profile_losses *now,
		  struct profile_losses *ret)
{
#define SINCE(name) ret->name = increase(now->name, told->name);
	PROFILE_LOSSES(SINCE)
#undef SINCE
	ret->due_error = now->due_error;
	ret->missed = ret->due > ret->ran + ret->due_error ? ret->due - ret->ran : 0;
}

void cost_since(const struct profile_cost *told, const struct profile_cost *now,
		struct profile_cost *ret)
{
	*ret = *now;
	ret->bpf_runs = increase(now->bpf_runs, told->bpf_runs);
	ret->bpf_ns = increase(now->bpf_ns, told->bpf_ns);
	ret->collector_cpu_ns = increase(now->collector_cpu_ns, told->collector_cpu_ns);
	ret->lowered_ns = increase(now->lowered_ns, told->lowered_ns);
}

static void log_tables(const struct profile_losses *l,
		       const struct process_table_stats *p,
		       const struct jit_watch_totals *j, const struct unwind_totals *u)
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

/* What the helper processes did so far. */
struct helpers {
	struct worker_stats namer, feeder, reader; /* decoder, decoder, reader */
	struct opener_stats opener;
};

static struct helpers read_helpers(const struct intake *in, const struct naming *n)
{
	struct helpers h;

	worker_stats(n->worker, &h.namer);
	worker_stats(in->worker, &h.feeder);
	worker_stats(in->reader_worker, &h.reader);
	opener_stats(&h.opener);
	return h;
}

static uint64_t nr_put_off(const struct intake *in, const struct naming *n,
			   const struct helpers *h)
{
	return n->share.nr_put_off + in->decoder.share.nr_put_off + h->opener.nr_put_off;
}

static void fill_losses(const struct account *a, const struct window *w,
			struct intake *in, struct naming *n)
{
	struct profile_losses now, *l = &now;
	struct process_table_stats processes;
	struct symbolizer_stats symbols;
	const struct helpers h = read_helpers(in, n);
	struct unwind_totals unwind;
	struct jit_watch_totals jit;
	const struct sampler_totals *t = &w->totals;
	const __u64 *ctr = t->ctr.n;

	process_table_stats(in->processes, &processes);
	symbolizer_stats(n->symbolizer, &symbols);
	jit_watch_totals(in->jit, &jit);
	unwind_feeder_totals(in->unwind, &unwind);
	*l = (struct profile_losses){
		.due = t->due,
		.sampled = ctr[LB_CTR_SAMPLED],
		.due_error = t->due_error,
		.ran = t->ran,
		.stolen_ns = t->stolen_ns,
		.lost_counts_full = ctr[LB_CTR_LOST_COUNTS_FULL],
		.lost_internal = ctr[LB_CTR_LOST_INTERNAL],
		.lost_drain = t->lost_drain,
		.rows_dropped = w->rows_dropped + n->builder.nr_dropped,
		.no_body = ctr[LB_CTR_NO_BODY] + t->bodies_missing,
		.user_truncated = ctr[LB_CTR_USER_TRUNCATED],
		.kern_truncated = ctr[LB_CTR_KERN_TRUNCATED],
		.kern_failed = ctr[LB_CTR_KERN_FAILED],
		.idle = ctr[LB_CTR_IDLE],
		.other = ctr[LB_CTR_OTHER],
		.first_dropped = ctr[LB_CTR_FIRST_DROPPED],
		.lost_events = processes.nr_lost_events + t->tasks_missed,
		.processes_dropped = processes.nr_dropped + t->targets_dropped +
				     t->cgroups_too_deep + target_nr_refused(in->target),
		.files_dropped = processes.nr_files_dropped,
		.mappings_dropped = processes.nr_mappings_dropped,
		.names_dropped = n->names_dropped + strpool_nr_dropped(n->names) +
				 strpool_nr_dropped(n->pool),
		.addresses_dropped = n->addresses_dropped + symbols.nr_over_limit,
		.decoder_deaths = h.namer.nr_died + h.namer.nr_bad_reply +
				  h.feeder.nr_died + h.feeder.nr_bad_reply +
				  h.reader.nr_died + h.reader.nr_bad_reply +
				  h.opener.nr_failed,
		.decoder_deadlines = h.namer.nr_deadline + h.feeder.nr_deadline +
				     h.reader.nr_deadline,
		.jit_objects_lost = processes.nr_jit_lost + jit.nr_lost,
		.jit_objects_foreign = jit.nr_foreign + processes.nr_jit_foreign,
		.unwind_requests_dropped = ctr[LB_CTR_REQUEST_DROPPED] +
					   unwind.nr_requests_dropped,
		.unwind_pages_evicted = unwind.nr_pages_evicted,
		.unwind_pages_refused = unwind.nr_pages_refused,
		.unwind_rules_refused = unwind.nr_rules_refused,
		.unwind_segments_refused = unwind.nr_segments_refused,
		.unwind_processes_refused = unwind.nr_processes_refused,
		.unwind_files_failed = unwind.nr_failed,
		.guessed_frames = ctr[LB_CTR_GUESSED_FRAMES],
		.pythons_unknown = unwind.nr_interps_refused,
		.python_stale = ctr[LB_CTR_PYTHON_STALE],
		.python_faults = ctr[LB_CTR_PYTHON_FAULT],
		.python_codes_lost = ctr[LB_CTR_CODE_DROPPED] +
				     processes.nr_interp_codes_lost,
		.targets_late = h.opener.nr_late,
		.targets_refused = h.opener.nr_refused + h.namer.nr_refused +
				   h.feeder.nr_refused + h.reader.nr_refused,
		.decoder_put_off = nr_put_off(in, n, &h),
	};
	log_tables(l, &processes, &jit, &unwind);
	/* counted + lost = sampled: rows dropped later count as lost, too. */
	l->counted = t->rows_counted - l->rows_dropped;
	losses_since(&a->told_losses, l, &n->profile->extra.losses);
}

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000ULL + (uint64_t)t->tv_usec * 1000;
}

static void fill_cost(const struct account *a, const struct sampler_totals *t,
		      struct intake *in, struct naming *n)
{
	struct profile_cost now;
	struct unwind_totals unwind;
	struct jit_watch_totals jit;
	const struct helpers h = read_helpers(in, n);
	const struct sample_rate *rate = &in->rate;
	struct rusage usage;

	jit_watch_totals(in->jit, &jit);
	unwind_feeder_totals(in->unwind, &unwind);
	getrusage(RUSAGE_SELF, &usage);
	now = (struct profile_cost){
		.bpf_runs = t->ctr.n[LB_CTR_SAMPLED],
		.bpf_ns = t->ctr.n[LB_CTR_RUN_NS],
		.collector_cpu_ns = timeval_ns(&usage.ru_utime) +
				    timeval_ns(&usage.ru_stime) + h.namer.cpu_ns +
				    h.feeder.cpu_ns + h.reader.cpu_ns + h.opener.cpu_ns +
				    broker_cpu_ns(),
		.collector_peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024,
		.map_bytes = sampler_map_bytes(in->sampler) + task_ring_bytes(in->tasks) +
			     jit.map_bytes + unwind.row_bytes,
	};
	if (rate->budget_ppm) {
		now.budget_ppm = rate->budget_ppm;
		now.tick_ns = rate->tick_ns;
		now.lowered_ns = rate->lowered_ns;
		now.longest_period_ns = sample_rate_period_ns(rate, rate->lowest_level);
	}
	cost_since(&a->told_cost, &now, &n->profile->extra.cost);
}

static void warn_budget(struct profile *p)
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

/* Adds warnings about data that this system hides from lineburn. */
static void warn_hidden_data(const struct window *w, const struct intake *in,
			     struct naming *n)
{
	struct profile *p = n->profile;
	struct symbolizer_stats symbols;
	char advice[AS_ROOT_MAX_BYTES], text[1024];

	as_root_advice(advice, sizeof(advice));
	symbolizer_stats(n->symbolizer, &symbols);
	if (w->totals.idle_unknown)
		profile_add_warning(
			p, "The number of missed ticks and the time that a hypervisor "
			   "took are not known, because /proc/stat cannot be read.");
	if (proc_hides_others()) {
		snprintf(text, sizeof(text),
			 "/proc hides the processes of other users (hidepid), so theirs "
			 "have no names and no lines: add CAP_SYS_PTRACE%s",
			 advice);
		profile_add_warning(p, text);
	}
	if (in->user_walk_note)
		profile_add_warning(p, in->user_walk_note);
	if (*w->note)
		profile_add_warning(p, w->note);
	if (symbols.kernel_is_hidden) {
		snprintf(text, sizeof(text),
			 "The kernel's functions have no names, because /proc/kallsyms "
			 "hides their addresses: set kernel.kptr_restrict to 0 or 1%s",
			 advice);
		profile_add_warning(p, text);
	}
}

static void warn_unnamed(struct profile *p, const struct profile_builder *f)
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

static void warn_same_path(struct profile *p, const struct profile_builder *f)
{
	char text[160];

	if (!f->files.nr_not_told)
		return;
	snprintf(text, sizeof(text),
		 "%llu source files share a path with too many others to be "
		 "distinguished: equal ones are listed apart, or without text.",
		 (unsigned long long)f->files.nr_not_told);
	profile_add_warning(p, text);
}

static void warn_unasked_users(struct profile *p, const struct profile_builder *f)
{
	if (f->users.has_unasked)
		profile_add_warning(p, "Some users have numbers in place of names: there "
				       "were more than getent(1) names in 0.2 s.");
}

/* Warns of late drains: the kernel's tables may fill up between two drains. */
static void warn_late_drains(struct profile *p, struct intake *in)
{
	uint64_t held_ns = in->flip.longest_ns;
	char text[160];

	in->flip.longest_ns = 0;
	log_debug("longest time between two drains: %llu ms",
		  (unsigned long long)held_ns / 1000000);
	if (held_ns < sampler_room_ms(in->sampler) * 1000000ULL)
		return;
	snprintf(text, sizeof(text),
		 "Samples waited in the kernel for up to %.1f s, because lineburn was "
		 "held up: samples without room there count as lost.",
		 (double)held_ns / 1e9);
	profile_add_warning(p, text);
}

void account_fill(const struct account *a, const struct window *w, struct intake *in,
		  struct naming *n)
{
	struct profile *p = n->profile;
	struct profile_extra *extra = &p->extra;
	const struct sampling *o = in->config;
	struct utsname name;

	extra->present = true;
	extra->version = LINEBURN_VERSION;
	extra->target = target_describe(&o->target, n->pool);
	extra->freq_hz = o->freq_hz;
	extra->nr_cpus = w->totals.nr_cpus;
	extra->wall_ns = w->end_ns - w->begin_ns;
	p->times.begin_ns = w->begin_ns;
	if (!uname(&name)) {
		extra->host = strpool_add(n->pool, name.nodename);
		extra->kernel_release = strpool_add(n->pool, name.release);
		extra->arch = strpool_add(n->pool, name.machine);
	}
	if (o->argv)
		profile_set_command(p, o->argv);
	fill_losses(a, w, in, n);
	fill_cost(a, &w->totals, in, n);
	warn_budget(p);
	warn_unnamed(p, &n->builder);
	warn_same_path(p, &n->builder);
	shares_warn(in, n);
	warn_unasked_users(p, &n->builder);
	/* The mean period of all samples: each sample has its own (cpu_clock.h). */
	if (!o->source->is_clock)
		p->period = o->event_period;
	else
		p->period = extra->cost.lowered_ns
				    ? 0
				    : (int64_t)sample_rate_period_ns(&in->rate, 0);
	p->time_nanos = w->begin_wall_ns;
	p->duration_nanos = (int64_t)extra->wall_ns;
	warn_hidden_data(w, in, n);
	warn_late_drains(p, in);
	profile_add_summary(p);
}

void account_end_window(struct account *a, const struct profile *p)
{
	profile_losses_add(&a->told_losses, &p->extra.losses);
	profile_cost_add(&a->told_cost, &p->extra.cost);
}
