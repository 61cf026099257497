/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: unwind rows of an ELF object that a JIT registered for debuggers. An
 * object that was never linked (ET_REL: LLVM's MCJIT) has the load addresses of its
 * sections (sh_addr), but its .eh_frame is not relocated: that is done here. Functions of
 * .symtab without an FDE get rows from their code.
 */
#ifndef LB_DECODE_CFI_OBJECT_H
#define LB_DECODE_CFI_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "decode/cfi/cfi.h"
#include "decode/jit/image.h"

/* A piece of code: run-time addresses. */
struct cfi_text {
	uint64_t start, end; /* end > start */
	struct cfi_rows rows; /* finished */
};

struct cfi_object {
	struct cfi_text texts[IMAGE_MAX_CODE];
	size_t nr_texts; /* 0: no object of a 64-bit x86 machine, or one without code */
};

/**
 * @bytes  of the object; not changed
 * @steps_left  as of cfi_read()
 * Return: 0 or -ENOMEM. Invalid objects have no rows.
 */
int cfi_object_read(const void *bytes, size_t len, uint64_t *steps_left,
		    struct cfi_object *ret);
void cfi_object_deinit(struct cfi_object *o);

#endif
