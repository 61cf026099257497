// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads any bytes as an ELF file with DWARF. The same bytes are also its dwz file, .dwo
 * and .dwp. The addresses are those where the seeds have code. Each address must be
 * answered exactly once.
 * Seeds: tests/fuzz/dwarf-seeds.sh.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/dwarf/dwarf.h"
#include "lib/cost.h"

#define NR_ADDRESSES 256

struct input {
	const uint8_t *data;
	size_t len;
	unsigned char answered[NR_ADDRESSES];
	unsigned int nr_needs;
};

static volatile size_t sink;

static int as_file(const struct input *in)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, in->data, in->len) != (ssize_t)in->len)
		abort();
	return fd;
}

static int need(void *ctx, const struct need *what)
{
	struct input *in = ctx;

	sink += strlen(what->name) + strlen(what->comp_dir);
	return in->nr_needs++ < 4 ? as_file(in) : -1;
}

static void found(void *ctx, size_t i, enum miss miss, const struct frame *frames,
		  size_t nr)
{
	struct input *in = ctx;

	in->answered[i]++;
	if (nr > FRAMES_MAX_INLINE || (miss == MISS_NONE) != (nr && frames[0].line))
		abort();
	for (size_t f = 0; f < nr; f++)
		sink += strlen(frames[f].function) + strlen(frames[f].system_name) +
			strlen(frames[f].file) + frames[f].line;
}

static void found_code(void *ctx, size_t i, const struct frame *function,
		       const struct code *code)
{
	uint64_t at = code->address, end = at + code->size_bytes;

	sink += ((struct input *)ctx)->answered[i] + strlen(function->function);
	if (i >= NR_ADDRESSES || !code->nr_rows || code->nr_rows > CODE_MAX_ROWS ||
	    code->size_bytes > CODE_MAX_BYTES || end <= at)
		abort();
	for (size_t k = 0; k < code->nr_rows; k++) {
		const struct code_row *row = &code->rows[k];

		if (row->address < at || row->address > end)
			abort();
		at = row->address;
		sink += strlen(row->frame.function) + strlen(row->frame.system_name) +
			strlen(row->frame.file);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* 256 addresses are asked. */
const struct cost_bound cost_bound = {.fixed = 200000, .per_byte = 100};
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = {.data = data, .len = len};
	struct binary *binary = NULL;
	struct dwarf_source *d = NULL;
	uint64_t vaddrs[NR_ADDRESSES];
	int fd = as_file(&in);

	for (size_t i = 0; i < NR_ADDRESSES; i++)
		vaddrs[i] = 0x180 + i * 2;
	vaddrs[0] = 0;
	vaddrs[1] = UINT64_MAX;
	if (binary_open(fd, &binary) == 0 &&
	    dwarf_source_open(binary, need, &in, &d) == 0)
		dwarf_source_want_code(d, found_code, NULL);
	if (d && dwarf_source_resolve(d, vaddrs, NR_ADDRESSES, found, &in) == 0)
		for (size_t i = 0; i < NR_ADDRESSES; i++)
			if (in.answered[i] != 1)
				abort();
	dwarf_source_free(d);
	binary_free(binary);
	close(fd);
	return 0;
}
