// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/top.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "live/history.h"
#include "live/navigator.h"
#include "live/screen.h"
#include "live/table.h"

/* Windows that bring sources after a file was opened: its text may be out of reach. */
#define SOURCE_WINDOWS 3

struct top {
	const struct top_options *options; /* borrowed */

	/* The recorder's writer adds windows, the reader's thread joins them. */
	pthread_mutex_t lock;
	struct history *history;
	bool is_paused;

	int event; /* eventfd: there is a window, or the end has come */
	atomic_bool is_over; /* the screen has to end */
	atomic_bool was_left;
	atomic_uint wants_sources; /* windows */
	uint32_t nr_updates;
	int write_error; /* errno; 0: none */

	bool has_thread;
	pthread_t thread;
	/* Of the thread. */
	struct screen *screen;
	struct navigator navigator;
	struct board *board;
};

static void end_recording(struct top *t)
{
	atomic_store(&t->was_left, true);
	kill(getpid(), SIGTERM);
}

static void notify(struct top *t)
{
	uint64_t one = 1;

	/* It fails only if there are 2^64 notices already. */
	if (write(t->event, &one, sizeof(one)) < 0)
		return;
}

int top_new(const struct top_options *options, struct top **ret, struct error *err)
{
	_cleanup_(top_freep) struct top *t = calloc(1, sizeof(*t));
	double nr = ceil(options->last_s / options->interval_s);

	if (!t)
		return error_set(err, -ENOMEM, "out of memory");
	t->options = options;
	t->event = -1;
	pthread_mutex_init(&t->lock, NULL);
	t->history = history_new(nr < 1                     ? 1
				 : nr > HISTORY_MAX_WINDOWS ? HISTORY_MAX_WINDOWS
							    : (size_t)nr);
	if (!t->history || navigator_init(&t->navigator, options->view))
		return error_set(err, -ENOMEM, "out of memory");
	t->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->event < 0)
		return error_set(err, -errno, "cannot make an eventfd: %m");
	if (!options->is_batch) {
		int rc = screen_new(&t->screen, err);

		if (rc)
			return rc;
	}
	*ret = take_ptr(t);
	return 0;
}

void top_free(struct top *t)
{
	if (!t)
		return;
	atomic_store(&t->is_over, true);
	if (t->has_thread) {
		notify(t);
		pthread_join(t->thread, NULL);
	}
	screen_free(t->screen);
	board_free(t->board);
	navigator_deinit(&t->navigator);
	history_free(t->history);
	if (t->event >= 0)
		close(t->event);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

int top_end(struct top *t, struct error *err)
{
	uint64_t nr_lost = history_nr_lost(t->history);

	if (nr_lost)
		log_warning("the samples of %" PRIu64
			    " updates were left out, because there was no memory for "
			    "them",
			    nr_lost);
	clearerr(stdout);
	if (!t->write_error || t->write_error == EPIPE)
		return 0;
	errno = t->write_error;
	return error_set(err, -errno, "cannot write to stdout: %m");
}

/* Makes the board of a place. Return: NULL when out of memory. */
static struct board *make_board(struct top *t, const struct board_place *place,
				enum board_sort sort, const char *find)
{
	const struct board_options options = {
		.attribution = t->options->attribution, .sort = sort, .find = find};
	struct board *board = NULL;
	struct profile *p;

	pthread_mutex_lock(&t->lock);
	p = history_profile(t->history);
	if (p && board_make(p, place, &options, &board))
		board = NULL;
	pthread_mutex_unlock(&t->lock);
	return board;
}

/* ---- tables on stdout ---- */

static void print_time(FILE *out)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[32];

	if (localtime_r(&now, &tm) && strftime(text, sizeof(text), "%H:%M:%S", &tm))
		fprintf(out, "%s  ", text);
}

static void print_board(const struct top *t, const struct board *b)
{
	uint32_t max = t->options->nr_rows;

	if (t->nr_updates)
		putchar('\n');
	print_time(stdout);
	table_head(b, stdout);
	putchar('\n');
	table_titles(b, 0, stdout);
	putchar('\n');
	for (size_t i = 0; i < b->nr_rows && (!max || i < max); i++) {
		table_row(b, &b->rows[i], 0, stdout);
		putchar('\n');
	}
	table_caution(b, stdout);
	putchar('\n');
}

/* A reader that has closed the pipe ends the recording. */
static void print_update(struct top *t)
{
	const struct board_place place = {.view = t->options->view};
	struct board *b = make_board(t, &place, BOARD_BY_SELF, NULL);

	if (b)
		print_board(t, b);
	board_free(b);
	t->nr_updates++;
	if (fflush(stdout))
		t->write_error = errno;
	if (t->write_error || t->nr_updates == t->options->nr_updates)
		end_recording(t);
}

/* ---- windows ---- */

void top_take(void *ctx, const struct profile *p, uint64_t tables)
{
	struct top *t = ctx;

	pthread_mutex_lock(&t->lock);
	/* A window that is lost is counted: see top_end(). */
	if (!t->is_paused)
		history_add(t->history, p, tables);
	pthread_mutex_unlock(&t->lock);
	if (atomic_load(&t->wants_sources))
		atomic_fetch_sub(&t->wants_sources, 1);
	if (!t->options->is_batch)
		notify(t);
	else if (!atomic_load(&t->was_left))
		print_update(t);
}

bool top_wants_sources(void *ctx)
{
	struct top *t = ctx;

	return atomic_load(&t->wants_sources);
}

/* ---- the thread of the screen ---- */

/* @is_same_place  the row that was chosen stays chosen */
static void renew_board(struct top *t, bool is_same_place)
{
	struct navigator *n = &t->navigator;
	struct board *b = make_board(t, &navigator_top(n)->place, n->sort,
				     *n->find ? n->find : NULL);

	if (!b)
		return;
	navigator_follow(n, is_same_place ? t->board : NULL, b);
	board_free(t->board);
	t->board = b;
}

/* The text of a file that the reader opened comes with the next windows. */
static void want_source(struct top *t)
{
	const struct board_place *place = &navigator_top(&t->navigator)->place;
	bool has_it;

	if (place->view != BOARD_SOURCE)
		return;
	pthread_mutex_lock(&t->lock);
	has_it = history_has_source(t->history, place->path);
	pthread_mutex_unlock(&t->lock);
	if (!has_it)
		atomic_store(&t->wants_sources, SOURCE_WINDOWS);
}

static void pause_or_go_on(struct top *t)
{
	pthread_mutex_lock(&t->lock);
	t->is_paused = t->navigator.is_paused;
	if (!t->is_paused)
		history_clear(t->history);
	pthread_mutex_unlock(&t->lock);
}

static void take_keys(struct top *t)
{
	int key;

	while ((key = screen_key(t->screen)) >= 0) {
		switch (navigator_key(&t->navigator, t->board, key)) {
		case NAVIGATOR_MAKE:
			want_source(t);
			renew_board(t, false);
			break;
		case NAVIGATOR_PAUSE:
			pause_or_go_on(t);
			break;
		case NAVIGATOR_QUIT:
			end_recording(t);
			break;
		case NAVIGATOR_DRAW:
		case NAVIGATOR_NOTHING:
			break;
		}
	}
}

static void *run(void *ctx)
{
	struct top *t = ctx;
	struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {t->event, POLLIN, 0}};
	sigset_t resize;
	uint64_t nr;

	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	pthread_sigmask(SIG_UNBLOCK, &resize, NULL);
	screen_draw(t->screen, &t->navigator, NULL);
	while (!atomic_load(&t->is_over)) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents & (POLLHUP | POLLERR)) {
			end_recording(t);
			break;
		}
		if (fds[1].revents & POLLIN && read(t->event, &nr, sizeof(nr)) > 0 &&
		    !t->navigator.is_paused)
			renew_board(t, true);
		take_keys(t);
		screen_draw(t->screen, &t->navigator, t->board);
	}
	return NULL;
}

int top_begin(struct top *t, struct error *err)
{
	sigset_t resize;
	int rc;

	if (t->options->is_batch)
		return 0;
	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	pthread_sigmask(SIG_BLOCK, &resize, NULL);
	rc = pthread_create(&t->thread, NULL, run, t);
	if (rc)
		return error_set(err, -rc, "cannot start a thread: %s", strerror(rc));
	t->has_thread = true;
	return 0;
}
