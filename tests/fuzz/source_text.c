// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Source files of a target, as a recording stores them and a viewer finds them: first 4 *
 * u16: lines that have samples, then the text. One file is small, one too large to be
 * stored whole, one of a library. What is stored are lines of the file, in order, and the
 * viewer gets the same lines from the profile as from the file. Files are opened by an
 * opener that knows only these.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/attribution.h"
#include "analyze/source.h"
#include "lib/cost.h"

#define NR_HITS    4
#define HEAD_BYTES (NR_HITS * sizeof(uint16_t))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 1200000, .per_byte = 1000};

static const char *const paths[] = {"/a/f.py", "/a/large.py",
				    "/usr/lib/python3/dist-packages/f.py"};

struct text {
	const uint8_t *bytes;
	size_t len;
};

static bool is_large(const char *path)
{
	return strstr(path, "large") != NULL;
}

/* The large file ends in one long line. Return: heap, terminated. */
static char *text_of(const struct text *text, const char *path, size_t *ret_len)
{
	size_t more = is_large(path) ? SOURCE_WHOLE_BYTES + 1 : 0;
	char *copy = malloc(text->len + more + 1);

	assert(copy);
	memcpy(copy, text->bytes, text->len);
	memset(copy + text->len, 'x', more);
	if (more)
		copy[text->len] = '\n';
	copy[text->len + more] = '\0';
	*ret_len = text->len + more;
	return copy;
}

static int read_text(void *ctx, const char *path, char **ret, size_t *ret_len,
		     int64_t *ret_mtime_ns)
{
	*ret = text_of(ctx, path, ret_len);
	*ret_mtime_ns = 1;
	return 0;
}

/* Opens "/b/f.py" for "/a/f.py", and nothing in this folder; the large file costs time. */
static int open_text(void *ctx, const char *path, struct stat *st)
{
	size_t len;
	char *copy;
	int fd;

	if (!strncmp(path, "/a/", 3) || is_large(path))
		return -ENOENT;
	fd = memfd_create("source", MFD_CLOEXEC);
	copy = text_of(ctx, path, &len);
	assert(fd >= 0 && write(fd, copy, len) == (ssize_t)len);
	free(copy);
	assert(!lseek(fd, 0, SEEK_SET));
	*st = (struct stat){.st_mode = S_IFREG, .st_size = (off_t)len};
	st->st_mtim.tv_sec = (time_t)(len % 3);
	return fd;
}

/* ---- the profile ---- */

static uint32_t locate(struct profile *p, const char *path, uint16_t line)
{
	const struct profile_function f = {.name = "f",
					   .system_name = "",
					   .filename = strpool_add(p->pool, path),
					   .start_line = line / 2u};
	struct profile_line at = {.function = profile_add_function(p, &f), .line = line};

	return profile_add_location(p, PROFILE_NONE, p->nr_locations + UINT64_C(1),
				    MISS_NONE, &at, 1);
}

/* One line calls another, one is hot, one is too cold for a library. */
static void hit(struct profile *p, const char *path, const uint16_t lines[NR_HITS])
{
	const uint32_t called[] = {locate(p, path, lines[0]), locate(p, path, lines[1])};
	const uint32_t hot = locate(p, path, lines[2]), cold = locate(p, path, lines[3]);

	profile_add_sample(p, called, 2, NULL, 0, 0, (int64_t[]){400, 400});
	profile_add_sample(p, &hot, 1, NULL, 0, 0, (int64_t[]){3000, 3000});
	profile_add_sample(p, &cold, 1, NULL, 0, 0, (int64_t[]){1, 1});
}

/* ---- what holds ---- */

static void check_source(const struct profile_source *source, size_t len)
{
	uint32_t next = 1;

	assert(source->size_bytes == len);
	for (size_t i = 0; i < source->nr_runs; i++) {
		const struct profile_source_run *run = &source->runs[i];
		uint32_t nr = 1;

		assert(run->first_line >= next && run->nr_lines && run->text);
		for (const char *c = run->text; *c; c++)
			nr += *c == '\n';
		assert(nr == run->nr_lines);
		next = run->first_line + run->nr_lines;
	}
	assert(next <= source->nr_lines + 1);
}

static bool has_line(const struct profile_source *source, uint16_t line)
{
	for (size_t i = 0; i < source->nr_runs; i++)
		if (line >= source->runs[i].first_line &&
		    line - source->runs[i].first_line < source->runs[i].nr_lines)
			return true;
	return false;
}

static void check_sources(const struct profile *p, const struct text *text,
			  const uint16_t lines[NR_HITS])
{
	assert(p->extra.nr_sources <= ARRAY_SIZE(paths));
	for (size_t i = 0; i < p->extra.nr_sources; i++) {
		const struct profile_source *source = &p->extra.sources[i];
		size_t more = is_large(source->path) ? SOURCE_WHOLE_BYTES + 1 : 0;

		check_source(source, text->len + more);
		for (size_t k = 0; k < NR_HITS; k++)
			if (lines[k] && lines[k] <= source->nr_lines &&
			    (k != 3 || !strstr(source->path, "lib")))
				assert(has_line(source, lines[k]));
	}
}

/* The lines of @a are among those of @b. */
static void check_attached(const struct attribution *a, const struct attribution *b)
{
	for (size_t i = 0; i < a->nr_files; i++) {
		const struct attribution_source *x = &a->files[i].source;
		const struct attribution_source *y = &b->files[i].source;

		if (!x->found || !y->found)
			continue;
		assert(x->nr_lines <= y->nr_lines);
		for (size_t n = 0; n < x->nr_lines; n++)
			assert(!x->lines[n] ||
			       (y->lines[n] && !strcmp(x->lines[n], y->lines[n])));
	}
}

/* ---- the viewer ---- */

static void view(struct profile *p, struct text *text)
{
	static const struct attribution_options options = {0};
	static const struct source_path_rule rule = {"/a", "/b"};
	const struct source_search stranger = {.is_strangers = true};
	const struct source_search search = {
		.rules = &rule, .nr_rules = 1, .opener = {open_text, text}};
	const struct source_search below = {.rules = &rule,
					    .nr_rules = 1,
					    .is_strangers = true,
					    .opener = {open_text, text}};
	struct attribution *recorded = NULL, *found = NULL;

	assert(!attribution_new(p, &options, &recorded));
	assert(!attribution_new(p, &options, &found));
	assert(!source_attach(recorded, p, &stranger));
	assert(!source_attach(found, p, &search));
	check_attached(recorded, found);
	assert(!source_compare(found, p, &search));
	for (size_t i = 0; i < found->nr_files; i++)
		assert(!recorded->files[i].source.found ||
		       !found->files[i].source.is_changed);
	profile_clear_extra(p);
	assert(!source_attach(found, p, &search));
	check_attached(recorded, found);
	assert(!source_attach(found, p, &below));
	for (size_t i = 0; i < found->nr_files; i++)
		assert(!found->files[i].source.found ||
		       source_rule_above(&rule, 1, found->files[i].source.from));
	p->time_nanos = 1000000001;
	assert(!source_compare(found, p, &search));
	assert(!source_attach(found, p, &search));
	attribution_free(found);
	attribution_free(recorded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct attribution_options options = {0};
	struct text text = {data + HEAD_BYTES, size - HEAD_BYTES};
	uint16_t lines[NR_HITS];
	struct attribution *a = NULL;
	struct strpool *pool;
	struct profile *p;

	if (size < HEAD_BYTES)
		return -1;
	memcpy(lines, data, sizeof(lines));
	pool = strpool_new(1 << 20);
	p = profile_new(pool);
	p->extra.present = true;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		hit(p, paths[i], lines);
	assert(!attribution_new(p, &options, &a));
	assert(!source_collect(p, a, read_text, &text));
	check_sources(p, &text, lines);
	attribution_free(a);
	view(p, &text);
	profile_free(p);
	strpool_free(pool);
	return 0;
}
