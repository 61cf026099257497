// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record, run: drain -> find process -> resolve -> aggregate -> write (-> show).
 * annotate, report: read -> (fetch debug info) -> show.
 */
#include "pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/creds.h"
#include "base/io.h"
#include "base/log.h"
#include "dump.h"
#include "fetch.h"
#include "fold.h"
#include "profile/pprof.h"
#include "profile/source.h"
#include "session.h"
#include "view.h"

#define POOL_MAX_BYTES (512u << 20)

/* All that one recording owns, in order of the pipeline. */
struct recording {
	const struct options *options;
	struct strpool *pool;
	struct worker *worker;
	struct session session;
	struct symbolizer *symbolizer;
	struct profile *profile;
	struct fold fold;
};

static void recording_deinit(struct recording *r)
{
	fold_deinit(&r->fold);
	profile_free(r->profile);
	symbolizer_free(r->symbolizer);
	worker_free(r->worker);
	session_deinit(&r->session);
	strpool_free(r->pool);
}

static int fold_session(void *ctx, struct session *s, struct error *err)
{
	struct recording *r = ctx;
	int rc = fold_rows(&r->fold, &s->rows, err);

	rows_clear(&s->rows);
	return rc;
}

static int recording_init(struct recording *r, const struct options *o, struct error *err)
{
	struct symbolizer_config symbolizer_config = {.kallsyms_path = "/proc/kallsyms",
						      .debug_dir = "/usr/lib/debug"};
	struct worker_config worker_config = {0};
	int rc;

	r->options = o;
	r->session.signal_fd = r->session.timer_fd = r->session.epoll_fd = -1;
	r->pool = strpool_new(POOL_MAX_BYTES);
	r->profile = r->pool ? profile_new(r->pool) : NULL;
	if (!r->profile)
		return error_set(err, -ENOMEM, "out of memory");
	rc = worker_new(&worker_config, &r->worker, err);
	if (rc)
		return rc;
	r->session.options = o;
	r->session.pool = r->pool;
	r->session.worker = r->worker;
	r->session.fold = fold_session;
	r->session.fold_ctx = r;
	rc = session_init(&r->session, err);
	if (!rc)
		rc = symbolizer_new(&symbolizer_config, r->pool, r->worker,
				    r->session.processes, &r->symbolizer, err);
	r->fold = (struct fold){
		.symbolizer = r->symbolizer,
		.profile = r->profile,
		.period_ns = 1000000000ULL / o->freq_hz,
		.keep_tid = o->keep_tid,
		.dump = o->dump == DUMP_FRAMES,
	};
	return rc;
}

/* ---- what the profile says beside its samples ---- */

static void fill_losses(struct recording *r, const struct sampler_totals *t)
{
	struct profile_losses *l = &r->profile->extra.losses;
	struct process_table_stats processes;
	struct symbolizer_stats symbols;
	struct worker_stats worker;
	struct jit_watch_totals jit;
	const __u64 *n = t->ctr.n;

	process_table_stats(r->session.processes, &processes);
	symbolizer_stats(r->symbolizer, &symbols);
	worker_stats(r->worker, &worker);
	jit_watch_totals(r->session.jit, &jit);
	*l = (struct profile_losses){
		.due = t->due,
		.sampled = n[LB_CTR_SAMPLED],
		.missed = t->missed,
		.lost_counts_full = n[LB_CTR_LOST_COUNTS_FULL],
		.lost_internal = n[LB_CTR_LOST_INTERNAL],
		.lost_drain = t->lost_drain,
		.rows_dropped = r->session.rows.nr_dropped + r->fold.nr_dropped,
		.no_body = n[LB_CTR_NO_BODY] + t->bodies_missing,
		.user_truncated = n[LB_CTR_USER_TRUNCATED],
		.kern_truncated = n[LB_CTR_KERN_TRUNCATED],
		.kern_failed = n[LB_CTR_KERN_FAILED],
		.idle = n[LB_CTR_IDLE],
		.other = n[LB_CTR_OTHER],
		.first_dropped = n[LB_CTR_FIRST_DROPPED],
		.lost_events = processes.nr_lost_events,
		.processes_dropped = processes.nr_dropped + t->targets_dropped,
		.files_dropped = processes.nr_files_dropped,
		.names_dropped = strpool_nr_dropped(r->pool),
		.addresses_dropped = symbols.nr_over_limit,
		.decoder_deaths = worker.nr_died + worker.nr_bad_reply,
		.decoder_deadlines = worker.nr_deadline,
		.jit_objects_lost = processes.nr_jit_lost + jit.nr_lost,
		.jit_objects_foreign = jit.nr_foreign + processes.nr_jit_foreign,
	};
	log_debug(
		"JIT objects: %llu held (%llu bytes), %llu lost, %llu of another format; "
		"%llu list walks, %llu not whole, %llu processes banned",
		(unsigned long long)processes.nr_jit_objects,
		(unsigned long long)processes.nr_jit_bytes,
		(unsigned long long)l->jit_objects_lost,
		(unsigned long long)l->jit_objects_foreign,
		(unsigned long long)jit.nr_walks, (unsigned long long)jit.nr_walks_failed,
		(unsigned long long)jit.nr_banned);
	/* counted + lost = sampled: what was dropped on the way is lost too. */
	l->counted = t->rows_counted - l->rows_dropped;
}

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000ULL + (uint64_t)t->tv_usec * 1000;
}

static void fill_cost(struct recording *r, const struct sampler_totals *t)
{
	struct profile_cost *cost = &r->profile->extra.cost;
	struct jit_watch_totals jit;
	struct worker_stats worker;
	struct rusage usage;

	jit_watch_totals(r->session.jit, &jit);
	worker_stats(r->worker, &worker);
	getrusage(RUSAGE_SELF, &usage);
	*cost = (struct profile_cost){
		.bpf_runs = t->ctr.n[LB_CTR_SAMPLED],
		.bpf_ns = t->ctr.n[LB_CTR_RUN_NS],
		.collector_cpu_ns = timeval_ns(&usage.ru_utime) +
				    timeval_ns(&usage.ru_stime) + worker.cpu_ns,
		.collector_peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024,
		.map_bytes = sampler_map_bytes(r->session.sampler) +
			     task_ring_bytes(r->session.tasks) + jit.map_bytes,
	};
}

static const char *describe_target(const struct options *o, struct strpool *pool)
{
	char text[256];
	size_t used;

	if (o->command == COMMAND_RUN)
		return strpool_add(pool, "the command and its children");
	if (o->whole_machine)
		return strpool_add(pool, "the whole machine");
	used = (size_t)snprintf(text, sizeof(text), "process");
	for (size_t i = 0; i < o->nr_pids && used < sizeof(text) - 16; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %u",
					 o->pids[i]);
	return strpool_add(pool, text);
}

static void fill_extra(struct recording *r)
{
	struct profile *p = r->profile;
	struct profile_extra *extra = &p->extra;
	struct sampler_totals totals;
	struct utsname name;

	sampler_totals(r->session.sampler, &totals);
	extra->present = true;
	extra->version = LINEBURN_VERSION;
	extra->target = describe_target(r->options, r->pool);
	extra->freq_hz = r->options->freq_hz;
	extra->nr_cpus = totals.nr_cpus;
	extra->wall_ns = r->session.start_ns ? r->session.stop_ns - r->session.start_ns
					     : 0;
	if (!uname(&name)) {
		extra->host = strpool_add(r->pool, name.nodename);
		extra->kernel_release = strpool_add(r->pool, name.release);
		extra->arch = strpool_add(r->pool, name.machine);
	}
	if (r->options->argv)
		profile_set_command(p, r->options->argv);
	fill_losses(r, &totals);
	fill_cost(r, &totals);
	p->period = (int64_t)r->fold.period_ns;
	p->time_nanos = r->session.start_wall_ns;
	p->duration_nanos = (int64_t)extra->wall_ns;
	if (r->session.user_walk_note)
		profile_add_warning(p, r->session.user_walk_note);
	profile_add_summary(p);
}

/* A source is opened in the root, and with the rights, of a process that ran it. */
static int open_source(void *ctx, const char *path)
{
	const struct recording *r = ctx;
	const struct process *owner = fold_source_owner(&r->fold, path);

	if (!owner || *path != '/')
		return -ENOENT;
	return process_open_in_root(owner, path, SAFE_OPEN_AS_OWNER,
				    SOURCE_MAX_FILE_BYTES);
}

static int collect_sources(struct recording *r)
{
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	int rc = attribution_new(r->profile, &r->options->attribution, &a);

	return rc ? rc : source_collect(r->profile, a, open_source, r);
}

/* ---- the file ---- */

/*
 * Under sudo, run writes with the rights of the user who called, so that the file
 * is theirs and goes only where they could have put it themselves. Ends with
 * stop_being_owner().
 */
static int be_owner(const struct options *o, struct launch_user *user,
		    struct creds *creds, struct error *err)
{
	launch_user_find(user);
	if (o->command != COMMAND_RUN)
		user->is_other = false;
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

/* Before sampling: an hour must not end with "no such directory". */
static int check_output(const struct options *o, struct error *err)
{
	struct launch_user user;
	struct creds creds;
	int rc;

	if (o->dry_run)
		return 0;
	rc = be_owner(o, &user, &creds, err);
	if (rc)
		return rc;
	rc = io_check_output(o->output, err);
	stop_being_owner(&user, &creds);
	return rc;
}

static int write_profile(const struct recording *r, struct error *err)
{
	const struct options *o = r->options;
	struct launch_user user;
	struct creds creds;
	_cleanup_free_ void *data = NULL;
	size_t len;
	int rc = pprof_write(r->profile, true, &data, &len);

	if (rc)
		return error_set(err, rc, "out of memory");
	rc = be_owner(o, &user, &creds, err);
	if (rc)
		return rc;
	rc = io_write_file_atomic(o->output, data, len, !o->output_given, (uid_t)-1,
				  (gid_t)-1, err);
	stop_being_owner(&user, &creds);
	return rc;
}

static int dump_after(struct recording *r)
{
	if (r->options->dump == DUMP_MAPS)
		dump_maps(r->session.processes, stderr);
	return 0;
}

/* Names, completes and writes what was sampled. */
static int finish(struct recording *r, struct error *err)
{
	int rc;

	dump_after(r);
	rc = fold_rows(&r->fold, &r->session.rows, err);
	if (rc)
		return rc;
	fill_extra(r);
	if (fold_codes(&r->fold) || collect_sources(r))
		return error_set(err, -ENOMEM, "out of memory");
	return write_profile(r, err);
}

static void say_where(const struct options *o, const struct profile *p)
{
	fprintf(stderr, "lineburn: %llu samples, written to %s\n",
		(unsigned long long)p->extra.losses.counted, o->output);
}

static int show_run(struct recording *r, struct error *err)
{
	struct profile *p = r->profile;
	struct launch_user user;
	struct creds creds;
	int rc;

	if (!p->extra.losses.counted) {
		log_warning("no samples: the command used less than a tick of CPU (%u "
			    "Hz); raise "
			    "the rate with -F",
			    r->options->freq_hz);
		return 0;
	}
	/* Sources that were not kept are read as the user who called, not as root. */
	launch_user_find(&user);
	if (user.is_other && creds_become(&creds, user.uid, user.gid))
		return error_set(err, -EPERM, "cannot read sources as %s", user.name);
	rc = view_show(r->options, p, r->options->output, err);
	if (user.is_other)
		creds_restore(&creds);
	return rc;
}

static int record(struct recording *r, int *ret_status, struct error *err)
{
	enum session_end end;
	int rc = session_run(&r->session, &end, err);

	if (rc)
		return rc;
	session_let_signals_kill(&r->session);
	if (r->options->dry_run) {
		fprintf(stderr,
			"lineburn: loaded and attached on %u CPUs, %u instructions "
			"verified\n",
			(unsigned int)sysconf(_SC_NPROCESSORS_ONLN),
			sampler_verified_insns(r->session.sampler));
		return 0;
	}
	rc = finish(r, err);
	if (rc)
		return rc;
	if (r->session.launch) {
		rc = show_run(r, err);
		*ret_status = launch_exit_status(r->session.launch);
		return rc;
	}
	say_where(r->options, r->profile);
	if (!r->profile->extra.losses.counted)
		return error_set_exit(
			err, EXIT_NO_SAMPLES, -ENODATA,
			"no samples: nothing of what was asked for used CPU; record "
			"for longer, or with a higher -F");
	return 0;
}

int pipeline_record(const struct options *o, int *ret_status, struct error *err)
{
	struct recording r = {0};
	int rc = check_output(o, err);

	if (rc)
		return rc;
	rc = recording_init(&r, o, err);
	if (!rc)
		rc = record(&r, ret_status, err);
	if (rc && r.session.launch && launch_was_executed(r.session.launch))
		err->exit_code = EXIT_OWN_FAILURE;
	else if (!rc && r.session.launch)
		launch_die_alike(r.session.launch);
	recording_deinit(&r);
	return rc;
}

/* ---- annotate, report ---- */

static int explain_open(const char *path, struct error *err)
{
	int code = -errno;

	if (errno == EACCES)
		return error_set(
			err, code,
			"cannot read %s: it belongs to another user; read it as root, or "
			"let root hand it over with chown",
			path);
	if (errno == ENOENT)
		return error_set(err, code,
				 "there is no %s; record one with \"lineburn record\" or "
				 "\"lineburn "
				 "run\"",
				 path);
	return error_set(err, code, "cannot read %s: %m", path);
}

static int read_input(const char *path, struct strpool *pool, struct profile **ret,
		      struct error *err)
{
	bool is_stdin = !strcmp(path, "-");
	_cleanup_close_ int opened = -1;
	_cleanup_free_ char *data = NULL;
	size_t len;
	int rc;

	if (!is_stdin) {
		opened = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (opened < 0)
			return explain_open(path, err);
	}
	rc = io_read_all(is_stdin ? STDIN_FILENO : opened, PPROF_MAX_BYTES, &data, &len);
	if (rc) {
		errno = -rc;
		return error_set(err, rc, "cannot read %s: %m",
				 is_stdin ? "stdin" : path);
	}
	return pprof_read(data, len, is_stdin ? "stdin" : path, pool, ret, err);
}

int pipeline_view(const struct options *o, struct error *err)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(POOL_MAX_BYTES);
	_cleanup_(profile_freep) struct profile *p = NULL;
	int rc;

	if (!pool)
		return error_set(err, -ENOMEM, "out of memory");
	rc = read_input(o->input, pool, &p, err);
	if (rc)
		return rc;
	fetch_debug_info(p);
	return view_show(o, p, o->input, err);
}
