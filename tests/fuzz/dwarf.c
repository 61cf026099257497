// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads any bytes as an ELF file with DWARF. The same bytes are also its dwz file, .dwo
 * and .dwp. The addresses are those where the seeds have code. Each address must be
 * answered exactly once. It is asked about twice, as a file that is kept.
 * Seeds: tests/fuzz/dwarf-seeds.sh.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/dwarf/kept.h"
#include "lib/cost.h"

#define NR_ADDRESSES 256

struct input {
	const uint8_t *data;
	size_t len;
	unsigned char answered[NR_ADDRESSES];
	unsigned int nr_needs;
	uint64_t answers; /* hash of all of them */
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

static uint64_t hash(uint64_t so_far, const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		so_far = (so_far ^ ((const uint8_t *)data)[i]) * 0x100000001b3;
	return so_far;
}

static uint64_t hash_text(uint64_t so_far, const char *text)
{
	return hash(so_far, text, strlen(text) + 1);
}

static void found(void *ctx, size_t i, enum miss miss, const struct frame *frames,
		  size_t nr)
{
	struct input *in = ctx;
	uint64_t answer = hash(i, &miss, sizeof(miss));

	in->answered[i]++;
	if (nr > FRAMES_MAX_INLINE || (miss == MISS_NONE) != (nr && frames[0].line))
		abort();
	for (size_t f = 0; f < nr; f++) {
		answer = hash_text(answer, frames[f].function);
		answer = hash_text(answer, frames[f].system_name);
		answer = hash_text(answer, frames[f].file);
		answer = hash(answer, &frames[f].line, sizeof(frames[f].line));
	}
	in->answers += answer; /* they come in any order */
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

/* 256 addresses are asked, twice. */
const struct cost_bound cost_bound = {.fixed = 200000, .per_byte = 100};

static void as_row(void *ctx, uint64_t vaddr, uint32_t line)
{
	(void)ctx;
	sink += vaddr + line;
}

/* Asks for lines as a decoder does whose file is asked about again. Return: has it any? */
static bool ask(struct input *in, int fd, bool keep)
{
	struct dwarf_source *d;
	struct dwarf_stats stats;
	uint64_t vaddrs[NR_ADDRESSES];
	int err;

	for (size_t i = 0; i < NR_ADDRESSES; i++)
		vaddrs[i] = 0x180 + i * 2;
	vaddrs[0] = 0;
	vaddrs[1] = UINT64_MAX;
	memset(in->answered, 0, sizeof(in->answered));
	in->nr_needs = 0;
	in->answers = 0;
	if (kept_dwarf_open(fd, 0, need, in, &d))
		return false;
	dwarf_source_want_code(d, found_code, NULL);
	err = dwarf_source_resolve(d, vaddrs, NR_ADDRESSES, found, in);
	for (size_t i = 0; i < NR_ADDRESSES && !err; i++)
		if (in->answered[i] != 1)
			abort();
	dwarf_source_stats(d, &stats);
	sink += stats.nr_bad_units;
	kept_dwarf_done(keep && !err);
	return !err;
}

static void read_all_rows(struct input *in, int fd)
{
	_cleanup_(binary_freep) struct binary *binary = NULL;
	_cleanup_(dwarf_source_freep) struct dwarf_source *d = NULL;

	if (!binary_open(fd, &binary) && !dwarf_source_open(binary, need, in, &d))
		dwarf_source_rows(d, as_row, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = {.data = data, .len = len};
	int fd = as_file(&in);
	uint64_t answers;

	/* What was kept must not change the answers. */
	if (ask(&in, fd, true)) {
		answers = in.answers;
		if (!ask(&in, fd, false) || in.answers != answers)
			abort();
		read_all_rows(&in, fd);
	}
	close(fd);
	return 0;
}
