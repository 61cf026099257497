/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disassembles the machine code that is shown, by a worker. */
#ifndef LB_CLI_DISASSEMBLY_H
#define LB_CLI_DISASSEMBLY_H

#include "analyze/machine_code.h"

/**
 * Gives each piece of @m its instructions: from the bytes in the profile, else from
 * the file of its mapping, opened with the rights that the thread has. Where there
 * are none the piece's note says why.
 *
 * @is_strangers     the profile: no file that it names is opened
 * @ret_nr_withheld  pieces that have none for that reason; added to
 * Return: 0 or -ENOMEM.
 */
int disassembly_fill(struct machine_code *m, const struct profile *p, bool is_strangers,
		     size_t *ret_nr_withheld);

#endif
