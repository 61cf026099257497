/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: the separate debug file of a stripped binary. The collector opens
 * candidates, one more each time the same question is asked (debugfile.h); what
 * comes back is believed only when its build id or its checksum fits.
 */
#ifndef LB_DECODE_ELF_DEBUG_H
#define LB_DECODE_ELF_DEBUG_H

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

#endif
