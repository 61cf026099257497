// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * elf_serve() on one file: identity, segments, symbols, stubs, MiniDebugInfo, links to
 * debug files, readable names. The file is its own debug file. DWARF has its own target
 * (dwarf.c); a stub replaces it here.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/answer.h"
#include "decode/dwarf/kept.h"
#include "decode/need.h"
#include "decode/requests.h"
#include "lib/cost.h"

#define NR_ADDRESSES 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 100000, .per_byte = 100};

static int file_fd;

int worker_need(struct worker_call *call, const void *what, size_t len)
{
	struct wire_reader r = {.data = what, .len = len};
	struct need need;

	(void)call;
	assert(!need_get(&r, &need)); /* the decoder's requests must be well-formed */
	return dup(file_fd);
}

int dwarf_source_open(struct binary *binary, dwarf_need_fn need, void *ctx,
		      struct dwarf_source **ret)
{
	(void)binary;
	(void)need;
	(void)ctx;
	(void)ret;
	return -ENODATA;
}

void dwarf_source_stats(const struct dwarf_source *d, struct dwarf_stats *ret)
{
	(void)d;
	*ret = (struct dwarf_stats){0};
}

void dwarf_source_free(struct dwarf_source *d)
{
	(void)d;
}

int dwarf_source_resolve(struct dwarf_source *d, const uint64_t *vaddrs, size_t nr,
			 dwarf_found_fn found, void *ctx)
{
	(void)d;
	(void)vaddrs;
	(void)nr;
	(void)found;
	(void)ctx;
	return 0;
}

void dwarf_source_want_code(struct dwarf_source *d, dwarf_code_fn fn, const bool *wanted)
{
	(void)d;
	(void)fn;
	(void)wanted;
}

int kept_dwarf_open(int fd, uint64_t root, dwarf_need_fn need, void *ctx,
		    struct dwarf_source **ret)
{
	(void)fd;
	(void)root;
	return dwarf_source_open(NULL, need, ctx, ret);
}

void kept_dwarf_done(bool is_sound)
{
	(void)is_sound;
}

static void serve(uint32_t flags, const uint64_t *addresses)
{
	struct strpool *pool = strpool_new(1 << 20);
	struct wire_writer request = {0}, reply = {0};
	struct answers answers = {0};
	struct wire_reader r;
	size_t len;

	wire_put_u32(&request, flags);
	wire_put_bytes(&request, NULL, 0);
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
		serve(0, addresses);
		serve(ELF_REQUEST_VADDR, addresses);
	}
	close(file_fd);
	return 0;
}
