/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: MiniDebugInfo, a small ELF file with the symbols of the local
 * functions, xz-compressed in section .gnu_debugdata ("MiniDebugInfo", GDB
 * manual).
 */
#ifndef LB_DECODE_ELF_MINIDEBUG_H
#define LB_DECODE_ELF_MINIDEBUG_H

#include <stddef.h>

#include "decode/elf/binary.h"

#define MINIDEBUG_MAX_BYTES (64u << 20) /* unpacked, and memory of the unpacker */

/**
 * Unpacks it. The caller frees *ret.
 * Return: 0, -ENODATA (there is none), -EBADMSG, -EFBIG (unpacks to more than
 * the maximum), -ENOMEM.
 */
int elf_minidebug_read(const struct binary *b, void **ret, size_t *ret_len);

#endif
