// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/options.h"

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
#include "cli/options_parse.h"
#include "cli/options_target.h"
#include "cli/options_window.h"
#include "collect/sampler.h"

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
FLAG(flag_json, o->viewing.json = true);
FLAG(flag_leaf, o->viewing.attribution.charge = CHARGE_LEAF);
FLAG(flag_kernel, o->viewing.attribution.kernel = true);
FLAG(flag_runtime, o->viewing.attribution.runtime = true);
FLAG(flag_types, o->viewing.show_types = true);
FLAG(flag_skip_compile, o->viewing.skip_compile = true);
FLAG(flag_sources, o->viewing.open_sources = true);
FLAG(flag_verbose, o->verbose++);
FLAG(flag_help, (o->help_for = o->command, o->command = COMMAND_HELP));

static const struct option_row option_rows[] = {
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
		return 0;
	case COMMAND_RECORD:
		if (options_check_target(o, err) || options_check_window(o, err))
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
		.sampling = {.freq_hz = DEFAULT_FREQ_HZ,
			     .max_frames = DEFAULT_MAX_FRAMES,
			     .unwind_bytes = (uint64_t)DEFAULT_UNWIND_MIB << 20,
			     .output = DEFAULT_OUTPUT},
		.viewing = {.input = DEFAULT_OUTPUT,
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
