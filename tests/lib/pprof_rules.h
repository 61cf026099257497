/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks a pprof file by the rules of the programs that read such files, all at once:
 * Google's pprof (profile.CheckValid), Parca (pkg/normalizer/validate.go) and Pyroscope
 * (UTF-8; a location without a function is lost when profiles are merged).
 */
#ifndef LB_TESTS_PPROF_RULES_H
#define LB_TESTS_PPROF_RULES_H

#include <stdbool.h>
#include <stddef.h>

/**
 * @data  gzipped
 * @text  receives the first broken rule and where it is broken
 * Return: whether all rules hold
 */
bool pprof_rules_hold(const void *data, size_t len, char *text, size_t text_size);

/**
 * The same for a profile that is sent to a server: also Pyroscope's limits (4 MiB
 * unpacked, 16,000 samples), no address, nothing of lineburn's own, and no label with a
 * new value at each start.
 */
bool pprof_push_rules_hold(const void *data, size_t len, char *text, size_t text_size);

#endif
