/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disassembles the machine code to show, in a worker. */
#ifndef LB_CLI_DISASSEMBLY_H
#define LB_CLI_DISASSEMBLY_H

#include "analyze/machine_code.h"
#include "cli/reading.h"

/**
 * Adds the instructions of each piece of @m: from the bytes in the profile, else from
 * the file of its mapping. If there are none, the
 * piece's note says why.
 *
 * @named            if the profile is untrusted, no file is opened; if its programs may be
 *                   strangers', only what every user may read
 * @ret_nr_withheld  incremented for each file that was not opened for that reason
 * Return: 0 or -ENOMEM.
 */
int disassembly_fill(struct machine_code *m, const struct profile *p,
		     const struct named_files *named, size_t *ret_nr_withheld);

#endif
