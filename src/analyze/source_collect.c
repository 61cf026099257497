// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeps source text in the profile: the container may be gone when it is read. */
#include <errno.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/source.h"
#include "analyze/source_text.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "base/vec.h"

struct collector {
	struct profile *p;
	const struct attribution *a;
	/* Functions whose start is known, by file (address) and name. */
	const struct attribution_function **functions;
	size_t nr_functions;
	size_t budget; /* bytes of text that may still be kept */
};

static void source_deinit(struct profile_source *source)
{
	for (size_t i = 0; i < source->nr_runs; i++)
		free((char *)source->runs[i].text);
	free(source->runs);
	*source = (struct profile_source){0};
}

static int compare_addresses(const char *a, const char *b)
{
	return (uintptr_t)a < (uintptr_t)b ? -1 : (uintptr_t)a > (uintptr_t)b;
}

static int compare_functions(const void *a, const void *b)
{
	const struct attribution_function *x =
		*(const struct attribution_function *const *)a;
	const struct attribution_function *y =
		*(const struct attribution_function *const *)b;
	int r = compare_addresses(x->file, y->file);

	return r ? r : compare_addresses(x->name, y->name);
}

static int index_functions(struct collector *c)
{
	c->functions = calloc(c->a->nr_functions + 1, sizeof(*c->functions));
	if (!c->functions)
		return -ENOMEM;
	for (size_t i = 0; i < c->a->nr_functions; i++)
		if (c->a->functions[i].start_line)
			c->functions[c->nr_functions++] = &c->a->functions[i];
	qsort(c->functions, c->nr_functions, sizeof(*c->functions), compare_functions);
	return 0;
}

/* The first line to keep for a line with samples. */
static uint32_t window_start(const struct collector *c,
			     const struct attribution_file *file,
			     const struct attribution_line *line)
{
	const struct attribution_function key = {.file = file->path,
						 .name = line->function};
	const struct attribution_function *wanted = &key;
	const struct attribution_function **found;
	uint32_t start =
		line->line > SOURCE_CONTEXT_LINES ? line->line - SOURCE_CONTEXT_LINES : 1;

	found = bsearch(&wanted, c->functions, c->nr_functions, sizeof(*c->functions),
			compare_functions);
	if (!found || (*found)->start_line >= start ||
	    line->line - (*found)->start_line > SOURCE_FUNCTION_LINES)
		return start;
	return (*found)->start_line;
}

/* Marks the lines (by number) to keep of a file too large to be kept whole. */
static void mark_windows(const struct collector *c, const struct attribution_file *file,
			 uint8_t *keep, uint32_t nr_lines)
{
	for (size_t i = 0; i < file->nr_lines; i++) {
		const struct attribution_line *line = &file->lines[i];
		uint64_t end = (uint64_t)line->line + SOURCE_CONTEXT_LINES;
		uint32_t start;

		if (line->line > nr_lines)
			break;
		if (line->no_code)
			continue;
		if (end > nr_lines)
			end = nr_lines;
		start = window_start(c, file, line);
		memset(keep + start, 1, end - start + 1);
	}
}

/* Makes a run of the lines from @from on that are marked; *at moves behind them. */
static int add_run(struct profile_source *source, size_t *cap, const char **at,
		   const char *end, uint32_t from, const uint8_t *keep)
{
	struct profile_source_run run = {.first_line = from};
	struct source_line line;
	const char *scan = *at;
	size_t size = 0;
	char *text;

	for (uint32_t n = from; n <= source->nr_lines && keep[n]; n++, run.nr_lines++) {
		source_line_next(&scan, end, &line);
		size += source_line_copied_len(&line) + 1;
	}
	if (vec_grow(&source->runs, cap, source->nr_runs + 1, sizeof(*source->runs), 0))
		return -ENOMEM;
	text = malloc(size);
	if (!text)
		return -ENOMEM;
	run.text = text;
	for (uint32_t n = 0; n < run.nr_lines; n++) {
		source_line_next(at, end, &line);
		source_line_copy(text, &line);
		text += source_line_copied_len(&line) + 1;
		text[-1] = n + 1 < run.nr_lines ? '\n' : '\0';
	}
	source->runs[source->nr_runs++] = run;
	return 0;
}

static int add_runs(struct profile_source *source, const char *text, size_t len,
		    const uint8_t *keep)
{
	const char *at = text, *end = text + len;
	struct source_line line;
	size_t cap = 0;
	uint32_t n = 1;

	while (n <= source->nr_lines) {
		if (!keep[n]) {
			source_line_next(&at, end, &line);
			n++;
			continue;
		}
		if (add_run(source, &cap, &at, end, n, keep))
			return -ENOMEM;
		n += source->runs[source->nr_runs - 1].nr_lines;
	}
	return 0;
}

static size_t kept_bytes(const struct profile_source *source)
{
	size_t bytes = 0;

	for (size_t i = 0; i < source->nr_runs; i++)
		bytes += strlen(source->runs[i].text) + 1;
	return bytes;
}

static int keep_lines(const struct collector *c, const struct attribution_file *file,
		      const char *text, size_t len, bool whole,
		      struct profile_source *source)
{
	_cleanup_free_ uint8_t *keep = calloc((size_t)source->nr_lines + 2, 1);

	if (!keep)
		return -ENOMEM;
	if (whole)
		memset(keep + 1, 1, source->nr_lines);
	else
		mark_windows(c, file, keep, source->nr_lines);
	return add_runs(source, text, len, keep);
}

void source_hash(const char *text, size_t len, uint8_t ret[32])
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, len, (const uint8_t *)text);
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, ret);
}

static int add_source(struct collector *c, const struct attribution_file *file,
		      const char *text, const struct stat *st, size_t len)
{
	struct profile_extra *extra = &c->p->extra;
	struct profile_source source = {
		.path = file->path,
		.owner = "",
		.size_bytes = len,
		.nr_lines = source_count_lines(text, len),
		.mtime_nanos = (int64_t)st->st_mtim.tv_sec * 1000000000 +
			       st->st_mtim.tv_nsec,
	};
	bool whole = len <= SOURCE_WHOLE_BYTES && len <= c->budget;
	int r = keep_lines(c, file, text, len, whole, &source);

	if (!r && (!source.nr_runs || kept_bytes(&source) > c->budget)) {
		log_debug("%s: no room for its source, skipping", file->path);
		source_deinit(&source);
		return 0;
	}
	if (!r)
		r = vec_grow(&extra->sources, &extra->cap_sources, extra->nr_sources + 1,
			     sizeof(*extra->sources), 0);
	if (r) {
		source_deinit(&source);
		return -ENOMEM;
	}
	source_hash(text, len, source.sha256);
	c->budget -= kept_bytes(&source);
	extra->sources[extra->nr_sources++] = source;
	return 0;
}

static int collect_file(struct collector *c, const struct attribution_file *file, int fd)
{
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t len;
	int r;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		log_debug("%s: not a regular file, skipping", file->path);
		return 0;
	}
	r = io_read_all(fd, SOURCE_MAX_FILE_BYTES, &text, &len);
	if (r) {
		log_debug("%s: cannot read the source: %s, skipping", file->path,
			  strerror(-r));
		return r == -ENOMEM ? r : 0;
	}
	if (!source_is_text(text, len)) {
		log_debug("%s: not text, skipping", file->path);
		return 0;
	}
	return add_source(c, file, text, &st, len);
}

/* Files that another one has the path of are told apart, with their text or without. */
static int add_namesakes(struct profile *p)
{
	_cleanup_(hashmap_deinit) struct hashmap known = {0};
	struct profile_extra *extra = &p->extra;
	int r = 0;

	for (size_t i = 0; p->nr_namesakes && i < extra->nr_sources && !r; i++)
		r = hashmap_add(&known, hash_pointer(0, extra->sources[i].path),
				(uint32_t)i);
	for (size_t i = 0; i < p->nr_namesakes && !r; i++) {
		struct profile_source source = {.path = p->namesakes[i], .owner = ""};

		if (hashmap_find(&known, hash_pointer(0, source.path), NULL, NULL,
				 NULL) != HASHMAP_NONE)
			continue;
		r = vec_grow(&extra->sources, &extra->cap_sources, extra->nr_sources + 1,
			     sizeof(*extra->sources), 0);
		if (!r)
			extra->sources[extra->nr_sources++] = source;
	}
	return r ? -ENOMEM : 0;
}

int source_collect(struct profile *p, const struct attribution *a,
		   source_open_fn open_source, void *ctx)
{
	struct collector c = {.p = p, .a = a, .budget = SOURCE_MAX_BYTES};
	int r = index_functions(&c);

	for (size_t i = 0; i < a->nr_files && i < SOURCE_MAX_FILES && !r; i++) {
		const struct attribution_file *file = &a->files[i];
		_cleanup_close_ int fd = -1;

		if (file->path[0] != '/')
			continue;
		fd = open_source(ctx, file->path);
		if (fd >= 0)
			r = collect_file(&c, file, fd);
	}
	free(c.functions);
	return r ? r : add_namesakes(p);
}
