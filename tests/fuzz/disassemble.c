// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * First byte: machine, whether the code was linked, and who is asked. Next 8 bytes: address.
 * Rest: code, or a file.
 */
#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/asm/disassemble.h"
#include "decode/requests.h"
#include "lib/cost.h"

/* Of the first byte. */
#define UNLINKED       4
#define SERVED         8 /* by the decoder's operation */
#define IN_FILE        16 /* only if it is served */
#define HAS_ID         32 /* another build id is expected of the file */

#define BUILD_ID_BYTES 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 4000, .per_byte = 200};

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

static void disassemble(uint16_t machine, bool unrelocated, uint64_t address,
			const uint8_t *code, size_t size)
{
	_cleanup_(disassembler_freep) struct disassembler *d = NULL;
	struct instruction one;

	if (disassembler_new(machine, unrelocated, &d))
		return;
	for (size_t at = 0; at < size; at += one.size_bytes) {
		disassembler_next(d, code + at, size - at, address + at, &one);
		check(&one, size - at);
	}
}

/* ---- the decoder's operation ---- */

static void check_reply(const struct wire_writer *reply, uint64_t address, size_t size)
{
	struct wire_reader r = {.data = reply->data, .len = reply->len};
	uint32_t status = wire_get_u32(&r);
	char text[DISASSEMBLED_TEXT_BYTES];
	size_t len;

	assert(status < INSTRUCTIONS_GAVE_UP);
	wire_get_bytes(&r, &len);
	assert(len == (status == INSTRUCTIONS_OK ? size : 0));
	for (size_t at = 0, left = len; at < len; left = len - at) {
		struct instruction one = {.address = address + at, .text = text};
		const char *bytes;
		size_t text_len;

		one.size_bytes = wire_get_u8(&r);
		one.flow = wire_get_u8(&r);
		one.has_target = wire_get_u8(&r);
		one.target = wire_get_u64(&r);
		bytes = wire_get_bytes(&r, &text_len);
		assert(!r.failed && text_len < sizeof(text));
		memcpy(text, bytes, text_len);
		text[text_len] = '\0';
		check(&one, left);
		at += one.size_bytes;
	}
	assert(!r.failed && r.pos == r.len);
}

/* @code  NULL: the code is in the file @fd */
static void serve(uint16_t machine, uint64_t address, uint64_t size, const uint8_t *id,
		  const uint8_t *code, int fd)
{
	struct wire_writer request = {0}, reply = {0};
	struct wire_reader r;

	wire_put_u32(&request, machine);
	wire_put_u64(&request, address);
	wire_put_u64(&request, size);
	wire_put_bytes(&request, id, id ? BUILD_ID_BYTES : 0);
	wire_put_bytes(&request, code, code ? size : 0);
	r = (struct wire_reader){.data = request.data, .len = request.len};
	assert(!instructions_serve(NULL, &r, &fd, !code, &reply));
	check_reply(&reply, address, size);
	wire_writer_deinit(&request);
	wire_writer_deinit(&reply);
}

/* @data  the number of bytes that are asked for, in two bytes, and the file */
static void serve_file(const uint8_t *data, size_t size, uint64_t address, bool has_id)
{
	static const uint8_t id[BUILD_ID_BYTES];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	assert(fd >= 0 && write(fd, data + 2, size - 2) == (ssize_t)size - 2);
	serve(EM_NONE, address, data[0] | (uint64_t)data[1] << 8, has_id ? id : NULL,
	      NULL, fd);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = {EM_X86_64, EM_386, EM_AARCH64, EM_NONE};
	uint64_t address;
	uint8_t *code;

	if (size < 11)
		return 0;
	memcpy(&address, data + 1, sizeof(address));
	size -= 9;
	code = malloc(size); /* exact size: AddressSanitizer sees reads past it */
	assert(code);
	memcpy(code, data + 9, size);
	if (!(data[0] & SERVED))
		disassemble(machines[data[0] & 3], data[0] & UNLINKED, address, code,
			    size);
	else if (!(data[0] & IN_FILE))
		serve(machines[data[0] & 3], address, size, NULL, code, -1);
	else
		serve_file(code, size, address, data[0] & HAS_ID);
	free(code);
	return 0;
}
