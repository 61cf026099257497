// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The CPU profile of the Chrome DevTools Protocol (type Profiler.Profile), for VS Code
 * and Chrome.
 *
 * A node is a line, not a function: VS Code shows figures at callFrame.lineNumber only,
 * and takes none from positionTicks. callFrame.lineNumber is 0-based, positionTicks.line
 * is 1-based.
 *
 * The format has one thread. So the nodes with self time stand one after the other, not
 * when they ran: node samples[i] for timeDeltas[i + 1]. The last sample is the root and
 * has no time, because some readers give the last one none.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "export/json_text.h"
#include "export/stack_tree.h"

#define ROOT_ID 1
/*
 * Of names and paths, which each node has: a small profile with deep stacks and long
 * names could fill any memory. V8, which both readers are built on, has no longer texts.
 */
#define MAX_BYTES (512u << 20)

struct cpuprofile {
	FILE *out;
	const struct export_stacks *stacks;
	const struct stack_tree *tree;
	char *call_frames; /* of all frames, as JSON; heap */
	size_t *call_frame_ends; /* by frame, into call_frames */
	uint32_t *first_child, *next_sibling; /* by node, of the same group; 0: none */
};

static void cpuprofile_deinit(struct cpuprofile *w)
{
	free(w->call_frames);
	free(w->call_frame_ends);
	free(w->first_child);
	free(w->next_sibling);
}

/* Ids of nodes: first the root, then each group, followed by its nodes. */
static size_t group_id(const struct cpuprofile *w, size_t group)
{
	return ROOT_ID + 1 + group + w->tree->groups[group].first_node;
}

static size_t node_id(const struct cpuprofile *w, size_t group, size_t node)
{
	return group_id(w, group) + 1 + node - w->tree->groups[group].first_node;
}

/* ---- frames ---- */

/*
 * Returns the URL of a file. Readers refuse an escape of what is not UTF-8. NULL: out of
 * memory.
 */
static char *url_of_path(const char *path)
{
	static const char begin[] = "file://", hex[] = "0123456789ABCDEF";
	size_t size = 3 * strlen(path) + 1; /* each bad byte becomes three */
	_cleanup_free_ char *text = malloc(size);
	char *url = malloc(sizeof(begin) + 3 * size), *to = url;

	if (!text || !url) {
		free(url);
		return NULL;
	}
	to = stpcpy(to, begin);
	for (const char *c = escape_utf8_buf(text, size, path); *c; c++) {
		if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		    (*c >= '0' && *c <= '9') || strchr("/-._~+@,=", *c)) {
			*to++ = *c;
			continue;
		}
		*to++ = '%';
		*to++ = hex[(unsigned char)*c >> 4];
		*to++ = hex[*c & 15];
	}
	*to = '\0';
	return url;
}

/*
 * Returns what is shown as the place of code without a line in a file. It must not be a
 * URL of another scheme: VS Code runs those of "command:".
 */
static char *url_of_name(const char *name)
{
	char *url = strdup(name);

	for (char *c = url; c && *c; c++)
		if (*c == ':')
			*c = '_';
	return url;
}

static int put_call_frame(FILE *out, const struct export_frame *f)
{
	/* With a file, VS Code would show code without a line at the file's first line. */
	_cleanup_free_ char *url =
		*f->file == '/' && f->line
			? url_of_path(f->file)
			: url_of_name(*f->file && f->line ? f->file : f->object);
	int r;

	if (!url)
		return -ENOMEM;
	fputs(",\"callFrame\":{\"functionName\":", out);
	r = json_put(out, f->name);
	fputs(",\"scriptId\":\"0\",\"url\":", out);
	if (!r)
		r = json_put(out, url);
	fprintf(out, ",\"lineNumber\":%" PRId64 ",\"columnNumber\":%d}",
		(int64_t)f->line - 1, f->line ? 0 : -1);
	return r;
}

/* Prepares the text of each frame, because many nodes have the same frame. */
static int print_call_frames(struct cpuprofile *w)
{
	const struct export_stacks *s = w->stacks;
	size_t len;
	FILE *out;
	bool failed;
	int r = 0;

	w->call_frame_ends = calloc(s->nr_frames + 1, sizeof(*w->call_frame_ends));
	if (!w->call_frame_ends)
		return -ENOMEM;
	out = open_memstream(&w->call_frames, &len);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < s->nr_frames && !r; i++) {
		r = put_call_frame(out, &s->frames[i]);
		w->call_frame_ends[i] = (size_t)ftell(out);
	}
	failed = ferror(out);
	failed |= fclose(out) != 0;
	return r || failed ? -ENOMEM : 0;
}

/* ---- nodes ---- */

static size_t frame_begin(const struct cpuprofile *w, uint32_t frame)
{
	return frame ? w->call_frame_ends[frame - 1] : 0;
}

static bool is_too_big(const struct cpuprofile *w)
{
	size_t bytes = 0;

	for (size_t i = 0; i < w->tree->nr_nodes && bytes <= MAX_BYTES; i++) {
		uint32_t frame = w->tree->nodes[i].frame;

		bytes += w->call_frame_ends[frame] - frame_begin(w, frame);
	}
	return bytes > MAX_BYTES;
}

static int link_children(struct cpuprofile *w)
{
	const struct stack_tree *t = w->tree;

	w->first_child = calloc(t->nr_nodes + 1, sizeof(*w->first_child));
	w->next_sibling = calloc(t->nr_nodes + 1, sizeof(*w->next_sibling));
	if (!w->first_child || !w->next_sibling)
		return -ENOMEM;
	/* Node 0 is nobody's child or sibling of an earlier node. */
	for (size_t i = t->nr_nodes; i-- > 0;) {
		uint32_t parent = t->nodes[i].parent;

		if (parent == PROFILE_NONE)
			continue;
		w->next_sibling[i] = w->first_child[parent];
		w->first_child[parent] = (uint32_t)i;
	}
	return 0;
}

static int put_made_up_node(struct cpuprofile *w, size_t id, const char *name)
{
	int r;

	fprintf(w->out, "{\"id\":%zu,\"callFrame\":{\"functionName\":", id);
	r = json_put(w->out, name);
	fputs(",\"scriptId\":\"0\",\"url\":\"\",\"lineNumber\":-1,\"columnNumber\":-1},"
	      "\"hitCount\":0,\"children\":[",
	      w->out);
	return r;
}

static void put_node(struct cpuprofile *w, size_t group, size_t i)
{
	const struct stack_node *node = &w->tree->nodes[i];
	const struct export_frame *f = &w->stacks->frames[node->frame];
	size_t begin = frame_begin(w, node->frame);

	fputs("{\"id\":", w->out);
	json_put_number(w->out, node_id(w, group, i));
	fwrite(w->call_frames + begin, 1, w->call_frame_ends[node->frame] - begin,
	       w->out);
	fputs(",\"hitCount\":", w->out);
	json_put_number(w->out, node->self.samples);
	if (f->line && node->self.samples) {
		fputs(",\"positionTicks\":[{\"line\":", w->out);
		json_put_number(w->out, f->line);
		fputs(",\"ticks\":", w->out);
		json_put_number(w->out, node->self.samples);
		fputs("}]", w->out);
	}
	if (w->first_child[i]) {
		fputs(",\"children\":[", w->out);
		for (uint32_t c = w->first_child[i]; c; c = w->next_sibling[c]) {
			json_put_number(w->out, node_id(w, group, c));
			fputs(w->next_sibling[c] ? "," : "]", w->out);
		}
	}
	fputc('}', w->out);
}

static int put_group(struct cpuprofile *w, size_t g)
{
	const struct stack_group *group = &w->tree->groups[g];
	size_t end = group->first_node + group->nr_nodes;
	const char *separator = "";
	int r = put_made_up_node(w, group_id(w, g), group->name);

	for (size_t i = group->first_node; i < end; i++) {
		if (w->tree->nodes[i].parent != PROFILE_NONE)
			continue;
		fprintf(w->out, "%s%zu", separator, node_id(w, g, i));
		separator = ",";
	}
	fputs("]}", w->out);
	for (size_t i = group->first_node; i < end; i++) {
		fputs(",\n", w->out);
		put_node(w, g, i);
	}
	return r;
}

static int put_nodes(struct cpuprofile *w)
{
	int r;

	fputs("{\"nodes\":[\n", w->out);
	r = put_made_up_node(w, ROOT_ID, "(root)");
	for (size_t g = 0; g < w->tree->nr_groups; g++)
		fprintf(w->out, "%s%zu", g ? "," : "", group_id(w, g));
	fputs("]}", w->out);
	for (size_t g = 0; g < w->tree->nr_groups && !r; g++) {
		fputs(",\n", w->out);
		r = put_group(w, g);
	}
	fputs("\n],\n", w->out);
	return r;
}

/* ---- samples ---- */

/* Writes one for each node with self time. */
static void put_samples(struct cpuprofile *w)
{
	fputs("\"samples\":[", w->out);
	for (size_t g = 0; g < w->tree->nr_groups; g++) {
		const struct stack_group *group = &w->tree->groups[g];

		for (size_t i = 0; i < group->nr_nodes; i++) {
			if (!w->tree->nodes[group->first_node + i].self.cpu_ns)
				continue;
			json_put_number(w->out, node_id(w, g, group->first_node + i));
			fputc(',', w->out);
		}
	}
	fprintf(w->out, "%d],\n", ROOT_ID);
}

/* Times are whole microseconds; rounding their sums lets no error add up. */
static void put_times(struct cpuprofile *w)
{
	uint64_t now_ns = 0, now_us = 0;

	fputs("\"timeDeltas\":[0", w->out);
	for (size_t i = 0; i < w->tree->nr_nodes; i++) {
		uint64_t begin_us = now_us;

		if (!w->tree->nodes[i].self.cpu_ns)
			continue;
		now_ns += w->tree->nodes[i].self.cpu_ns;
		now_us = now_ns / 1000 + (now_ns % 1000 >= 500);
		fputc(',', w->out);
		json_put_number(w->out, now_us - begin_us);
	}
	fprintf(w->out, "],\n\"startTime\":0,\"endTime\":%" PRIu64 "}\n", now_us);
}

int export_cpuprofile(const struct export_input *in, FILE *out, const char **ret_note,
		      struct error *err)
{
	_cleanup_(export_stacks_freep) struct export_stacks *s = NULL;
	_cleanup_(stack_tree_freep) struct stack_tree *t = NULL;
	_cleanup_(cpuprofile_deinit) struct cpuprofile w = {.out = out};
	int rc = export_stacks_new(in, &s, err);

	(void)ret_note;
	if (!rc)
		rc = stack_tree_new(in, s, &t, err);
	if (rc)
		return rc;
	if (!s->has_cpu)
		return error_set(err, -EINVAL,
				 "a .cpuprofile has times only, and this profile has no "
				 "CPU time: use another format, such as speedscope");
	w.stacks = s;
	w.tree = t;
	if (print_call_frames(&w))
		return error_set(err, -ENOMEM, "out of memory");
	if (is_too_big(&w))
		return error_set(err, -EFBIG,
				 "the .cpuprofile would have more than %u MB of names: "
				 "export the stacks of one program with --comm NAME, or "
				 "use a format that has each name once, such as "
				 "speedscope",
				 MAX_BYTES >> 20);
	if (link_children(&w) || put_nodes(&w))
		return error_set(err, -ENOMEM, "out of memory");
	put_samples(&w);
	put_times(&w);
	return 0;
}
