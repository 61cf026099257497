/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Would the programs that read pprof files take this one? The rules of Google's pprof
 * (profile.CheckValid), of Parca (pkg/normalizer/validate.go) and of Pyroscope (UTF-8; a
 * location without a function is lost when profiles are merged), all at once.
 */
#ifndef LB_TESTS_PPROF_RULES_H
#define LB_TESTS_PPROF_RULES_H

#include <stdbool.h>
#include <stddef.h>

/**
 * @data  gzipped
 * @text  receives the first rule that is broken, and where
 * Return: does it keep all rules?
 */
bool pprof_rules_hold(const void *data, size_t len, char *text, size_t text_size);

#endif
