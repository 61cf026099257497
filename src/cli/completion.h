/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scripts that complete lineburn's command lines, made from the table of options. */
#ifndef LB_CLI_COMPLETION_H
#define LB_CLI_COMPLETION_H

#include <stdio.h>

#include "cli/options.h"

/** Prints the script of a shell. It does not run lineburn. */
void completion_print(enum shell shell, FILE *out);

#endif
