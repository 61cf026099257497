/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LB_CLI_VERSION_H
#define LB_CLI_VERSION_H

#include <stdbool.h>
#include <stdio.h>

/** Prints the version; @verbose: also what was compiled, by what, with which libraries. */
void version_print(bool verbose, FILE *out);

#endif
