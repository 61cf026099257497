// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record, run: check -> record (record/recorder.h) -> show, or print the file's name.
 * top: check -> record, and show each window (live/top.h).
 * annotate, report, export, html: read -> (fetch debug info) -> show, or write.
 * diff: the same of each recording, then compare -> show.
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
#include "cli/compare.h"
#include "cli/export_profile.h"
#include "cli/fetch_debuginfo.h"
#include "cli/pager.h"
#include "cli/show.h"
#include "doctor/doctor.h"
#include "launch/browser.h"
#include "live/top.h"
#include "profile/pprof.h"
#include "record/output.h"
#include "record/recorder.h"
#include "target/explain.h"

/* Writes the page that run and record were asked for. It is made of the written profile. */
static int write_page(const struct options *options, struct error *err);

/* ---- record, run ---- */

static int show_run(const struct recorder *r, const struct options *o, struct error *err)
{
	struct profile *p = recorder_profile(r);
	struct launch_user user;
	struct creds creds;
	struct pager pager;
	int rc;

	if (!p->extra.losses.counted) {
		if (o->sampling.source->is_clock)
			log_warning("no samples: the command used less than a tick of "
				    "CPU (%u Hz); raise the rate with -F",
				    o->sampling.freq_hz);
		else
			log_warning("no samples: the command had too few %s for one "
				    "sample; lower -c",
				    o->sampling.source->name);
		return 0;
	}
	/* Read sources that were not stored as the calling user, not as root. */
	launch_user_find(&user);
	pager_open(&pager, !o->viewing.no_pager);
	if (user.is_other && creds_become(&creds, user.uid, user.gid)) {
		rc = error_set(err, -EPERM, "cannot read sources as %s", user.name);
	} else {
		rc = show_profile(&o->viewing, p, o->sampling.output, false, pager.out,
				  err);
		if (user.is_other)
			creds_restore(&creds);
	}
	pager_close(&pager);
	return rc;
}

static int say_loaded(const struct recorder *r)
{
	fprintf(stderr,
		"lineburn: loaded and attached on %u CPUs, %u instructions verified\n",
		(unsigned int)sysconf(_SC_NPROCESSORS_ONLN), recorder_verified_insns(r));
	return 0;
}

static int record(struct recorder *r, const struct options *options, int *ret_status,
		  struct error *err)
{
	const struct sampling *o = &options->sampling;
	int rc = recorder_run(r, err);

	if (rc)
		return rc;
	if (o->dry_run)
		return say_loaded(r);
	if (recorder_launch(r)) {
		rc = show_run(r, options, err);
		*ret_status = launch_exit_status(recorder_launch(r));
		return rc ? rc : write_page(options, err);
	}
	recorder_say_where(r);
	return recorder_nr_counted(r)
		       ? write_page(options, err)
		       : explain_no_samples(&o->target, o->source->is_clock, err);
}

int command_record(const struct options *options, int *ret_status, struct error *err)
{
	const struct sampling *o = &options->sampling;
	_cleanup_(recorder_freep) struct recorder *r = NULL;
	struct launch *command;
	int rc = o->dry_run ? 0 : doctor_admits("", err);

	if (!rc)
		rc = output_check(o, err);
	if (!rc)
		rc = recorder_new(o, &r, err);
	if (rc)
		return rc;
	explain_empty_target(&o->target);
	rc = record(r, options, ret_status, err);
	command = recorder_launch(r);
	if (rc && command && command->executed)
		err->exit_code = EXIT_OWN_FAILURE;
	else if (!rc && command)
		launch_die_by_same_signal(command);
	return rc;
}

/* ---- top ---- */

int command_top(const struct options *options, struct error *err)
{
	_cleanup_(recorder_freep) struct recorder *r = NULL;
	_cleanup_(top_freep) struct top *top = NULL;
	struct sampling o = options->sampling;
	struct window_taker taker = {.take = top_take,
				     .wants_sources = top_wants_sources};
	int rc = doctor_admits("", err);

	if (!rc)
		rc = top_new(&options->top, &top, err);
	if (rc)
		return rc;
	taker.ctx = top;
	o.taker = &taker;
	rc = recorder_new(&o, &r, err);
	if (rc)
		return rc;
	explain_empty_target(&o.target);
	rc = top_begin(top, err);
	if (!rc)
		rc = recorder_run(r, err);
	if (!rc)
		rc = top_end(top, err);
	if (!rc && recorder_targets_are_gone(r))
		log_warning("top has ended, because no target is left");
	return rc;
}

/* ---- annotate, report, export ---- */

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
 * A profile's writer chooses the files that it names. So they are opened with at most
 * the writer's privileges: with ours if the profile belongs to us or to root, with
 * those of the user who called sudo if it belongs to that user, else not at all.
 */
struct profile_reading {
	bool is_strangers;
	struct launch_user user; /* user to become, if is_other */
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

/*
 * Renders @p, or exports it if there is an @e, with at most the privileges of its
 * writer.
 */
static int show_as_writer(const struct viewing *v, const struct exporting *e,
			  struct profile *p, const struct profile_reading *reading,
			  FILE *out, struct error *err)
{
	bool is_strangers = reading->is_strangers && !v->open_sources;
	/* --sources opens files with our own privileges. */
	bool becomes = reading->user.is_other && !v->open_sources;
	struct creds creds;
	int rc;

	if (becomes && creds_become(&creds, reading->user.uid, reading->user.gid))
		return error_set(err, -EPERM, "cannot read sources as %s",
				 reading->user.name);
	rc = e ? export_profile(e, v, p, is_strangers, out, err)
	       : show_profile(v, p, v->input, is_strangers, out, err);
	if (becomes)
		creds_restore(&creds);
	return rc;
}

int command_view(const struct options *options, struct error *err)
{
	const struct viewing *v = &options->viewing;
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(POOL_MAX_BYTES);
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct profile_reading reading;
	struct pager pager;
	int rc;

	if (!pool)
		return error_set(err, -ENOMEM, "out of memory");
	rc = read_input(v->input, pool, &p, &reading, err);
	if (rc)
		return rc;
	fetch_debug_info(p);
	pager_open(&pager, !v->no_pager && !strcmp(v->format, "text"));
	rc = show_as_writer(v, NULL, p, &reading, pager.out, err);
	pager_close(&pager);
	return rc;
}

/* As the user who owns the profile: see output.c. */
static int commit_page(const struct options *o, struct io_pending *pending,
		       struct error *err)
{
	struct launch_user user = {0};
	struct creds creds;
	int rc;

	if (o->sampling.target.is_command)
		launch_user_find(&user);
	if (user.is_other && creds_become(&creds, user.uid, user.gid))
		return error_set(err, -EPERM, "cannot write %s as %s", o->page,
				 user.name);
	rc = io_pending_commit(pending, o->page, err);
	if (user.is_other)
		creds_restore(&creds);
	return rc;
}

static int write_page(const struct options *o, struct error *err)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(POOL_MAX_BYTES);
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(io_pending_deinit) struct io_pending pending = {0};
	struct profile_reading reading;
	struct viewing v = o->viewing;
	int rc;

	if (!o->page)
		return 0;
	if (!pool)
		return error_set(err, -ENOMEM, "out of memory");
	v.format = "html";
	v.input = o->sampling.output;
	rc = read_input(v.input, pool, &p, &reading, err);
	if (!rc)
		rc = io_pending_open(&pending, err);
	if (!rc)
		rc = show_as_writer(&v, NULL, p, &reading, pending.out, err);
	if (!rc)
		rc = commit_page(o, &pending, err);
	if (rc)
		return rc;
	fprintf(stderr, "lineburn: the page is %s, the profile %s\n", o->page, v.input);
	if (o->open_page)
		browser_open(o->page);
	return 0;
}

/* Writes what is whole; says where a page is, and opens it. */
static int finish_output(const struct options *o, struct io_pending *pending,
			 bool is_page, struct error *err)
{
	const char *output = o->exporting.output;
	int rc = io_pending_commit(pending, output, err);

	if (rc)
		return rc;
	if (is_page && strcmp(output, "-") != 0)
		fprintf(stderr, "lineburn: the page is %s\n", output);
	if (o->open_page)
		browser_open(output);
	return 0;
}

int command_export(const struct options *options, struct error *err)
{
	const struct viewing *v = &options->viewing;
	const struct exporting *e = &options->exporting;
	_cleanup_(io_pending_deinit) struct io_pending pending = {0};
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(POOL_MAX_BYTES);
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct profile_reading reading;
	int rc;

	if (!pool)
		return error_set(err, -ENOMEM, "out of memory");
	rc = export_check_output(e, v->input, err);
	if (!rc)
		rc = read_input(v->input, pool, &p, &reading, err);
	if (rc)
		return rc;
	fetch_debug_info(p);
	rc = io_pending_open(&pending, err);
	if (!rc)
		rc = show_as_writer(v, e->listing ? NULL : e, p, &reading, pending.out,
				    err);
	if (rc)
		return rc;
	return finish_output(options, &pending, options->command == COMMAND_HTML, err);
}

/* ---- diff ---- */

/* Only one profile at a time is in memory. */
static int diff_file(struct profile_diff *d, enum diff_side side, const char *path,
		     const struct viewing *v, struct strpool *pool, struct error *err)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct profile_reading reading;
	int rc = read_input(path, pool, &p, &reading, err);

	if (rc)
		return rc;
	fetch_debug_info(p);
	return compare_add(d, side, v, p, path, err);
}

/* The output must be none of the recordings. */
static int check_diff_output(const struct options *o, struct error *err)
{
	const struct comparing *c = &o->comparing;
	int rc = 0;

	for (int s = 0; s < NR_DIFF_SIDES; s++)
		for (size_t i = 0; i < c->sides[s].nr_files && !rc; i++)
			rc = export_check_output(&o->exporting, c->sides[s].files[i],
						 err);
	return rc;
}

static int write_comparison(const struct options *o, struct profile_diff *d,
			    struct diff_verdicts *verdicts, struct error *err)
{
	_cleanup_(io_pending_deinit) struct io_pending pending = {0};
	bool is_page = !strcmp(o->viewing.format, "html");
	int rc;

	if (!strcmp(o->exporting.output, "-"))
		return compare_show(d, &o->comparing, &o->viewing, stdout, verdicts, err);
	rc = io_pending_open(&pending, err);
	if (!rc)
		rc = compare_show(d, &o->comparing, &o->viewing, pending.out, verdicts,
				  err);
	return rc ? rc : finish_output(o, &pending, is_page, err);
}

int command_diff(const struct options *options, struct error *err)
{
	const struct comparing *c = &options->comparing;
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(POOL_MAX_BYTES);
	_cleanup_(diff_freep) struct profile_diff *d = NULL;
	_cleanup_(diff_verdicts_deinit) struct diff_verdicts verdicts = {0};
	int rc = pool ? check_diff_output(options, err)
		      : error_set(err, -ENOMEM, "out of memory");

	if (!rc)
		rc = compare_new(c, &options->viewing, pool, &d, err);
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		for (size_t i = 0; i < c->sides[s].nr_files && !rc; i++)
			rc = diff_file(d, (enum diff_side)s, c->sides[s].files[i],
				       &options->viewing, pool, err);
	if (!rc)
		rc = write_comparison(options, d, &verdicts, err);
	return rc ? rc : compare_refuse(&verdicts, err);
}
