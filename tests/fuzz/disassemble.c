// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * First byte: machine, and whether the code was linked. Next 8 bytes: address. Rest:
 * code.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "decode/asm/disassemble.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 40};

static void check(const struct instruction *one, size_t left)
{
	size_t len = strnlen(one->text, DISASSEMBLED_TEXT_BYTES);

	if (!one->size_bytes || one->size_bytes > left || !len ||
	    len == DISASSEMBLED_TEXT_BYTES || one->flow >= NR_INSTRUCTION_FLOWS)
		abort();
	if (one->has_target ? one->flow == INSTRUCTION_ON : one->target != 0)
		abort();
	for (size_t i = 0; i < len; i++)
		if (one->text[i] < ' ' || one->text[i] > '~')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = {EM_X86_64, EM_386, EM_AARCH64, EM_NONE};
	_cleanup_(disassembler_freep) struct disassembler *d = NULL;
	struct instruction one;
	uint64_t address;
	uint8_t *code;

	if (size < 10)
		return 0;
	if (disassembler_new(machines[data[0] & 3], data[0] & 4, &d))
		return 0;
	memcpy(&address, data + 1, sizeof(address));
	size -= 9;
	code = malloc(size); /* exact size: AddressSanitizer sees reads past it */
	if (!code)
		return 0;
	memcpy(code, data + 9, size);
	for (size_t at = 0; at < size; at += one.size_bytes) {
		disassembler_next(d, code + at, size - at, address + at, &one);
		check(&one, size - at);
	}
	free(code);
	return 0;
}
