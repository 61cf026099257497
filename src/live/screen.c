// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/screen.h"

#include <errno.h>
#include <locale.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "live/table.h"
#include "render/figure.h"
#include "render/text.h"
#include "terminfo.h"

#define HEAD_ROWS    4 /* figures, place, caution, titles */
#define FOOT_ROWS    1
#define NOTE_BYTES   512
#define NOTE_SECONDS 10

struct screen {
	SCREEN *terminal;
	int notes; /* memfd: what stderr got meanwhile */
	int stderr_fd; /* the real one */
	off_t notes_size; /* when it was drawn last */
	uint64_t note_until_ns; /* CLOCK_MONOTONIC: the last note is shown */
	bool has_colours;
};

/* As in listings (render/listing.h), of medium brightness; from cold to hot. */
static const short heats[NR_HEATS] = {67, 109, 143, 179, 208};
static const short heats_of_8[NR_HEATS] = {COLOR_BLUE, COLOR_CYAN, COLOR_CYAN,
					   COLOR_YELLOW, COLOR_YELLOW};

static void begin_colours(struct screen *s)
{
	const char *no_color = getenv("NO_COLOR");

	if ((no_color && *no_color) || !has_colors())
		return;
	start_color();
	use_default_colors();
	for (short i = 0; i < NR_HEATS; i++)
		init_pair((short)(i + 1), COLORS >= 256 ? heats[i] : heats_of_8[i], -1);
	s->has_colours = true;
}

static int catch_notes(struct screen *s, struct error *err)
{
	s->notes = memfd_create("lineburn-notes", MFD_CLOEXEC);
	s->stderr_fd = dup(STDERR_FILENO);
	if (s->notes < 0 || s->stderr_fd < 0 || dup2(s->notes, STDERR_FILENO) < 0)
		return error_set(err, -errno, "cannot keep messages for later: %m");
	return 0;
}

static void release_notes(struct screen *s)
{
	char part[4096];
	ssize_t nr;

	if (s->stderr_fd >= 0)
		dup2(s->stderr_fd, STDERR_FILENO);
	for (off_t at = 0; s->notes >= 0; at += nr) {
		nr = pread(s->notes, part, sizeof(part), at);
		if (nr <= 0)
			break;
		fwrite(part, 1, (size_t)nr, stderr);
	}
	if (s->notes >= 0)
		close(s->notes);
	if (s->stderr_fd >= 0)
		close(s->stderr_fd);
}

/* Returns whether the terminal understands what xterm does, as far as we need it. */
static bool is_like_xterm(const char *term)
{
	static const char *const families[] = {"xterm",     "screen", "tmux",  "rxvt",
					       "alacritty", "foot",   "gnome", "kitty",
					       "konsole",   "linux",  "putty", "vt"};

	for (size_t i = 0; term && i < ARRAY_SIZE(families); i++)
		if (!strncmp(term, families[i], strlen(families[i])))
			return true;
	return false;
}

/* Systems that describe no terminal, such as small containers, have one from us. */
static SCREEN *begin_terminal(const char *term)
{
	SCREEN *terminal = newterm(NULL, stdout, stdin);

	if (terminal || !is_like_xterm(term) || setenv("TERMINFO", TERMINFO_XTERM, 1))
		return terminal;
	return newterm("xterm-256color", stdout, stdin);
}

int screen_new(struct screen **ret, struct error *err)
{
	_cleanup_(screen_freep) struct screen *s = calloc(1, sizeof(*s));
	const char *term = getenv("TERM");
	int rc;

	if (!s)
		return error_set(err, -ENOMEM, "out of memory");
	s->notes = s->stderr_fd = -1;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return error_set(err, -ENOTTY,
				 "top needs a terminal; -b prints tables without one");
	/*
	 * Not the caller's locale: the C library would load a module to convert to another
	 * encoding than UTF-8, which a static program cannot.
	 */
	setlocale(LC_CTYPE, "C.UTF-8");
	rc = catch_notes(s, err);
	if (rc)
		return rc;
	s->terminal = begin_terminal(term);
	if (!s->terminal)
		return error_set(
			err, -ENOTTY,
			"the terminal \"%s\" is not known here: set TERM, or use "
			"-b, which prints tables",
			term ? term : "");
	raw(); /* Ctrl-C is a key, so that the screen ends in order */
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	begin_colours(s);
	*ret = take_ptr(s);
	return 0;
}

void screen_free(struct screen *s)
{
	if (!s)
		return;
	if (s->terminal) {
		endwin();
		delscreen(s->terminal);
	}
	release_notes(s);
	free(s);
}

/* ---- drawing ---- */

/* One row of the screen, cut at its width. The caller prints to @out in between. */
struct row_text {
	char *text; /* heap */
	size_t len;
	FILE *out;
};

static bool row_begin(struct row_text *row)
{
	*row = (struct row_text){0};
	row->out = open_memstream(&row->text, &row->len);
	return row->out;
}

/* Draws the text at row @y in the attributes @how, to the right edge. */
static void row_end(struct row_text *row, int y, attr_t how)
{
	if (!fclose(row->out)) {
		move(y, 0);
		attrset(how);
		/* Columns may be more than bytes: ncurses cuts what is beyond the edge. */
		addnstr(row->text, (int)strnlen(row->text, 4096));
		if (getcury(stdscr) == y)
			for (int x = getcurx(stdscr); x < COLS; x++)
				addch(' ');
		attrset(A_NORMAL);
	}
	free(row->text);
}

static void draw_text(int y, attr_t how, const char *text)
{
	struct row_text row;

	if (!row_begin(&row))
		return;
	fprintf(row.out, "%.*s", COLS, text);
	row_end(&row, y, how);
}

static attr_t heat(const struct screen *s, double share, double hottest)
{
	unsigned int step = s->has_colours ? figure_heat(share, hottest) : 0;

	return (attr_t)COLOR_PAIR(step) | (step == NR_HEATS ? A_BOLD : 0);
}

static double hottest_of(const struct board *b)
{
	double hottest = 0;

	for (size_t i = 0; i < b->nr_rows; i++)
		if (b->rows[i].self > hottest)
			hottest = b->rows[i].self;
	return hottest;
}

/* "lines of container web > process 12 python; by self" */
static void print_place(const struct navigator *n, const struct board *b, FILE *out)
{
	bool is_first = true;

	fputs(n->is_paused ? "PAUSED  " : "", out);
	fputs(b ? board_view_names[b->view] : "", out);
	for (size_t i = 1; i < n->nr_levels; i++) {
		fputs(is_first ? ": " : " > ", out);
		text_cell(out, n->levels[i].title, 60);
		is_first = false;
	}
	if (b && b->view != BOARD_SOURCE)
		fprintf(out, ", by %s", board_sort_names[n->sort]);
	if (n->is_finding || *n->find)
		fprintf(out, "   find: %s%s", n->find, n->is_finding ? "_" : "");
}

static void draw_head(const struct navigator *n, const struct board *b)
{
	struct row_text row;

	if (row_begin(&row)) {
		fputs("lineburn top  ", row.out);
		if (b)
			table_head(b, row.out);
		else
			fputs("waiting for the first samples", row.out);
		row_end(&row, 0, A_BOLD);
	}
	if (row_begin(&row)) {
		print_place(n, b, row.out);
		row_end(&row, 1, A_NORMAL);
	}
	if (b && row_begin(&row)) {
		table_caution(b, row.out);
		row_end(&row, 2, A_NORMAL);
	}
	if (b && row_begin(&row)) {
		table_titles(b, (size_t)COLS, row.out);
		row_end(&row, 3, A_REVERSE);
	}
}

static void draw_rows(const struct screen *s, struct navigator *n, const struct board *b)
{
	size_t cursor = navigator_top(n)->cursor, first;
	double hottest = hottest_of(b);

	/* A source shows what is around the line, a list begins with its first row. */
	first = b->view == BOARD_SOURCE
			? (cursor > n->page / 2 ? cursor - n->page / 2 : 0)
			: (cursor >= n->page ? cursor - n->page + 1 : 0);
	for (size_t i = 0; i < n->page && first + i < b->nr_rows; i++) {
		const struct board_row *r = &b->rows[first + i];
		struct row_text row;

		if (!row_begin(&row))
			return;
		table_row(b, r, (size_t)COLS, row.out);
		row_end(&row, HEAD_ROWS + (int)i,
			first + i == cursor ? A_REVERSE : heat(s, r->self, hottest));
	}
}

static void draw_help(void)
{
	static const char *const texts[] = {
		"",
		"  self %   CPU time of the line itself; total %: with all that it calls",
		"  CPU %    of one CPU: 200 is two CPUs",
		"",
		"  1 2 3 4  lines, functions, processes, containers (or l f p c)",
		"  Enter    into the row: container > process > function > source",
		"  Bksp     back (or Esc)",
		"  s t n    sort by self, total, name",
		"  /        find rows with a text; Enter keeps it, Esc ends it",
		"  Space    pause; again: go on with new samples",
		"  arrows, page keys, Home, End (or k j g G): choose a row",
		"  h        this help; q: quit",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		draw_text(HEAD_ROWS + (int)i, A_NORMAL, texts[i]);
}

/* Is there a message on stderr that the reader has not had time to read? */
static bool has_note(struct screen *s, off_t size)
{
	uint64_t now_ns = clock_now_ns();

	if (size != s->notes_size)
		s->note_until_ns = now_ns + NOTE_SECONDS * CLOCK_SECOND_NS;
	s->notes_size = size;
	return now_ns < s->note_until_ns;
}

/* The last message, or the keys. */
static void draw_foot(struct screen *s)
{
	char note[NOTE_BYTES + 1], *end;
	struct stat st = {0};
	ssize_t nr = 0;

	if (!fstat(s->notes, &st) && has_note(s, st.st_size))
		nr = pread(s->notes, note, NOTE_BYTES,
			   st.st_size > NOTE_BYTES ? st.st_size - NOTE_BYTES : 0);

	if (nr <= 0) {
		draw_text(LINES - 1, A_DIM,
			  "1 lines  2 functions  3 processes  4 containers  Enter into  "
			  "Bksp back  s/t/n sort  / find  Space pause  h help  q quit");
		return;
	}
	note[nr] = '\0';
	while (nr && note[nr - 1] == '\n')
		note[--nr] = '\0';
	end = strrchr(note, '\n');
	draw_text(LINES - 1, A_BOLD, end ? end + 1 : note);
}

void screen_draw(struct screen *s, struct navigator *n, const struct board *b)
{
	int rows = LINES - HEAD_ROWS - FOOT_ROWS;

	n->page = rows > 0 ? (size_t)rows : 1;
	erase();
	draw_head(n, b);
	if (n->shows_help)
		draw_help();
	else if (b)
		draw_rows(s, n, b);
	draw_foot(s);
	refresh();
}

int screen_key(struct screen *s)
{
	static const struct {
		int from, to;
	} keys[] = {
		{KEY_UP, KEY_OF_UP},
		{KEY_DOWN, KEY_OF_DOWN},
		{KEY_PPAGE, KEY_OF_PAGE_UP},
		{KEY_NPAGE, KEY_OF_PAGE_DOWN},
		{KEY_HOME, KEY_OF_HOME},
		{KEY_END, KEY_OF_END},
		{KEY_ENTER, KEY_OF_ENTER},
		{'\r', KEY_OF_ENTER},
		{'\n', KEY_OF_ENTER},
		{KEY_RIGHT, KEY_OF_ENTER},
		{KEY_BACKSPACE, KEY_OF_BACK},
		{0x7f, KEY_OF_BACK},
		{8, KEY_OF_BACK},
		{KEY_LEFT, KEY_OF_BACK},
		{27, KEY_OF_ESCAPE},
	};
	int key = getch();

	(void)s;
	if (key == ERR)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (key == keys[i].from)
			return keys[i].to;
	return key > 0 && key < 0x100 ? key : 0;
}
