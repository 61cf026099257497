/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: one table drives parsing, --help and the man-page check. */
#ifndef LB_CLI_OPTIONS_H
#define LB_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lineburn_filter.h"
#include "analyze/attribution.h"
#include "analyze/call_tree.h"
#include "analyze/groups.h"
#include "analyze/filter.h"
#include "analyze/source.h"
#include "launch/python_hook.h"

#define DEFAULT_FREQ_HZ    99
#define DEFAULT_OUTPUT     "lineburn.pb.gz"
#define DEFAULT_MAX_FRAMES 127
#define DEFAULT_UNWIND_MIB 64
#define DEFAULT_MEMORY_MIB 256 /* of record without -d */

enum command {
	COMMAND_NONE,
	COMMAND_RUN,
	COMMAND_RECORD,
	COMMAND_ANNOTATE,
	COMMAND_REPORT,
	COMMAND_DOCTOR,
	COMMAND_PYTHON_HOOK,
	COMMAND_HELP, /* --help, or a command's --help: already in help_for */
	COMMAND_VERSION,
};

enum colour_mode {
	COLOUR_AUTO,
	COLOUR_ALWAYS,
	COLOUR_NEVER,
};

enum dump {
	DUMP_NONE,
	DUMP_SAMPLES, /* rows as they come from the kernel */
	DUMP_MAPS, /* program images and their mappings */
	DUMP_FRAMES, /* addresses and what they were named */
};

/* Who is sampled, or is not: a value of -t, -G, --container, --unit, --comm, --user, or of
 * "-p !PID". */
struct target_value {
	enum lb_filter_kind kind;
	bool excludes;
	const char *text; /* without the '!' */
	uint32_t number; /* PROCESS and THREAD: its id */
};

/* Strings are borrowed from argv. */
struct options {
	enum command command;
	enum command help_for; /* COMMAND_NONE: the overview */
	int verbose;

	/* run, record */
	uint32_t freq_hz;
	uint32_t budget_ppm; /* of all CPUs' time that sampling may cost; 0: any */
	uint32_t *pids; /* heap */
	size_t nr_pids, cap_pids;
	bool whole_machine; /* no process or thread is given: each is looked at */
	struct target_value *choices; /* heap; beside pids */
	size_t nr_choices, cap_choices;
	bool no_children; /* of pids, or of the command */
	double duration_s; /* 0: until it is stopped */
	double delay_s;
	double window_s; /* record: a new file so often; 0: one file */
	uint32_t keep_files; /* of windows; 0: all */
	uint64_t max_size_bytes; /* of all files of windows; 0: no limit */
	uint64_t memory_bytes; /* resident, at most; 0: not given */
	const char *output;
	bool output_given;
	bool keep_tid;
	bool no_kernel_stack;
	bool uprobe, no_uprobe; /* one of them at most */
	uint32_t max_frames; /* of a user stack */
	uint64_t unwind_bytes; /* of kernel memory for unwind rows */
	bool dry_run;
	bool no_python_hook;
	enum dump dump;
	char **argv; /* run: the command, NULL-terminated; points into argv of main */

	/* python-hook */
	enum python_hook_action python_hook_action;
	const char *python_prefix;
	const char *python_cache_dir; /* NULL: not given */

	/* annotate, report */
	const char *input; /* "-": stdin */
	bool input_given;
	bool json;
	struct attribution_options attribution;
	bool skip_compile; /* Python's imports and Numba's compiler are left out */
	struct source_path_rule *source_paths; /* heap */
	size_t nr_source_paths, cap_source_paths;
	bool open_sources; /* that a profile names, whoever wrote it */
	unsigned int context;
	double min_share; /* 0..1 */
	const char *file_filter;
	bool show_asm;
	const char *asm_what; /* function or FILE:LINE; NULL: the hottest function */
	enum call_direction call_direction; /* report: a tree instead of the table */
	const char *call_what; /* function or FILE:LINE; NULL: all */
	unsigned int call_depth; /* most calls of a path */
	bool show_types; /* of specialisations */
	enum group_by group_by; /* report: groups instead of functions */
	struct profile_filter *filters; /* heap: whose samples */
	size_t nr_filters, cap_filters;
	enum colour_mode colour;
};

/** Parses argv. Return: 0, or -EINVAL with a sentence and EXIT_USAGE in @err. */
int options_parse(int argc, char **argv, struct options *ret, struct error *err);
void options_deinit(struct options *o);

/** Prints the overview, or one command's options. */
void options_print_help(enum command command);

#endif
