/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line: one table drives parsing, --help, completion and the option lists of
 * the manual.
 */
#ifndef LB_CLI_OPTIONS_H
#define LB_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/compare.h"
#include "cli/export_profile.h"
#include "cli/option.h"
#include "cli/show.h"
#include "launch/python_hook.h"
#include "live/top.h"
#include "record/sampling.h"
#include "runtime/jit/watch.h"

#define DEFAULT_OUTPUT     "lineburn.pb.gz"
#define DEFAULT_PAGE       "lineburn.html"
#define DEFAULT_UNWIND_MIB 64

enum command {
	COMMAND_NONE,
	COMMAND_RUN,
	COMMAND_RECORD,
	COMMAND_TOP,
	COMMAND_ANNOTATE,
	COMMAND_REPORT,
	COMMAND_DIFF,
	COMMAND_EXPORT,
	COMMAND_HTML,
	COMMAND_DOCTOR,
	COMMAND_PYTHON_HOOK,
	COMMAND_COMPLETION,
	COMMAND_HELP, /* --help, also of a command; sets help_for */
	COMMAND_VERSION,
};

struct command_row {
	enum command command;
	const char *name, *synopsis, *help;
	/* What follows the options. */
	enum command_takes {
		TAKES_PROFILES, /* recordings, most often one */
		TAKES_NOTHING,
		TAKES_COMMAND, /* a command to run, and its arguments */
		TAKES_SHELL, /* the name of a shell */
	} takes;
};

extern const struct option_row option_rows[]; /* the last one has no name */
extern const struct command_row command_rows[];
extern const size_t nr_command_rows;

enum shell {
	SHELL_BASH,
	SHELL_ZSH,
	SHELL_FISH,
	NR_SHELLS,
};
extern const char *const shell_names[NR_SHELLS];

/* Strings are borrowed from argv. */
struct options {
	enum command command;
	enum command help_for; /* COMMAND_NONE: the overview */
	int verbose;

	struct sampling sampling; /* run, record, top */
	struct top_options top; /* its attribution: see viewing */
	enum uprobe_option {
		UPROBE_DEFAULT,
		UPROBE_ALL, /* --uprobe */
		UPROBE_NONE, /* --no-uprobe */
	} uprobe; /* becomes sampling.probing */

	/* annotate, report; run also shows its result; input and filters of export */
	struct viewing viewing;
	struct exporting exporting;
	struct comparing comparing; /* diff; viewing has its format and filters */
	const char *page; /* run, record: where to write a page, too; NULL: no page */
	char *page_profile; /* heap: name of the profile beside the page */
	bool open_page; /* in a browser */

	/* python-hook */
	enum python_hook_action python_hook_action;
	const char *python_prefix;
	const char *python_cache_dir; /* NULL: not given */

	bool fix, agreed; /* doctor */

	enum shell shell; /* completion */
};

/** Parses argv. Return: 0, or -EINVAL with a message and EXIT_USAGE in @err. */
int options_parse(int argc, char **argv, struct options *ret, struct error *err);
void options_deinit(struct options *o);

/** Prints the overview, or one command's options. */
void options_print_help(enum command command);

#endif
