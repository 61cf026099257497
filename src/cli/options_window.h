/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of long runs: --window, --keep, --max-size, --memory. */
#ifndef LB_CLI_OPTIONS_WINDOW_H
#define LB_CLI_OPTIONS_WINDOW_H

#include "cli/options.h"

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

/* Parsers of the table in options.c. */
int options_parse_window(struct options *o, const char *arg, struct error *err);
int options_parse_keep(struct options *o, const char *arg, struct error *err);
int options_parse_max_size(struct options *o, const char *arg, struct error *err);
int options_parse_memory(struct options *o, const char *arg, struct error *err);

/** What of them does not fit together. Return: 0, or -EINVAL with a sentence. */
int options_check_window(const struct options *o, struct error *err);

#endif
