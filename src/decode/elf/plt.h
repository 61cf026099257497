/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoder side: which function a stub of the procedure linkage table jumps to. */
#ifndef LB_DECODE_ELF_PLT_H
#define LB_DECODE_ELF_PLT_H

#include <stddef.h>
#include <stdint.h>

#include "decode/elf/binary.h"

/**
 * Sets names[i] to the target's symbol name, without "@plt", where vaddrs[i] is
 * in a stub; leaves the others. Knows x86-64 only; elsewhere nothing is set.
 *
 * @names  @nr entries; strings are borrowed from @b
 * Return: 0 or -ENOMEM.
 */
int elf_plt_names(const struct binary *b, const uint64_t *vaddrs, size_t nr,
		  const char **names);

#endif
