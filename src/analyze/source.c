// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/source.h"

#include <errno.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/code_text.h"
#include "base/creds.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "base/vec.h"

static const char cut_mark[] = "...";

/* ---- lines of a text file: numbers are 1-based; "\n" or "\r\n" ends a line ---- */

struct source_line {
	const char *text; /* not terminated */
	size_t len; /* without the line's end */
};

/*
 * Reads the next line from *at. Return: false at the end. Text after the last "\n" is a
 * line unless empty. All "\r" at its end go, so that a stored line, which is read again,
 * stays as it is.
 */
static bool line_next(const char **at, const char *end, struct source_line *ret)
{
	const char *newline;
	size_t len;

	if (*at >= end)
		return false;
	newline = memchr(*at, '\n', (size_t)(end - *at));
	len = (size_t)((newline ? newline : end) - *at);
	*ret = (struct source_line){.text = *at, .len = len};
	while (ret->len && ret->text[ret->len - 1] == '\r')
		ret->len--;
	*at += len + (newline != NULL);
	return true;
}

static uint32_t count_lines(const char *text, size_t len)
{
	const char *at = text;
	struct source_line line;
	uint32_t nr = 0;

	while (line_next(&at, text + len, &line))
		nr++;
	return nr;
}

static bool is_text(const char *data, size_t len)
{
	return !memchr(data, '\0', len);
}

/* Returns the bytes kept before the "...": never part of a UTF-8 character. */
static size_t kept_len(const struct source_line *line)
{
	size_t kept = SOURCE_LINE_BYTES - strlen(cut_mark);

	for (size_t back = 0; back < 3 && kept; back++, kept--)
		if (((unsigned char)line->text[kept] & 0xc0) != 0x80)
			break;
	return kept;
}

/*
 * Returns the bytes that line_copy() writes, without the NUL: at most
 * SOURCE_LINE_BYTES.
 */
static size_t line_copied_len(const struct source_line *line)
{
	return line->len <= SOURCE_LINE_BYTES ? line->len
					      : kept_len(line) + strlen(cut_mark);
}

/* Copies the line and a NUL. Cuts a long line between characters, and adds "...". */
static void line_copy(char *to, const struct source_line *line)
{
	size_t len = line->len <= SOURCE_LINE_BYTES ? line->len : kept_len(line);

	memcpy(to, line->text, len);
	to[len] = '\0';
	if (len < line->len)
		memcpy(to + len, cut_mark, sizeof(cut_mark));
}

/*
 * Stores source text in the profile, because the container may be gone when it is
 * viewed.
 */

struct collector {
	struct profile *p;
	struct weight all; /* of the profile */
	size_t budget; /* bytes of text that still fit */
};

static void mark(uint8_t *keep, uint32_t nr_lines, uint64_t first, uint64_t last)
{
	last = last < nr_lines ? last : nr_lines;
	if (first <= last)
		memset(keep + first, 1, last - first + 1);
}

static uint64_t before(uint32_t line, uint32_t context)
{
	return line > context ? line - context : 1;
}

/* Marks the lines to store of the user's own file that is too large to store whole. */
static void mark_own(const struct attribution_line *line, uint8_t *keep,
		     uint32_t nr_lines)
{
	uint64_t first = before(line->line, SOURCE_CONTEXT_LINES);

	if (line->function_line && line->function_line < first &&
	    line->line - line->function_line <= SOURCE_FUNCTION_LINES)
		first = line->function_line;
	mark(keep, nr_lines, first, (uint64_t)line->line + SOURCE_CONTEXT_LINES);
}

/* Of the samples or of their CPU time: listings go by the latter. */
static bool is_part(const struct weight *w, const struct weight *all, uint64_t parts)
{
	return (w->samples && w->samples >= all->samples / parts) ||
	       (w->cpu_ns && w->cpu_ns >= all->cpu_ns / parts);
}

static bool is_hot(const struct collector *c, const struct attribution_line *line)
{
	return is_part(&line->self, &c->all, SOURCE_SELF_PARTS) ||
	       is_part(&line->total, &c->all, SOURCE_TOTAL_PARTS);
}

/*
 * A program that imports a large library has samples in hundreds of its files, most of
 * them one or two: their text would be the largest part of the profile, and listings do
 * not show it.
 */
static bool has_hot_line(const struct collector *c, const struct attribution_file *file)
{
	for (size_t i = 0; i < file->nr_lines; i++)
		if (is_hot(c, &file->lines[i]))
			return true;
	return false;
}

/* Marks what a listing shows of a library's line. */
static void mark_library(const struct attribution_line *line, uint8_t *keep,
			 uint32_t nr_lines)
{
	uint32_t context = weight_is_zero(&line->self) ? SOURCE_CALL_LINES
						       : SOURCE_LIBRARY_LINES;

	mark(keep, nr_lines, before(line->line, context), (uint64_t)line->line + context);
	if (line->function_line && line->function_line < line->line)
		mark(keep, nr_lines, line->function_line,
		     (uint64_t)line->function_line + SOURCE_CALL_LINES);
}

static void mark_windows(const struct collector *c, const struct attribution_file *file,
			 uint8_t *keep, uint32_t nr_lines)
{
	for (size_t i = 0; i < file->nr_lines; i++) {
		const struct attribution_line *line = &file->lines[i];

		if (line->line > nr_lines)
			break;
		if (line->no_code)
			continue;
		if (!file->is_library)
			mark_own(line, keep, nr_lines);
		else if (is_hot(c, line))
			mark_library(line, keep, nr_lines);
	}
}

/* Adds a run of marked lines, beginning at line @from; advances *at past it. */
static int add_run(struct profile_source *source, size_t *cap, const char **at,
		   const char *end, uint32_t from, const uint8_t *keep)
{
	struct profile_source_run run = {.first_line = from};
	struct source_line line;
	const char *scan = *at;
	size_t size = 0;
	char *text;

	for (uint32_t n = from; n <= source->nr_lines && keep[n]; n++, run.nr_lines++) {
		line_next(&scan, end, &line);
		size += line_copied_len(&line) + 1;
	}
	if (vec_grow(&source->runs, cap, source->nr_runs + 1, sizeof(*source->runs), 0))
		return -ENOMEM;
	text = malloc(size);
	if (!text)
		return -ENOMEM;
	run.text = text;
	for (uint32_t n = 0; n < run.nr_lines; n++) {
		line_next(at, end, &line);
		line_copy(text, &line);
		text += line_copied_len(&line) + 1;
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
			line_next(&at, end, &line);
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
		      const char *text, int64_t mtime_ns, size_t len)
{
	_cleanup_(profile_source_deinit) struct profile_source source = {
		.path = file->path,
		.owner = "",
		.size_bytes = len,
		.nr_lines = count_lines(text, len),
		.mtime_nanos = mtime_ns,
	};
	bool whole = !file->is_library && len <= SOURCE_WHOLE_BYTES && len <= c->budget;
	int r = keep_lines(c, file, text, len, whole, &source);

	if (!r && (!source.nr_runs || kept_bytes(&source) > c->budget)) {
		log_debug("%s: no room for its source, skipping", file->path);
		return 0;
	}
	source_hash(text, len, source.sha256);
	if (r || profile_add_source(c->p, &source))
		return -ENOMEM;
	c->budget -= kept_bytes(&source);
	source = (struct profile_source){0};
	return 0;
}

static int collect_file(struct collector *c, const struct attribution_file *file,
			source_read_fn read_source, void *ctx)
{
	_cleanup_free_ char *text = NULL;
	int64_t mtime_ns;
	size_t len;
	int r = read_source(ctx, file->path, &text, &len, &mtime_ns);

	if (r) {
		log_debug("%s: cannot read the source: %s, skipping", file->path,
			  strerror(-r));
		return r == -ENOMEM ? r : 0;
	}
	if (!is_text(text, len)) {
		log_debug("%s: not text, skipping", file->path);
		return 0;
	}
	return add_source(c, file, text, mtime_ns, len);
}

/* Adds entries, even without text, for files whose path another file has, too. */
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

		if (hashmap_get(&known, hash_pointer(0, source.path), NULL, NULL, NULL) !=
		    HASHMAP_NONE)
			continue;
		r = profile_add_source(p, &source);
	}
	return r ? -ENOMEM : 0;
}

int source_collect(struct profile *p, const struct attribution *a,
		   source_read_fn read_source, void *ctx)
{
	struct collector c = {.p = p, .all = a->all, .budget = SOURCE_MAX_BYTES};
	size_t nr_opened = 0;
	int r = 0;

	/* The user's own files first: they have room even beside a large library. */
	for (int library = 0; library < 2; library++)
		for (size_t i = 0; i < a->nr_files && !r; i++) {
			const struct attribution_file *file = &a->files[i];

			if (file->path[0] != '/' || file->is_library != library ||
			    nr_opened == SOURCE_MAX_FILES ||
			    (library && !has_hot_line(&c, file)))
				continue;
			nr_opened++;
			r = collect_file(&c, file, read_source, ctx);
		}
	return r ? r : add_namesakes(p);
}

/*
 * Finds the text of files: in the profile, else on disk. If missing, sets a note with
 * the places searched.
 */

struct attacher {
	const struct profile *p;
	const struct source_search *search;
	struct hashmap sources; /* path (address) -> p->extra.sources */
	struct hashmap shared_paths; /* interned paths of several files of the profile */
	size_t lines_left, bytes_left;
};

/* Reads a line; unlike with line_next(), the last one may be empty. */
static struct source_line next_line(const char **at, const char *end)
{
	struct source_line line = {.text = end, .len = 0};

	line_next(at, end, &line);
	return line;
}

static size_t copied_size(const struct profile_source_run *run)
{
	const char *at = run->text, *end = at + strlen(at);
	size_t size = 0;

	for (uint32_t n = 0; n < run->nr_lines; n++) {
		struct source_line line = next_line(&at, end);

		size += line_copied_len(&line) + 1;
	}
	return size;
}

static int ascending(const void *va, const void *vb)
{
	const uint32_t *a = va, *b = vb;

	return (*a > *b) - (*a < *b);
}

/* Copies the runs to the lines and the numbers of a source, which have room for them. */
static void copy_runs(const struct profile_source_run *runs, size_t nr_runs,
		      struct attribution_source *source, uint32_t *known, char *text)
{
	bool is_sorted = true;

	for (size_t i = 0; i < nr_runs; i++) {
		const char *at = runs[i].text, *end = at + strlen(at);

		for (uint32_t n = runs[i].first_line;
		     n - runs[i].first_line < runs[i].nr_lines; n++) {
			struct source_line line = next_line(&at, end);

			line_copy(text, &line);
			if (!source->lines[n - 1]) {
				is_sorted &= !source->nr_known ||
					     known[source->nr_known - 1] < n;
				known[source->nr_known++] = n;
			}
			source->lines[n - 1] = text;
			text += line_copied_len(&line) + 1;
		}
	}
	if (!is_sorted)
		qsort(known, source->nr_known, sizeof(*known), ascending);
	source->known = known;
}

/* Allocates one block: pointers to lines, the numbers of those with text, the lines. */
static int give_lines(struct attacher *t, const struct profile_source_run *runs,
		      size_t nr_runs, struct attribution_source *source)
{
	size_t nr_lines = 0, nr_known = 0, size = 0;
	uint32_t *known;
	char **lines;

	for (size_t i = 0; i < nr_runs; i++) {
		size_t last = (size_t)runs[i].first_line + runs[i].nr_lines - 1;

		size += copied_size(&runs[i]);
		nr_known += runs[i].nr_lines;
		nr_lines = last > nr_lines ? last : nr_lines;
	}
	if (nr_lines > t->lines_left) {
		source->note = strpool_add(
			t->p->pool, "source not shown: too many lines, after those "
				    "of hotter files");
		return 0;
	}
	lines = calloc(1,
		       nr_lines * sizeof(*lines) + nr_known * sizeof(*known) + size + 1);
	if (!lines)
		return -ENOMEM;
	t->lines_left -= nr_lines;
	known = (uint32_t *)(lines + nr_lines);
	source->lines = lines;
	source->nr_lines = nr_lines;
	source->found = true;
	copy_runs(runs, nr_runs, source, known, (char *)(known + nr_known));
	return 0;
}

/* Does the rule match whole components of @path? If so, *rest is what follows OLD. */
static bool rule_matches(const struct source_path_rule *rule, const char *path,
			 const char **rest)
{
	size_t len = strlen(rule->old_prefix);

	*rest = path + len;
	if (!len)
		return path[0] != '/';
	return !strncmp(path, rule->old_prefix, len) &&
	       (path[len] == '/' || path[len - 1] == '/');
}

/* Do several files of the profile have this path? */
static bool is_path_shared(const struct attacher *t, const char *path)
{
	return t->shared_paths.nr_items &&
	       hashmap_get(&t->shared_paths,
			   hash_pointer(0, strpool_add(t->p->pool, path)), NULL, NULL,
			   NULL) != HASHMAP_NONE;
}

/* Does it contain a ".." component, which could leave its folder? */
static bool has_parent(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return true;
	return false;
}

const struct source_path_rule *source_rule_above(const struct source_path_rule *rules,
						 size_t nr_rules, const char *path)
{
	for (size_t i = 0; i < nr_rules; i++) {
		const char *folder = rules[i].new_prefix;
		size_t len = strlen(folder);

		while (len && folder[len - 1] == '/')
			len--;
		if (!strncmp(path, folder, len) && path[len] == '/' &&
		    !has_parent(path + len))
			return &rules[i];
	}
	return NULL;
}

/* Where a file may be. */
struct source_place {
	const char *path;
	const struct source_path_rule
		*rule; /* of the caller's; NULL: a program named it */
	bool is_recorded; /* it is taken only if it has the text that was recorded */
};

/* Lists where a file may be: by the first matching rule, and at its own path. */
static size_t candidates_of(const struct attacher *t, const char *path,
			    struct source_place ret[2])
{
	size_t nr = 0;
	const char *rest;

	for (size_t i = 0; i < t->search->nr_rules && !nr; i++) {
		const struct source_path_rule *rule = &t->search->rules[i];
		const char *new_prefix = rule->new_prefix;
		size_t len = strlen(new_prefix);

		if (!rule_matches(rule, path, &rest) ||
		    ((t->search->is_strangers || t->search->is_careful) &&
		     has_parent(rest)))
			continue;
		while (*rest == '/')
			rest++;
		ret[nr].rule = rule;
		ret[nr++].path =
			strpool_print(t->p->pool, "%s%s%s", new_prefix,
				      len && new_prefix[len - 1] == '/' ? "" : "/", rest);
	}
	/* On disk any of the files with this path may be found. */
	if (!t->search->is_strangers && (path[0] == '/' || !nr) &&
	    !is_path_shared(t, path))
		ret[nr++] = (struct source_place){.path = path};
	return nr;
}

static int open_source(const struct attacher *t, const struct source_place *c,
		       struct stat *st)
{
	const struct source_search *search = t->search;

	if (!c->rule && !c->is_recorded && search->is_careful)
		return creds_open_as_nobody(NULL, c->path, st);
	if (search->opener.open)
		return search->opener.open(search->opener.ctx, c->path, st);
	return c->rule && (search->is_strangers || search->is_careful)
		       ? io_open_regular_below(c->rule->new_prefix, c->path, st)
		       : io_open_regular(c->path, st);
}

static int read_source(const struct attacher *t, const struct source_place *c, size_t max,
		       char **ret, size_t *ret_len, struct stat *st)
{
	_cleanup_close_ int fd = open_source(t, c, st);

	return fd < 0 ? fd : io_read_all(fd, max, ret, ret_len);
}

/* Returns how many bytes of one file may be read. */
static size_t max_bytes(const struct attacher *t)
{
	return t->bytes_left < SOURCE_MAX_FILE_BYTES ? t->bytes_left
						     : SOURCE_MAX_FILE_BYTES;
}

static bool has_whole_file(const struct profile_source *from)
{
	return from->nr_runs == 1 && from->runs[0].nr_lines == from->nr_lines;
}

/* Is the file on disk the recorded one? @text: of its size */
static bool is_recorded_text(const struct profile_source *from, const char *text)
{
	uint8_t hash[sizeof(from->sha256)];

	source_hash(text, from->size_bytes, hash);
	return !memcmp(hash, from->sha256, sizeof(hash));
}

/* Attaches the whole file from disk if it has not changed, else what was recorded. */
static int give_recorded(struct attacher *t, const struct profile_source *from,
			 bool looks_on_disk, struct attribution_source *source)
{
	struct profile_source_run run = {.first_line = 1, .nr_lines = from->nr_lines};
	struct source_place candidates[2] = {0};
	size_t nr = 0, len;
	struct stat st;

	if (looks_on_disk && !has_whole_file(from) && from->size_bytes <= t->bytes_left)
		nr = candidates_of(t, from->path, candidates);
	for (size_t i = 0; i < nr; i++) {
		_cleanup_free_ char *text = NULL;

		candidates[i].is_recorded = true;
		if (read_source(t, &candidates[i], from->size_bytes, &text, &len, &st) ||
		    len != from->size_bytes || !is_recorded_text(from, text) ||
		    count_lines(text, len) != from->nr_lines)
			continue;
		t->bytes_left -= len;
		run.text = text;
		return give_lines(t, &run, 1, source);
	}
	return give_lines(t, from->runs, from->nr_runs, source);
}

static int attach_recorded(struct attacher *t, const struct profile_source *from,
			   bool looks_on_disk, struct attribution_source *source)
{
	int r = give_recorded(t, from, looks_on_disk, source);

	if (r || !source->found)
		return r;
	source->from = strpool_add(t->p->pool, "recorded");
	if (from->owner && *from->owner)
		source->note = strpool_print(t->p->pool,
					     "this is the file of %s; others have a "
					     "different file at this path",
					     from->owner);
	if (from->newer_than_binary)
		source->note = strpool_add(t->p->pool,
					   "modified after the program was built: lines "
					   "may be off");
	return 0;
}

/* Is the file younger than the recording? */
static bool is_newer(const struct profile *p, const struct stat *st)
{
	int64_t seconds = p->time_nanos / 1000000000;

	return p->time_nanos && st->st_mtim.tv_sec >= seconds &&
	       (st->st_mtim.tv_sec > seconds ||
		st->st_mtim.tv_nsec > p->time_nanos % 1000000000);
}

/* Returns the last line with samples; lines are in ascending order. */
static uint32_t last_line(const struct attribution_file *file)
{
	for (size_t i = file->nr_lines; i-- > 0;)
		if (!file->lines[i].no_code)
			return file->lines[i].line;
	return 0;
}

/* Says why the file on disk, of @nr_lines, may not be the one that ran; "": it may. */
static const char *doubt_of(const struct attacher *t, const struct stat *st,
			    uint32_t nr_lines, const struct attribution_file *file)
{
	uint32_t last = last_line(file);

	if (last > nr_lines)
		return strpool_print(t->p->pool,
				     "line %" PRIu32 " is beyond the end of the file: it "
				     "has changed since it was recorded",
				     last);
	if (is_newer(t->p, st))
		return strpool_add(t->p->pool,
				   "changed since it was recorded: lines may be off");
	if (!t->p->time_nanos)
		return strpool_add(
			t->p->pool,
			"the profile does not tell when it was recorded: lines "
			"are off if the file has changed since");
	return "";
}

/*
 * Attaches a file. Return: 0 if it was that file (shown or not), -ENOMEM, or another
 * error.
 */
static int attach_file(struct attacher *t, const struct source_place *c,
		       struct attribution_file *file)
{
	struct attribution_source *source = &file->source;
	_cleanup_free_ char *text = NULL;
	struct profile_source_run run = {.first_line = 1};
	struct stat st;
	size_t len;
	int r = read_source(t, c, max_bytes(t), &text, &len, &st);

	if (r == -EFBIG) {
		source->note = strpool_print(
			t->p->pool, "source not shown: %s is too large", c->path);
		return 0;
	}
	if (r)
		return r;
	if (!is_text(text, len)) {
		source->note = strpool_print(t->p->pool,
					     "source not shown: %s is not text", c->path);
		return 0;
	}
	t->bytes_left -= len;
	run.text = text;
	run.nr_lines = count_lines(text, len);
	r = give_lines(t, &run, 1, source);
	if (r || !source->found)
		return r;
	source->from = strpool_add(t->p->pool, c->path);
	source->note = doubt_of(t, &st, run.nr_lines, file);
	return 0;
}

/*
 * Is it a notebook cell, named by ipykernel: DIR/ipykernel_PID/HASH.py? Such a file
 * exists only if a debugger requested it.
 */
static bool is_cell(const char *path)
{
	const char *at = strstr(path, "/ipykernel_");

	if (!at)
		return false;
	at += strlen("/ipykernel_");
	at += strspn(at, "0123456789");
	return *at == '/' && !strchr(at + 1, '/');
}

/* "<string>", "node:fs": names without a file */
static bool is_no_file(const char *path)
{
	return path[0] == '<' || !strncmp(path, "node:", 5);
}

/* @why  -EPERM: this process may not become nobody, so whether it is there is not known */
static const char *why_withheld(const struct attacher *t, const char *path, int why)
{
	if (why == -EPERM)
		return strpool_print(
			t->p->pool,
			"source not shown: the recording has not read %s; if "
			"it is there, lineburn annotate --sources opens it "
			"as root",
			path);
	return strpool_print(t->p->pool,
			     "source not shown: the recording has not read %s, and "
			     "not every user may; use --sources to open it as root",
			     path);
}

static int attach_from_disk(struct attacher *t, struct attribution_file *file)
{
	struct attribution_source *source = &file->source;
	struct source_place candidates[2] = {0};
	const char *path = file->path, *looked;
	size_t nr = candidates_of(t, path, candidates);
	int why = -ENOENT;

	if (is_no_file(path)) {
		source->note =
			strpool_print(t->p->pool, "no source: %s is not a file", path);
		return 0;
	}
	if (!nr && t->search->is_strangers) {
		source->is_withheld = true;
		source->note = strpool_add(
			t->p->pool, "source not shown: the profile is not a file of "
				    "yours, so nothing that it names is opened; use "
				    "--sources");
		return 0;
	}
	if (!nr) {
		source->note = strpool_print(
			t->p->pool, "source not at hand: several files are called %s",
			path);
		return 0;
	}
	for (size_t i = 0; i < nr; i++) {
		int r = attach_file(t, &candidates[i], file);

		if (!r || r == -ENOMEM)
			return r;
		if (r != -ENOENT && r != -ENOTDIR)
			why = r;
	}
	if (t->search->is_careful && (why == -EACCES || why == -EPERM)) {
		source->is_withheld = true;
		source->note = why_withheld(t, path, why);
		return 0;
	}
	source->is_absent = why == -ENOENT;
	looked = nr == 2 ? strpool_print(t->p->pool, "%s and %s", candidates[0].path,
					 candidates[1].path)
			 : candidates[0].path;
	if (why == -ENOENT && is_cell(path))
		source->note = strpool_print(
			t->p->pool, "no source: a notebook does not keep its cells in a "
				    "file; lines are those of the cell");
	else if (why == -ENOENT)
		source->note = strpool_print(t->p->pool,
					     "source not at hand: looked for %s; use "
					     "--source-path OLD=NEW",
					     looked);
	else
		source->note = strpool_print(
			t->p->pool, "source not at hand: looked for %s: %s", looked,
			why == -EINVAL    ? "not a regular file"
			: why == -EXDEV   ? "not a file on a disk"
			: why == -ENOLINK ? "a link leads out of the folder"
					  : strerror(-why));
	return 0;
}

/* Drops no_code lines whose text cannot have code, such as comments. */
static void drop_plain_lines(struct attribution_file *file)
{
	const struct attribution_source *source = &file->source;
	uint32_t last = 0, n = 0;
	size_t nr = 0, i = 0;
	struct code_text text;

	code_text_init(&text, file->language);
	while (i < file->nr_lines && (n = attribution_next_line(source, n + 1))) {
		const struct attribution_line *line;
		bool may_have_code;

		if (n != last + 1)
			code_text_skip(&text);
		last = n;
		may_have_code = code_text_next(&text, source->lines[n - 1]);
		/* Those without text stay. */
		while (i < file->nr_lines && file->lines[i].line < n)
			file->lines[nr++] = file->lines[i++];
		if (i == file->nr_lines || file->lines[i].line != n)
			continue;
		line = &file->lines[i++];
		if (line->no_code &&
		    !(may_have_code && code_text_is_of(&text, line->function)))
			continue;
		file->lines[nr++] = *line;
	}
	while (i < file->nr_lines)
		file->lines[nr++] = file->lines[i++];
	file->nr_lines = nr;
}

/*
 * Adds a path unless it is known. A hostile file may repeat paths: the first entry
 * counts.
 */
static int index_path(struct hashmap *map, const char *path, size_t i)
{
	uint64_t hash = hash_pointer(0, path);

	if (hashmap_get(map, hash, NULL, NULL, NULL) != HASHMAP_NONE)
		return 0;
	return hashmap_add(map, hash, (uint32_t)i);
}

static int index_sources(struct attacher *t)
{
	const struct profile_extra *extra = &t->p->extra;

	for (size_t i = 0; i < extra->nr_sources && i < HASHMAP_NONE; i++)
		if (index_path(&t->sources, extra->sources[i].path, i))
			return -ENOMEM;
	for (size_t i = 0; i < t->p->nr_namesakes; i++)
		if (index_path(&t->shared_paths,
			       strpool_add(t->p->pool, t->p->namesakes[i]), i))
			return -ENOMEM;
	return 0;
}

/* Will the file be shown, if its text is found? */
static bool is_wanted(const struct attacher *t, const struct attribution *a,
		      const struct attribution_file *file)
{
	double share = t->search->min_share;

	return weight_share(&file->self, &a->all) >= share ||
	       weight_share(&file->total, &a->all) >= share;
}

/* Returns the recorded text of a file; NULL: there is none. */
static const struct profile_source *recorded_of(const struct attacher *t,
						const struct attribution_file *file)
{
	uint32_t i =
		hashmap_get(&t->sources, hash_pointer(0, file->path), NULL, NULL, NULL);

	return i != HASHMAP_NONE && t->p->extra.sources[i].nr_runs
		       ? &t->p->extra.sources[i]
		       : NULL;
}

static int attach_all(struct attacher *t, struct attribution *a)
{
	int r = index_sources(t);

	for (size_t i = 0; i < a->nr_files && !r; i++) {
		struct attribution_file *file = &a->files[i];
		const struct profile_source *recorded = recorded_of(t, file);
		bool wanted = is_wanted(t, a, file);

		free(take_ptr(file->source.lines));
		file->source = (struct attribution_source){.from = "", .note = ""};
		if (recorded)
			r = attach_recorded(t, recorded, wanted, &file->source);
		else if (wanted)
			r = attach_from_disk(t, file);
		if (!r && file->source.found)
			drop_plain_lines(file);
	}
	return r;
}

/*
 * Compares the file at @c. Return: 0 if there was one, -ENOMEM, or another error:
 * nothing is known.
 */
static int compare_file(struct attacher *t, const struct source_place *c,
			const struct profile_source *recorded,
			struct attribution_file *file)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	struct stat st;
	size_t len;
	int r;

	fd = open_source(t, c, &st);
	if (fd < 0)
		return fd;
	file->source.is_changed = recorded ? (uint64_t)st.st_size != recorded->size_bytes
					   : is_newer(t->p, &st);
	if (file->source.is_changed)
		return 0;
	r = io_read_all(fd, max_bytes(t), &text, &len);
	if (r)
		return r;
	t->bytes_left -= len;
	file->source.is_changed = recorded ? len != recorded->size_bytes ||
						     !is_recorded_text(recorded, text)
					   : last_line(file) > count_lines(text, len);
	return 0;
}

static int compare_all(struct attacher *t, struct attribution *a)
{
	int r = index_sources(t);

	for (size_t i = 0; i < a->nr_files && !r; i++) {
		struct attribution_file *file = &a->files[i];
		struct source_place candidates[2] = {0};
		const struct profile_source *recorded = recorded_of(t, file);
		size_t nr = candidates_of(t, file->path, candidates);
		int why = -ENOENT;

		if (is_no_file(file->path) || !is_wanted(t, a, file))
			continue;
		for (size_t k = 0; k < nr && why && why != -ENOMEM; k++) {
			candidates[k].is_recorded = recorded;
			why = compare_file(t, &candidates[k], recorded, file);
		}
		r = why == -ENOMEM ? why : 0;
	}
	return r;
}

static int visit_files(struct attribution *a, const struct profile *p,
		       const struct source_search *search,
		       int (*visit)(struct attacher *t, struct attribution *a))
{
	struct attacher t = {.p = p,
			     .search = search,
			     .lines_left = SOURCE_MAX_ATTACHED_LINES,
			     .bytes_left = SOURCE_MAX_ATTACHED_BYTES};
	int r = visit(&t, a);

	hashmap_deinit(&t.sources);
	hashmap_deinit(&t.shared_paths);
	return r;
}

int source_attach(struct attribution *a, const struct profile *p,
		  const struct source_search *search)
{
	return visit_files(a, p, search, attach_all);
}

int source_compare(struct attribution *a, const struct profile *p,
		   const struct source_search *search)
{
	return visit_files(a, p, search, compare_all);
}
