/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: one table drives parsing, --help and the man-page check. */
#ifndef LB_OPTIONS_H
#define LB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/attribution.h"
#include "profile/source.h"
#include "python_hook.h"

#define DEFAULT_FREQ_HZ 99
#define DEFAULT_OUTPUT  "lineburn.pb.gz"

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

/* Strings are borrowed from argv. */
struct options {
	enum command command;
	enum command help_for; /* COMMAND_NONE: the overview */
	int verbose;

	/* run, record */
	uint32_t freq_hz;
	uint32_t *pids; /* heap */
	size_t nr_pids, cap_pids;
	bool whole_machine;
	double duration_s; /* 0: until it is stopped */
	double delay_s;
	const char *output;
	bool output_given;
	bool keep_tid;
	bool no_kernel_stack;
	bool no_uprobe;
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
	bool json;
	struct attribution_options attribution;
	struct source_path_rule *source_paths; /* heap */
	size_t nr_source_paths, cap_source_paths;
	unsigned int context;
	double min_share; /* 0..1 */
	const char *file_filter;
	bool show_asm;
	const char *asm_what; /* function or FILE:LINE; NULL: the hottest function */
	bool show_types; /* of specialisations */
	enum colour_mode colour;
};

/** Parses argv. Return: 0, or -EINVAL with a sentence and EXIT_USAGE in @err. */
int options_parse(int argc, char **argv, struct options *ret, struct error *err);
void options_deinit(struct options *o);

/** Prints the overview, or one command's options. */
void options_print_help(enum command command);

#endif
