// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processed profile of the Firefox Profiler, as gzipped JSON of version 66: its
 * readers upgrade every older version, so this one stays. All tables are of columns.
 *
 * Threads are combinations of labels, and their samples are as timeline.h says.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/json_text.h"
#include "export/timeline.h"
#include "profile/gzip.h"

#define FORMAT_VERSION 66
/* Version of the format before processing, which readers of this one ignore. */
#define RAW_FORMAT_VERSION 34

/* Text of later lines is left out. */
#define MAX_SOURCE_LINES 1000000
/*
 * Most empty lines that stand for those without text, of all sources together: so many, and
 * some for each byte of text. Text after more of them is left out. So a hostile file with
 * many lines of large numbers does not become a thousand times as large.
 */
#define EMPTY_LINES          500000
#define EMPTY_LINES_PER_BYTE 64
#define MAX_EMPTY_LINES      (1u << 22)

/* Threads that are visible at first; a whole machine has hundreds. */
#define MAX_VISIBLE 12

/* Readers require a grey one, which is the default. */
enum category {
	CATEGORY_OTHER,
	CATEGORY_NATIVE,
	CATEGORY_LIBRARY,
	CATEGORY_PYTHON,
	CATEGORY_JIT,
	CATEGORY_KERNEL,
	NR_CATEGORIES,
};

static const struct {
	const char *name, *color;
} categories[NR_CATEGORIES] = {
	[CATEGORY_OTHER] = {"Other", "grey"},
	[CATEGORY_NATIVE] = {"Native", "blue"},
	[CATEGORY_LIBRARY] = {"Library", "green"},
	[CATEGORY_PYTHON] = {"Python", "yellow"},
	[CATEGORY_JIT] = {"JIT", "magenta"},
	[CATEGORY_KERNEL] = {"Kernel", "orange"},
};

struct firefox {
	FILE *out;
	const struct profile *profile;
	const struct export_stacks *stacks;
	const struct stack_tree *tree;
	/* By function: a frame that has it, and whether all its frames have a line. */
	uint32_t *frame_of;
	uint8_t *has_lines;
	struct tally strings, sources, objects; /* interned texts, numbered */
	const struct profile_source **texts; /* by source; NULL: not stored */
	size_t empty_left; /* lines */
	int error; /* of writing strings */
};

static void firefox_deinit(struct firefox *w)
{
	free(w->frame_of);
	free(w->has_lines);
	tally_deinit(&w->strings);
	tally_deinit(&w->sources);
	tally_deinit(&w->objects);
	free(w->texts);
}

/* ---- tables ---- */

/* Prints row @i of a column. */
typedef void (*put_cell)(const struct firefox *w, size_t i);

static void put_column(const struct firefox *w, const char *name, size_t nr, put_cell put)
{
	fprintf(w->out, ",\n\"%s\":[", name);
	for (size_t i = 0; i < nr; i++) {
		if (i)
			fputc(',', w->out);
		put(w, i);
	}
	fputc(']', w->out);
}

static void put_same(const struct firefox *w, const char *name, size_t nr,
		     const char *cell)
{
	fprintf(w->out, ",\n\"%s\":[", name);
	for (size_t i = 0; i < nr; i++) {
		fputs(i ? "," : "", w->out);
		fputs(cell, w->out);
	}
	fputc(']', w->out);
}

/* Prints a number, or null for PROFILE_NONE. */
static void put_number(const struct firefox *w, uint32_t number)
{
	if (number == PROFILE_NONE)
		fputs("null", w->out);
	else
		json_put_number(w->out, number);
}

static void put_line(const struct firefox *w, uint32_t line)
{
	put_number(w, line ? line : PROFILE_NONE);
}

static void put_string_number(const struct firefox *w, const char *interned)
{
	put_number(w, tally_find(&w->strings, tally_key(interned), 0));
}

static void put_text(struct firefox *w, const char *s)
{
	if (json_put(w->out, s))
		w->error = -ENOMEM;
}

/* ---- frames and functions ---- */

static enum category category_of(const struct export_frame *f)
{
	switch (f->kind) {
	case CODE_KERNEL:
		return CATEGORY_KERNEL;
	case CODE_PYTHON:
		return CATEGORY_PYTHON;
	case CODE_JIT:
		return CATEGORY_JIT;
	case CODE_INTERPRETER:
	case CODE_C_RUNTIME:
		return CATEGORY_LIBRARY;
	case CODE_NATIVE:
		return f->is_library ? CATEGORY_LIBRARY : CATEGORY_NATIVE;
	case CODE_UNKNOWN:
		break;
	}
	return CATEGORY_OTHER;
}

static void put_frame_function(const struct firefox *w, size_t i)
{
	put_number(w, w->stacks->frames[i].function);
}

static void put_frame_category(const struct firefox *w, size_t i)
{
	put_number(w, category_of(&w->stacks->frames[i]));
}

static void put_frame_depth(const struct firefox *w, size_t i)
{
	put_number(w, w->stacks->frames[i].is_inlined);
}

static void put_frame_line(const struct firefox *w, size_t i)
{
	put_line(w, w->stacks->frames[i].line);
}

static void put_frames(const struct firefox *w)
{
	size_t nr = w->stacks->nr_frames;

	fprintf(w->out, "\"frameTable\":{\"length\":%zu", nr);
	put_same(w, "address", nr, "-1");
	put_column(w, "inlineDepth", nr, put_frame_depth);
	put_column(w, "category", nr, put_frame_category);
	put_same(w, "subcategory", nr, "0");
	put_column(w, "func", nr, put_frame_function);
	put_same(w, "nativeSymbol", nr, "null");
	put_same(w, "innerWindowID", nr, "null");
	put_column(w, "line", nr, put_frame_line);
	put_same(w, "column", nr, "null");
	put_same(w, "originalLocation", nr, "null");
	fputs("},\n", w->out);
}

static const struct export_frame *frame_of(const struct firefox *w, size_t function)
{
	return &w->stacks->frames[w->frame_of[function]];
}

static void put_function_name(const struct firefox *w, size_t i)
{
	put_string_number(w, frame_of(w, i)->name);
}

static void put_function_object(const struct firefox *w, size_t i)
{
	uint32_t object = tally_find(&w->objects, tally_key(frame_of(w, i)->object), 0);

	if (object == PROFILE_NONE)
		fputs("-1", w->out);
	else
		put_number(w, object);
}

static void put_function_source(const struct firefox *w, size_t i)
{
	put_number(w, tally_find(&w->sources, tally_key(frame_of(w, i)->file), 0));
}

/* Readers take the function's line for a frame without one, so none may be without. */
static void put_function_line(const struct firefox *w, size_t i)
{
	put_line(w, w->has_lines[i] ? frame_of(w, i)->start_line : 0);
}

static void put_functions(const struct firefox *w)
{
	size_t nr = w->stacks->nr_functions;

	fprintf(w->out, "\"funcTable\":{\"length\":%zu", nr);
	put_column(w, "name", nr, put_function_name);
	put_same(w, "isJS", nr, "false");
	put_same(w, "relevantForJS", nr, "false");
	put_column(w, "resource", nr, put_function_object);
	put_column(w, "source", nr, put_function_source);
	put_column(w, "lineNumber", nr, put_function_line);
	put_same(w, "columnNumber", nr, "null");
	put_same(w, "originalLocation", nr, "null");
	fputs("},\n", w->out);
}

static void put_object_name(const struct firefox *w, size_t i)
{
	put_string_number(w, tally_string(w->objects.items[i].a));
}

static void put_objects(const struct firefox *w)
{
	size_t nr = w->objects.nr;

	fprintf(w->out, "\"resourceTable\":{\"length\":%zu", nr);
	put_same(w, "lib", nr, "null");
	put_column(w, "name", nr, put_object_name);
	put_same(w, "host", nr, "null");
	put_same(w, "type", nr, "1"); /* a library */
	fputs("},\n", w->out);
}

/* ---- sources ---- */

static void put_source_name(const struct firefox *w, size_t i)
{
	put_string_number(w, tally_string(w->sources.items[i].a));
}

/* Returns the stored text with empty lines for the others; "": left out; NULL: out of memory. */
static char *text_of(struct firefox *w, const struct profile_source *source)
{
	uint64_t line = 1;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool failed;

	if (!out)
		return NULL;
	for (size_t i = 0; i < source->nr_runs; i++) {
		const struct profile_source_run *run = &source->runs[i];

		/* Only a damaged file has runs that go back. */
		if (run->first_line < line || run->first_line > MAX_SOURCE_LINES ||
		    run->first_line - line > w->empty_left)
			continue;
		w->empty_left -= run->first_line - line;
		for (; line < run->first_line; line++)
			fputc('\n', out);
		fprintf(out, "%s\n", run->text);
		line += run->nr_lines;
	}
	failed = ferror(out);
	failed |= fclose(out) != 0;
	if (failed)
		free(take_ptr(text));
	return text;
}

/*
 * Finds the stored texts. A path of two files has none: the lines of both are merged
 * here, and no text fits all of them.
 */
static int find_texts(struct firefox *w)
{
	const struct profile *p = w->profile;

	w->texts = calloc(w->sources.nr + 1, sizeof(*w->texts));
	if (!w->texts)
		return -ENOMEM;
	for (size_t i = 0; i < p->extra.nr_sources; i++) {
		const struct profile_source *source = &p->extra.sources[i];
		uint32_t number = tally_find(&w->sources, tally_key(source->path), 0);

		if (number != PROFILE_NONE && source->nr_runs)
			w->texts[number] = source;
	}
	for (size_t i = 0; i < p->nr_namesakes; i++) {
		const char *path = strpool_add(p->pool, p->namesakes[i]);
		uint32_t number = tally_find(&w->sources, tally_key(path), 0);

		if (number != PROFILE_NONE)
			w->texts[number] = NULL;
	}
	w->empty_left = EMPTY_LINES;
	for (size_t i = 0; i < w->sources.nr; i++)
		for (size_t k = 0; w->texts[i] && k < w->texts[i]->nr_runs; k++)
			w->empty_left += EMPTY_LINES_PER_BYTE *
					 strlen(w->texts[i]->runs[k].text);
	if (w->empty_left > MAX_EMPTY_LINES)
		w->empty_left = MAX_EMPTY_LINES;
	return 0;
}

static void put_sources(struct firefox *w)
{
	size_t nr = w->sources.nr;

	fprintf(w->out, "\"sources\":{\"length\":%zu", nr);
	put_same(w, "id", nr, "null");
	put_column(w, "filename", nr, put_source_name);
	put_same(w, "startLine", nr, "1");
	put_same(w, "startColumn", nr, "1");
	put_same(w, "sourceMapURL", nr, "null");
	fputs(",\n\"content\":[", w->out);
	for (size_t i = 0; i < nr; i++) {
		_cleanup_free_ char *text = w->texts[i] ? text_of(w, w->texts[i]) : NULL;

		fputs(i ? ",\n" : "\n", w->out);
		if (text && *text)
			put_text(w, text);
		else
			fputs("null", w->out);
		if (w->texts[i] && !text)
			w->error = -ENOMEM;
	}
	fputs("]},\n", w->out);
}

/* ---- stacks and threads ---- */

static void put_node_frame(const struct firefox *w, size_t i)
{
	put_number(w, w->tree->nodes[i].frame);
}

/* Prints how far back the caller is; 0: there is none. */
static void put_node_offset(const struct firefox *w, size_t i)
{
	uint32_t parent = w->tree->nodes[i].parent;

	put_number(w, parent == PROFILE_NONE ? 0 : (uint32_t)i - parent);
}

static void put_stacks(const struct firefox *w)
{
	size_t nr = w->tree->nr_nodes;

	fprintf(w->out, "\"stackTable\":{\"length\":%zu", nr);
	put_column(w, "frame", nr, put_node_frame);
	put_column(w, "prefixOffset", nr, put_node_offset);
	fputs("},\n", w->out);
}

static void put_ms(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
}

static void put_samples(const struct firefox *w, const struct timeline *line)
{
	const struct timeline_sample *samples = line->samples;

	fprintf(w->out, "\"samples\":{\"length\":%zu,\"weightType\":\"%s\",\n\"stack\":[",
		line->nr,
		w->stacks->has_cpu                       ? "tracing-ms"
		: !strcmp(w->stacks->unit.unit, "bytes") ? "bytes"
							 : "samples");
	for (size_t i = 0; i < line->nr; i++) {
		fputs(i ? "," : "", w->out);
		put_number(w, samples[i].node);
	}
	fputs("],\n\"time\":[", w->out);
	for (size_t i = 0; i < line->nr; i++) {
		fputs(i ? "," : "", w->out);
		put_ms(w->out, samples[i].begin_ns);
	}
	fputs("],\n\"weight\":[", w->out);
	for (size_t i = 0; i < line->nr; i++) {
		fputs(i ? "," : "", w->out);
		if (w->stacks->has_cpu)
			put_ms(w->out, samples[i].value);
		else
			json_put_number(w->out, samples[i].value);
	}
	fputc(']', w->out);
	/* The CPU time since the sample before. */
	for (size_t i = 0; i < line->nr && w->stacks->has_cpu; i++) {
		fputs(i ? "," : ",\n\"threadCPUDelta\":[", w->out);
		json_put_number(w->out, i ? samples[i - 1].value : 0);
	}
	fputs(w->stacks->has_cpu ? "]}" : "}", w->out);
}

/* Each is a process of its own, because the reader has one main thread in each. */
static void put_thread(struct firefox *w, size_t i)
{
	const struct stack_group *group = &w->tree->groups[i];
	_cleanup_(timeline_deinit) struct timeline line = {0};

	if (timeline_new(w->stacks, w->tree, group, &line))
		w->error = -ENOMEM;
	fputs("{\"name\":", w->out);
	put_text(w, group->name);
	fputs(",\"processName\":", w->out);
	put_text(w, group->name);
	fprintf(w->out,
		",\"pid\":\"%zu\",\"tid\":%zu,\"isMainThread\":true,"
		"\"processType\":\"default\",\"processStartupTime\":0,"
		"\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
		"\"pausedRanges\":[],\n"
		"\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
		"\"phase\":[],\"category\":[],\"length\":0},\n",
		i + 1, i + 1);
	put_samples(w, &line);
	fputc('}', w->out);
}

/* ---- the file ---- */

static void put_times(const struct firefox *w)
{
	struct weight all = w->stacks->all;

	fputs("\"interval\":", w->out);
	put_ms(w->out,
	       w->stacks->has_cpu && all.samples ? all.cpu_ns / all.samples : 1000000);
	fputs(",\"startTime\":", w->out);
	put_ms(w->out, w->profile->time_nanos > 0 ? (uint64_t)w->profile->time_nanos : 0);
	fputs(",\"profilingStartTime\":0,\"profilingEndTime\":", w->out);
	put_ms(w->out, timeline_end_ns(w->stacks, w->tree));
}

static void put_meta(struct firefox *w)
{
	size_t nr_visible = w->tree->nr_groups;

	fputs("{\"meta\":{", w->out);
	put_times(w);
	fputs(",\n\"product\":", w->out);
	put_text(w, w->tree->title);
	fprintf(w->out,
		",\"importedFrom\":\"lineburn\",\n"
		"\"version\":%d,\"preprocessedProfileVersion\":%d,\"processType\":0,"
		"\"stackwalk\":1,\"symbolicated\":true,"
		"\"symbolicationNotSupported\":true,\"usesOnlyOneStackType\":true,"
		"\"sourceCodeIsNotOnSearchfox\":true,\"keepProfileThreadOrder\":true,"
		"\"markerSchema\":[],\"sampleUnits\":{\"time\":\"ms\","
		"\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\n"
		"\"categories\":[",
		RAW_FORMAT_VERSION, FORMAT_VERSION);
	for (size_t i = 0; i < NR_CATEGORIES; i++)
		fprintf(w->out,
			"%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":"
			"[\"Other\"]}",
			i ? "," : "", categories[i].name, categories[i].color);
	fputs("],\n\"initialSelectedThreads\":[0],\"initialVisibleThreads\":[", w->out);
	if (nr_visible > MAX_VISIBLE)
		nr_visible = MAX_VISIBLE;
	for (size_t i = 0; i < nr_visible; i++)
		fprintf(w->out, "%s%zu", i ? "," : "", i);
	fputs("]},\n", w->out);
}

static int put_file(struct firefox *w)
{
	put_meta(w);
	fputs("\"libs\":[],\n\"shared\":{\n", w->out);
	put_stacks(w);
	put_frames(w);
	put_functions(w);
	put_objects(w);
	put_sources(w);
	fputs("\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],"
	      "\"name\":[],\"functionSize\":[]},\n"
	      "\"sourceLocationTable\":{\"length\":0,\"source\":[],\"line\":[],"
	      "\"column\":[]},\n"
	      "\"stringArray\":[",
	      w->out);
	for (size_t i = 0; i < w->strings.nr; i++) {
		fputs(i ? ",\n" : "\n", w->out);
		put_text(w, tally_string(w->strings.items[i].a));
	}
	fputs("]},\n\"threads\":[", w->out);
	for (size_t i = 0; i < w->tree->nr_groups; i++) {
		fputs(i ? ",\n" : "\n", w->out);
		put_thread(w, i);
	}
	fputs("]}\n", w->out);
	return w->error;
}

/* Numbers a text and its string; "" has no number. */
static int number_text(struct firefox *w, struct tally *texts, const char *text)
{
	if (!*text)
		return 0;
	return tally_number(texts, tally_key(text), 0) == PROFILE_NONE ||
			       tally_number(&w->strings, tally_key(text), 0) ==
				       PROFILE_NONE
		       ? -ENOMEM
		       : 0;
}

static int number_all(struct firefox *w)
{
	const struct export_stacks *s = w->stacks;
	int r = 0;

	w->frame_of = calloc(s->nr_functions + 1, sizeof(*w->frame_of));
	w->has_lines = malloc(s->nr_functions + 1);
	if (!w->frame_of || !w->has_lines)
		return -ENOMEM;
	memset(w->has_lines, true, s->nr_functions);
	for (size_t i = 0; i < s->nr_frames && !r; i++) {
		const struct export_frame *f = &s->frames[i];

		w->frame_of[f->function] = (uint32_t)i;
		if (!f->line)
			w->has_lines[f->function] = false;
		r = number_text(w, &w->sources, f->file);
		if (!r)
			r = number_text(w, &w->objects, f->object);
		if (!r &&
		    tally_number(&w->strings, tally_key(f->name), 0) == PROFILE_NONE)
			r = -ENOMEM;
	}
	return r;
}

static ssize_t write_gzip(void *gzip, const char *data, size_t len)
{
	gzip_put(gzip, data, len);
	return (ssize_t)len;
}

static int write_file(struct firefox *w, FILE *out)
{
	_cleanup_(gzip_writer_deinit) struct gzip_writer gzip = {0};
	_cleanup_free_ void *data = NULL;
	size_t len;
	int r;

	w->out = fopencookie(&gzip, "w", (cookie_io_functions_t){.write = write_gzip});
	if (!w->out)
		return -ENOMEM;
	r = put_file(w);
	if (fclose(w->out))
		r = -ENOMEM;
	if (!r)
		r = gzip_take(&gzip, &data, &len);
	if (!r)
		fwrite(data, 1, len, out);
	return r;
}

int export_firefox(const struct export_input *in, FILE *out, const char **ret_note,
		   struct error *err)
{
	_cleanup_(export_stacks_freep) struct export_stacks *s = NULL;
	_cleanup_(stack_tree_freep) struct stack_tree *t = NULL;
	_cleanup_(firefox_deinit) struct firefox w = {.profile = in->profile};
	int rc = export_stacks_new(in, &s, err);

	(void)ret_note;
	if (!rc)
		rc = stack_tree_new(in, s, &t, err);
	if (rc)
		return rc;
	w.stacks = s;
	w.tree = t;
	return number_all(&w) || find_texts(&w) || write_file(&w, out)
		       ? error_set(err, -ENOMEM, "out of memory")
		       : 0;
}
