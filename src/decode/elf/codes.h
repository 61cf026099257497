/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoder side: code as DWARF names it -> code in an answer, named as frames are. */
#ifndef LB_DECODE_ELF_CODES_H
#define LB_DECODE_ELF_CODES_H

#include "decode/answer.h"
#include "decode/elf/names.h"

/**
 * Adds @code to @answers. What there is no memory for is left out.
 *
 * @names     its symbol is that of @function; another one afterwards
 * @function  the function that the code is of, as DWARF names it; rows of other
 *            names are inlined into it
 */
void elf_codes_add(struct answer_writer *answers, struct elf_names *names,
		   const struct frame *function, const struct code *code);

#endif
