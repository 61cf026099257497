// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the editors' plugins read in our folded stacks: each has its own rule, and all
 * must come to the totals of annotate.
 */
#include "unit/export/cases.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"
#include "export/export.h"

struct place {
	char file[512];
	uint32_t line;
	uint64_t samples;
	size_t stack; /* last one that was counted, + 1 */
};

/* What a reader found. */
struct found {
	struct place places[64];
	size_t nr;
	uint64_t samples;
	size_t nr_stacks;
	char event[64];
};

/* Counts a place, once for each stack. */
static void found_add(struct found *f, const char *file, size_t len, uint32_t line,
		      uint64_t samples)
{
	struct place *p = f->places;

	while (p < f->places + f->nr &&
	       (p->line != line || strlen(p->file) != len || memcmp(p->file, file, len)))
		p++;
	if (p == f->places + f->nr) {
		assert_true(++f->nr < ARRAY_SIZE(f->places) && len < sizeof(p->file));
		*p = (struct place){.line = line};
		memcpy(p->file, file, len);
	}
	if (p->stack != f->nr_stacks + 1)
		p->samples += samples;
	p->stack = f->nr_stacks + 1;
}

/* Cuts " N" off the end of @line. False: it does not end so. */
static bool take_count(char *line, uint64_t *ret)
{
	char *space = strrchr(line, ' '), *end;

	if (!space || !isdigit((unsigned char)space[1]))
		return false;
	*ret = strtoull(space + 1, &end, 10);
	*space = '\0';
	return !*end;
}

/* ":12" at @s? */
static bool is_number_at(const char *s)
{
	return *s == ':' && isdigit((unsigned char)s[1]);
}

/*
 * perfanno.nvim: a frame ends with the first number after a colon, whatever is before
 * it; its file begins with the first slash.
 */
static void read_perfanno(struct found *f, char *line)
{
	uint64_t samples;
	char *at = line;

	assert_true(take_count(line, &samples));
	f->samples += samples;
	while (*at) {
		char *end = at, *after, *slash;
		uint32_t number;

		while (*end && !is_number_at(end))
			end++;
		if (!*end)
			break;
		at += *at == ';';
		number = (uint32_t)strtoul(end + 1, &after, 10);
		/* What is before the file is the function's name. */
		assert_null(memchr(at, ';', (size_t)(end - at)));
		slash = memchr(at, '/', (size_t)(end - at));
		if (slash)
			found_add(f, slash, (size_t)(end - slash), number, samples);
		at = after;
	}
}

/*
 * flamegraph.el: a place is the first run of other characters than " ():" with a dot in
 * it (not at its end) that a colon and a number follow. A line without a count is
 * skipped.
 */
static void read_emacs(struct found *f, char *line)
{
	uint64_t samples;
	char *save = NULL;

	if (!take_count(line, &samples))
		return;
	f->samples += samples;
	for (char *frame = strtok_r(line, ";", &save); frame;
	     frame = strtok_r(NULL, ";", &save))
		while (*frame) {
			size_t len = strcspn(frame, " ():");
			char *dot = memchr(frame, '.', len);

			if (dot && dot + 1 < frame + len && is_number_at(frame + len)) {
				found_add(f, frame, len,
					  (uint32_t)strtoul(frame + len + 1, NULL, 10),
					  samples);
				break;
			}
			frame += len ? len : 1;
		}
}

/*
 * perfanno for VS Code: a header names the event, wherever in a line it is. A line of a
 * stack begins with its count; a place begins with a slash after space, and ends the
 * frame.
 */
static void read_perf(struct found *f, char *line)
{
	uint64_t samples;
	char *at, *save = NULL;

	at = strstr(line, "# Samples: ");
	if (at) {
		assert_int_equal(
			sscanf(at, "# Samples: %*u of event '%63[^']'", f->event), 1);
		return;
	}
	samples = strtoull(line, &at, 10);
	assert_true(at > line && *at == ' ');
	f->samples += samples;
	for (char *frame = strtok_r(at + 1, ";", &save); frame;
	     frame = strtok_r(NULL, ";", &save)) {
		char *slash = strstr(frame, " /"), *colon = strrchr(frame, ':');

		if (slash && colon > slash && is_number_at(colon))
			found_add(f, slash + 1, (size_t)(colon - slash - 1),
				  (uint32_t)strtoul(colon + 1, NULL, 10), samples);
	}
}

static const struct reader {
	const char *format;
	void (*read)(struct found *f, char *line);
	const char *not_in_path; /* such a path cannot be read */
	bool is_absolute;
} readers[] = {
	{"folded-perfanno", read_perfanno, ":;", true},
	{"folded-emacs", read_emacs, " ():;", false},
	{"perf", read_perf, ":;", true},
};

/* Names and paths which look like what a reader searches for. */
static void build_traps(struct profile *p)
{
	static const char *const traps[] = {
		"operator/",
		"github.com/a/b.F",
		"g at /etc/passwd:7",
		"b.c:3 h",
		"i (b.c:3)",
		"x;/etc/hosts:1",
		"# Samples: 9  of event 'other'",
		"(a (b \"",
		"constructor",
		"j 12",
		"k\t/etc/hosts:2 5",
	};
	static const char *const paths[] = {
		"/home/me/my dir/a.c", "/home/me/a(1).c", "/home/me/a;b.c",
		"/tmp/x:3/a.c",        "relative.c",      "/home/me/a\tb.c",
		"/usr/include/map",    "(b).c",
	};
	uint32_t app = add_mapping(p, "/home/me/app");
	uint32_t caller = add_location(p, app, 1, MISS_NONE, "main@/home/me/app.c:30");

	for (size_t i = 0; i < ARRAY_SIZE(traps) + ARRAY_SIZE(paths); i++) {
		bool is_name = i < ARRAY_SIZE(traps);
		const struct profile_function f = {
			.name = is_name ? traps[i] : "f",
			.filename = is_name ? "/home/me/x.c"
					    : paths[i - ARRAY_SIZE(traps)],
			.system_name = "",
		};
		struct profile_line line = {profile_add_function(p, &f),
					    10 + (uint32_t)i};
		uint32_t at = profile_add_location(p, app, 16 + i, MISS_NONE, &line, 1);
		uint32_t no_line;

		add_stack(p, 0, 1 << i, at, caller);
		line.line = 0;
		no_line = profile_add_location(p, app, 64 + i, MISS_NO_DEBUG_INFO, &line,
					       1);
		add_stack(p, 0, 1, no_line);
		add_stack(p, 0, 3, at, no_line, caller);
	}
}

static bool can_be_read(const struct reader *r, const char *path)
{
	char text[600];

	if (r->read == read_emacs && !strchr(path, '.'))
		return false;
	return !path[strcspn(path, r->not_in_path)] && !strchr(path, '\t') &&
	       (!r->is_absolute || *path == '/') &&
	       !strcmp(escape_terminal_buf(text, sizeof(text), path), path);
}

/* Compares each line of annotate that the reader can know; it must know no other. */
static void compare(const struct reader *r, const struct found *found,
		    const struct attribution *a)
{
	size_t nr = 0;

	for (size_t i = 0; i < a->nr_files; i++) {
		const struct attribution_file *file = &a->files[i];

		for (size_t k = 0; k < file->nr_lines && can_be_read(r, file->path);
		     k++) {
			const struct place *p = found->places;

			while (p < found->places + found->nr &&
			       (p->line != file->lines[k].line ||
				strcmp(p->file, file->path) != 0))
				p++;
			assert_true(p < found->places + found->nr);
			assert_int_equal(p->samples, file->lines[k].total.samples);
			nr++;
		}
	}
	assert_int_equal(found->nr, nr);
	assert_int_equal(found->samples, a->all.samples);
}

static void check_reader(const struct reader *r, void (*build)(struct profile *p))
{
	static const struct attribution_options options = {0};
	const struct export_format *format = export_format_find(r->format);
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(64 << 20);
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	_cleanup_(io_pending_deinit) struct io_pending pending = {0};
	struct export_input in = {.profile = p, .labels = format->labels};
	struct found found = {0};
	struct error err = {0};
	const char *note = NULL;
	char *save = NULL;

	build(p);
	assert_int_equal(attribution_new(p, &options, &a), 0);
	in.attribution = a;
	in.nr_labels = format->labels ? 1 : 0;
	assert_int_equal(io_pending_open(&pending, &err), 0);
	assert_int_equal(format->write(&in, pending.out, &note, &err), 0);
	assert_int_equal(fflush(pending.out), 0);
	if (r->read == read_emacs)
		assert_true(*pending.data == '#');
	for (char *line = strtok_r(pending.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		r->read(&found, line);
		found.nr_stacks++;
	}
	compare(r, &found, a);
	if (r->read == read_perf)
		assert_string_equal(found.event, a->counted.type);
}

static void readers_find_the_totals(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(export_cases); k++)
			check_reader(&readers[i], export_cases[k].build);
		check_reader(&readers[i], build_traps);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers_find_the_totals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
