/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disassembles the machine code to show, in a worker. */
#ifndef LB_CLI_DISASSEMBLY_H
#define LB_CLI_DISASSEMBLY_H

#include "analyze/machine_code.h"

/**
 * Adds the instructions of each piece of @m: from the bytes in the profile, else from
 * the file of its mapping, opened with the thread's privileges. If there are none, the
 * piece's note says why.
 *
 * @is_strangers     the profile is untrusted: opens no file that it names
 * @ret_nr_withheld  incremented for each piece without instructions for that reason
 * Return: 0 or -ENOMEM.
 */
int disassembly_fill(struct machine_code *m, const struct profile *p, bool is_strangers,
		     size_t *ret_nr_withheld);

#endif
