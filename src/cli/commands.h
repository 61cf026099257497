/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands run, record, top, annotate, report, diff and export. Only this file uses all
 * stages.
 */
#ifndef LB_CLI_COMMANDS_H
#define LB_CLI_COMMANDS_H

#include "base/error.h"
#include "cli/options.h"

/**
 * record and run: collect, name, aggregate, write; run then shows the listing.
 *
 * @ret_status  exit status of the process, on success
 * Return: 0 or a negative errno with a message and exit code in @err.
 */
int command_record(const struct options *o, int *ret_status, struct error *err);

/** top: collect, name, aggregate, show, again and again. */
int command_top(const struct options *o, struct error *err);

/** annotate and report: read a profile, attribute, render. */
int command_view(const struct options *o, struct error *err);

/**
 * diff: read recordings of two sides, attribute, compare, render. A rule of --fail-if
 * that is exceeded is an error, with an exit code of its own.
 */
int command_diff(const struct options *o, struct error *err);

/** export and html: read a profile, attribute, write it in another format. */
int command_export(const struct options *o, struct error *err);

#endif
