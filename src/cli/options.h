/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: one table drives parsing, --help and the man-page check. */
#ifndef LB_CLI_OPTIONS_H
#define LB_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/show.h"
#include "launch/python_hook.h"
#include "record/sampling.h"
#include "runtime/jit/watch.h"

#define DEFAULT_FREQ_HZ    99
#define DEFAULT_OUTPUT     "lineburn.pb.gz"
#define DEFAULT_MAX_FRAMES 127
#define DEFAULT_UNWIND_MIB 64

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

/* Strings are borrowed from argv. */
struct options {
	enum command command;
	enum command help_for; /* COMMAND_NONE: the overview */
	int verbose;

	struct sampling sampling; /* run, record */
	bool uprobe,
		no_uprobe; /* one of them at most; sampling.probing is what they mean */

	struct viewing viewing; /* annotate, report; run shows its result at once */

	/* python-hook */
	enum python_hook_action python_hook_action;
	const char *python_prefix;
	const char *python_cache_dir; /* NULL: not given */
};

/** Parses argv. Return: 0, or -EINVAL with a sentence and EXIT_USAGE in @err. */
int options_parse(int argc, char **argv, struct options *ret, struct error *err);
void options_deinit(struct options *o);

/** Prints the overview, or one command's options. */
void options_print_help(enum command command);

/* ---- Options that say who is sampled: rows of the table in options.c ---- */

/**
 * Which files may get a uprobe. Without --uprobe only those of what the caller named: the
 * command, processes, threads, containers, units or cgroups, not what anybody can join, by
 * the name of a thread or as a user.
 */
enum jit_probing options_probing(const struct options *o);

/* ---- The options of long runs: --window, --keep, --max-size, --memory ---- */

/**
 * A duration as people write it: "90", "90s", "1.5m", "2h".
 * Return: false (and *ret_s as it was) for anything else, and for what is negative,
 * not a decimal number, or longer than 10,000,000 s.
 */
bool duration_parse(const char *text, double *ret_s);

/**
 * A number of bytes as people write it: "4096", "500K", "1.5G" (K is 1024).
 * Return: false for anything else, and for 0 or 2^62 bytes and more.
 */
bool size_parse(const char *text, uint64_t *ret_bytes);

#endif
