// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "collect/sampler.h"
#include "render/render.h"
#include "target/comm_glob.h"

/* -EINVAL with a sentence out of @fmt, the option's name and what was given. */
static inline int usage(struct error *err, const char *fmt, const char *option,
			const char *given)
{
	return error_set_exit(err, EXIT_USAGE, -EINVAL, fmt, option, given);
}

#define MAX_PIDS         4096
#define MAX_CHOICES      4096
#define MAX_EVENT_PERIOD 1000000000UL

/* The number of a process or thread; 0: @text is none. */
static uint32_t options_id(const char *text)
{
	char *end;
	unsigned long id = strtoul(text, &end, 10);

	return isdigit((unsigned char)*text) && !*end && id <= INT32_MAX ? (uint32_t)id
									 : 0;
}

static int add_value(struct options *o, enum lb_filter_kind kind, const char *option,
		     const char *arg, const char *takes, uint32_t number,
		     struct error *err)
{
	bool excludes = *arg == '!';

	if (!arg[excludes])
		return usage(err, takes, option, arg);
	if (vec_grow(&o->sampling.target.values, &o->sampling.target.cap_values,
		     o->sampling.target.nr_values + 1, sizeof(*o->sampling.target.values),
		     MAX_CHOICES))
		return usage(err,
			     "4096 choices can be given at most, the next one was %s %s",
			     option, arg);
	o->sampling.target.values[o->sampling.target.nr_values++] =
		(struct target_value){.kind = kind,
				      .excludes = excludes,
				      .text = arg + excludes,
				      .number = number};
	return 0;
}

/* Each adds a value. Return: 0, or -EINVAL with a sentence and EXIT_USAGE in @err. */
static int parse_target_pid(struct options *o, const char *arg, struct error *err)
{
	static const char takes[] = "%s takes a process id, not \"%s\"";
	uint32_t pid = options_id(arg + (*arg == '!'));

	if (!pid)
		return usage(err, takes, "-p", arg);
	if (*arg == '!')
		return add_value(o, LB_FILTER_PROCESS, "-p", arg, takes, pid, err);
	if (vec_grow(&o->sampling.target.pids, &o->sampling.target.cap_pids,
		     o->sampling.target.nr_pids + 1, sizeof(*o->sampling.target.pids),
		     MAX_PIDS))
		return usage(err,
			     "%s can be given 4096 times at most, the next one was %s",
			     "-p", arg);
	o->sampling.target.pids[o->sampling.target.nr_pids++] = pid;
	return 0;
}

/* Each adds a value. Return: 0, or -EINVAL with a sentence and EXIT_USAGE in @err. */
static int parse_target_thread(struct options *o, const char *arg, struct error *err)
{
	static const char takes[] = "%s takes a thread id, not \"%s\"";
	uint32_t tid = options_id(arg + (*arg == '!'));

	if (!tid)
		return usage(err, takes, "-t", arg);
	return add_value(o, LB_FILTER_THREAD, "-t", arg, takes, tid, err);
}

static int parse_target_cgroup(struct options *o, const char *arg, struct error *err)
{
	return add_value(o, LB_FILTER_CGROUP, "-G", arg,
			 "%s takes the path of a cgroup, not \"%s\"", 0, err);
}

static int parse_target_container(struct options *o, const char *arg, struct error *err)
{
	return add_value(
		o, LB_FILTER_CONTAINER, "--container", arg,
		"%s takes a name, or the first 4 or more digits of an id, not \"%s\"", 0,
		err);
}

/* Each adds a value. Return: 0, or -EINVAL with a sentence and EXIT_USAGE in @err. */
static int parse_target_unit(struct options *o, const char *arg, struct error *err)
{
	return add_value(o, LB_FILTER_UNIT, "--unit", arg,
			 "%s takes the name of a unit of systemd, not \"%s\"", 0, err);
}

static int parse_target_comm(struct options *o, const char *arg, struct error *err)
{
	struct lb_comm_table *table = calloc(1, sizeof(*table));
	unsigned int nr = 0;
	int rc = table ? comm_glob_add(table, arg + (*arg == '!'), false) : -ENOMEM;

	free(table);
	if (rc == -E2BIG)
		return usage(
			err,
			"%s is compared with the 15 bytes that the kernel keeps of a "
			"name, and \"%s\" asks for more",
			"--comm", arg);
	for (size_t i = 0; i < o->sampling.target.nr_values; i++)
		nr += o->sampling.target.values[i].kind == LB_FILTER_COMM;
	if (nr == LB_COMM_PATTERNS)
		return usage(err,
			     "%s can be given 16 times at most, the next one was \"%s\"",
			     "--comm", arg);
	return add_value(o, LB_FILTER_COMM, "--comm", arg,
			 "%s takes a pattern of thread names, not \"%s\"", 0, err);
}

/* Each adds a value. Return: 0, or -EINVAL with a sentence and EXIT_USAGE in @err. */
static int parse_target_user(struct options *o, const char *arg, struct error *err)
{
	return add_value(o, LB_FILTER_USER, "--user", arg,
			 "%s takes a user's name or number, not \"%s\"", 0, err);
}

/* Does anything include by @kind? */
static bool includes(const struct options *o, enum lb_filter_kind kind)
{
	if (kind == LB_FILTER_PROCESS && o->sampling.target.nr_pids)
		return true;
	for (size_t i = 0; i < o->sampling.target.nr_values; i++)
		if (o->sampling.target.values[i].kind == kind &&
		    !o->sampling.target.values[i].excludes)
			return true;
	return false;
}

/* The root of a hierarchy has every process. */
static bool is_root_cgroup(const char *path)
{
	return !path[strspn(path, "/.")];
}

static bool names_targets(const struct options *o)
{
	if (o->command == COMMAND_RUN || o->sampling.target.nr_pids)
		return true;
	for (size_t i = 0; i < o->sampling.target.nr_values; i++) {
		const struct target_value *v = &o->sampling.target.values[i];

		if (v->excludes || v->kind == LB_FILTER_COMM || v->kind == LB_FILTER_USER)
			continue;
		if (v->kind != LB_FILTER_CGROUP || !is_root_cgroup(v->text))
			return true;
	}
	return false;
}

enum jit_probing options_probing(const struct options *o)
{
	if (o->uprobe)
		return JIT_PROBING_ALL;
	return o->no_uprobe || !names_targets(o) ? JIT_PROBING_NONE : JIT_PROBING_TRUSTED;
}

/* With -p, be it to leave one out. */
static bool names_process(const struct options *o)
{
	for (size_t i = 0; i < o->sampling.target.nr_values; i++)
		if (o->sampling.target.values[i].kind == LB_FILTER_PROCESS)
			return true;
	return o->sampling.target.nr_pids;
}

/** After all of record's: what does not fit together; sets whole_machine where implied. */
static int options_check_target(struct options *o, struct error *err)
{
	bool is_narrow = includes(o, LB_FILTER_PROCESS) || includes(o, LB_FILTER_THREAD);

	if (!o->sampling.target.whole_machine && !is_narrow &&
	    !o->sampling.target.nr_values)
		return error_set_exit(
			err, EXIT_USAGE, -EINVAL,
			"record needs to know what: -p PID, -t TID, --container NAME, "
			"--unit NAME, -G CGROUP, --comm NAME or --user NAME, or -a for "
			"the whole machine");
	if (o->sampling.target.whole_machine && is_narrow)
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "-a and %s exclude each other",
				      o->sampling.target.nr_pids ? "-p" : "-t");
	if (o->sampling.target.no_children && !names_process(o))
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "--no-children goes with -p");
	o->sampling.target.whole_machine = !is_narrow;
	return 0;
}

/* A clock has a rate, other sources have a period. */
static int check_source(struct options *o, struct error *err)
{
	struct sampling *s = &o->sampling;

	if (s->source->is_clock && s->event_period)
		return error_set_exit(
			err, EXIT_USAGE, -EINVAL,
			"-c goes with -e page-faults; the rate of cpu-clock "
			"is given with -F");
	if (!s->source->is_clock && (s->freq_hz || s->budget_ppm))
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "%s goes with -e cpu-clock; how many %s a sample "
				      "stands for is given with -c",
				      s->freq_hz ? "-F" : "--budget", s->source->name);
	if (s->source->is_clock && !s->freq_hz)
		s->freq_hz = DEFAULT_FREQ_HZ;
	if (!s->source->is_clock && !s->event_period)
		s->event_period = 1;
	return 0;
}

/* ---- Options of annotate and report ---- */

/* Each: @arg as given. Return: 0, or -EINVAL with a sentence in @err. */
static int options_parse_charge(struct options *o, const char *arg, struct error *err)
{
	if (!strcmp(arg, "line"))
		o->viewing.attribution.charge = CHARGE_LINE;
	else if (!strcmp(arg, "mine"))
		o->viewing.attribution.charge = CHARGE_MINE;
	else if (!strcmp(arg, "leaf"))
		o->viewing.attribution.charge = CHARGE_LEAF;
	else
		return usage(err, "%s takes line, mine or leaf, not \"%s\"", "--charge",
			     arg);
	return 0;
}

static int options_parse_format(struct options *o, const char *arg, struct error *err)
{
	const char *command = o->viewing.is_report ? "report" : "annotate";
	const struct render_format *format = render_format_find(command, arg);
	char names[128] = "";

	for (size_t i = 0; i < nr_render_formats; i++) {
		if (strcmp(render_formats[i].command, command) != 0)
			continue;
		if (*names)
			strcat(names, ", ");
		strncat(names, render_formats[i].name, sizeof(names) - strlen(names) - 3);
	}
	if (!format)
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "%s has the formats %s, not \"%s\"", command, names,
				      arg);
	o->viewing.format = format->name;
	return 0;
}

static int options_parse_source_path(struct options *o, const char *arg,
				     struct error *err)
{
	char *copy, *equals;

	if (!strchr(arg, '=') || *arg == '=')
		return usage(err, "%s takes OLD=NEW, two path prefixes, not \"%s\"",
			     "--source-path", arg);
	copy = strdup(arg);
	if (!copy || vec_grow(&o->viewing.source_paths, &o->viewing.cap_source_paths,
			      o->viewing.nr_source_paths + 1,
			      sizeof(*o->viewing.source_paths), 64)) {
		free(copy);
		return usage(err, "%s can be given 64 times at most, the next one was %s",
			     "--source-path", arg);
	}
	equals = strchr(copy, '=');
	*equals = '\0';
	o->viewing.source_paths[o->viewing.nr_source_paths++] =
		(struct source_path_rule){.old_prefix = copy, .new_prefix = equals + 1};
	return 0;
}

static int options_parse_context(struct options *o, const char *arg, struct error *err)
{
	char *end;
	unsigned long lines = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || lines > 1000)
		return usage(err, "%s takes a number of lines from 0 to 1000, not \"%s\"",
			     "--context", arg);
	o->viewing.context = (unsigned int)lines;
	return 0;
}

static int options_parse_min_percent(struct options *o, const char *arg,
				     struct error *err)
{
	char *end;
	double percent = strtod(arg, &end);

	if (end == arg || *end || !(percent >= 0 && percent <= 100))
		return usage(err, "%s takes a percentage from 0 to 100, not \"%s\"",
			     "--min-percent", arg);
	o->viewing.min_share = percent / 100;
	return 0;
}

static int options_parse_colour(struct options *o, const char *arg, struct error *err)
{
	if (!strcmp(arg, "auto"))
		o->viewing.colour = COLOUR_AUTO;
	else if (!strcmp(arg, "always"))
		o->viewing.colour = COLOUR_ALWAYS;
	else if (!strcmp(arg, "never"))
		o->viewing.colour = COLOUR_NEVER;
	else
		return usage(err, "%s takes auto, always or never, not \"%s\"", "--color",
			     arg);
	return 0;
}

static int options_parse_file_filter(struct options *o, const char *arg,
				     struct error *err)
{
	(void)err;
	o->viewing.file_filter = arg;
	return 0;
}

static int options_parse_asm(struct options *o, const char *arg, struct error *err)
{
	if (arg && !*arg)
		return usage(err, "%s takes a function or FILE:LINE, not \"%s\"", "--asm",
			     arg);
	o->viewing.show_asm = true;
	o->viewing.asm_what = arg;
	return 0;
}

static int set_call_tree(struct options *o, enum call_direction direction,
			 const char *arg, struct error *err)
{
	const char *name = direction == CALL_CALLERS ? "--callers" : "--callees";

	if (arg && !*arg)
		return usage(err, "%s takes a function or FILE:LINE, not \"%s\"", name,
			     arg);
	if (o->viewing.call_direction && o->viewing.call_direction != direction)
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "--callers and --callees exclude each other");
	o->viewing.call_direction = direction;
	o->viewing.call_what = arg;
	return 0;
}

static int options_parse_callers(struct options *o, const char *arg, struct error *err)
{
	return set_call_tree(o, CALL_CALLERS, arg, err);
}

static int options_parse_callees(struct options *o, const char *arg, struct error *err)
{
	return set_call_tree(o, CALL_CALLEES, arg, err);
}

static int options_parse_depth(struct options *o, const char *arg, struct error *err)
{
	char *end;
	unsigned long depth = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || depth < 1 || depth > CALL_TREE_MAX_DEPTH)
		return usage(err, "%s takes a number of calls from 1 to 1000, not \"%s\"",
			     "--depth", arg);
	o->viewing.call_depth = (unsigned int)depth;
	return 0;
}

/*
 * "annotate --asm dither": a profile or what to show? A profile is gzipped, or
 * is called like one; "./main" may well be a program beside the function main.
 */
static bool is_profile(const char *arg)
{
	static const char *const suffixes[] = {".pb.gz", ".pb", ".pprof", ".prof"};
	unsigned char magic[2];
	size_t len = strlen(arg);
	_cleanup_close_ int fd = -1;

	if (!strcmp(arg, "-"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (len > strlen(suffixes[i]) &&
		    !strcmp(arg + len - strlen(suffixes[i]), suffixes[i]))
			return true;
	fd = open(arg, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	       magic[0] == 0x1f && magic[1] == 0x8b;
}

/* Profile and, after --asm or --callers alone, what to show, in whichever order. */
static void options_take_view_arguments(int argc, char **argv, struct options *o)
{
	const char **what = o->viewing.show_asm ? &o->viewing.asm_what
						: &o->viewing.call_what;
	bool takes_what = (o->viewing.show_asm || o->viewing.call_direction) && !*what;

	for (int nr = 0; optind < argc && nr < 2; nr++) {
		const char *arg = argv[optind];

		if (takes_what && (o->viewing.input_given || !is_profile(arg))) {
			*what = arg;
			takes_what = false;
		} else if (!o->viewing.input_given) {
			o->viewing.input = arg;
			o->viewing.input_given = true;
		} else {
			return;
		}
		optind++;
	}
}

/* What was asked for, and the format does not show. */
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
			return error_set_exit(err, EXIT_USAGE, -EINVAL,
					      "--format %s does not show %s; take "
					      "--format text or --format json",
					      format->name, parts[i].option);
	return 0;
}

/** What of annotate's and report's options does not fit together. */
static int options_check_view(const struct options *o, struct error *err)
{
	if (o->viewing.group_by && (o->viewing.call_direction || o->viewing.show_types))
		return error_set_exit(
			err, EXIT_USAGE, -EINVAL,
			"--by and %s exclude each other: groups have no "
			"functions",
			o->viewing.call_direction == CALL_CALLERS   ? "--callers"
			: o->viewing.call_direction == CALL_CALLEES ? "--callees"
								    : "--types");
	return check_format(&o->viewing, err);
}

#define MIN_WINDOW_S 0.1
#define MAX_SECONDS  1e7
#define MAX_KEEP     1000000
#define MIN_MEMORY   64 /* MiB */
#define MAX_MEMORY   65536

/* Digits, at most one point, at most one letter behind. 0: no letter. */
static bool parse_number(const char *text, double *ret, char *ret_suffix)
{
	size_t len = strspn(text, "0123456789.");
	char *end;
	double number;

	if (!len || len > 32 || (text[len] && text[len + 1]))
		return false;
	number = strtod(text, &end);
	if (end != text + len)
		return false;
	*ret = number;
	*ret_suffix = text[len];
	return true;
}

/* What a suffix stands for; 0: it is none of @suffixes. */
static double scale_of(char suffix, const char *suffixes, const double *scales)
{
	const char *at = suffix ? strchr(suffixes, suffix) : NULL;

	if (!suffix)
		return 1;
	return at ? scales[at - suffixes] : 0;
}

bool duration_parse(const char *text, double *ret_s)
{
	static const double scales[] = {1, 60, 3600};
	double number;
	char suffix;

	if (!parse_number(text, &number, &suffix))
		return false;
	/* A suffix that is none makes it 0 for every number. */
	if (!(scale_of(suffix, "smh", scales) > 0))
		return false;
	number *= scale_of(suffix, "smh", scales);
	if (number > MAX_SECONDS)
		return false;
	*ret_s = number;
	return true;
}

bool size_parse(const char *text, uint64_t *ret_bytes)
{
	static const double scales[] = {1 << 10, 1 << 20, 1 << 30};
	double number;
	char suffix;

	if (!parse_number(text, &number, &suffix))
		return false;
	number *= scale_of(suffix, "KMG", scales);
	if (!(number >= 1) || number >= (double)(1ULL << 62))
		return false;
	*ret_bytes = (uint64_t)number;
	return true;
}

/* Parsers of the table in options.c. */
static int options_parse_window(struct options *o, const char *arg, struct error *err)
{
	double seconds;

	if (!duration_parse(arg, &seconds) || seconds < MIN_WINDOW_S)
		return usage(err,
			     "%s takes a time from 0.1 s on, such as 60s, 5m or "
			     "1h, not \"%s\"",
			     "--window", arg);
	o->sampling.window_s = seconds;
	return 0;
}

static int options_parse_keep(struct options *o, const char *arg, struct error *err)
{
	char *end;
	unsigned long files = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || files < 1 || files > MAX_KEEP)
		return usage(err,
			     "%s takes a number of files from 1 to 1000000, not "
			     "\"%s\"",
			     "--keep", arg);
	o->sampling.keep_files = (uint32_t)files;
	return 0;
}

static int options_parse_max_size(struct options *o, const char *arg, struct error *err)
{
	if (!size_parse(arg, &o->sampling.max_size_bytes))
		return usage(err, "%s takes bytes, such as 500M or 2G, not \"%s\"",
			     "--max-size", arg);
	return 0;
}

static int options_parse_memory(struct options *o, const char *arg, struct error *err)
{
	char *end;
	unsigned long mib = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || mib < MIN_MEMORY || mib > MAX_MEMORY)
		return usage(err, "%s takes MiB from 64 to 65536, not \"%s\"", "--memory",
			     arg);
	o->sampling.memory_bytes = (uint64_t)mib << 20;
	return 0;
}

/** What of them does not fit together. Return: 0, or -EINVAL with a sentence. */
static int options_check_window(const struct options *o, struct error *err)
{
	if (!o->sampling.window_s &&
	    (o->sampling.keep_files || o->sampling.max_size_bytes))
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "--keep and --max-size go with --window");
	if (o->sampling.window_s > 0 && !strcmp(o->sampling.output, "-"))
		return error_set_exit(
			err, EXIT_USAGE, -EINVAL,
			"--window writes a file for each window: -o takes a file name to "
			"build theirs from, not -");
	return 0;
}

static int options_parse_by(struct options *o, const char *arg, struct error *err)
{
	for (int by = GROUP_BY_NOTHING + 1; by < NR_GROUP_BY; by++)
		if (!strcmp(group_by_names[by], arg)) {
			o->viewing.group_by = (enum group_by)by;
			return 0;
		}
	return usage(err,
		     "%s takes container, unit, pod, process, thread, comm, user or "
		     "cgroup, not \"%s\"",
		     "--by", arg);
}

static int add_filter(struct options *o, enum filter_kind kind, const char *arg,
		      struct error *err)
{
	static const char *const takes[] = {
		[FILTER_CONTAINER] = "a container's name or the start of its id",
		[FILTER_UNIT] = "the name of a systemd unit",
		[FILTER_POD] = "a pod's uid or its start",
		[FILTER_PID] = "a process id",
		[FILTER_THREAD] = "a thread id",
		[FILTER_COMM] = "a pattern of commands' names",
		[FILTER_USER] = "a user's name or number",
		[FILTER_CGROUP] = "the path of a cgroup",
	};
	bool exclude = *arg == '!';
	const char *value = arg + exclude;
	bool is_number = kind == FILTER_PID || kind == FILTER_THREAD;

	if (!*value || (is_number && strcmp(value, "-") != 0 && !options_id(value)))
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "--%s takes %s, with \"!\" in front all others, "
				      "not \"%s\"",
				      filter_kind_names[kind], takes[kind], arg);
	if (vec_grow(&o->viewing.filters, &o->viewing.cap_filters,
		     o->viewing.nr_filters + 1, sizeof(*o->viewing.filters),
		     FILTER_MAX_FILTERS))
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "%d of --container, --unit and so on can be given "
				      "at most, the next one was \"%s\"",
				      FILTER_MAX_FILTERS, arg);
	o->viewing.filters[o->viewing.nr_filters++] =
		(struct profile_filter){.kind = kind, .exclude = exclude, .value = value};
	return 0;
}

static int options_narrow_container(struct options *o, const char *arg, struct error *err)
{
	return add_filter(o, FILTER_CONTAINER, arg, err);
}

static int options_narrow_unit(struct options *o, const char *arg, struct error *err)
{
	return add_filter(o, FILTER_UNIT, arg, err);
}

static int options_narrow_pod(struct options *o, const char *arg, struct error *err)
{
	return add_filter(o, FILTER_POD, arg, err);
}

static int options_narrow_pid(struct options *o, const char *arg, struct error *err)
{
	return add_filter(o, FILTER_PID, arg, err);
}

static int options_narrow_thread(struct options *o, const char *arg, struct error *err)
{
	return add_filter(o, FILTER_THREAD, arg, err);
}

static int options_narrow_comm(struct options *o, const char *arg, struct error *err)
{
	return add_filter(o, FILTER_COMM, arg, err);
}

static int options_narrow_user(struct options *o, const char *arg, struct error *err)
{
	return add_filter(o, FILTER_USER, arg, err);
}

static int options_narrow_cgroup(struct options *o, const char *arg, struct error *err)
{
	return add_filter(o, FILTER_CGROUP, arg, err);
}

enum {
	ON_RUN = 1 << COMMAND_RUN,
	ON_RECORD = 1 << COMMAND_RECORD,
	ON_ANNOTATE = 1 << COMMAND_ANNOTATE,
	ON_REPORT = 1 << COMMAND_REPORT,
	ON_DOCTOR = 1 << COMMAND_DOCTOR,
	ON_PYTHON_HOOK = 1 << COMMAND_PYTHON_HOOK,
	ON_SAMPLING = ON_RUN | ON_RECORD,
	ON_VIEW = ON_ANNOTATE | ON_REPORT,
	/* run shows its result at once, so it takes what concerns the listing too. */
	ON_LISTING = ON_RUN | ON_VIEW,
	ON_ALL = ON_SAMPLING | ON_VIEW | ON_DOCTOR | ON_PYTHON_HOOK,
};

struct option_row {
	const char *name; /* long; NULL ends the table */
	char letter; /* 0: long only */
	const char
		*arg; /* name of the argument; NULL: none; "[=NAME]": may be left out */
	unsigned int on; /* ON_* */
	int (*parse)(struct options *o, const char *arg, struct error *err);
	const char *help;
};

static int parse_freq(struct options *o, const char *arg, struct error *err)
{
	char *end;
	unsigned long hz = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || hz < 1 || hz > SAMPLER_MAX_HZ)
		return usage(err, "%s takes samples a second from 1 to 10000, not \"%s\"",
			     "-F", arg);
	o->sampling.freq_hz = (uint32_t)hz;
	return 0;
}

static int parse_event(struct options *o, const char *arg, struct error *err)
{
	o->sampling.source = sample_source_named(arg);
	if (!o->sampling.source)
		return usage(err, "%s takes cpu-clock or page-faults, not \"%s\"", "-e",
			     arg);
	return 0;
}

static int parse_count(struct options *o, const char *arg, struct error *err)
{
	char *end;
	unsigned long events = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || events < 1 || events > MAX_EVENT_PERIOD)
		return usage(err,
			     "%s takes events a sample from 1 to 1000000000, not \"%s\"",
			     "-c", arg);
	o->sampling.event_period = events;
	return 0;
}

static int parse_budget(struct options *o, const char *arg, struct error *err)
{
	char *end;
	double percent = strtod(arg, &end);

	if (end != arg && *end == '%')
		end++;
	if (end == arg || *end || !(percent >= 0.001 && percent <= 100))
		return usage(err,
			     "%s takes percent of the CPU time from 0.001%% to 100%%, "
			     "not \"%s\"",
			     "--budget", arg);
	o->sampling.budget_ppm = (uint32_t)lround(percent * 1e4);
	return 0;
}

static int parse_max_frames(struct options *o, const char *arg, struct error *err)
{
	char *end;
	unsigned long frames = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || frames < 1 || frames > LB_MAX_FRAMES)
		return usage(err,
			     "%s takes frames of a user stack from 1 to 512, not \"%s\"",
			     "--max-frames", arg);
	o->sampling.max_frames = (uint32_t)frames;
	return 0;
}

static int parse_unwind_memory(struct options *o, const char *arg, struct error *err)
{
	char *end;
	unsigned long mib = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || mib < 1 || mib > 1024)
		return usage(err, "%s takes MiB from 1 to 1024, not \"%s\"",
			     "--unwind-memory", arg);
	o->sampling.unwind_bytes = (uint64_t)mib << 20;
	return 0;
}

static int parse_seconds(const char *option, const char *arg, double *ret,
			 struct error *err)
{
	char *end;
	double seconds = strtod(arg, &end);

	if (end == arg || *end || !isfinite(seconds) || seconds < 0 || seconds > 1e7)
		return usage(err, "%s takes seconds from 0 to 10000000, not \"%s\"",
			     option, arg);
	*ret = seconds;
	return 0;
}

static int parse_duration(struct options *o, const char *arg, struct error *err)
{
	return parse_seconds("-d", arg, &o->sampling.duration_s, err);
}

static int parse_delay(struct options *o, const char *arg, struct error *err)
{
	return parse_seconds("--delay", arg, &o->sampling.delay_s, err);
}

static int parse_output(struct options *o, const char *arg, struct error *err)
{
	if (!*arg)
		return usage(err, "%s takes a file name, not \"%s\"", "-o", arg);
	o->sampling.output = arg;
	o->sampling.output_given = true;
	return 0;
}

static int parse_dump(struct options *o, const char *arg, struct error *err)
{
	if (!strcmp(arg, "samples"))
		o->sampling.dump = DUMP_SAMPLES;
	else if (!strcmp(arg, "maps"))
		o->sampling.dump = DUMP_MAPS;
	else if (!strcmp(arg, "frames"))
		o->sampling.dump = DUMP_FRAMES;
	else
		return usage(err, "%s takes samples, maps or frames, not \"%s\"",
			     "--dump", arg);
	return 0;
}

static int set_python_hook(struct options *o, enum python_hook_action action,
			   const char *prefix, struct error *err)
{
	if (o->python_hook_action)
		return error_set_exit(
			err, EXIT_USAGE, -EINVAL,
			"python-hook takes one of --install, --remove and --path");
	o->python_hook_action = action;
	o->python_prefix = prefix;
	return 0;
}

static int parse_install(struct options *o, const char *arg, struct error *err)
{
	return set_python_hook(o, PYTHON_HOOK_INSTALL, arg, err);
}

static int parse_remove(struct options *o, const char *arg, struct error *err)
{
	return set_python_hook(o, PYTHON_HOOK_REMOVE, arg, err);
}

static int parse_path(struct options *o, const char *arg, struct error *err)
{
	return set_python_hook(o, PYTHON_HOOK_PATH, arg, err);
}

static int parse_cache_dir(struct options *o, const char *arg, struct error *err)
{
	(void)err;
	o->python_cache_dir = arg;
	return 0;
}

/* Options without an argument set one member. */
#define FLAG(name, statement)                                                  \
	static int name(struct options *o, const char *arg, struct error *err) \
	{                                                                      \
		(void)arg;                                                     \
		(void)err;                                                     \
		statement;                                                     \
		return 0;                                                      \
	}                                                                      \
	struct name##_needs_semicolon

FLAG(flag_all, o->sampling.target.whole_machine = true);
FLAG(flag_no_children, o->sampling.target.no_children = true);
FLAG(flag_tid, o->sampling.keep_tid = true);
FLAG(flag_no_kernel_stack, o->sampling.no_kernel_stack = true);
FLAG(flag_uprobe, (o->uprobe = true, o->no_uprobe = false));
FLAG(flag_no_uprobe, (o->no_uprobe = true, o->uprobe = false));
FLAG(flag_dry_run, o->sampling.dry_run = true);
FLAG(flag_no_python_hook, o->sampling.no_python_hook = true);
FLAG(flag_json, o->viewing.format = "json");
FLAG(flag_leaf, o->viewing.attribution.charge = CHARGE_LEAF);
FLAG(flag_kernel, o->viewing.attribution.kernel = true);
FLAG(flag_runtime, o->viewing.attribution.runtime = true);
FLAG(flag_types, o->viewing.show_types = true);
FLAG(flag_skip_compile, o->viewing.skip_compile = true);
FLAG(flag_sources, o->viewing.open_sources = true);
FLAG(flag_verbose, o->verbose++);
FLAG(flag_help, (o->help_for = o->command, o->command = COMMAND_HELP));

static const struct option_row option_rows[] = {
	{"event", 'e', "EVENT", ON_SAMPLING, parse_event,
	 "what is sampled: cpu-clock (default), or page-faults"},
	{"count", 'c', "N", ON_SAMPLING, parse_count,
	 "with -e page-faults: one sample for each N of them (default 1)"},
	{"frequency", 'F', "HZ", ON_SAMPLING, parse_freq,
	 "samples a second on each CPU, 1 to 10000 (default 99)"},
	{"budget", 0, "PERCENT", ON_SAMPLING, parse_budget,
	 "lower the rate while sampling costs more of all CPUs' time, as 0.5%"},
	{"pid", 'p', "PID", ON_RECORD, parse_target_pid,
	 "this process with its threads and children; may be repeated, as those below"},
	{"no-children", 0, NULL, ON_SAMPLING, flag_no_children,
	 "leave out what the process, or the command, starts"},
	{"thread", 't', "TID", ON_RECORD, parse_target_thread, "this thread"},
	{"cgroup", 'G', "CGROUP", ON_RECORD, parse_target_cgroup,
	 "processes in this cgroup and in those below it, as they come and go"},
	{"container", 0, "NAME", ON_RECORD, parse_target_container,
	 "processes of this container, by name or by the beginning of its id"},
	{"unit", 0, "NAME", ON_RECORD, parse_target_unit,
	 "processes of this service or scope of systemd"},
	{"comm", 0, "GLOB", ON_SAMPLING, parse_target_comm,
	 "threads whose name matches, as \"python*\""},
	{"user", 0, "NAME", ON_RECORD, parse_target_user,
	 "processes that run as this user, by name or number"},
	{"all", 'a', NULL, ON_RECORD, flag_all,
	 "every process of the machine; '!' before a value above leaves that out"},
	{"duration", 'd', "SECONDS", ON_RECORD, parse_duration,
	 "how long to record (default: until Ctrl-C)"},
	{"window", 0, "TIME", ON_RECORD, options_parse_window,
	 "a new file so often, with the time in its name: 60s, 5m, 1h"},
	{"keep", 0, "N", ON_RECORD, options_parse_keep,
	 "leave only the newest N files of windows"},
	{"max-size", 0, "BYTES", ON_RECORD, options_parse_max_size,
	 "leave only the newest files of windows that have this size in all: 500M, 2G"},
	{"memory", 0, "MIB", ON_RECORD, options_parse_memory,
	 "most resident memory (default, without -d: 256); then a new file begins early"},
	{"delay", 0, "SECONDS", ON_SAMPLING, parse_delay,
	 "start sampling this much later"},
	{"output", 'o', "FILE", ON_SAMPLING, parse_output,
	 "where to write the profile (default lineburn.pb.gz)"},
	{"tid", 0, NULL, ON_SAMPLING, flag_tid, "tell threads apart"},
	{"uprobe", 0, NULL, ON_SAMPLING, flag_uprobe,
	 "probe JITs of every process: others can then hold up all forks (see the "
	 "manual)"},
	{"no-uprobe", 0, NULL, ON_SAMPLING, flag_no_uprobe,
	 "probe no JIT: read the lists of what they registered"},
	{"max-frames", 0, "N", ON_SAMPLING, parse_max_frames,
	 "frames of a user stack that are walked, 1 to 512 (default 127)"},
	{"unwind-memory", 0, "MIB", ON_SAMPLING, parse_unwind_memory,
	 "most kernel memory for unwind tables (default 64)"},
	{"no-kernel-stack", 0, NULL, ON_SAMPLING, flag_no_kernel_stack,
	 "keep only the innermost kernel function of a sample"},
	{"dry-run", 0, NULL, ON_SAMPLING, flag_dry_run,
	 "load and attach everything, then stop; run does not start the command"},
	{"no-python-hook", 0, NULL, ON_RUN, flag_no_python_hook,
	 "leave Pythons as they are: Numba's code has names, but no lines"},
	{"install", 0, "VENV", ON_PYTHON_HOOK, parse_install,
	 "put the hook into this virtual environment"},
	{"remove", 0, "VENV", ON_PYTHON_HOOK, parse_remove, "take it out again"},
	{"path", 0, NULL, ON_PYTHON_HOOK, parse_path,
	 "print the folder that PYTHONPATH has to begin with instead"},
	{"cache-dir", 0, "DIR", ON_PYTHON_HOOK, parse_cache_dir,
	 "where the installed hook keeps compiled functions (default: beside Numba's "
	 "own)"},
	{"dump", 0, "WHAT", ON_SAMPLING, parse_dump,
	 "print what passes between the stages: samples, maps or frames"},
	{"format", 0, "NAME", ON_VIEW, options_parse_format,
	 "text (default), json, or csv (report), see docs/formats.md"},
	{"json", 0, NULL, ON_VIEW | ON_DOCTOR, flag_json, "print JSON (docs/formats.md)"},
	{"charge", 0, "WHAT", ON_LISTING, options_parse_charge,
	 "line: innermost frame with a line (default); mine: the same outside of "
	 "libraries; "
	 "leaf: strictly the innermost frame"},
	{"leaf", 0, NULL, ON_LISTING, flag_leaf, "the same as --charge=leaf"},
	{"kernel", 0, NULL, ON_LISTING, flag_kernel, "charge kernel frames too"},
	{"runtime", 0, NULL, ON_LISTING, flag_runtime,
	 "charge the C code of interpreters too"},
	{"skip-compile", 0, NULL, ON_LISTING, flag_skip_compile,
	 "leave out what a Python program spends on imports and Numba's compiler"},
	{"source-path", 0, "OLD=NEW", ON_LISTING, options_parse_source_path,
	 "look for sources below NEW where the debug info says OLD; may be repeated"},
	{"sources", 0, NULL, ON_VIEW, flag_sources,
	 "open the sources and binaries that a profile names, also one that is not "
	 "yours"},
	{"context", 0, "N", ON_RUN | ON_ANNOTATE, options_parse_context,
	 "source lines shown around a hot one (default 2)"},
	{"min-percent", 0, "P", ON_LISTING, options_parse_min_percent,
	 "leave out lines and functions below this share (default 0.5)"},
	{"file", 0, "SUFFIX", ON_RUN | ON_ANNOTATE, options_parse_file_filter,
	 "only source files whose path ends in SUFFIX"},
	{"asm", 0, "[=WHAT]", ON_ANNOTATE, options_parse_asm,
	 "instructions of a function or of FILE:LINE (default: the hottest function)"},
	{"callers", 0, "[=WHAT]", ON_REPORT, options_parse_callers,
	 "who calls a function or FILE:LINE (default: the hottest functions)"},
	{"callees", 0, "[=WHAT]", ON_REPORT, options_parse_callees,
	 "what a function or FILE:LINE calls (default: from the outermost functions)"},
	{"depth", 0, "N", ON_REPORT, options_parse_depth,
	 "how many calls --callers and --callees go, 1 to 1000 (default 100)"},
	{"by", 0, "WHAT", ON_REPORT, options_parse_by,
	 "a table by container, unit, pod, process, thread, comm, user or cgroup"},
	{"container", 0, "ID|NAME", ON_VIEW, options_narrow_container,
	 "only samples of this container; this and the next seven: may be repeated, "
	 "\"!\" in front: all but those, \"-\": those of none"},
	{"unit", 0, "NAME", ON_VIEW, options_narrow_unit,
	 "only samples of this systemd service or scope"},
	{"pod", 0, "UID", ON_VIEW, options_narrow_pod,
	 "only samples of this Kubernetes pod"},
	{"pid", 'p', "PID", ON_VIEW, options_narrow_pid, "only samples of this process"},
	{"thread", 't', "TID", ON_VIEW, options_narrow_thread,
	 "only samples of this thread"},
	{"comm", 0, "GLOB", ON_VIEW, options_narrow_comm,
	 "only samples of commands that are called so"},
	{"user", 0, "NAME", ON_VIEW, options_narrow_user, "only samples of this user"},
	{"cgroup", 'G', "PATH", ON_VIEW, options_narrow_cgroup,
	 "only samples of this cgroup and those below it"},
	{"types", 0, NULL, ON_VIEW, flag_types,
	 "tell specialisations of a function apart, by their types"},
	{"color", 0, "WHEN", ON_LISTING, options_parse_colour,
	 "auto (default), always or never"},
	{"verbose", 'v', NULL, ON_ALL, flag_verbose,
	 "say what is done; -vv: every path that is tried"},
	{"help", 'h', NULL, ON_ALL, flag_help, "print this help"},
	{NULL, 0, NULL, 0, NULL, NULL},
};

static const struct command_row {
	enum command command;
	const char *name, *synopsis, *help;
} command_rows[] = {
	{COMMAND_RUN, "run", "run [OPTIONS] [--] CMD [ARG...]",
	 "profile a command and its children, then print its hot lines"},
	{COMMAND_RECORD, "record",
	 "record [OPTIONS] -p PID | --container NAME | ... | -a",
	 "profile running processes, or the whole machine, into a file"},
	{COMMAND_ANNOTATE, "annotate", "annotate [OPTIONS] [FILE|-]",
	 "print hot lines within their source"},
	{COMMAND_REPORT, "report", "report [OPTIONS] [FILE|-]", "print hot functions"},
	{COMMAND_DOCTOR, "doctor", "doctor [OPTIONS]",
	 "check what works on this system, what does not, and the remedy"},
	{COMMAND_PYTHON_HOOK, "python-hook",
	 "python-hook --install VENV | --remove VENV | --path",
	 "give Numba's code line tables, in Pythons that lineburn does not start"},
};

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

/* Tables for getopt_long; each long option returns 1000 + its row. */
struct getopt_tables {
	char letters[2 * ARRAY_SIZE(option_rows) + 3];
	struct option longs[ARRAY_SIZE(option_rows)];
};

static void make_getopt_tables(unsigned int on, bool stop_at_command,
			       struct getopt_tables *ret)
{
	size_t nr_longs = 0, nr_letters = 0;

	if (stop_at_command)
		ret->letters[nr_letters++] = '+';
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

/* A letter may mean one thing to record and another one to report. */
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

	make_getopt_tables(1U << command->command, command->command == COMMAND_RUN,
			   &tables);
	optind = 0; /* afresh, also as to the order of arguments */
	opterr = 0;
	while ((value = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) !=
	       -1) {
		const struct option_row *row;
		int rc;

		if (value == '?')
			return error_set_exit(
				err, EXIT_USAGE, -EINVAL,
				"unknown option \"%s\"; \"lineburn %s --help\" lists "
				"what there is",
				argv[optind - 1], command->name);
		if (value == ':')
			return error_set_exit(
				err, EXIT_USAGE, -EINVAL,
				"option \"%s\" needs an argument; see \"lineburn %s "
				"--help\"",
				argv[optind - 1], command->name);
		row = row_of(value, 1U << command->command);
		rc = row->parse(o, optarg, err);
		if (rc)
			return rc;
		if (o->command == COMMAND_HELP)
			return 0;
	}
	return 0;
}

/* What is left after the options, and what does not fit together. */
static int check(int argc, char **argv, struct options *o, struct error *err)
{
	switch (o->command) {
	case COMMAND_RUN:
		if (optind == argc)
			return error_set_exit(
				err, EXIT_USAGE, -EINVAL,
				"run needs a command: lineburn run -- CMD [ARG...]");
		o->sampling.argv = argv + optind;
		return check_source(o, err);
	case COMMAND_RECORD:
		if (options_check_target(o, err) || options_check_window(o, err) ||
		    check_source(o, err))
			return -EINVAL;
		break;
	case COMMAND_ANNOTATE:
	case COMMAND_REPORT:
		options_take_view_arguments(argc, argv, o);
		if (options_check_view(o, err))
			return -EINVAL;
		break;
	case COMMAND_PYTHON_HOOK:
		if (!o->python_hook_action)
			return error_set_exit(err, EXIT_USAGE, -EINVAL,
					      "python-hook takes one of --install, "
					      "--remove and --path");
		if (o->python_cache_dir && o->python_hook_action != PYTHON_HOOK_INSTALL)
			return error_set_exit(
				err, EXIT_USAGE, -EINVAL,
				"--cache-dir goes with --install; otherwise "
				"set LINEBURN_NUMBA_CACHE_DIR");
		break;
	default:
		break;
	}
	if (optind < argc)
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "unexpected argument \"%s\"", argv[optind]);
	return 0;
}

int options_parse(int argc, char **argv, struct options *ret, struct error *err)
{
	const struct command_row *command;
	int rc;

	*ret = (struct options){
		.sampling = {.source = &cpu_clock_source,
			     .max_frames = DEFAULT_MAX_FRAMES,
			     .unwind_bytes = (uint64_t)DEFAULT_UNWIND_MIB << 20,
			     .output = DEFAULT_OUTPUT},
		.viewing = {.input = DEFAULT_OUTPUT,
			    .format = "text",
			    .context = 2,
			    .min_share = 0.005,
			    .call_depth = 100},
	};
	if (argc < 2)
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "no command given; \"lineburn --help\" lists them");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		ret->command = COMMAND_HELP;
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		ret->command = COMMAND_VERSION;
		return 0;
	}
	command = command_find(argv[1]);
	if (!command)
		return error_set_exit(
			err, EXIT_USAGE, -EINVAL,
			"unknown command \"%s\"; \"lineburn --help\" lists them",
			argv[1]);
	ret->command = command->command;
	ret->sampling.target.is_command = command->command == COMMAND_RUN;
	ret->viewing.is_report = command->command == COMMAND_REPORT;
	rc = parse_rows(argc - 1, argv + 1, command, ret, err);
	if (rc || ret->command == COMMAND_HELP)
		return rc;
	ret->sampling.probing = options_probing(ret);
	ret->sampling.attribution = ret->viewing.attribution;
	return check(argc - 1, argv + 1, ret, err);
}

void options_deinit(struct options *o)
{
	for (size_t i = 0; i < o->viewing.nr_source_paths; i++)
		free((char *)o->viewing.source_paths[i].old_prefix);
	free(o->viewing.source_paths);
	free(o->viewing.filters);
	free(o->sampling.target.pids);
	free(o->sampling.target.values);
}
