/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: the separate debug file of a stripped binary. The collector opens
 * candidates, the next one each time the same request is repeated (debugfile.h);
 * a file is used only when its build id or its checksum matches.
 */
#ifndef LB_DECODE_ELF_DEBUG_H
#define LB_DECODE_ELF_DEBUG_H

#include <stddef.h>

#include "decode/elf/binary.h"
#include "decode/need.h"
#include "worker/worker.h"

struct elf_debug {
	int fd; /* -1: none; owned */
	struct binary *binary; /* owned */
};

/** Asks for one file. Return: a descriptor to close, or a negative errno. */
int elf_debug_ask(struct worker_call *call, const struct need *need);

/** @ret is written only on success. Return: 0, -ENODATA (none), -ENOMEM. */
int elf_debug_find(struct worker_call *call, const struct binary *stripped,
		   struct elf_debug *ret);
void elf_debug_deinit(struct elf_debug *d);

/*
 * Decoder side: MiniDebugInfo, a small ELF file with the symbols of the local
 * functions, xz-compressed in section .gnu_debugdata ("MiniDebugInfo", GDB
 * manual).
 */

#define MINIDEBUG_MAX_BYTES (64u << 20) /* unpacked, and memory of the unpacker */

/**
 * Unpacks it. The caller frees *ret.
 * Return: 0, -ENODATA (there is none), -EBADMSG, -EFBIG (unpacks to more than
 * the maximum), -ENOMEM.
 */
int elf_minidebug_read(const struct binary *b, void **ret, size_t *ret_len);

#endif
