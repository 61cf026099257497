// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record, run: drain -> find process -> resolve -> aggregate -> write (-> show), once, or
 * for each window: then the profile begins anew, while all that it is made by lives on.
 * annotate, report: read -> (fetch debug info) -> show.
 */
#include "cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/source.h"
#include "base/creds.h"
#include "base/io.h"
#include "base/log.h"
#include "cli/fetch_debuginfo.h"
#include "cli/show.h"
#include "doctor/doctor.h"
#include "profile/pprof.h"
#include "record/aside.h"
#include "record/dump.h"
#include "record/recording.h"
#include "target/explain.h"

/* A source is opened in the root, and with the rights, of a process that ran it. */
static int open_source(void *ctx, const char *path)
{
	const struct recording *r = ctx;
	const struct process *owner = source_names_user(&r->builder.files, path);

	if (!owner || *path != '/')
		return -ENOENT;
	return process_open_in_root(owner, path, SAFE_OPEN_AS_OWNER,
				    SOURCE_MAX_FILE_BYTES);
}

static int collect_sources(struct recording *r)
{
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	int rc = attribution_new(r->profile, &r->config->attribution, &a);

	if (!rc)
		rc = source_collect(r->profile, a, open_source, r);
	if (!rc)
		source_names_tell_owners(&r->builder.files);
	return rc;
}

/* ---- the file ---- */

/*
 * Under sudo, run writes with the rights of the user who called, so that the file
 * is theirs and goes only where they could have put it themselves. Ends with
 * stop_being_owner().
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

/* Before sampling: an hour must not end with "no such directory". */
static int check_output(const struct sampling *o, struct error *err)
{
	struct launch_user user;
	struct creds creds;
	char path[PATH_MAX];
	int rc;

	if (o->dry_run)
		return 0;
	/* Any recording may get such a file: by a signal, or when its memory is full. */
	if (!o->target.is_command &&
	    window_path(o->output, &(struct window_id){.number = WINDOW_MAX_NUMBER}, path,
			sizeof(path)))
		return error_set(err, -ENAMETOOLONG,
				 "%s is too long for a name that gets a time: give -o a "
				 "shorter one",
				 o->output);
	rc = be_owner(o, &user, &creds, err);
	if (rc)
		return rc;
	rc = io_check_output(o->output, err);
	stop_being_owner(&user, &creds);
	return rc;
}

/* The output's own file: of run, or of a recording that has one. */
static int write_output(struct recording *r, const void *data, size_t len,
			struct error *err)
{
	const struct sampling *o = r->config;
	struct launch_user user;
	struct creds creds;
	int rc = be_owner(o, &user, &creds, err);

	if (rc)
		return rc;
	/* What we wrote ourselves is no older result to be kept. */
	rc = io_write_file_atomic(o->output, data, len,
				  !o->output_given && !r->has_output, (uid_t)-1,
				  (gid_t)-1, err);
	stop_being_owner(&user, &creds);
	r->has_output |= !rc;
	return rc;
}

static int write_window(struct recording *r, const void *data, size_t len,
			struct error *err)
{
	struct recording_window *w = &r->window;

	return window_files_write(&r->files, w->begin_wall_ns / 1000000000, &w->id, data,
				  len, err);
}

static int dump_after(struct recording *r)
{
	if (r->config->dump == DUMP_MAPS)
		dump_maps(r->session.processes, stderr);
	return 0;
}

/* Names the samples there are; what comes meanwhile is kept for the next call. */
static int build_session(struct recording *r, struct error *err)
{
	struct stack_table rows = stack_table_take(&r->session.rows);
	int rc = profile_builder_add(&r->builder, &rows, err);

	stack_table_clear(&rows);
	return rc;
}

struct writing {
	struct recording *r;
	bool is_window;
	struct error *err;
};

/* Of the recording this touches what drains do not: profile, its names, files. */
static int pack_and_write(void *ctx)
{
	const struct writing *w = ctx;
	_cleanup_free_ void *data = NULL;
	size_t len;

	if (pprof_write(w->r->profile, true, &data, &len))
		return error_set(w->err, -ENOMEM, "out of memory");
	return w->is_window ? write_window(w->r, data, len, w->err)
			    : write_output(w->r, data, len, w->err);
}

static void attend(void *ctx, int done_fd)
{
	struct recording *r = ctx;

	session_attend(&r->session, done_fd);
}

/* Completes and writes what was sampled since the window began. */
static int finish(struct recording *r, bool is_window, struct error *err)
{
	struct writing w = {.r = r, .is_window = is_window, .err = err};
	int rc;

	recording_fill_extra(r);
	if (profile_builder_add_code(&r->builder) || collect_sources(r))
		return error_set(err, -ENOMEM, "out of memory");
	recording_keep_up(r);
	if (!r->session.sampling)
		return pack_and_write(&w);
	/*
	 * While it is sampled no disk, however slow, holds up the drains. What they bring
	 * waits, beside the profile that is written.
	 */
	r->session.rows.max_bytes = r->memory_bytes / 2;
	rc = aside_run(pack_and_write, &w, attend, r);
	r->session.rows.max_bytes = 0;
	return rc;
}

/* ---- windows ---- */

/* Up to the end of the window: ticks since the flip are the next one's. */
static void window_note_end(struct recording *r)
{
	const struct session_flip *flip = &r->session.flip;
	const __u64 *then = flip->totals.ctr.n, *now = r->window.totals.ctr.n;
	struct sampler_totals *totals = &r->window.totals;
	uint64_t due, ran;

	r->window.end_ns = r->session.stop_ns ? r->session.stop_ns : flip->time_ns;
	r->window.end_wall_ns = flip->wall_ns;
	sampler_totals(r->session.sampler, totals);
	if (r->session.stop_ns || !flip->ends_window)
		return;
	due = flip->totals.missed + then[LB_CTR_TICKS] - then[LB_CTR_IDLE];
	ran = now[LB_CTR_TICKS] - now[LB_CTR_IDLE];
	totals->missed = due > ran ? due - ran : 0;
	totals->due = now[LB_CTR_SAMPLED] + totals->missed;
	totals->stolen_ns = flip->totals.stolen_ns;
}

static void window_begin_first(struct recording *r)
{
	if (r->window.begin_ns || !r->session.start_ns)
		return;
	r->window.begin_ns = r->session.start_ns;
	r->window.begin_wall_ns = r->session.start_wall_ns;
}

/* The next end that is still to come: a late one does not make the others late. */
static void window_set_end(struct recording *r)
{
	uint64_t length_ns = (uint64_t)(r->config->window_s * 1e9), late_ns;
	struct session *s = &r->session;

	if (!length_ns || r->window.end_ns < s->window_end_ns)
		return;
	late_ns = r->window.end_ns - s->window_end_ns;
	s->window_end_ns += (late_ns / length_ns + 1) * length_ns;
}

/* The window that was written, or given up, is over: the next begins where it ended. */
static int window_begin(struct recording *r, struct error *err)
{
	struct recording_window *w = &r->window;
	int rc;

	losses_add(&r->told_losses, &r->profile->extra.losses);
	cost_add(&r->told_cost, &r->profile->extra.cost);
	r->session.rate.lowest_level = r->session.rate.level;
	w->begin_ns = w->end_ns;
	w->begin_wall_ns = w->end_wall_ns;
	w->id = (struct window_id){0};
	rc = recording_begin_profile(r, err);
	malloc_trim(0);
	return rc ? rc : recording_renew(r, err);
}

static void window_said(struct recording *r)
{
	char path[PATH_MAX];

	*r->window.note = '\0';
	r->nr_files++;
	r->nr_counted += r->profile->extra.losses.counted;
	if (r->config->window_s > 0 ||
	    window_path(r->config->output, &r->window.id, path, sizeof(path)))
		return;
	fprintf(stderr, "lineburn: %llu samples, written to %s; a new file begins\n",
		(unsigned long long)r->profile->extra.losses.counted, path);
}

/*
 * A window whose file cannot be written goes on, so that its samples are in the next
 * file; only when they take too much memory they are lost.
 *
 * Return: may a new one begin?
 */
static bool window_may_end(struct recording *r, int rc, bool is_full,
			   const struct error *why)
{
	unsigned long long nr = r->profile->extra.losses.counted;

	if (!rc) {
		window_said(r);
		return true;
	}
	if (!is_full) {
		log_warning("%s; %llu samples are kept for the next file", why->text, nr);
		return false;
	}
	log_warning("%s; %llu samples are lost: there is no room to keep them", why->text,
		    nr);
	snprintf(r->window.note, sizeof(r->window.note),
		 "%llu samples before these are lost: their file could not be written",
		 nr);
	return true;
}

static int window_end(struct recording *r, bool is_full, struct error *err)
{
	struct error why = {0};
	int rc = finish(r, true, &why);

	if (window_may_end(r, rc, is_full, &why))
		return window_begin(r, err);
	profile_clear_extra(r->profile);
	return 0;
}

/* SIGUSR1: the file of the window, as far as it is; it will be written again. */
static void window_snapshot(struct recording *r)
{
	struct error why = {0};

	if (finish(r, r->config->window_s > 0, &why))
		log_warning("%s; the recording goes on", why.text);
	profile_clear_extra(r->profile);
}

/* SIGHUP: the next file is where the output's name leads to now. */
static void follow_folder(struct recording *r)
{
	int rc = window_files_open(&r->files);

	if (rc)
		log_warning("cannot open the folder of %s: %s; files go on where they "
			    "were",
			    r->config->output, strerror(-rc));
}

/* Names what was drained up to now, and ends or shows the window if that is wished. */
static int window_go_on(struct recording *r, uint64_t begin_ns, struct error *err)
{
	struct session *s = &r->session;
	bool is_full = recording_is_full(r), wants_snapshot = s->wants_snapshot;
	bool wants_window = s->wants_window;
	bool is_over = wants_window ||
		       (s->window_end_ns && s->flip.time_ns >= s->window_end_ns);
	int rc;

	window_note_end(r);
	r->window.named_ns = begin_ns;
	s->wants_window = s->wants_snapshot = false;
	window_set_end(r);
	rc = build_session(r, err);
	process_table_forget_jit(s->processes, begin_ns);
	jit_watch_expect(s->jit); /* for what was refused before */
	if (is_full) {
		malloc_trim(0);
		is_full = recording_is_full(r);
	}
	if (rc || s->stop_ns)
		return rc;
	if (is_over || is_full)
		rc = window_end(r, is_full, err);
	if (wants_window)
		follow_folder(r);
	if (is_over || is_full)
		return rc;
	if (wants_snapshot)
		window_snapshot(r);
	return 0;
}

static int recording_drained(void *ctx, struct session *s, uint64_t begin_ns,
			     struct error *err)
{
	struct recording *r = ctx;
	int rc;

	window_begin_first(r);
	if (r->is_busy)
		return 0;
	if (!recording_is_full(r) && !s->flip.ends_window &&
	    !stack_table_is_full(&s->rows) &&
	    !jit_store_is_filling(process_table_jit_store(s->processes)))
		return 0;
	r->is_busy = true;
	rc = window_go_on(r, begin_ns, err);
	r->is_busy = false;
	return rc;
}

/* ---- the end ---- */

static void say_where(const struct recording *r)
{
	const struct sampling *o = r->config;
	unsigned long long counted = r->profile->extra.losses.counted;
	char path[PATH_MAX];

	if (!o->window_s) {
		fprintf(stderr, "lineburn: %llu samples, written to %s\n", counted,
			o->output);
	} else if (!window_path(o->output, &r->window.id, path, sizeof(path))) {
		fprintf(stderr, "lineburn: %llu samples in %llu files, the last is %s\n",
			(unsigned long long)r->nr_counted + counted,
			(unsigned long long)r->nr_files + 1, path);
	}
}

/* What was sampled since the last window. */
static int finish_last(struct recording *r, struct error *err)
{
	int rc;

	dump_after(r);
	window_begin_first(r);
	window_note_end(r);
	rc = build_session(r, err);
	return rc ? rc : finish(r, r->config->window_s > 0, err);
}

static int show_run(struct recording *r, const struct viewing *v, struct error *err)
{
	struct profile *p = r->profile;
	struct launch_user user;
	struct creds creds;
	int rc;

	if (!p->extra.losses.counted) {
		if (r->config->source->is_clock)
			log_warning("no samples: the command used less than a tick of "
				    "CPU (%u Hz); raise the rate with -F",
				    r->config->freq_hz);
		else
			log_warning(
				"no samples: the command had fewer %s than one sample "
				"stands for; lower -c",
				r->config->source->name);
		return 0;
	}
	/* Sources that were not kept are read as the user who called, not as root. */
	launch_user_find(&user);
	if (user.is_other && creds_become(&creds, user.uid, user.gid))
		return error_set(err, -EPERM, "cannot read sources as %s", user.name);
	rc = show_profile(v, p, r->config->output, false, err);
	if (user.is_other)
		creds_restore(&creds);
	return rc;
}

static int record(struct recording *r, const struct viewing *v, int *ret_status,
		  struct error *err)
{
	enum session_end end;
	int rc = session_run(&r->session, &end, err);

	if (rc)
		return rc;
	session_let_signals_kill(&r->session);
	if (r->config->dry_run) {
		fprintf(stderr,
			"lineburn: loaded and attached on %u CPUs, %u instructions "
			"verified\n",
			(unsigned int)sysconf(_SC_NPROCESSORS_ONLN),
			sampler_verified_insns(r->session.sampler));
		return 0;
	}
	rc = finish_last(r, err);
	if (rc)
		return rc;
	if (r->session.launch) {
		rc = show_run(r, v, err);
		*ret_status = launch_exit_status(r->session.launch);
		return rc;
	}
	say_where(r);
	return r->profile->extra.losses.counted || r->nr_counted
		       ? 0
		       : explain_no_samples(&r->config->target,
					    r->config->source->is_clock, err);
}

int pipeline_record(const struct options *options, int *ret_status, struct error *err)
{
	const struct sampling *o = &options->sampling;
	struct recording r = {0};
	int rc = o->dry_run ? 0 : doctor_admits("", err);

	if (!rc)
		rc = check_output(o, err);
	if (rc)
		return rc;
	rc = recording_init(&r, o, recording_drained, err);
	if (!rc)
		explain_empty_target(&o->target);
	if (!rc)
		rc = record(&r, &options->viewing, ret_status, err);
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

/*
 * Who wrote a profile chooses what it names, so that is opened with no more rights than the
 * writer has: with ours where the file is our own or root's, with those of the user who
 * called sudo where it is that user's, else not at all.
 */
struct profile_reading {
	bool is_strangers;
	struct launch_user user; /* whose rights, where is_other */
};

static void find_writer(int fd, struct profile_reading *ret)
{
	struct stat st;

	*ret = (struct profile_reading){.is_strangers = true};
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_mode & S_IWOTH)
		return;
	if (st.st_uid == geteuid() || !st.st_uid) {
		ret->is_strangers = false;
		return;
	}
	launch_user_find(&ret->user);
	ret->user.is_other &= ret->user.uid == st.st_uid;
	ret->is_strangers = !ret->user.is_other;
}

static int read_input(const char *path, struct strpool *pool, struct profile **ret,
		      struct profile_reading *ret_reading, struct error *err)
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
	find_writer(is_stdin ? STDIN_FILENO : opened, ret_reading);
	rc = io_read_all(is_stdin ? STDIN_FILENO : opened, PPROF_MAX_BYTES, &data, &len);
	if (rc) {
		errno = -rc;
		return error_set(err, rc, "cannot read %s: %m",
				 is_stdin ? "stdin" : path);
	}
	return pprof_read(data, len, is_stdin ? "stdin" : path, pool, ret, err);
}

int pipeline_view(const struct options *options, struct error *err)
{
	const struct viewing *v = &options->viewing;
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(POOL_MAX_BYTES);
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct profile_reading reading;
	struct creds creds;
	bool becomes;
	int rc;

	if (!pool)
		return error_set(err, -ENOMEM, "out of memory");
	rc = read_input(v->input, pool, &p, &reading, err);
	if (rc)
		return rc;
	fetch_debug_info(p);
	/* What was asked for is opened with our own rights. */
	becomes = reading.user.is_other && !v->open_sources;
	if (becomes && creds_become(&creds, reading.user.uid, reading.user.gid))
		return error_set(err, -EPERM, "cannot read sources as %s",
				 reading.user.name);
	rc = show_profile(v, p, v->input, reading.is_strangers && !v->open_sources, err);
	if (becomes)
		creds_restore(&creds);
	return rc;
}
