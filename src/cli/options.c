// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/match.h"
#include "base/vec.h"
#include "cli/option.h"
#include "cli/sampling_options.h"
#include "collect/sampler.h"
#include "export/export.h"
#include "live/history.h"
#include "render/render.h"

#define MIN_INTERVAL_S   0.2 /* of top */
#define TOP_ROWS         20
#define MAX_SOURCE_PATHS 64
#define MAX_LABELS       64

enum {
	ON_RUN = 1 << COMMAND_RUN,
	ON_RECORD = 1 << COMMAND_RECORD,
	ON_TOP = 1 << COMMAND_TOP,
	ON_ANNOTATE = 1 << COMMAND_ANNOTATE,
	ON_REPORT = 1 << COMMAND_REPORT,
	ON_DIFF = 1 << COMMAND_DIFF,
	ON_EXPORT = 1 << COMMAND_EXPORT,
	ON_HTML = 1 << COMMAND_HTML,
	ON_DOCTOR = 1 << COMMAND_DOCTOR,
	ON_PYTHON_HOOK = 1 << COMMAND_PYTHON_HOOK,
	ON_COMPLETION = 1 << COMMAND_COMPLETION,
	ON_FILES = ON_RUN | ON_RECORD, /* those that write a profile */
	ON_LASTING = ON_RECORD | ON_TOP, /* those that watch what runs already */
	ON_SAMPLING = ON_FILES | ON_TOP,
	ON_VIEW = ON_ANNOTATE | ON_REPORT,
	ON_FILTERED = ON_VIEW | ON_EXPORT | ON_HTML | ON_DIFF,
	/* run shows its result, so it accepts options of the listing, too. */
	ON_LISTING = ON_RUN | ON_VIEW,
	ON_CHARGED = ON_LISTING | ON_HTML,
	ON_ATTRIBUTED = ON_CHARGED | ON_DIFF | ON_TOP,
	ON_ALL = ON_SAMPLING | ON_FILTERED | ON_DOCTOR | ON_PYTHON_HOOK | ON_COMPLETION,
};

/* ---- viewing ---- */

/* Writes the words of an option for messages: "a, b". */
static void list_words(const char *(*word)(const char *command, size_t i),
		       const char *command, char *ret, size_t size)
{
	*ret = '\0';
	for (size_t i = 0; word(command, i); i++)
		text_append(ret, size, "%s%s", i ? ", " : "", word(command, i));
}

static const char *format_word(const char *command, size_t i)
{
	for (size_t j = 0; j < nr_render_formats; j++)
		if (!strcmp(render_formats[j].command, command) && !i--)
			return render_formats[j].name;
	return NULL;
}

static int parse_format(struct options *o, const struct option_row *row, const char *arg,
			struct error *err)
{
	const char *command = o->command == COMMAND_DIFF ? "diff"
			      : o->viewing.is_report     ? "report"
							 : "annotate";
	const struct render_format *format = render_format_find(command, arg);
	char names[128];

	list_words(row->word, command, names, sizeof(names));
	if (!format)
		return usage(err, "%s has the formats %s, not \"%s\"", command, names,
			     arg);
	o->viewing.format = format->name;
	return 0;
}

static int parse_json(struct options *o, const struct option_row *row, const char *arg,
		      struct error *err)
{
	(void)row;
	(void)arg;
	(void)err;
	o->viewing.format = "json";
	return 0;
}

static int parse_source_path(struct options *o, const struct option_row *row,
			     const char *arg, struct error *err)
{
	struct viewing *v = &o->viewing;
	char *copy, *equals;

	if (!strchr(arg, '=') || *arg == '=')
		return option_refuse(row, arg, err);
	copy = strdup(arg);
	if (!copy ||
	    vec_grow(&v->source_paths, &v->cap_source_paths, v->nr_source_paths + 1,
		     sizeof(*v->source_paths), MAX_SOURCE_PATHS)) {
		free(copy);
		return option_refuse_more(row, MAX_SOURCE_PATHS, arg, err);
	}
	equals = strchr(copy, '=');
	*equals = '\0';
	v->source_paths[v->nr_source_paths++] =
		(struct source_path_rule){.old_prefix = copy, .new_prefix = equals + 1};
	return 0;
}

static int parse_asm(struct options *o, const struct option_row *row, const char *arg,
		     struct error *err)
{
	if (arg && !*arg)
		return option_refuse(row, arg, err);
	o->viewing.show_asm = true;
	o->viewing.asm_what = arg;
	return 0;
}

/* row->kind: enum call_direction */
static int parse_call_tree(struct options *o, const struct option_row *row,
			   const char *arg, struct error *err)
{
	enum call_direction direction = (enum call_direction)row->kind;

	if (arg && !*arg)
		return option_refuse(row, arg, err);
	if (o->viewing.call_direction && o->viewing.call_direction != direction)
		return usage(err, "--callers and --callees exclude each other");
	o->viewing.call_direction = direction;
	o->viewing.call_what = arg;
	return 0;
}

/* row->kind: enum filter_kind */
static int parse_filter(struct options *o, const struct option_row *row, const char *arg,
			struct error *err)
{
	enum filter_kind kind = (enum filter_kind)row->kind;
	bool is_number = kind == FILTER_PID || kind == FILTER_THREAD;
	bool exclude = *arg == '!';
	const char *value = arg + exclude;
	struct viewing *v = &o->viewing;

	if (!*value || (is_number && strcmp(value, "-") != 0 && !option_id(value)))
		return usage(err,
			     "--%s takes %s (\"!\" in front excludes it), not \"%s\"",
			     row->name, row->takes, arg);
	if (vec_grow(&v->filters, &v->cap_filters, v->nr_filters + 1, sizeof(*v->filters),
		     FILTER_MAX_FILTERS))
		return usage(err,
			     "%d of --container, --unit and so on can be given "
			     "at most, the next one was \"%s\"",
			     FILTER_MAX_FILTERS, arg);
	v->filters[v->nr_filters++] =
		(struct profile_filter){.kind = kind, .exclude = exclude, .value = value};
	return 0;
}

static int parse_group_by(struct options *o, const struct option_row *row,
			  const char *arg, struct error *err)
{
	struct viewing *v = &o->viewing;

	if (!*arg)
		return option_refuse(row, arg, err);
	v->group_by = GROUP_BY_LABEL;
	v->group_label = arg;
	for (int by = GROUP_BY_NOTHING + 1; by < GROUP_BY_LABEL; by++)
		if (!strcmp(group_by_names[by], arg)) {
			v->group_by = (enum group_by)by;
			v->group_label = NULL;
		}
	return 0;
}

/* row->kind: enum frame_filter_kind */
static int parse_frame_filter(struct options *o, const struct option_row *row,
			      const char *arg, struct error *err)
{
	struct viewing *v = &o->viewing;

	if (!*arg)
		return option_refuse(row, arg, err);
	if (vec_grow(&v->frame_filters, &v->cap_frame_filters, v->nr_frame_filters + 1,
		     sizeof(*v->frame_filters), FILTER_MAX_FILTERS))
		return option_refuse_more(row, FILTER_MAX_FILTERS, arg, err);
	v->frame_filters[v->nr_frame_filters++] = (struct frame_filter){
		.kind = (enum frame_filter_kind)row->kind, .regex = arg};
	return frame_filter_check(arg, row->name, err);
}

static int parse_time(struct options *o, const struct option_row *row, const char *arg,
		      struct error *err)
{
	if (!time_range_parse(arg, &o->viewing.time))
		return option_refuse(row, arg, err);
	o->viewing.time_text = arg;
	return 0;
}

/*
 * "annotate --asm dither": is the argument a profile or what to show? A profile is
 * gzipped or has a profile's file name; "./main" may be a program with a function main.
 */
static bool is_profile(const char *arg)
{
	static const char *const suffixes[] = {".pb.gz", ".pb", ".pprof", ".prof"};
	unsigned char magic[2];
	_cleanup_close_ int fd = -1;

	if (!strcmp(arg, "-"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (match_ends(arg, suffixes[i]) && strcmp(arg, suffixes[i]) != 0)
			return true;
	fd = open(arg, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	       magic[0] == 0x1f && magic[1] == 0x8b;
}

/*
 * Takes the profile and, after --asm or --callers without argument, what to show, in
 * any order.
 */
static void take_view_arguments(int argc, char **argv, struct viewing *v)
{
	const char **what = v->show_asm ? &v->asm_what : &v->call_what;
	bool takes_what = (v->show_asm || v->call_direction) && !*what;

	for (int nr = 0; optind < argc && nr < 2; nr++) {
		const char *arg = argv[optind];

		if (takes_what && (v->input_given || !is_profile(arg))) {
			*what = arg;
			takes_what = false;
		} else if (!v->input_given) {
			v->input = arg;
			v->input_given = true;
		} else {
			return;
		}
		optind++;
	}
}

/* Rejects options that the format does not support. */
static int check_format(const struct viewing *v, struct error *err)
{
	const struct render_format *format = viewing_format(v);
	const struct {
		bool is_asked;
		enum render_need need;
		const char *option;
	} parts[] = {
		{v->show_asm, RENDER_CODE, "--asm"},
		{v->call_direction == CALL_CALLERS, RENDER_CALL_TREE, "--callers"},
		{v->call_direction == CALL_CALLEES, RENDER_CALL_TREE, "--callees"},
		{v->group_by, RENDER_GROUPS, "--by"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].is_asked && !(format->needs & parts[i].need))
			return usage(err,
				     "--format %s does not show %s; take "
				     "--format text or --format json",
				     format->name, parts[i].option);
	return 0;
}

static int check_view(const struct viewing *v, struct error *err)
{
	if (v->group_by && (v->call_direction || v->show_types))
		return usage(err,
			     "--by and %s exclude each other: groups have no "
			     "functions",
			     v->call_direction == CALL_CALLERS   ? "--callers"
			     : v->call_direction == CALL_CALLEES ? "--callees"
								 : "--types");
	if (v->limit && v->show_asm && !strcmp(v->format, "text"))
		return usage(err, "--limit and --asm exclude each other in text: --asm "
				  "FILE:LINE, or --context 0, shows fewer instructions");
	return check_format(v, err);
}

/* ---- diff ---- */

static int parse_limit(struct options *o, const struct option_row *row, const char *arg,
		       struct error *err)
{
	o->comparing.limit_given = true;
	return parse_number(o, row, arg, err);
}

static int parse_rule(struct options *o, const struct option_row *row, const char *arg,
		      struct error *err)
{
	struct comparing *c = &o->comparing;

	if (vec_grow(&c->rules, &c->cap_rules, c->nr_rules + 1, sizeof(*c->rules),
		     DIFF_MAX_RULES))
		return option_refuse_more(row, DIFF_MAX_RULES, arg, err);
	if (diff_rule_parse(arg, &c->rules[c->nr_rules]))
		return option_refuse(row, arg, err);
	c->nr_rules++;
	return 0;
}

static int check_diff(struct options *o, struct error *err)
{
	const char *output = o->exporting.output;

	if (comparing_check(&o->comparing, err))
		return -EINVAL;
	if (!o->viewing.format)
		o->viewing.format = render_format_of_output("diff", output);
	if (o->open_page &&
	    (strcmp(o->viewing.format, "html") != 0 || !strcmp(output, "-")))
		return usage(err, "--open needs a page to open: give -o NAME.html");
	return 0;
}

static int parse_per(struct options *o, const struct option_row *row, const char *arg,
		     struct error *err)
{
	return comparing_set_per(&o->comparing, arg) ? option_refuse(row, arg, err) : 0;
}

/* ---- export ---- */

/*
 * Listings of annotate are formats of export, too, but for the text, which is for a
 * terminal.
 */
static const struct {
	const char *name, *suffix;
} listings[] = {
	{"csv", ".csv"},
	{"html", ".html"},
	{"json", ".json"},
	{"quickfix", ".qf"},
};

static const char *export_word(const char *command, size_t i)
{
	(void)command;
	if (i < nr_export_formats)
		return export_formats[i].name;
	i -= nr_export_formats;
	return i < ARRAY_SIZE(listings) ? listings[i].name : NULL;
}

static void set_listing(struct options *o, const char *name)
{
	o->exporting.listing = render_format_find("annotate", name);
	o->viewing.format = name;
}

static int parse_export_format(struct options *o, const struct option_row *row,
			       const char *arg, struct error *err)
{
	char names[256];

	o->exporting.format = export_format_find(arg);
	o->exporting.listing = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(listings); i++)
		if (!strcmp(arg, listings[i].name))
			set_listing(o, listings[i].name);
	if (o->exporting.format || o->exporting.listing)
		return 0;
	list_words(row->word, NULL, names, sizeof(names));
	return usage(err, "export has the formats %s, not \"%s\"", names, arg);
}

static int parse_export_output(struct options *o, const struct option_row *row,
			       const char *arg, struct error *err)
{
	if (!*arg)
		return option_refuse(row, arg, err);
	o->exporting.output = arg;
	return 0;
}

/* Splits "pid,tid"; "none" is no label. */
static int parse_labels(struct options *o, const struct option_row *row, const char *arg,
			struct error *err)
{
	struct exporting *e = &o->exporting;
	bool is_none = !strcmp(arg, "none");
	char *rest, *name;

	free(e->labels_text);
	e->labels_text = rest = strdup(arg);
	e->nr_labels = 0;
	while (rest && (name = strsep(&rest, ","))) {
		if (vec_grow(&e->labels, &e->cap_labels, e->nr_labels + 1,
			     sizeof(*e->labels), MAX_LABELS))
			return usage(err, "--labels takes %d names at most", MAX_LABELS);
		if (!*name)
			return option_refuse(row, arg, err);
		if (!is_none)
			e->labels[e->nr_labels++] = name;
	}
	return 0;
}

/* Without -f the name of the output tells the format. */
static int find_export_format(struct options *o, struct error *err)
{
	struct exporting *e = &o->exporting;
	char names[256];

	e->format = export_format_of_file(e->output);
	for (size_t i = 0; !e->format && i < ARRAY_SIZE(listings); i++)
		if (match_ends(e->output, listings[i].suffix))
			set_listing(o, listings[i].name);
	if (e->format || e->listing)
		return 0;
	list_words(export_word, NULL, names, sizeof(names));
	if (!strcmp(e->output, "-"))
		return usage(err, "export needs a format: -f NAME, one of %s", names);
	return usage(err,
		     "the name \"%s\" does not tell a format of export: add -f NAME, one "
		     "of %s",
		     e->output, names);
}

static int check_export(struct options *o, struct error *err)
{
	const struct exporting *e = &o->exporting;

	if (!e->format && !e->listing && find_export_format(o, err))
		return -EINVAL;
	if (e->labels && !(e->format && e->format->labels))
		return usage(err, "the format %s takes no --labels: leave it out",
			     e->format ? e->format->name : e->listing->name);
	return 0;
}

/* ---- top ---- */

/* Without a target top shows the whole machine. */
static int check_top(struct options *o, struct error *err)
{
	struct target_request *t = &o->sampling.target;
	struct top_options *top = &o->top;

	if (top->interval_s < MIN_INTERVAL_S)
		return usage(err, "-i takes seconds from %g to 3600", MIN_INTERVAL_S);
	if (top->last_s < top->interval_s)
		return usage(err,
			     "--last %g is shorter than the time between two updates, "
			     "%g s (-i)",
			     top->last_s, top->interval_s);
	if (top->last_s > top->interval_s * HISTORY_MAX_WINDOWS)
		return usage(err,
			     "--last %g is longer than %d updates every %g s: raise -i",
			     top->last_s, HISTORY_MAX_WINDOWS, top->interval_s);
	if (!top->is_batch && top->nr_updates)
		return usage(err, "-n goes with -b");
	top->attribution = o->viewing.attribution;
	o->sampling.window_s = top->interval_s;
	if (!t->nr_pids && !t->nr_values)
		t->whole_machine = true;
	return sampling_check_target(t, err);
}

/* ---- other commands ---- */

/* row->kind: enum python_hook_action */
static int parse_python_hook(struct options *o, const struct option_row *row,
			     const char *arg, struct error *err)
{
	if (o->python_hook_action)
		return usage(err,
			     "python-hook takes one of --install, --remove and --path");
	o->python_hook_action = (enum python_hook_action)row->kind;
	o->python_prefix = arg;
	return 0;
}

static int parse_verbose(struct options *o, const struct option_row *row, const char *arg,
			 struct error *err)
{
	(void)row;
	(void)arg;
	(void)err;
	o->verbose++;
	return 0;
}

static int parse_help(struct options *o, const struct option_row *row, const char *arg,
		      struct error *err)
{
	(void)row;
	(void)arg;
	(void)err;
	o->help_for = o->command;
	o->command = COMMAND_HELP;
	return 0;
}

/* ---- the table ---- */

static const char *const charge_words[] = {"line", "mine", "leaf"};
static const char *const colour_words[] = {"auto", "always", "never"};
static const char *const dump_words[] = {"", "samples", "maps", "frames"};

#define MEMBER(member) .at = offsetof(struct options, member)

const struct option_row option_rows[] = {
	{"event", 'e', "EVENT", ON_FILES, parse_event,
	 .help = "what is sampled: cpu-clock (default), or page-faults",
	 "cpu-clock or page-faults", MEMBER(sampling), .word = sampling_event_word},
	{"count", 'c', "N", ON_FILES, parse_number,
	 .help = "with -e page-faults: one sample for each N of them (default 1)",
	 "events a sample from 1 to 1000000000", MEMBER(sampling.event_period), .min = 1,
	 .max = 1000000000},
	{"frequency", 'F', "HZ", ON_SAMPLING, parse_number,
	 .help = "samples a second on each CPU, 1 to 10000 (default 99)",
	 "samples a second from 1 to 10000", MEMBER(sampling.freq_hz), .min = 1,
	 .max = SAMPLER_MAX_HZ},
	{"budget", 0, "PERCENT", ON_SAMPLING, parse_budget,
	 .help = "lower the rate while sampling costs more than this share of all CPUs' "
		 "time, as 0.5%",
	 "percent of the CPU time from 0.001% to 100%", MEMBER(sampling)},
	{"pid", 'p', "PID", ON_LASTING, parse_target,
	 .help = "this process with its threads and children; -p to --user may be "
		 "repeated",
	 "a process id", MEMBER(sampling.target), .kind = LB_FILTER_PROCESS},
	{"no-children", 0, NULL, ON_SAMPLING, parse_flag,
	 .help = "leave out processes that the process, or the command, starts",
	 MEMBER(sampling.target.no_children)},
	{"thread", 't', "TID", ON_LASTING, parse_target, .help = "this thread",
	 "a thread id", MEMBER(sampling.target), .kind = LB_FILTER_THREAD},
	{"cgroup", 'G', "CGROUP", ON_LASTING, parse_target,
	 .help = "processes in this cgroup and in those below it, as they come and go",
	 "the path of a cgroup", MEMBER(sampling.target), .kind = LB_FILTER_CGROUP},
	{"container", 0, "NAME", ON_LASTING, parse_target,
	 .help = "processes of this container, by name or by the beginning of its id",
	 "a name, or the first 4 or more digits of an id", MEMBER(sampling.target),
	 .kind = LB_FILTER_CONTAINER},
	{"unit", 0, "NAME", ON_LASTING, parse_target,
	 .help = "processes of this service or scope of systemd",
	 "the name of a unit of systemd", MEMBER(sampling.target),
	 .kind = LB_FILTER_UNIT},
	{"comm", 0, "GLOB", ON_SAMPLING, parse_target,
	 .help = "threads whose name matches, as \"python*\"",
	 "a pattern of thread names", MEMBER(sampling.target), .kind = LB_FILTER_COMM},
	{"user", 0, "NAME", ON_LASTING, parse_target,
	 .help = "processes that run as this user, by name or number",
	 "a user's name or number", MEMBER(sampling.target), .kind = LB_FILTER_USER},
	{"all", 'a', NULL, ON_LASTING, parse_flag,
	 .help = "every process of the machine; '!' before a value of an option above "
		 "excludes it",
	 MEMBER(sampling.target.whole_machine)},
	{"duration", 'd', "SECONDS", ON_LASTING, parse_seconds,
	 .help = "how long to record (default, and 0: until Ctrl-C)",
	 "seconds from 0 to 10000000", MEMBER(sampling.duration_s), .max = MAX_SECONDS},
	{"window", 0, "TIME", ON_RECORD, parse_window,
	 .help = "begin a new file at this interval, with the time in its name: 60s, 5m, "
		 "1h",
	 "a time from 0.1 s on, such as 60s, 5m or 1h", MEMBER(sampling)},
	{"interval", 'i', "SECONDS", ON_TOP, parse_seconds,
	 .help = "time between two updates (default 2)", "seconds from 0.2 to 3600",
	 MEMBER(top.interval_s), .max = 3600},
	{"last", 0, "SECONDS", ON_TOP, parse_seconds,
	 .help = "the figures are of so many last seconds (default 10)",
	 "seconds from 0.2 to 3600", MEMBER(top.last_s), .max = 3600},
	{"batch", 'b', NULL, ON_TOP, parse_flag,
	 .help = "print tables to stdout, in place of a screen", MEMBER(top.is_batch)},
	{"updates", 'n', "N", ON_TOP, parse_number, .help = "with -b: end after N tables",
	 "a number of tables from 1 to 1000000", MEMBER(top.nr_updates), .min = 1,
	 .max = 1000000},
	{"by", 0, "WHAT", ON_TOP, parse_word,
	 .help = "what is shown first: lines (default), functions, processes or "
		 "containers",
	 "lines, functions, processes or containers", MEMBER(top.view),
	 .words = board_view_names, .max = BOARD_CONTAINERS},
	{"limit", 0, "N", ON_TOP, parse_number,
	 .help = "with -b: rows of a table (default 20); 0: all",
	 "a number of rows from 0 to 1000", MEMBER(top.nr_rows), .max = BOARD_MAX_ROWS},
	{"keep", 0, "N", ON_RECORD, parse_number,
	 .help = "keep only the files of the newest N windows",
	 "a number of windows from 1 to 1000000", MEMBER(sampling.keep_windows), .min = 1,
	 .max = 1000000},
	{"max-size", 0, "BYTES", ON_RECORD, parse_max_size,
	 .help = "keep only the newest files of windows, up to this size in all: 500M, "
		 "2G",
	 "bytes, such as 500M or 2G", MEMBER(sampling)},
	{"group-read", 0, NULL, ON_RECORD, parse_flag,
	 .help = "files of windows can be read by the group of this process",
	 MEMBER(sampling.group_reads)},
	{"memory", 0, "MIB", ON_LASTING, parse_mib,
	 .help = "limit of resident memory (default, without -d: 256); at the limit "
		 "record begins a new file",
	 "MiB from 64 to 65536", MEMBER(sampling.memory_bytes), .min = 64, .max = 65536},
	{"delay", 0, "SECONDS", ON_SAMPLING, parse_seconds,
	 .help = "start sampling this much later", "seconds from 0 to 10000000",
	 MEMBER(sampling.delay_s), .max = MAX_SECONDS},
	{"ready-fd", 0, "N", ON_RECORD, parse_ready_fd,
	 .help = "write a line to this descriptor, and close it, when sampling begins",
	 "the number of an open descriptor above 2", MEMBER(sampling.ready_fd), .min = 3,
	 .max = INT_MAX},
	{"output", 'o', "FILE", ON_FILES, parse_output,
	 .help = "where to write the profile (default lineburn.pb.gz); NAME.html: a "
		 "page, "
		 "and NAME.pb.gz",
	 "a file name", MEMBER(sampling)},
	{"tid", 0, NULL, ON_SAMPLING, parse_flag, .help = "tell threads apart",
	 MEMBER(sampling.keep_tid)},
	{"uprobe", 0, NULL, ON_SAMPLING, parse_value,
	 .help = "probe JITs of every process: other processes can then hold up all "
		 "forks (see the manual)",
	 MEMBER(uprobe), .kind = UPROBE_ALL},
	{"no-uprobe", 0, NULL, ON_SAMPLING, parse_value,
	 .help = "do not probe JITs: read their lists of registered code", MEMBER(uprobe),
	 .kind = UPROBE_NONE},
	{"max-frames", 0, "N", ON_SAMPLING, parse_number,
	 .help = "frames of a user stack that are walked, 1 to 512 (default 512)",
	 "frames of a user stack from 1 to 512", MEMBER(sampling.max_frames), .min = 1,
	 .max = LB_MAX_FRAMES},
	{"unwind-memory", 0, "MIB", ON_SAMPLING, parse_mib,
	 .help = "limit of kernel memory for unwind tables (default 64)",
	 "MiB from 1 to 1024", MEMBER(sampling.unwind_bytes), .min = 1, .max = 1024},
	{"no-kernel-stack", 0, NULL, ON_SAMPLING, parse_flag,
	 .help = "keep only the innermost kernel function of a sample",
	 MEMBER(sampling.no_kernel_stack)},
	{"dry-run", 0, NULL, ON_FILES, parse_flag,
	 .help = "load and attach everything, then stop; run does not start the command",
	 MEMBER(sampling.dry_run)},
	{"no-python-hook", 0, NULL, ON_RUN, parse_flag,
	 .help = "leave Pythons as they are: Numba's code has names, but no lines",
	 MEMBER(sampling.no_python_hook)},
	{"install", 0, "VENV", ON_PYTHON_HOOK, parse_python_hook,
	 .help = "put the hook into this virtual environment",
	 .kind = PYTHON_HOOK_INSTALL},
	{"remove", 0, "VENV", ON_PYTHON_HOOK, parse_python_hook,
	 .help = "take it out again", .kind = PYTHON_HOOK_REMOVE},
	{"path", 0, NULL, ON_PYTHON_HOOK, parse_python_hook,
	 .help = "install nothing: print the folder that PYTHONPATH has to begin with",
	 .kind = PYTHON_HOOK_PATH},
	{"cache-dir", 0, "DIR", ON_PYTHON_HOOK, parse_text,
	 .help = "where the installed hook keeps compiled functions (default: beside "
		 "Numba's "
		 "own)",
	 MEMBER(python_cache_dir)},
	{"dump", 0, "WHAT", ON_FILES, parse_word,
	 .help = "print what passes between the stages: samples, maps or frames",
	 "samples, maps or frames", MEMBER(sampling.dump), .words = dump_words,
	 .min = DUMP_SAMPLES, .max = DUMP_FRAMES},
	{"format", 0, "NAME", ON_VIEW, parse_format,
	 .help = "how to print: text (default), json, csv; annotate: quickfix, html, "
		 "too; see "
		 "docs/formats.md",
	 .word = format_word},
	{"format", 'f', "NAME", ON_EXPORT, parse_export_format,
	 .help = "the format, see docs/formats.md (default: as the name of the output "
		 "tells)",
	 .word = export_word},
	{"output", 'o', "FILE", ON_EXPORT, parse_export_output,
	 .help = "where to write the export (default: stdout)", "a file name"},
	{"output", 'o', "FILE", ON_HTML, parse_export_output,
	 .help = "where to write the page (default lineburn.html)", "a file name"},
	{"output", 'o', "FILE", ON_DIFF, parse_export_output,
	 .help = "where to write the comparison (default: stdout); NAME.html: a page for "
		 "a browser",
	 "a file name"},
	{"open", 0, NULL, ON_FILES | ON_HTML | ON_DIFF, parse_flag,
	 .help = "open the page in a browser, as the user who called sudo",
	 MEMBER(open_page)},
	{"labels", 0, "NAMES", ON_EXPORT, parse_labels,
	 .help = "labels of samples to keep, as pid,tid (default: by format); none: no "
		 "label",
	 "names of labels with commas between them, or none"},
	{"format", 0, "NAME", ON_DIFF, parse_format,
	 .help = "text (default), json, github: notices at the lines of a pull "
		 "request, or html: a page for a browser",
	 .word = format_word},
	{"after", 0, NULL, ON_DIFF, parse_flag,
	 .help = "the recordings behind it are those after; several of a side tell how "
		 "much runs differ",
	 MEMBER(comparing.after_given)},
	{"per", 0, "WHAT", ON_DIFF, parse_per,
	 .help = "compare CPU per run, second or sample, or per unit of work: "
		 "before=255,after=758 (default: run; second for what record recorded)",
	 "run, second, sample, or before=N,after=M"},
	{"moved", 0, "OLD=NEW", ON_DIFF, parse_source_path,
	 .help = "the file or folder OLD is NEW after; may be repeated",
	 "OLD=NEW, two paths"},
	{"noise", 0, "PERCENT", ON_DIFF, parse_percent,
	 .help = "what runs of one program differ by, where each side has one recording "
		 "(default 1)",
	 "a percentage from 0 to 100", MEMBER(comparing.noise), .max = 100},
	{"fail-if", 0, "RULE", ON_DIFF, parse_rule,
	 .help = "exit with status 5 if that grew: \"file.py:func +10%\", \"func +10%\", "
		 "\"file.py:17 +5%\", \"total +10%\"; may be repeated",
	 "a function, FILE:FUNCTION, FILE:LINE or total, a space and a limit, as in "
	 "\"total "
	 "+10%\""},
	{"limit", 0, "N", ON_DIFF, parse_limit,
	 .help = "lines and functions listed at most (default: 20 as text, all as json, "
		 "3000 as html); 0: all",
	 "a number of rows from 0 to 1000000", MEMBER(comparing.limit), .max = 1000000},
	{"json", 0, NULL, ON_VIEW | ON_DIFF | ON_DOCTOR, parse_json,
	 .help = "print JSON (docs/formats.md)"},
	{"fix", 0, NULL, ON_DOCTOR, parse_flag,
	 .help = "print the steps after which a group records without root, and what "
		 "each "
		 "opens",
	 MEMBER(fix)},
	{"yes", 0, NULL, ON_DOCTOR, parse_flag, .help = "make the steps of --fix",
	 MEMBER(agreed)},
	{"charge", 0, "WHAT", ON_ATTRIBUTED, parse_word,
	 .help = "what a sample is charged to: line, the innermost frame with a line "
		 "(default); mine, the same outside of libraries; leaf, strictly the "
		 "innermost frame",
	 "line, mine or leaf", MEMBER(viewing.attribution.charge), .words = charge_words,
	 .max = CHARGE_LEAF},
	{"leaf", 0, NULL, ON_ATTRIBUTED, parse_value, .help = "the same as --charge=leaf",
	 MEMBER(viewing.attribution.charge), .kind = CHARGE_LEAF},
	{"kernel", 0, NULL, ON_ATTRIBUTED, parse_flag, .help = "charge kernel frames too",
	 MEMBER(viewing.attribution.kernel)},
	{"runtime", 0, NULL, ON_ATTRIBUTED, parse_flag,
	 .help = "charge the C code of interpreters and the C library too",
	 MEMBER(viewing.attribution.runtime)},
	{"skip-compile", 0, NULL, ON_CHARGED | ON_DIFF, parse_flag,
	 .help = "leave out what a Python program spends on imports and Numba's compiler",
	 MEMBER(viewing.skip_compile)},
	{"source-path", 0, "OLD=NEW", ON_CHARGED, parse_source_path,
	 .help = "look for sources below NEW where the debug info says OLD; may be "
		 "repeated",
	 "OLD=NEW, two path prefixes"},
	{"sources", 0, NULL, ON_VIEW | ON_HTML, parse_flag,
	 .help = "open the sources and binaries that a profile names, even if the "
		 "profile is not yours; as root also those that not every user may read",
	 MEMBER(viewing.open_sources)},
	{"context", 0, "N", ON_RUN | ON_ANNOTATE, parse_number,
	 .help = "source lines shown around a hot one (default 2)",
	 "a number of lines from 0 to 1000", MEMBER(viewing.context), .max = 1000},
	{"min-percent", 0, "P", ON_LISTING, parse_percent,
	 .help = "leave out lines and functions below this share (default 0.5)",
	 "a percentage from 0 to 100", MEMBER(viewing.min_share), .max = 100},
	{"limit", 0, "N", ON_LISTING, parse_number,
	 .help = "only the N hottest: lines of all files, functions, groups or calls",
	 "a number from 1 to 1000000000", MEMBER(viewing.limit), .min = 1,
	 .max = 1000000000},
	{"file", 0, "SUFFIX", ON_RUN | ON_ANNOTATE, parse_text,
	 .help = "only source files whose path ends in SUFFIX",
	 MEMBER(viewing.file_filter)},
	{"asm", 0, "[=WHAT]", ON_ANNOTATE, parse_asm,
	 .help = "instructions of a function or of FILE:LINE (default: the hottest "
		 "function)",
	 "a function or FILE:LINE"},
	{"callers", 0, "[=WHAT]", ON_REPORT, parse_call_tree,
	 .help = "who calls a function or FILE:LINE (default: the hottest functions)",
	 "a function or FILE:LINE", .kind = CALL_CALLERS},
	{"callees", 0, "[=WHAT]", ON_REPORT, parse_call_tree,
	 .help = "what a function or FILE:LINE calls (default: from the outermost "
		 "functions)",
	 "a function or FILE:LINE", .kind = CALL_CALLEES},
	{"depth", 0, "N", ON_REPORT, parse_number,
	 .help = "how many calls --callers and --callees go, 1 to 1000 (default 100)",
	 "a number of calls from 1 to 1000", MEMBER(viewing.call_depth), .min = 1,
	 .max = CALL_TREE_MAX_DEPTH},
	{"by", 0, "WHAT", ON_REPORT, parse_group_by,
	 .help = "a table by container, unit, pod, process, thread, comm, user, "
		 "cgroup, phase or the name of another label",
	 "container, unit, pod, process, thread, comm, user, cgroup, phase or a label",
	 .words = group_by_names, .min = GROUP_BY_NOTHING + 1, .max = GROUP_BY_PHASE},
	{"container", 0, "ID|NAME", ON_FILTERED, parse_filter,
	 .help = "only samples of this container; this and the next seven options may be "
		 "repeated; \"!\" in front excludes, \"-\" selects samples without one",
	 "a container's name or the start of its id", .kind = FILTER_CONTAINER},
	{"unit", 0, "NAME", ON_FILTERED, parse_filter,
	 .help = "only samples of this systemd service or scope",
	 "the name of a systemd unit", .kind = FILTER_UNIT},
	{"pod", 0, "UID", ON_FILTERED, parse_filter,
	 .help = "only samples of this Kubernetes pod", "a pod's uid or its start",
	 .kind = FILTER_POD},
	{"pid", 'p', "PID", ON_FILTERED, parse_filter,
	 .help = "only samples of this process", "a process id", .kind = FILTER_PID},
	{"thread", 't', "TID", ON_FILTERED, parse_filter,
	 .help = "only samples of this thread", "a thread id", .kind = FILTER_THREAD},
	{"comm", 0, "GLOB", ON_FILTERED, parse_filter,
	 .help = "only samples of commands whose name matches",
	 "a pattern of commands' names", .kind = FILTER_COMM},
	{"user", 0, "NAME", ON_FILTERED, parse_filter,
	 .help = "only samples of this user", "a user's name or number",
	 .kind = FILTER_USER},
	{"cgroup", 'G', "PATH", ON_FILTERED, parse_filter,
	 .help = "only samples of this cgroup and those below it", "the path of a cgroup",
	 .kind = FILTER_CGROUP},
	{"time", 0, "FROM-TO", ON_FILTERED, parse_time,
	 .help = "only samples of this time: seconds from the start, as 2-5 or 2.5-",
	 "seconds from the start, such as 2-5, 2.5- or -5"},
	{"focus", 0, "REGEX", ON_FILTERED, parse_frame_filter,
	 .help = "only samples with a frame whose function, file or object matches; may "
		 "be repeated, as the next two",
	 "a regular expression", .kind = FRAME_FOCUS},
	{"ignore", 0, "REGEX", ON_FILTERED, parse_frame_filter,
	 .help = "no samples with such a frame", "a regular expression",
	 .kind = FRAME_IGNORE},
	{"hide", 0, "REGEX", ON_FILTERED, parse_frame_filter,
	 .help = "take such frames out of the stacks: their self becomes their callers'",
	 "a regular expression", .kind = FRAME_HIDE},
	{"types", 0, NULL, ON_VIEW | ON_DIFF | ON_HTML, parse_flag,
	 .help = "tell specialisations of a function apart, by their types",
	 MEMBER(viewing.show_types)},
	{"color", 0, "WHEN", ON_LISTING | ON_DIFF, parse_word,
	 .help = "use colours: auto (default: on a terminal), always or never",
	 "auto, always or never", MEMBER(viewing.colour), .words = colour_words,
	 .max = COLOUR_NEVER},
	{"no-pager", 0, NULL, ON_LISTING, parse_flag,
	 .help = "print to a terminal at once, not through $PAGER or less",
	 MEMBER(viewing.no_pager)},
	{"verbose", 'v', NULL, ON_ALL, parse_verbose,
	 .help = "say what is done; -vv: every path that is tried"},
	{"help", 'h', NULL, ON_ALL, parse_help, .help = "print this help"},
	{.name = NULL},
};

const char *const shell_names[] = {
	[SHELL_BASH] = "bash", [SHELL_ZSH] = "zsh", [SHELL_FISH] = "fish"};
_Static_assert(ARRAY_SIZE(shell_names) == NR_SHELLS, "one for each");

const struct command_row command_rows[] = {
	{COMMAND_RUN, "run", "run [OPTIONS] [--] CMD [ARG...]",
	 "profile a command and its children, then print its hot lines", TAKES_COMMAND},
	{COMMAND_RECORD, "record",
	 "record [OPTIONS] -p PID | --container NAME | ... | -a",
	 "profile running processes, or the whole machine, into a file", TAKES_NOTHING},
	{COMMAND_TOP, "top", "top [OPTIONS] [-p PID | --container NAME | ... | -a]",
	 "watch hot lines, functions, processes and containers as they run",
	 TAKES_NOTHING},
	{COMMAND_ANNOTATE, "annotate", "annotate [OPTIONS] [FILE|-]",
	 "print hot lines within their source", TAKES_PROFILES},
	{COMMAND_REPORT, "report", "report [OPTIONS] [FILE|-]", "print hot functions",
	 TAKES_PROFILES},
	{COMMAND_DIFF, "diff", "diff [OPTIONS] BEFORE AFTER | BEFORE... --after AFTER...",
	 "compare recordings: what changed, line by line, beyond chance", TAKES_PROFILES},
	{COMMAND_EXPORT, "export", "export [-f FORMAT] [-o OUTPUT] [OPTIONS] [FILE|-]",
	 "write a recording for other tools", TAKES_PROFILES},
	{COMMAND_HTML, "html", "html [-o OUTPUT] [OPTIONS] [FILE|-]",
	 "write a recording as a page for a browser", TAKES_PROFILES},
	{COMMAND_DOCTOR, "doctor", "doctor [OPTIONS]",
	 "check what works on this system, what does not, and the remedy", TAKES_NOTHING},
	{COMMAND_PYTHON_HOOK, "python-hook",
	 "python-hook --install VENV | --remove VENV | --path",
	 "give Numba's code line tables, in Pythons that lineburn does not start",
	 TAKES_NOTHING},
	{COMMAND_COMPLETION, "completion", "completion bash|zsh|fish",
	 "print the completion script of a shell", TAKES_SHELL},
};
const size_t nr_command_rows = ARRAY_SIZE(command_rows);

static const struct command_row *command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(command_rows); i++)
		if (!strcmp(command_rows[i].name, name))
			return &command_rows[i];
	return NULL;
}

static void print_overview(void)
{
	puts("lineburn tells which source lines burn CPU.\n");
	for (size_t i = 0; i < ARRAY_SIZE(command_rows); i++)
		printf("  lineburn %-11s %s\n", command_rows[i].name,
		       command_rows[i].help);
	puts("\n\"lineburn COMMAND --help\" prints the options of a command.\n\n"
	     "  lineburn run -- ./server --bench      hot lines of a command\n"
	     "  lineburn record -a -d 30              the whole machine for 30 seconds\n"
	     "  lineburn top                          the whole machine as it runs\n"
	     "  lineburn annotate                     hot lines of that recording");
}

void options_print_help(enum command command)
{
	const struct command_row *row = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(command_rows); i++)
		if (command_rows[i].command == command)
			row = &command_rows[i];
	if (!row) {
		print_overview();
		return;
	}
	printf("usage: lineburn %s\n\n%s\n\n", row->synopsis, row->help);
	for (const struct option_row *o = option_rows; o->name; o++) {
		char left[64];

		if (!(o->on & 1U << command))
			continue;
		snprintf(left, sizeof(left), "%s%c%s --%s%s%s", o->letter ? "-" : " ",
			 o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
			 o->arg && o->arg[0] != '[' ? "=" : "", o->arg ? o->arg : "");
		printf("  %-28s %s\n", left, o->help);
	}
}

/* Tables for getopt_long(); a long option returns 1000 + its row. */
struct getopt_tables {
	char letters[2 * ARRAY_SIZE(option_rows) + 3];
	struct option longs[ARRAY_SIZE(option_rows)];
};

/*
 * @order  '+': stop at the first argument, which is the command; '-': keep the order of
 *         arguments and options; else options may be anywhere
 */
static void make_getopt_tables(unsigned int on, char order, struct getopt_tables *ret)
{
	size_t nr_longs = 0, nr_letters = 0;

	if (order)
		ret->letters[nr_letters++] = order;
	ret->letters[nr_letters++] = ':';
	for (size_t i = 0; option_rows[i].name; i++) {
		const struct option_row *o = &option_rows[i];

		if (!(o->on & on))
			continue;
		ret->longs[nr_longs++] = (struct option){
			.name = o->name,
			.has_arg = !o->arg            ? no_argument
				   : o->arg[0] == '[' ? optional_argument
						      : required_argument,
			.val = 1000 + (int)i,
		};
		if (o->letter) {
			ret->letters[nr_letters++] = o->letter;
			if (o->arg)
				ret->letters[nr_letters++] = ':';
		}
	}
	ret->letters[nr_letters] = '\0';
	ret->longs[nr_longs] = (struct option){0};
}

/* A letter may have different meanings in record and report. */
static const struct option_row *row_of(int value, unsigned int on)
{
	if (value >= 1000)
		return &option_rows[value - 1000];
	for (const struct option_row *o = option_rows; o->name; o++)
		if (o->letter == value && o->on & on)
			return o;
	return NULL;
}

static int parse_rows(int argc, char **argv, const struct command_row *command,
		      struct options *o, struct error *err)
{
	struct getopt_tables tables;
	int value;

	make_getopt_tables(1U << command->command,
			   command->command == COMMAND_RUN    ? '+'
			   : command->command == COMMAND_DIFF ? '-'
							      : '\0',
			   &tables);
	optind = 0; /* resets getopt */
	opterr = 0;
	while ((value = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) !=
	       -1) {
		const struct option_row *row;
		int rc;

		if (value == '?')
			return usage(
				err,
				"unknown option \"%s\"; \"lineburn %s --help\" lists "
				"what there is",
				argv[optind - 1], command->name);
		if (value == ':')
			return usage(err,
				     "option \"%s\" needs an argument; see \"lineburn %s "
				     "--help\"",
				     argv[optind - 1], command->name);
		if (value == 1) { /* an argument, in its order */
			if (comparing_add(&o->comparing, optarg, err))
				return -EINVAL;
			continue;
		}
		row = row_of(value, 1U << command->command);
		rc = row->parse(o, row, optarg, err);
		if (rc)
			return rc;
		if (o->command == COMMAND_HELP)
			return 0;
	}
	return 0;
}

static int take_shell(int argc, char **argv, enum shell *ret, struct error *err)
{
	if (optind == argc)
		return usage(err,
			     "completion needs the name of a shell: lineburn completion "
			     "bash, zsh or fish");
	for (size_t i = 0; i < NR_SHELLS; i++)
		if (!strcmp(argv[optind], shell_names[i])) {
			*ret = (enum shell)i;
			optind++;
			return 0;
		}
	return usage(err, "completion knows bash, zsh and fish, not \"%s\"",
		     argv[optind]);
}

/* "-o x.html": the profile, of which the page is made, is beside it in x.pb.gz. */
static int take_page(struct options *o, struct error *err)
{
	static const char suffix[] = ".html";
	const char *output = o->sampling.output;

	if (!match_ends(output, suffix) || !strcmp(output, suffix))
		return o->open_page ? usage(err, "--open goes with -o NAME.html") : 0;
	if (o->sampling.window_s > 0)
		return usage(err,
			     "--window writes profiles: give -o NAME.pb.gz, and make "
			     "pages of them with lineburn html");
	if (asprintf(&o->page_profile, "%.*s.pb.gz",
		     (int)(strlen(output) - strlen(suffix)), output) < 0) {
		o->page_profile = NULL;
		return error_set(err, -ENOMEM, "out of memory");
	}
	o->page = output;
	o->sampling.output = o->page_profile;
	return 0;
}

static int refuse_argument(const struct command_row *command, const char *arg,
			   struct error *err)
{
	return usage(err,
		     command->takes == TAKES_PROFILES
			     ? "%s reads one file; \"%s\" is one too many"
			     : "%s takes no argument \"%s\"",
		     command->name, arg);
}

/* Checks the remaining arguments and combinations of options. */
static int check(const struct command_row *command, int argc, char **argv,
		 struct options *o, struct error *err)
{
	switch (o->command) {
	case COMMAND_RUN:
		if (optind == argc)
			return usage(err,
				     "run needs a command: lineburn run -- CMD [ARG...]");
		o->sampling.argv = argv + optind;
		return take_page(o, err) ? -EINVAL
					 : sampling_check_source(&o->sampling, err);
	case COMMAND_RECORD:
		if (sampling_check_target(&o->sampling.target, err) ||
		    sampling_check_window(&o->sampling, err) ||
		    sampling_check_source(&o->sampling, err) || take_page(o, err))
			return -EINVAL;
		break;
	case COMMAND_TOP:
		if (check_top(o, err) || sampling_check_source(&o->sampling, err))
			return -EINVAL;
		break;
	case COMMAND_ANNOTATE:
	case COMMAND_REPORT:
		take_view_arguments(argc, argv, &o->viewing);
		if (check_view(&o->viewing, err))
			return -EINVAL;
		break;
	case COMMAND_DIFF:
		while (optind < argc) /* behind "--" */
			if (comparing_add(&o->comparing, argv[optind++], err))
				return -EINVAL;
		if (check_diff(o, err))
			return -EINVAL;
		break;
	case COMMAND_EXPORT:
		take_view_arguments(argc, argv, &o->viewing);
		if (check_export(o, err))
			return -EINVAL;
		break;
	case COMMAND_HTML:
		take_view_arguments(argc, argv, &o->viewing);
		set_listing(o, "html");
		if (o->open_page && !strcmp(o->exporting.output, "-"))
			return usage(err, "--open needs a file to open: give -o FILE");
		break;
	case COMMAND_PYTHON_HOOK:
		if (!o->python_hook_action)
			return usage(err, "python-hook takes one of --install, "
					  "--remove and --path");
		if (o->python_cache_dir && o->python_hook_action != PYTHON_HOOK_INSTALL)
			return usage(err, "--cache-dir goes with --install; otherwise "
					  "set LINEBURN_NUMBA_CACHE_DIR");
		break;
	case COMMAND_DOCTOR:
		if (o->agreed && !o->fix)
			return usage(err, "--yes goes with --fix");
		if (o->fix && !strcmp(o->viewing.format, "json"))
			return usage(err, "--fix prints no JSON");
		break;
	case COMMAND_COMPLETION:
		if (take_shell(argc, argv, &o->shell, err))
			return -EINVAL;
		break;
	default:
		break;
	}
	if (optind < argc)
		return refuse_argument(command, argv[optind], err);
	return 0;
}

/* Returns which files may get a uprobe. */
static enum jit_probing probing_of(const struct options *o)
{
	if (o->uprobe == UPROBE_ALL)
		return JIT_PROBING_ALL;
	return o->uprobe == UPROBE_NONE || !sampling_names_targets(&o->sampling.target)
		       ? JIT_PROBING_NONE
		       : JIT_PROBING_TRUSTED;
}

int options_parse(int argc, char **argv, struct options *ret, struct error *err)
{
	const struct command_row *command;
	int rc;

	*ret = (struct options){
		.sampling = {.source = &cpu_clock_source,
			     .max_frames = LB_MAX_FRAMES,
			     .unwind_bytes = (uint64_t)DEFAULT_UNWIND_MIB << 20,
			     .output = DEFAULT_OUTPUT},
		.viewing = {.input = DEFAULT_OUTPUT,
			    .format = "text",
			    .context = 2,
			    .min_share = 0.005,
			    .call_depth = 100},
		.top = {.interval_s = 2, .last_s = 10, .nr_rows = TOP_ROWS},
		.exporting = {.output = "-"},
		.comparing = {.noise = DIFF_DEFAULT_NOISE},
	};
	if (argc < 2)
		return usage(err, "no command given; \"lineburn --help\" lists them");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		ret->command = COMMAND_HELP;
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V") ||
	    !strcmp(argv[1], "version")) {
		ret->command = COMMAND_VERSION;
		ret->verbose = argc > 2 &&
			       (!strcmp(argv[2], "--verbose") || !strcmp(argv[2], "-v"));
		return 0;
	}
	command = command_find(argv[1]);
	if (!command)
		return usage(err,
			     "unknown command \"%s\"; \"lineburn --help\" lists them",
			     argv[1]);
	ret->command = command->command;
	ret->sampling.target.is_command = command->command == COMMAND_RUN;
	ret->sampling.names_ahead = ret->sampling.target.is_command;
	ret->viewing.is_report = command->command == COMMAND_REPORT;
	if (command->command == COMMAND_HTML)
		ret->exporting.output = DEFAULT_PAGE;
	if (command->command == COMMAND_DIFF)
		ret->viewing.format = NULL; /* until all options are known */
	rc = parse_rows(argc - 1, argv + 1, command, ret, err);
	if (rc || ret->command == COMMAND_HELP)
		return rc;
	ret->sampling.probing = probing_of(ret);
	ret->sampling.attribution = ret->viewing.attribution;
	return check(command, argc - 1, argv + 1, ret, err);
}

void options_deinit(struct options *o)
{
	for (size_t i = 0; i < o->viewing.nr_source_paths; i++)
		free((char *)o->viewing.source_paths[i].old_prefix);
	free(o->viewing.source_paths);
	free(o->viewing.filters);
	free(o->viewing.frame_filters);
	free(o->exporting.labels);
	free(o->exporting.labels_text);
	comparing_deinit(&o->comparing);
	free(o->page_profile);
	free(o->sampling.target.pids);
	free(o->sampling.target.values);
}
