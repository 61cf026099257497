// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The loop: turn() waits, reads events, drains when due, and does one step of the
 * current pass. A pass begins after a drain: it names the drained rows and may write a
 * file. Rows drained meanwhile wait in the intake for the next pass. So steps are short
 * and independent, and a drain is late by one step at most. The loop continues while
 * the pass waits for its decoder or its writer.
 */
#include "record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/caller.h"
#include "base/clock.h"
#include "base/job.h"
#include "base/log.h"
#include "base/target_fd.h"
#include "record/account.h"
#include "record/dump.h"
#include "record/intake.h"
#include "record/naming.h"
#include "record/output.h"
#include "record/wakeup_limit.h"
#include "record/wakeups.h"

/* A command that is not executed yet ends at once when a signal kills it, if it can. */
#define GIVE_UP_NS (200 * CLOCK_MS_NS)

enum pass_step {
	PASS_NONE,
	PASS_NAME, /* the builder names rows and adds them to the profile */
	PASS_CODE, /* the profile will be written: adds the code of hot functions */
	PASS_SOURCES, /* adds their source text */
	PASS_WRITE, /* the writer is writing it */
};

enum pass_kind {
	PASS_AHEAD, /* only names addresses of rows that are kept */
	PASS_KEEP, /* only names rows */
	PASS_SNAPSHOT, /* writes the window so far, which continues */
	PASS_WINDOW, /* ends the window */
	PASS_LAST, /* after the last drain */
};

struct recorder {
	const struct sampling *config; /* borrowed */
	struct naming naming;
	struct intake intake;
	struct output output;
	struct account account;
	struct job *writer;
	struct wakeups *wakeups;
	struct wakeup_limit wakeup_limit;
	bool watches_jit;
	bool has_terminal; /* controlling terminal; its hang-up ends the recording */
	bool is_over; /* sampling has ended */
	bool is_complete; /* all samples are in the profile, which was to be written */
	bool is_hurried; /* and a signal said that nobody waits for names */

	/* CLOCK_MONOTONIC. */
	uint64_t begin_ns; /* when sampling begins */
	uint64_t drain_ns; /* the next drain */
	uint64_t look_ns; /* next check of events if no wakeup comes before */
	uint64_t ahead_ns; /* the next pass that names ahead; 0: never */

	uint64_t give_up_ns; /* a command that is not executed by then; 0: never */

	struct window window;
	uint64_t window_end_ns; /* CLOCK_MONOTONIC; 0: never */
	bool wants_window, wants_snapshot; /* SIGHUP, SIGUSR1 */
	uint64_t nr_counted, nr_files; /* in earlier windows: samples, files */

	struct pass {
		enum pass_step step;
		enum pass_kind kind;
		uint64_t begin_ns; /* of the drain before it; CLOCK_MONOTONIC */
		bool is_full; /* it was begun because memory is full */
		bool is_early; /* memory is full still: the file is not the window's last */
		bool follows_folder; /* it was begun by SIGHUP */
		bool is_windows_file; /* otherwise the file named by -o itself */
		int rc; /* result of writing the file */
		struct error why;
	} pass;
};

static bool is_in_pass(const struct recorder *r)
{
	return r->pass.step != PASS_NONE;
}

/* While a file is written, its thread does the work. */
static bool does_steps(const struct recorder *r)
{
	return is_in_pass(r) && r->pass.step != PASS_WRITE;
}

/* Can a step be done now? Not while the decoder is busy. */
static bool has_step(const struct recorder *r)
{
	struct worker_wait wait;

	return does_steps(r) && !worker_waits(r->naming.worker, &wait);
}

/* ---- opening ---- */

/* Is there a controlling terminal, which sends SIGHUP when it hangs up? */
static bool has_controlling_terminal(void)
{
	_cleanup_close_ int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	return fd >= 0;
}

/* Returns false under nohup(1), which ignores SIGHUP. */
static bool ends_with_terminal(void)
{
	struct sigaction hup;

	return has_controlling_terminal() && !sigaction(SIGHUP, NULL, &hup) &&
	       hup.sa_handler != SIG_IGN;
}

static int watch(struct recorder *r, struct error *err)
{
	const struct intake *in = &r->intake;
	const struct {
		int fd;
		enum wakeup kind;
	} fds[] = {
		{sampler_poll_fd(in->sampler), WAKEUP_SAMPLER},
		{task_ring_poll_fd(in->tasks), WAKEUP_EVENTS},
		{target_poll_fd(in->target), WAKEUP_EVENTS},
		{jit_watch_settled_fd(in->jit), WAKEUP_EVENTS},
		{job_poll_fd(r->writer), WAKEUP_WRITER},
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_SIZE(fds); i++)
		rc = wakeups_watch(r->wakeups, fds[i].fd, fds[i].kind, err);
	return rc;
}

int recorder_new(const struct sampling *o, struct recorder **ret, struct error *err)
{
	_cleanup_(recorder_freep) struct recorder *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return error_set(err, -ENOMEM, "out of memory");
	r->config = o;
	r->has_terminal = ends_with_terminal();
	output_init(&r->output, o);
	rc = naming_init(&r->naming, o, err);
	if (!rc)
		rc = intake_init(&r->intake, o, r->naming.names, err);
	/* The command is forked. What is said on stderr must not end the recording. */
	if (!o->taker)
		caller_ignore_pipe();
	if (!rc)
		rc = wakeups_new(&r->wakeups, err);
	if (!rc)
		rc = job_new(&r->writer, err);
	if (!rc)
		rc = intake_follow(&r->intake, err);
	if (!rc)
		rc = naming_begin(&r->naming, &r->intake, err);
	if (!rc)
		rc = watch(r, err);
	if (rc)
		return rc;
	*ret = take_ptr(r);
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	job_free(r->writer); /* first: it may use the profile */
	output_deinit(&r->output);
	intake_deinit(&r->intake);
	naming_deinit(&r->naming);
	target_fd_end();
	wakeups_free(r->wakeups);
	free(r);
}

/* ---- windows ---- */

/*
 * Records the totals at the window's end. Ticks after the flip belong to the next
 * window.
 */
static void window_note_end(struct recorder *r)
{
	const struct intake *in = &r->intake;
	const struct intake_flip *flip = &in->flip;
	struct sampler_totals *totals = &r->window.totals;

	r->window.end_ns = in->stop_ns ? in->stop_ns : flip->time_ns;
	r->window.end_wall_ns = flip->wall_ns;
	if (!in->start_ns) { /* it ended before sampling began */
		r->window.begin_ns = r->window.end_ns;
		r->window.begin_wall_ns = r->window.end_wall_ns;
	}
	r->window.rows_dropped = in->rows.nr_dropped;
	sampler_totals(in->sampler, totals);
	if (in->stop_ns || !flip->ends_window)
		return;
	totals->due = flip->totals.due;
	totals->due_error = flip->totals.due_error;
	totals->stolen_ns = flip->totals.stolen_ns;
}

/* Sets the next end in the future: a late end does not delay the following ones. */
static void window_set_end(struct recorder *r)
{
	uint64_t length_ns = (uint64_t)(r->config->window_s * 1e9), late_ns;

	if (!length_ns || r->window.end_ns < r->window_end_ns)
		return;
	late_ns = r->window.end_ns - r->window_end_ns;
	r->window_end_ns += (late_ns / length_ns + 1) * length_ns;
}

/*
 * Begins a window at the end of the last one, which was written or given up. A taker gets
 * windows often: its profile keeps its tables, which have most of the next window's names.
 */
static int window_begin(struct recorder *r, struct error *err)
{
	struct window *w = &r->window;
	int rc = 0;

	account_end_window(&r->account, r->naming.profile);
	r->intake.rate.lowest_level = r->intake.rate.level;
	w->begin_ns = w->end_ns;
	w->begin_wall_ns = w->end_wall_ns;
	w->id = (struct window_id){.goes_on = r->pass.is_early && !r->pass.rc &&
					      r->config->window_s > 0};
	if (r->config->taker && !r->pass.is_full) {
		naming_clear_profile(&r->naming);
	} else {
		rc = naming_begin_profile(&r->naming, err);
		malloc_trim(0);
	}
	return rc ? rc : naming_renew(&r->naming, &r->intake, w->named_ns, err);
}

static void report_written_window(struct recorder *r)
{
	unsigned long long nr = r->naming.profile->extra.losses.counted;
	char path[PATH_MAX];

	*r->window.note = '\0';
	r->nr_files++;
	r->nr_counted += nr;
	if (r->config->window_s > 0 ||
	    window_path(r->config->output, &r->window.id, path, sizeof(path)))
		return;
	fprintf(stderr, "lineburn: %llu samples, written to %s; a new file begins\n", nr,
		path);
}

/*
 * A window whose file cannot be written continues: its samples are written with the
 * next file. They are dropped only if they take too much memory.
 *
 * Return: whether a new window may begin.
 */
static bool window_may_end(struct recorder *r)
{
	unsigned long long nr = r->naming.profile->extra.losses.counted;
	const char *why = r->pass.why.text;

	if (!r->pass.rc) {
		report_written_window(r);
		return true;
	}
	if (!r->pass.is_full) {
		log_warning("%s; %llu samples are kept for the next file", why, nr);
		return false;
	}
	log_warning("%s; %llu samples are lost: there is no room to keep them", why, nr);
	snprintf(r->window.note, sizeof(r->window.note),
		 "%llu samples before these are lost: their file could not be written",
		 nr);
	return true;
}

static bool time_is_up(const struct recorder *r)
{
	return r->config->duration_s > 0 && r->intake.sampling &&
	       intake_elapsed_s(&r->intake) >= r->config->duration_s;
}

/*
 * Returns the time at which a drain must end the window or take a snapshot; never
 * during a pass.
 */
static uint64_t window_due_ns(const struct recorder *r)
{
	const struct intake *in = &r->intake;
	double end_s = r->config->duration_s;

	if (!in->sampling || is_in_pass(r))
		return INTAKE_NO_WINDOW_END;
	if (r->wants_window || r->wants_snapshot)
		return 0;
	/*
	 * The last window ends with the recording, to avoid an extra file for a few ms.
	 */
	if (!r->window_end_ns || time_is_up(r) ||
	    (end_s > 0 && (double)(r->window_end_ns - in->start_ns) >= end_s * 1e9))
		return INTAKE_NO_WINDOW_END;
	return r->window_end_ns;
}

/* ---- a pass ---- */

static int write_file(void *ctx)
{
	struct recorder *r = ctx;
	struct pass *p = &r->pass;
	const struct window_taker *taker = r->config->taker;

	if (taker) {
		taker->take(taker->ctx, r->naming.profile, r->naming.nr_profiles);
		return 0;
	}
	return output_write(&r->output, r->naming.profile, r->window.begin_wall_ns,
			    p->is_windows_file ? &r->window.id : NULL, &p->why);
}

static void pass_begin(struct recorder *r, enum pass_kind kind)
{
	r->pass = (struct pass){
		.step = PASS_NAME, .kind = kind, .begin_ns = r->intake.flip.begin_ns};
	window_note_end(r);
	profile_builder_give(&r->naming.builder, &r->intake.rows);
	/* Reduce the limit: the pass holds rows, too, while new ones are drained. */
	r->intake.rows.max_bytes = r->naming.memory_bytes / 2;
}

/*
 * Call after a drain: begins a pass if rows must be named now or the window has ended.
 */
static void pass_begin_if_due(struct recorder *r)
{
	const struct intake_flip *flip = &r->intake.flip;
	bool is_full = naming_is_full(&r->naming), wants_window = r->wants_window;
	enum pass_kind kind = PASS_KEEP;

	if (!is_full && !flip->ends_window && !stack_table_is_full(&r->intake.rows) &&
	    !jit_store_is_filling(process_table_jit_store(r->intake.processes)))
		return;
	if (wants_window || (r->window_end_ns && flip->time_ns >= r->window_end_ns))
		kind = PASS_WINDOW;
	else if (r->wants_snapshot)
		kind = PASS_SNAPSHOT;
	pass_begin(r, kind);
	r->pass.is_full = is_full;
	r->pass.follows_folder = wants_window;
	r->wants_window = r->wants_snapshot = false;
	r->window.named_ns = r->pass.begin_ns;
	window_set_end(r);
}

static bool wants_sources(const struct recorder *r)
{
	const struct window_taker *taker = r->config->taker;

	return !taker || taker->wants_sources(taker->ctx);
}

/*
 * The listing of run is to come at once after the command's end. So most addresses are
 * named, and the decoder and the kernel's symbols are there, while the command runs.
 * The rows stay: code of JITs gets its names at the end, when they have written all of
 * them.
 */
#define AHEAD_FIRST_NS CLOCK_SECOND_NS
#define AHEAD_PART     4 /* each wait is this part of the time so far, or longer */

static void pass_begin_ahead_if_due(struct recorder *r)
{
	uint64_t now_ns = clock_now_ns(), wait_ns;

	if (!r->ahead_ns || now_ns < r->ahead_ns)
		return;
	wait_ns = (now_ns - r->intake.start_ns) / AHEAD_PART;
	r->ahead_ns = now_ns + (wait_ns > AHEAD_FIRST_NS ? wait_ns : AHEAD_FIRST_NS);
	r->pass = (struct pass){.step = PASS_NAME, .kind = PASS_AHEAD};
	profile_builder_name_ahead(&r->naming.builder, &r->intake.rows);
}

/* All rows are named: decides whether the profile is written. */
static void pass_named(struct recorder *r)
{
	struct pass *p = &r->pass;

	if (p->kind == PASS_AHEAD) {
		p->step = PASS_NONE;
		return;
	}
	if (p->kind != PASS_LAST) {
		process_table_forget_jit(r->intake.processes, p->begin_ns);
		/* retries registrations that were refused before */
		jit_watch_expect(r->intake.jit);
	}
	if (p->is_full) {
		malloc_trim(0);
		p->is_full = naming_is_full(&r->naming);
	}
	if (p->is_full) {
		p->is_early = p->kind != PASS_WINDOW;
		p->kind = PASS_WINDOW;
	}
	/* No snapshot after sampling: the last file is written next. */
	if (!r->intake.sampling && p->kind == PASS_SNAPSHOT)
		p->kind = PASS_KEEP;
	if (p->kind == PASS_KEEP) {
		p->step = PASS_NONE;
		r->intake.rows.max_bytes = 0;
		return;
	}
	p->is_windows_file = p->kind == PASS_WINDOW || r->config->window_s > 0;
	p->step = r->config->taker ? PASS_SOURCES : PASS_CODE;
}

/* Reports whether the file was written, and begins the next window if it ended. */
static int pass_end(struct recorder *r, struct error *err)
{
	struct pass *p = &r->pass;
	int rc = 0;

	p->step = PASS_NONE;
	r->intake.rows.max_bytes = 0;
	switch (p->kind) {
	case PASS_AHEAD:
	case PASS_KEEP:
		break;
	case PASS_LAST:
		if (p->rc)
			*err = p->why;
		return p->rc;
	case PASS_SNAPSHOT:
		if (p->rc)
			log_warning("%s; the recording goes on", p->why.text);
		profile_clear_extra(r->naming.profile);
		break;
	case PASS_WINDOW:
		if (window_may_end(r))
			rc = window_begin(r, err);
		else
			profile_clear_extra(r->naming.profile);
		break;
	}
	if (p->follows_folder)
		output_follow_folder(&r->output);
	return rc;
}

static int pass_failed(struct recorder *r, struct error *err)
{
	r->pass.rc = error_set(&r->pass.why, -ENOMEM, "out of memory");
	return pass_end(r, err);
}

/* Has the pass, which was not named to its end, no more wait for names. */
static void hurry(struct recorder *r)
{
	struct window *w = &r->window;

	naming_hurry(&r->naming);
	if (!*w->note)
		snprintf(w->note, sizeof(w->note),
			 "names and source text may be missing: a signal asked for the "
			 "end while they were looked up");
}

static bool is_end(int signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGQUIT;
}

/*
 * Who sends a signal when sampling has ended does not want to wait: what has no name yet
 * gets none, so that the samples are written. The next signal kills. A hang-up says
 * nothing new: the terminal and the shell tell it in turn.
 */
static void take_late_signals(struct recorder *r)
{
	struct wakeup_signal signal;
	bool ends = false;

	while (wakeups_take_signal(r->wakeups, &signal))
		ends |= is_end(signal.number);
	if (ends && !r->is_hurried) {
		r->is_hurried = true;
		log_warning("the samples are %s; one more signal discards them",
			    does_steps(r) || r->pass.kind != PASS_LAST
				    ? "written now, without the names and the "
				      "source text that are still missing"
				    : "being written");
		wakeups_let_signals_kill(r->wakeups);
	}
	if (r->is_hurried && does_steps(r))
		hurry(r);
}

static int pass_step(struct recorder *r, struct error *err)
{
	struct pass *p = &r->pass;
	int rc;

	switch (p->step) {
	case PASS_NONE:
		return 0;
	case PASS_NAME:
		rc = profile_builder_step(&r->naming.builder, err);
		if (!rc)
			pass_named(r);
		return rc < 0 ? rc : 0;
	case PASS_CODE:
		p->step = PASS_SOURCES;
		return profile_builder_add_code(&r->naming.builder) ? pass_failed(r, err)
								    : 0;
	case PASS_SOURCES:
		r->naming.can_be_cut = p->kind == PASS_LAST;
		if (!r->is_hurried && wants_sources(r) &&
		    naming_collect_sources(&r->naming, &r->config->attribution))
			return pass_failed(r, err);
		if (p->kind == PASS_LAST)
			take_late_signals(r);
		/* Last, because sources of targets may be refused or late, too. */
		account_fill(&r->account, &r->window, &r->intake, &r->naming);
		p->step = PASS_WRITE;
		job_start(r->writer, write_file, r);
		return 0;
	case PASS_WRITE:
		p->rc = job_finish(r->writer);
		r->is_complete = p->kind == PASS_LAST;
		return pass_end(r, err);
	}
	return 0;
}

/* Waits until the pass can go on, or a signal comes. Return: whether it can. */
static bool wait_for_step(struct recorder *r)
{
	struct worker_wait decoder;
	uint64_t now_ns = clock_now_ns();

	if (r->pass.step == PASS_WRITE) {
		wakeups_wait_for_signal(r->wakeups, job_poll_fd(r->writer), POLLIN,
					CLOCK_SECOND_NS);
		return job_wait(r->writer, 0);
	}
	if (worker_waits(r->naming.worker, &decoder) &&
	    (uint64_t)decoder.deadline_ns > now_ns)
		wakeups_wait_for_signal(r->wakeups, decoder.fd, decoder.events,
					(uint64_t)decoder.deadline_ns - now_ns);
	return true;
}

/* Call after the last drain: does all remaining steps. */
static int pass_finish(struct recorder *r, struct error *err)
{
	bool can_go_on;
	int rc = 0;

	while (!rc && is_in_pass(r)) {
		can_go_on = wait_for_step(r);
		take_late_signals(r);
		if (can_go_on || does_steps(r))
			rc = pass_step(r, err);
	}
	return rc;
}

/* ---- the loop ---- */

/*
 * Handles signals that do not end the recording. When the terminal hangs up, the kernel
 * and the shell send SIGHUP. If the terminal is gone, that was the reason, not a user's
 * request.
 */
static bool take_request(struct recorder *r, int signal)
{
	bool *request = signal == SIGUSR1 ? &r->wants_snapshot : &r->wants_window;

	if (r->config->taker) /* there is no file */
		return false;
	if (signal != SIGUSR1 && signal != SIGHUP)
		return false;
	if (signal == SIGHUP && r->has_terminal && !has_controlling_terminal())
		return false;
	*request = r->intake.sampling;
	return true;
}

/* The terminal sends its signals to the command, too. */
static void take_signal_of_command(struct recorder *r, struct wakeup_signal signal)
{
	struct launch *command = r->intake.launch;

	if (signal.is_from_somebody)
		launch_signal(command, signal.number);
	if (!r->give_up_ns &&
	    (is_end(signal.number) || (signal.number == SIGHUP && r->has_terminal)))
		r->give_up_ns = clock_now_ns() + GIVE_UP_NS;
}

static void take_signals(struct recorder *r)
{
	struct wakeup_signal signal;

	while (!r->is_over && wakeups_take_signal(r->wakeups, &signal)) {
		if (signal.number == SIGCHLD)
			continue; /* checked at the end of the turn */
		if (r->intake.launch)
			take_signal_of_command(r, signal);
		else
			r->is_over = !take_request(r, signal.number);
	}
}

static bool shows_progress(const struct recorder *r)
{
	return !r->intake.launch && !r->config->taker && isatty(STDERR_FILENO);
}

static void show_progress(const struct recorder *r)
{
	if (!shows_progress(r))
		return;
	fprintf(stderr, "\rlineburn: %.0f s, %llu samples ", intake_elapsed_s(&r->intake),
		(unsigned long long)r->intake.rows.nr_samples);
}

static void clear_progress(const struct recorder *r)
{
	if (shows_progress(r))
		fputs("\r\033[K", stderr);
}

static uint64_t drain_interval_ns(const struct recorder *r)
{
	return sampler_drain_interval_ms(r->intake.sampler) * CLOCK_MS_NS;
}

static void after_look(struct recorder *r)
{
	int jit_fd = jit_watch_poll_fd(r->intake.jit);

	r->look_ns = clock_now_ns() + intake_look_interval_ns(&r->intake);
	/* The JIT ring exists after the first probe. */
	if (r->watches_jit || jit_fd < 0)
		return;
	r->watches_jit = !wakeups_watch(r->wakeups, jit_fd, WAKEUP_EVENTS, NULL);
}

/* Tells the program that waits for it that sampling has begun. */
static int tell_ready(const struct recorder *r, struct error *err)
{
	static const char line[] = "ready\n";
	int fd = r->config->ready_fd;

	if (!fd)
		return 0;
	if (write(fd, line, strlen(line)) != (ssize_t)strlen(line))
		return error_set(err, -errno, "cannot write to descriptor %d: %m", fd);
	close(fd);
	return 0;
}

static int start(struct recorder *r, struct error *err)
{
	struct intake *in = &r->intake;
	int rc = intake_start(in, err);

	if (rc)
		return rc;
	r->window.begin_ns = in->start_ns;
	r->window.begin_wall_ns = in->start_wall_ns;
	if (r->config->window_s > 0)
		r->window_end_ns = in->start_ns + (uint64_t)(r->config->window_s * 1e9);
	r->drain_ns = in->start_ns + drain_interval_ns(r);
	if (r->config->names_ahead)
		r->ahead_ns = in->start_ns + AHEAD_FIRST_NS;
	after_look(r);
	return tell_ready(r, err);
}

static int drain(struct recorder *r, struct error *err)
{
	int rc = intake_drain(&r->intake, window_due_ns(r), err);

	after_look(r);
	if (!rc && r->intake.sampling && !is_in_pass(r))
		pass_begin_if_due(r);
	if (!rc && r->intake.sampling && !is_in_pass(r))
		pass_begin_ahead_if_due(r);
	return rc;
}

/* Drains on schedule: a slow drain does not shift later ones. */
static int drain_in_time(struct recorder *r, struct error *err)
{
	uint64_t interval_ns = drain_interval_ns(r), now_ns;
	int rc = drain(r, err);

	now_ns = clock_now_ns();
	r->drain_ns += interval_ns;
	if (r->drain_ns <= now_ns)
		r->drain_ns = now_ns + interval_ns;
	show_progress(r);
	return rc;
}

/* Returns the time until the next scheduled action. */
static uint64_t wait_ns(const struct recorder *r)
{
	const struct intake *in = &r->intake;
	uint64_t until_ns = r->look_ns, now_ns = clock_now_ns(), at_ns;
	struct worker_wait decoder;

	if (has_step(r))
		return 0;
	if (worker_waits(r->naming.worker, &decoder) &&
	    (uint64_t)decoder.deadline_ns < until_ns)
		until_ns = (uint64_t)decoder.deadline_ns;
	at_ns = in->sampling ? r->drain_ns : r->begin_ns;
	until_ns = at_ns < until_ns ? at_ns : until_ns;
	at_ns = window_due_ns(r);
	until_ns = at_ns < until_ns ? at_ns : until_ns;
	if (in->sampling && r->config->duration_s > 0) {
		at_ns = in->start_ns + (uint64_t)(r->config->duration_s * 1e9);
		until_ns = at_ns < until_ns ? at_ns : until_ns;
	}
	return until_ns > now_ns ? until_ns - now_ns : 0;
}

/*
 * Delays some answers to the kernel side (wakeup_limit.h) until their time or another
 * wakeup comes. Does not delay if scheduled work is due anyway, because that is not in
 * step with any program. Steps of a pass are done during the delay.
 *
 * Return: the pending wakeups.
 */
static unsigned int wait_for_work(struct recorder *r)
{
	struct worker_wait decoder;
	unsigned int ready;
	uint64_t rest_ns;

	if (worker_waits(r->naming.worker, &decoder))
		wakeups_watch_once(r->wakeups, decoder.fd, decoder.events,
				   WAKEUP_DECODER);
	if (shared_worker_waits(&r->intake.decoder, &decoder))
		wakeups_watch_once(r->wakeups, decoder.fd, decoder.events, WAKEUP_EVENTS);
	ready = wakeups_wait(r->wakeups, wait_ns(r));
	if (ready != WAKEUP_SAMPLER || (!has_step(r) && !wait_ns(r)))
		return ready;
	rest_ns = wakeup_limit_wait_ns(&r->wakeup_limit, clock_now_ns());
	if (!rest_ns)
		return ready;
	if (has_step(r))
		return 0;
	return ready | wakeups_wait_but(r->wakeups, WAKEUP_SAMPLER, rest_ns);
}

/* Reads events, and drains if due. */
static int read_and_drain(struct recorder *r, unsigned int ready, struct error *err)
{
	struct intake *in = &r->intake;
	bool is_half_full = false;

	if (in->sampling)
		sampler_tick(in->sampler, clock_now_ns());
	else if (clock_now_ns() >= r->begin_ns)
		return start(r, err);
	if (ready & (WAKEUP_SAMPLER | WAKEUP_EVENTS) || clock_now_ns() >= r->look_ns) {
		is_half_full = intake_look(in);
		after_look(r);
	}
	if (in->sampling && clock_now_ns() >= r->drain_ns)
		return drain_in_time(r, err);
	if (in->sampling && (is_half_full || clock_now_ns() >= window_due_ns(r)))
		return drain(r, err);
	return 0;
}

/* @err  NULL: there is an error already */
static int look_at_command(struct recorder *r, struct error *err)
{
	struct launch *command = r->intake.launch;
	int rc;

	if (launch_has_ended(command))
		r->is_over = true;
	/* Later: what has ended was executed, or has said why not. */
	rc = launch_look(command, err);
	if (rc || command->executed || !r->give_up_ns || clock_now_ns() < r->give_up_ns)
		return rc;
	return launch_give_up(command, err);
}

static int turn(struct recorder *r, struct error *err)
{
	unsigned int ready = wait_for_work(r);
	int rc, looked = 0;

	if (ready & WAKEUP_SIGNAL)
		take_signals(r);
	if (r->is_over)
		return 0;
	rc = read_and_drain(r, ready, err);
	/* If the decoder is still busy, the step ends quickly. */
	if (!rc && (ready & WAKEUP_WRITER || does_steps(r)))
		rc = pass_step(r, err);
	if (r->intake.launch)
		looked = look_at_command(r, rc ? NULL : err);
	if (time_is_up(r) || intake_targets_are_gone(&r->intake))
		r->is_over = true;
	return rc ? rc : looked;
}

/* The command of run gets these signals itself, when it runs. */
static bool is_ended_before(const struct recorder *r)
{
	return !r->intake.launch && !r->config->dry_run && wakeups_end_is_pending();
}

static int sample(struct recorder *r, struct error *err)
{
	int rc = 0;

	r->begin_ns = clock_now_ns() + (uint64_t)(r->config->delay_s * 1e9);
	after_look(r);
	/* The scan may have ended early because of that, and so does not know all. */
	r->is_over = r->config->dry_run || is_ended_before(r);
	if (r->config->delay_s <= 0 && (!r->is_over || r->config->dry_run))
		rc = start(r, err);
	if (!rc && r->intake.launch)
		rc = launch_go(r->intake.launch, err);
	while (!rc && !r->is_over)
		rc = turn(r, err);
	clear_progress(r);
	intake_stop(&r->intake);
	/* Drain twice, because both slots may have samples. */
	for (int i = 0; !rc && i < LB_NR_SLOTS; i++)
		rc = drain(r, err);
	return rc;
}

static int write_rest(struct recorder *r, struct error *err)
{
	/* First finish the window that ended, then write the samples taken since. */
	int rc = pass_finish(r, err);

	if (rc)
		return rc;
	if (r->config->dump == DUMP_MAPS)
		dump_maps(r->intake.processes, stderr);
	pass_begin(r, PASS_LAST);
	return pass_finish(r, err);
}

int recorder_run(struct recorder *r, struct error *err)
{
	int rc = sample(r, err);

	/* Signals that came while the recording ended must not change what is written. */
	wakeups_drop_signals(r->wakeups);
	if (r->config->taker) /* there is nothing to lose */
		wakeups_let_hangup_kill(r->wakeups);
	if (!rc && !r->config->dry_run)
		rc = write_rest(r, err);
	wakeups_let_hangup_kill(r->wakeups);
	/* The listing of run ends if nobody reads it, unless there is an error to tell. */
	if (r->intake.launch && !rc)
		caller_heed_pipe();
	return rc;
}

/* ---- results ---- */

bool recorder_is_complete(const struct recorder *r)
{
	return r->is_complete;
}

struct profile *recorder_profile(const struct recorder *r)
{
	return r->naming.profile;
}

uint64_t recorder_nr_counted(const struct recorder *r)
{
	return r->nr_counted + r->naming.profile->extra.losses.counted;
}

bool recorder_has_sampled(const struct recorder *r)
{
	return r->intake.start_ns;
}

struct launch *recorder_launch(const struct recorder *r)
{
	return r->intake.launch;
}

bool recorder_targets_are_gone(const struct recorder *r)
{
	return intake_targets_are_gone(&r->intake);
}

uint32_t recorder_verified_insns(const struct recorder *r)
{
	return sampler_verified_insns(r->intake.sampler);
}

void recorder_say_where(const struct recorder *r)
{
	const struct sampling *o = r->config;
	unsigned long long counted = r->naming.profile->extra.losses.counted;
	char path[PATH_MAX];

	if (!o->window_s) {
		fprintf(stderr, "lineburn: %llu samples, written to %s\n", counted,
			o->output);
	} else if (!window_path(o->output, &r->window.id, path, sizeof(path))) {
		fprintf(stderr, "lineburn: %llu samples in %llu file%s, the last is %s\n",
			(unsigned long long)r->nr_counted + counted,
			(unsigned long long)r->nr_files + 1, r->nr_files ? "s" : "",
			path);
	}
}
