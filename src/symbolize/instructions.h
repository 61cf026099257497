/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disassembles a piece of machine code in a worker, as the code is untrusted. */
#ifndef LB_SYMBOLIZE_INSTRUCTIONS_H
#define LB_SYMBOLIZE_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/frame.h"
#include "decode/requests.h"
#include "worker/worker.h"

struct instruction_list {
	enum instructions_status status; /* not OK: the rest is empty */
	uint8_t *bytes; /* heap, owned: the machine code */
	size_t nr_bytes;
	struct instruction *items; /* heap, owned; ascending, without gaps */
	size_t nr;
	char *texts; /* heap, owned: of items */
};

void instruction_list_deinit(struct instruction_list *list);

struct instructions_question {
	uint64_t address;
	uint64_t size_bytes;
	const uint8_t *bytes; /* size_bytes of code; NULL: read them from fd */
	uint16_t machine; /* EM_* of @bytes */
	int fd; /* an ELF file; @address is a vaddr in it; -1 with @bytes */
	const uint8_t *build_id; /* the file's expected one */
	size_t build_id_len; /* 0: do not check */
};

/**
 * @ret must be zeroed. Return: 0 (also without instructions: see ret->status), -ENOMEM.
 */
int instructions_ask(struct worker *w, const struct instructions_question *question,
		     struct instruction_list *ret);

/**
 * Parses the reply and checks its bounds. Return: 0, -EBADMSG, -ENOMEM; @ret as above.
 */
int instructions_read(struct wire_reader *r, uint64_t address,
		      struct instruction_list *ret);

/** Returns the EM_* machine of uname(2)'s name ("x86_64"); EM_NONE if unknown. */
uint16_t instructions_machine(const char *name);

#endif
