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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/source.h"
#include "base/creds.h"
#include "base/io.h"
#include "base/log.h"
#include "cli/compare.h"
#include "cli/export_profile.h"
#include "cli/fetch_debuginfo.h"
#include "cli/keeper.h"
#include "cli/pager.h"
#include "cli/reading.h"
#include "cli/rights.h"
#include "cli/show.h"
#include "doctor/doctor.h"
#include "launch/browser.h"
#include "live/top.h"
#include "record/output.h"
#include "record/recorder.h"
#include "target/explain.h"

/* Writes the page that run and record were asked for. It is made of the written profile. */
static page_fn write_page;

/* The broker reads the profile, which this process may have no right to read. */
static int ask_for_page(const struct options *options, struct error *err)
{
	struct broker_message reply = {.data = err, .len = sizeof(*err)};
	int rc;

	if (!options->page)
		return 0;
	rc = broker_ask(BROKER_OUTPUT, BROKER_WRITE_PAGE, NULL, &reply);
	if (rc && !*err->text)
		error_set(err, rc,
			  "cannot write %s: the process that writes files has ended",
			  options->page);
	return rc;
}

/* ---- record, run ---- */

static int show_run(const struct recorder *r, const struct options *o, struct error *err)
{
	struct profile *p = recorder_profile(r);
	/* A command of root's may have started programs of others, who name any file. */
	const struct named_files named = {.is_careful = !geteuid(), .is_run = true};
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
	/*
	 * Sources that were not stored are read as the calling user: this process became
	 * that user (rights_keep_to_record()). As root it cannot become nobody any more, and
	 * reads none.
	 */
	pager_open(&pager, !o->viewing.no_pager);
	pager_begin(&pager);
	rc = show_profile(&o->viewing, p, o->sampling.output, &named, pager.out, err);
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
	struct error not_shown;
	int rc = recorder_run(r, err);

	/* The listing needs no file. */
	if (rc && recorder_launch(r) && recorder_is_complete(r))
		show_run(r, options, &not_shown);
	if (rc)
		return rc;
	if (o->dry_run)
		return say_loaded(r);
	if (recorder_launch(r)) {
		rc = show_run(r, options, err);
		*ret_status = launch_exit_status(recorder_launch(r));
		return rc ? rc : ask_for_page(options, err);
	}
	recorder_say_where(r);
	if (!recorder_has_sampled(r))
		return error_set_exit(err, EXIT_NO_SAMPLES, -ENODATA,
				      "no samples: the recording was ended before "
				      "sampling began");
	return recorder_nr_counted(r)
		       ? ask_for_page(options, err)
		       : explain_no_samples(&o->target, o->source->is_clock, err);
}

static int record_with_brokers(const struct options *options, int *ret_status,
			       struct error *err)
{
	const struct sampling *o = &options->sampling;
	_cleanup_(recorder_freep) struct recorder *r = NULL;
	struct launch *command;
	int rc = recorder_new(o, &r, err);

	if (rc)
		return rc;
	explain_empty_target(&o->target);
	rc = rights_keep_to_record(o, r, err);
	if (!rc)
		rc = record(r, options, ret_status, err);
	command = recorder_launch(r);
	if (rc && command && command->executed)
		err->exit_code = EXIT_OWN_FAILURE;
	else if (!rc && command)
		launch_die_by_same_signal(command);
	return rc;
}

int command_record(const struct options *options, int *ret_status, struct error *err)
{
	const struct sampling *o = &options->sampling;
	int rc = o->dry_run ? 0 : doctor_admits("", err);

	if (!rc)
		rc = output_check(o, options->page, err);
	if (!rc)
		rc = rights_share(options, write_page, err);
	if (!rc)
		rc = record_with_brokers(options, ret_status, err);
	broker_end();
	return rc;
}

/* ---- top ---- */

static int top_with_brokers(const struct options *options, struct error *err)
{
	_cleanup_(recorder_freep) struct recorder *r = NULL;
	_cleanup_(top_freep) struct top *top = NULL;
	struct sampling o = options->sampling;
	struct window_taker taker = {.take = top_take,
				     .wants_sources = top_wants_sources};
	int rc = top_new(&options->top, &top, err);

	if (rc)
		return rc;
	taker.ctx = top;
	o.taker = &taker;
	rc = recorder_new(&o, &r, err);
	if (rc)
		return rc;
	explain_empty_target(&o.target);
	rc = rights_keep_to_record(&o, r, err);
	if (!rc)
		rc = top_begin(top, err);
	if (!rc)
		rc = recorder_run(r, err);
	if (!rc)
		rc = top_end(top, err);
	if (!rc && recorder_targets_are_gone(r))
		log_warning("top has ended, because no target is left");
	return rc;
}

int command_top(const struct options *options, struct error *err)
{
	int rc = doctor_admits("", err);

	if (!rc)
		rc = rights_share(options, write_page, err);
	if (!rc)
		rc = top_with_brokers(options, err);
	broker_end();
	return rc;
}

/* ---- annotate, report, export ---- */

/* What a viewer may still do after it has given up rights; zero: nothing was given up. */
struct viewer {
	const struct options *options; /* borrowed */
	struct io_folder folder; /* where the output goes, or the page of a recording */
	bool has_keeper; /* false: it would have nothing to do */
	struct file_opener opener; /* the keeper, if there is one */
	bool gave_up; /* root's rights */
};

static void viewer_deinit(struct viewer *viewer)
{
	if (viewer->has_keeper)
		broker_end();
	io_folder_close(&viewer->folder);
}

/* Before the work: whoever may change the path cannot lead the output elsewhere. */
static int open_folder(struct viewer *viewer, const char *output, struct error *err)
{
	int rc = !strcmp(output, "-") ? 0 : io_folder_open(output, &viewer->folder);

	errno = -rc;
	return rc ? error_set(err, rc, "cannot open the folder of %s: %m", output) : 0;
}

/* Finishes the output of struct viewer @ctx: writes it, says where a page is, opens it. */
static int finish_output(void *ctx, const void *data, size_t len, struct error *err)
{
	struct viewer *viewer = ctx;
	const struct options *o = viewer->options;
	const char *output = o->exporting.output;
	bool is_page = o->command == COMMAND_HTML ||
		       (o->command == COMMAND_DIFF && !strcmp(o->viewing.format, "html"));
	int rc;

	if (!strcmp(output, "-")) {
		fwrite(data, 1, len, stdout);
		return 0;
	}
	rc = io_write_file_in(&viewer->folder, output, data, len, false, err);
	if (rc)
		return rc;
	if (is_page)
		fprintf(stderr, "lineburn: the page is %s\n", output);
	if (o->open_page)
		browser_open(output);
	return 0;
}

/* From then on only the keeper has the folder: it leads to others, without rights. */
static int begin_keeper(struct viewer *viewer, const struct keeper_config *config,
			struct error *err)
{
	int rc = keeper_begin(config, err);

	viewer->has_keeper = !rc;
	io_folder_close(&viewer->folder);
	return rc;
}

/*
 * Before this process gives up root's rights, starts another that does with them what the
 * command line asked for, if it did.
 */
static int start_keeper(struct viewer *viewer, enum viewer_rights rights,
			struct error *err)
{
	const struct options *o = viewer->options;
	const struct viewing *v = &o->viewing;
	bool has_output = o->exporting.output && strcmp(o->exporting.output, "-") != 0;
	const struct keeper_config config = {
		.finish = has_output ? finish_output : NULL,
		.ctx = viewer,
		.kept_fd = &viewer->folder.fd,
		.opens_all = v->open_sources,
		.rules = v->source_paths,
		.nr_rules = v->nr_source_paths,
	};
	int rc;

	if (rights == RIGHTS_OWN ||
	    (!has_output && !v->open_sources && !v->nr_source_paths))
		return 0;
	rc = begin_keeper(viewer, &config, err);
	if (!rc)
		viewer->opener = (struct file_opener){.open = keeper_open};
	return rc;
}

static int give_up(struct viewer *viewer, enum viewer_rights rights, struct error *err)
{
	viewer->gave_up |= rights != RIGHTS_OWN;
	return rights_give_up(rights, err);
}

/* Which files may be opened of those that a profile names, and who opens them. */
static struct named_files named_files(const struct viewing *v,
				      const struct viewer *viewer,
				      const struct profile_input *reading)
{
	struct named_files named = {.is_strangers = reading->is_strangers &&
						    !v->open_sources,
				    .is_careful = !geteuid() && !v->open_sources};

	/* What the command line allows is opened with the caller's rights. */
	if (v->open_sources || (named.is_strangers && v->nr_source_paths))
		named.opener = viewer->opener;
	return named;
}

static int write_output(struct viewer *viewer, struct io_pending *pending,
			struct error *err)
{
	const struct options *o = viewer->options;
	int rc = io_pending_end(pending, err);

	if (rc)
		return rc;
	return viewer->has_keeper && strcmp(o->exporting.output, "-") != 0
		       ? keeper_finish(pending->data, pending->len, err)
		       : finish_output(viewer, pending->data, pending->len, err);
}

/*
 * Reads, attributes and renders @reading, after root has given up what it must.
 * @pager  NULL, or where @out leads
 */
static int view(const struct options *o, const struct viewer *viewer,
		const struct profile_input *reading, const struct pager *pager, FILE *out,
		struct error *err)
{
	const struct viewing *v = &o->viewing;
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(POOL_MAX_BYTES);
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct named_files named = named_files(v, viewer, reading);
	int rc;

	if (!pool)
		return error_set(err, -ENOMEM, "out of memory");
	rc = profile_input_load(reading, pool, &p, err);
	if (rc)
		return rc;
	/* A recording has asked the servers already. */
	if (!o->page)
		fetch_debug_info(p, viewer->gave_up);
	if (pager)
		pager_begin(pager);
	return o->command == COMMAND_EXPORT && !o->exporting.listing
		       ? export_profile(&o->exporting, v, p, &named, out, err)
		       : show_profile(v, p, v->input, &named, out, err);
}

int command_view(const struct options *options, struct error *err)
{
	const struct viewing *v = &options->viewing;
	_cleanup_(profile_input_deinit) struct profile_input reading = {.fd = -1};
	_cleanup_(viewer_deinit) struct viewer viewer = {.options = options,
							 .folder.fd = -1};
	struct pager pager;
	int rc = profile_input_open(v->input, &reading, err);

	if (!rc)
		rc = start_keeper(&viewer, reading.rights, err);
	if (rc)
		return rc;
	pager_open(&pager, !v->no_pager && !strcmp(v->format, "text"));
	rc = give_up(&viewer, reading.rights, err);
	if (!rc)
		rc = view(options, &viewer, &reading, &pager, pager.out, err);
	pager_close(&pager);
	return rc;
}

int command_export(const struct options *options, struct error *err)
{
	_cleanup_(io_pending_deinit) struct io_pending pending = {0};
	_cleanup_(profile_input_deinit) struct profile_input reading = {.fd = -1};
	_cleanup_(viewer_deinit) struct viewer viewer = {.options = options,
							 .folder.fd = -1};
	int rc;

	reading_begin();
	rc = export_check_output(&options->exporting, options->viewing.input, err);
	if (!rc)
		rc = open_folder(&viewer, options->exporting.output, err);
	if (!rc)
		rc = profile_input_open(options->viewing.input, &reading, err);
	if (!rc)
		rc = start_keeper(&viewer, reading.rights, err);
	if (!rc)
		rc = give_up(&viewer, reading.rights, err);
	if (!rc)
		rc = io_pending_open(&pending, err);
	if (!rc)
		rc = view(options, &viewer, &reading, NULL, pending.out, err);
	return rc ? rc : write_output(&viewer, &pending, err);
}

/* ---- the page of run and record ---- */

/* The user who owns the profile owns the page, too: see output.c. */
static void find_page_owner(const struct options *o, struct launch_user *ret)
{
	*ret = (struct launch_user){0};
	if (o->sampling.target.is_command)
		launch_user_find(ret);
}

static int finish_page(void *ctx, const void *data, size_t len, struct error *err)
{
	struct viewer *viewer = ctx;
	const struct options *o = viewer->options;
	struct launch_user user;
	struct creds creds;
	int rc;

	find_page_owner(o, &user);
	if (user.is_other && creds_become(&creds, user.uid, user.gid))
		return error_set(err, -EPERM, "cannot write %s as %s", o->page,
				 user.name);
	rc = io_write_file_in(&viewer->folder, o->page, data, len, false, err);
	if (user.is_other)
		creds_restore(&creds);
	if (rc)
		return rc;
	fprintf(stderr, "lineburn: the page is %s, the profile %s\n", o->page,
		o->sampling.output);
	if (o->open_page)
		browser_open(o->page);
	return 0;
}

/*
 * As lineburn html would. By now the owner of the profile may have put another file into
 * its place, so it is opened and read with the owner's rights.
 */
static int make_page(const struct options *o, struct io_folder *folder, struct error *err)
{
	_cleanup_(viewer_deinit) struct viewer viewer = {.options = o, .folder = *folder};
	const struct keeper_config config = {
		.finish = finish_page, .ctx = &viewer, .kept_fd = &viewer.folder.fd};
	_cleanup_(io_pending_deinit) struct io_pending pending = {0};
	_cleanup_(profile_input_deinit) struct profile_input reading = {.fd = -1};
	/* The keeper takes the other one. */
	_cleanup_close_ int folder_fd = fcntl(folder->fd, F_DUPFD_CLOEXEC, 0);
	struct options html = *o;
	struct launch_user user;
	int rc = begin_keeper(&viewer, &config, err);

	html.command = COMMAND_HTML;
	html.viewing.format = "html";
	html.viewing.input = o->sampling.output;
	find_page_owner(o, &user);
	if (!rc)
		rc = give_up(&viewer, user.is_other ? RIGHTS_USER : RIGHTS_OWN, err);
	if (!rc)
		rc = profile_input_open_in(folder_fd, html.viewing.input, &reading, err);
	if (!rc)
		rc = give_up(&viewer, reading.rights, err);
	if (!rc)
		rc = io_pending_open(&pending, err);
	if (!rc)
		rc = view(&html, &viewer, &reading, NULL, pending.out, err);
	if (!rc)
		rc = io_pending_end(&pending, err);
	return rc ? rc : keeper_finish(pending.data, pending.len, err);
}

/*
 * In a child of the process that writes files, which keeps nothing else of it.
 * Return: its exit status.
 */
static int make_page_alone(const struct options *o, struct io_folder *folder, int failed,
			   struct error *err)
{
	io_close_others(failed, folder->fd);
	return make_page(o, folder, err) &&
	       write(failed, err, sizeof(*err)) == sizeof(*err);
}

/* In a child, because this process still needs its rights. */
static int write_page(const struct options *o, struct io_folder *folder,
		      struct error *err)
{
	int failed[2], status = 0;
	ssize_t n;
	pid_t pid;

	if (!o->page)
		return 0;
	if (pipe2(failed, O_CLOEXEC))
		return error_set(err, -errno, "cannot make %s: %m", o->page);
	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(make_page_alone(o, folder, failed[1], err));
	close(failed[1]);
	do
		n = pid < 0 ? 0 : read(failed[0], err, sizeof(*err));
	while (n < 0 && errno == EINTR);
	close(failed[0]);
	if (n == sizeof(*err))
		status = -EIO;
	while (pid > 0 && waitpid(pid, n ? NULL : &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || (status && !n))
		return error_set(err, -EIO, "cannot make %s: its process was killed",
				 o->page);
	return status;
}

/* ---- diff ---- */

/* All recordings are opened before one of them is read: see reading.h. */
struct readings {
	struct profile_input items[NR_DIFF_SIDES][DIFF_MAX_RECORDINGS];
};

static void readings_init(struct readings *r)
{
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		for (size_t i = 0; i < DIFF_MAX_RECORDINGS; i++)
			r->items[s][i].fd = -1;
}

static void readings_deinit(struct readings *r)
{
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		for (size_t i = 0; i < DIFF_MAX_RECORDINGS; i++)
			profile_input_deinit(&r->items[s][i]);
}

/* @ret_rights  the fewest of all: they are read by one process */
static int readings_open(struct readings *r, const struct comparing *c,
			 enum viewer_rights *ret_rights, struct error *err)
{
	int rc = 0;

	for (int s = 0; s < NR_DIFF_SIDES; s++)
		for (size_t i = 0; i < c->sides[s].nr_files && !rc; i++) {
			struct profile_input *reading = &r->items[s][i];

			rc = profile_input_open(c->sides[s].files[i], reading, err);
			if (!rc && reading->rights > *ret_rights)
				*ret_rights = reading->rights;
		}
	return rc;
}

/* Only one profile at a time is in memory. */
static int add_recording(struct profile_diff *d, enum diff_side side,
			 const struct profile_input *reading, const struct options *o,
			 const struct viewer *viewer, const char *name,
			 struct strpool *pool, struct error *err)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	int rc = profile_input_load(reading, pool, &p, err);

	if (rc)
		return rc;
	fetch_debug_info(p, viewer->gave_up);
	return compare_add(d, side, &o->viewing, p, name, err);
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

static int add_recordings(struct profile_diff *d, const struct readings *r,
			  const struct options *o, const struct viewer *viewer,
			  struct strpool *pool, struct error *err)
{
	const struct comparing *c = &o->comparing;
	int rc = 0;

	for (int s = 0; s < NR_DIFF_SIDES; s++)
		for (size_t i = 0; i < c->sides[s].nr_files && !rc; i++)
			rc = add_recording(d, (enum diff_side)s, &r->items[s][i], o,
					   viewer, c->sides[s].files[i], pool, err);
	return rc;
}

static int write_comparison(const struct options *o, struct viewer *viewer,
			    struct profile_diff *d, struct diff_verdicts *verdicts,
			    struct error *err)
{
	_cleanup_(io_pending_deinit) struct io_pending pending = {0};
	int rc;

	if (!strcmp(o->exporting.output, "-"))
		return compare_show(d, &o->comparing, &o->viewing, stdout, verdicts, err);
	rc = io_pending_open(&pending, err);
	if (!rc)
		rc = compare_show(d, &o->comparing, &o->viewing, pending.out, verdicts,
				  err);
	return rc ? rc : write_output(viewer, &pending, err);
}

static int compare(const struct options *o, const struct readings *r,
		   struct viewer *viewer, struct error *err)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(POOL_MAX_BYTES);
	_cleanup_(diff_freep) struct profile_diff *d = NULL;
	_cleanup_(diff_verdicts_deinit) struct diff_verdicts verdicts = {0};
	int rc = pool ? compare_new(&o->comparing, &o->viewing, pool, &d, err)
		      : error_set(err, -ENOMEM, "out of memory");

	if (!rc)
		rc = add_recordings(d, r, o, viewer, pool, err);
	if (!rc)
		rc = write_comparison(o, viewer, d, &verdicts, err);
	return rc ? rc : compare_refuse(&verdicts, err);
}

int command_diff(const struct options *options, struct error *err)
{
	_cleanup_(viewer_deinit) struct viewer viewer = {.options = options,
							 .folder.fd = -1};
	_cleanup_(readings_deinit) struct readings readings;
	enum viewer_rights rights = RIGHTS_OWN;
	int rc;

	reading_begin();
	readings_init(&readings);
	rc = check_diff_output(options, err);
	if (!rc)
		rc = open_folder(&viewer, options->exporting.output, err);
	if (!rc)
		rc = readings_open(&readings, &options->comparing, &rights, err);
	if (!rc)
		rc = start_keeper(&viewer, rights, err);
	if (!rc)
		rc = give_up(&viewer, rights, err);
	return rc ? rc : compare(options, &readings, &viewer, err);
}
