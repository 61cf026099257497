// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call frame information. The first byte says what the input is: an .eh_frame or a
 * .debug_frame; an ELF file, which is an object of a JIT as well; the answer of a decoder;
 * or an ELF file with a hole, because only a large section is not read whole. The next two
 * bytes say where the hole is.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/cfi/cfi.h"
#include "decode/jit/image.h"
#include "decode/operation.h"
#include "decode/requests.h"
#include "lib/rows.h"
#include "unwind/ask.h"
#include "lib/cost.h"

#define VADDR      0x400000

#define HOLE_BYTES 0x110000
#define NOTHING    0x17 /* fills it: no instruction of machine code, nor of call frames */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* 25,000 steps, as below; code that is read twice, see code_frames.c. */
const struct cost_bound cost_bound = {.fixed = 1000000, .per_byte = 600};

/* ---- a decoder without a worker around it ---- */

static const uint8_t *said; /* the decoder's answer; NULL: run the decoder */
static size_t said_len;
static struct wire_writer reply;

enum worker_answer worker_call(struct worker *w, uint32_t op, const void *request,
			       size_t len, const int *fds, size_t nr_fds,
			       worker_need_fn need, void *need_ctx,
			       unsigned int deadline_ms, struct wire_reader *ret,
			       int *ret_error)
{
	struct wire_reader r = {.data = request, .len = len};
	int err;

	(void)w;
	(void)need;
	(void)need_ctx;
	(void)deadline_ms;
	(void)ret_error;
	if (said) {
		*ret = (struct wire_reader){.data = said, .len = said_len};
		return WORKER_OK;
	}
	wire_writer_deinit(&reply);
	err = op == DECODER_CFI ? cfi_serve(NULL, &r, fds, nr_fds, &reply)
				: cfi_jit_serve(NULL, &r, fds, nr_fds, &reply);
	*ret = (struct wire_reader){.data = reply.data, .len = reply.len};
	return err ? WORKER_FAILED : WORKER_OK;
}

/* ---- sections ---- */

static void check(struct cfi_rows *rows)
{
	for (size_t i = 1; i < rows->nr; i++) {
		assert(rows->items[i - 1].vaddr < rows->items[i].vaddr);
		assert(memcmp(&rows->items[i - 1].rule, &rows->items[i].rule,
			      sizeof(rows->items[i].rule)) != 0);
	}
	assert(!rows->nr || rows->items[rows->nr - 1].rule.cfa == LB_CFA_NONE);
}

static void read_section(const uint8_t *data, size_t size, bool is_debug_frame)
{
	const struct cfi_section section = {.bytes = data,
					    .len = size,
					    .vaddr = VADDR,
					    .text_vaddr = 0x10000,
					    .data_vaddr = 0x600000,
					    .is_debug_frame = is_debug_frame};
	/* The input is also used as its own index. */
	struct cfi_index index = {
		.entries = data, .nr = size / 8, .vaddr = VADDR, .frames_vaddr = VADDR};
	struct wire_writer w = {.max = 16u << 20};
	struct cfi_rows rows = {0};
	uint64_t steps = 20000;

	assert(!cfi_read(&section, 0, UINT64_MAX, &steps, &rows));
	assert(!cfi_rows_finish(&rows));
	check(&rows);
	cfi_pages_write(&rows, VADDR, 0, VADDR + (1u << 24), &w);
	wire_writer_deinit(&w);
	cfi_rows_deinit(&rows);

	steps = 5000;
	assert(!cfi_read_indexed(&section, &index, VADDR, VADDR + (1u << 20), &steps,
				 &rows));
	assert(!cfi_rows_finish(&rows));
	check(&rows);
	cfi_rows_deinit(&rows);
	cfi_index_open(data, size, VADDR, &index);
}

/* ---- files ---- */

#define MAX_CODE_BYTES (16u << 20)

/*
 * An object may say that it has any amount of code, which costs up to the limit of pages
 * of an answer: a fixed cost that would hide all others.
 */
static bool is_huge(const uint8_t *data, size_t size)
{
	struct image_code code[IMAGE_MAX_CODE];
	struct jit_image image;
	Elf64_Phdr segment;
	size_t nr;

	if (!image_open(data, size, &image))
		return false;
	nr = image_code(&image, code);
	for (size_t i = 0; i < nr; i++)
		if (code[i].end_ip - code[i].start_ip > MAX_CODE_BYTES)
			return true;
	for (size_t i = 0; image_segment(&image, i, &segment); i++)
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X &&
		    segment.p_memsz > MAX_CODE_BYTES)
			return true;
	return false;
}

static int file_of(const uint8_t *data, size_t size)
{
	int fd = is_huge(data, size) ? -1 : memfd_create("fuzz", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, data, size) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}

static int file_with_hole(const uint8_t *data, size_t size)
{
	static uint8_t bytes[HOLE_BYTES + 65536];
	size_t at;

	if (size < 2)
		return -1;
	at = data[0] | (size_t)data[1] << 8;
	data += 2;
	size -= 2;
	if (at > size || size > sizeof(bytes) - HOLE_BYTES)
		return -1;
	memset(bytes + at, NOTHING, HOLE_BYTES);
	memcpy(bytes, data, at);
	memcpy(bytes + at + HOLE_BYTES, data + at, size - at);
	return file_of(bytes, size + HOLE_BYTES);
}

/* The last page begins behind a hole. */
static const struct asked_page pages[] = {{0, true}, {1, false}, {7, true}, {17, false}};

static void ask_file(int fd)
{
	struct row_pages p;

	/* The collector must accept what the decoder answers. */
	if (rows_of_file(NULL, fd, pages, 4, &p) == WORKER_OK) {
		for (size_t i = 0; i < p.nr_pages; i++)
			assert(p.whole || page_is_asked(pages, 4, p.pages[i].page));
		row_pages_deinit(&p);
	} else {
		assert(said || !reply.len);
	}
}

static void ignore(void *ctx, size_t piece, struct jit_text *text)
{
	(void)ctx;
	(void)piece;
	assert(text->start < text->end);
}

static void ask_jit(int fd, size_t size)
{
	const struct jit_piece pieces[] = {{0, size}, {size / 2, size / 2}, {size, 1}};
	enum worker_answer answer = rows_of_jit(NULL, fd, pieces, 3, ignore, NULL);

	assert(said || answer == WORKER_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	if (!size)
		return 0;
	said = NULL;
	switch (*data++ % 8) {
	case 0:
		read_section(data, size - 1, false);
		return 0;
	case 1:
		read_section(data, size - 1, true);
		return 0;
	case 2:
		fd = file_of(data, size - 1);
		if (fd >= 0) {
			ask_file(fd);
			ask_jit(fd, size - 1);
			close(fd);
		}
		return 0;
	case 4:
		fd = file_with_hole(data, size - 1);
		if (fd >= 0) {
			ask_file(fd);
			close(fd);
		}
		return 0;
	default:
		said = data;
		said_len = size - 1;
		ask_file(-1);
		ask_jit(-1, 1);
		return 0;
	}
}
