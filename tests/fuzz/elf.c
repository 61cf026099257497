// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * elf_serve() on one file: identity, segments, symbols, stubs, MiniDebugInfo, links to
 * debug files, readable names. The file is its own debug file. DWARF has its own target
 * (dwarf.c); texts replace it here.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/answer.h"
#include "decode/dwarf/kept.h"
#include "decode/need.h"
#include "decode/requests.h"
#include "lib/cost.h"

#define NR_ADDRESSES 16
#define NR_CODE      6 /* of them, whose function's code is asked for, too */
#define ROOT         7

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 400000, .per_byte = 30};

static int file_fd;

int worker_need(struct worker_call *call, const void *what, size_t len)
{
	struct wire_reader r = {.data = what, .len = len};
	struct need need;

	(void)call;
	assert(!need_get(&r, &need)); /* the decoder's requests must be well-formed */
	return dup(file_fd);
}

/* ---- instead of DWARF: .debug_info has the texts of a chain, each with a NUL ---- */

#define MAX_FRAMES   (FRAMES_MAX_INLINE + 2)
#define NR_WITH_LINE 2

struct dwarf_source {
	dwarf_need_fn need;
	void *ctx;
	struct frame frames[MAX_FRAMES];
	size_t nr;
	dwarf_code_fn code;
	const bool *wanted;
};

static void ask_for_split_file(const struct dwarf_source *d)
{
	const struct need need = {.kind = NEED_DWO, .name = "a.dwo"};
	int fd = d->need(d->ctx, &need);

	if (fd >= 0)
		close(fd);
}

int dwarf_source_open(struct binary *binary, dwarf_need_fn need, void *ctx,
		      struct dwarf_source **ret)
{
	const Elf_Data *data =
		binary_section_bytes(binary_section(binary, ".debug_info", NULL));
	const char *at = data ? data->d_buf : NULL, *end = at ? at + data->d_size : NULL;
	struct dwarf_source *d;

	if (!data)
		return -ENODATA;
	if (end[-1])
		return -EBADMSG;
	d = calloc(1, sizeof(*d));
	assert(d);
	d->need = need;
	d->ctx = ctx;
	for (; at < end && d->nr < MAX_FRAMES; d->nr++) {
		struct frame *f = &d->frames[d->nr];

		f->function = at;
		at += strlen(at) + 1;
		f->system_name = at < end ? at : "";
		at += at < end ? strlen(at) + 1 : 0;
		f->file = "a.c";
		f->line = (uint32_t)d->nr + 1;
		f->inlined = true;
	}
	d->frames[d->nr - 1].inlined = false;
	*ret = d;
	return 0;
}

void dwarf_source_stats(const struct dwarf_source *d, struct dwarf_stats *ret)
{
	*ret = (struct dwarf_stats){.nr_bad_units = d->nr};
}

void dwarf_source_free(struct dwarf_source *d)
{
	free(d);
}

void dwarf_source_want_code(struct dwarf_source *d, dwarf_code_fn fn, const bool *wanted)
{
	d->code = fn;
	d->wanted = wanted;
}

static void report_code(struct dwarf_source *d, uint64_t vaddr, size_t i, void *ctx)
{
	struct code_row rows[MAX_FRAMES + 1];
	struct code code = {.address = vaddr,
			    .size_bytes = MAX_FRAMES + 1,
			    .rows = rows,
			    .nr_rows = d->nr + 1};

	for (size_t k = 0; k <= d->nr; k++)
		rows[k] = (struct code_row){.address = vaddr + k,
					    .frame = d->frames[k % d->nr]};
	d->code(ctx, i, &d->frames[d->nr - 1], &code);
}

int dwarf_source_resolve(struct dwarf_source *d, const uint64_t *vaddrs, size_t nr,
			 dwarf_found_fn found, void *ctx)
{
	ask_for_split_file(d);
	for (size_t i = 0; i < nr; i++) {
		bool has_line = i < NR_WITH_LINE && d->frames[0].function[0];

		found(ctx, i, has_line ? MISS_NONE : MISS_NO_LINE, d->frames,
		      has_line ? d->nr : 0);
		if (d->code && d->wanted[i])
			report_code(d, vaddrs[i], i, ctx);
	}
	return 0;
}

static struct dwarf_source *kept;
static struct binary *kept_file;

int kept_dwarf_open(int fd, uint64_t root, dwarf_need_fn need, void *ctx,
		    struct dwarf_source **ret)
{
	struct binary *b;
	int err = binary_open(fd, &b);

	assert(root == ROOT && !kept && !err); /* it was opened before */
	err = dwarf_source_open(b, need, ctx, &kept);
	kept_file = b;
	*ret = kept;
	return err;
}

void kept_dwarf_done(bool is_sound)
{
	assert(is_sound == !!kept);
	dwarf_source_free(take_ptr(kept));
	binary_free(take_ptr(kept_file));
}

/* ---- requests ---- */

static void serve(uint32_t flags, const uint64_t *addresses)
{
	struct strpool *pool = strpool_new(1 << 20);
	struct wire_writer request = {0}, reply = {0};
	struct answers answers = {0};
	struct wire_reader r;
	size_t len;

	wire_put_u32(&request, flags);
	wire_put_bytes(&request, NULL, 0);
	if (flags & ELF_REQUEST_KEEP)
		wire_put_u64(&request, ROOT);
	if (flags & ELF_REQUEST_CODE)
		wire_put_u32(&request, NR_CODE);
	wire_put_u32(&request, NR_ADDRESSES);
	for (size_t i = 0; i < NR_ADDRESSES; i++)
		wire_put_u64(&request, addresses[i]);
	r = (struct wire_reader){.data = request.data, .len = request.len};
	if (!elf_serve(NULL, &r, &file_fd, 1, &reply)) {
		/* The collector must accept the answer. */
		r = (struct wire_reader){.data = reply.data, .len = reply.len};
		assert(wire_get_u32(&r) < NR_MISSES);
		wire_get_bytes(&r, &len);
		for (int i = 0; i < 4; i++)
			wire_get_u64(&r);
		assert(!answers_read(&r, NR_ADDRESSES, pool, &answers));
		answers_deinit(&answers);
	}
	wire_writer_deinit(&request);
	wire_writer_deinit(&reply);
	strpool_free(pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t addresses[NR_ADDRESSES] = {0, 0x1000, 0x1020, 0x1139};

	file_fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (file_fd < 0)
		return 0;
	if (write(file_fd, data, size) == (ssize_t)size) {
		/* Words of the file itself are good guesses for addresses in it. */
		for (size_t i = 4; i < NR_ADDRESSES; i++) {
			size_t at = i == 4 ? 24 : size / NR_ADDRESSES * i & ~(size_t)7;

			if (at + 8 <= size)
				memcpy(&addresses[i], data + at, 8);
		}
		serve(ELF_REQUEST_CODE, addresses);
		serve(ELF_REQUEST_VADDR | ELF_REQUEST_KEEP, addresses);
	}
	close(file_fd);
	return 0;
}
