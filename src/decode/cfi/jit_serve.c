// SPDX-License-Identifier: GPL-2.0-or-later
/* Serves DECODER_CFI_JIT: rows of objects that a JIT registered, by their own addresses. */
#include <errno.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "decode/cfi/cfi.h"
#include "decode/cfi/object.h"
#include "decode/requests.h"

#define MAX_STEPS (32u << 20) /* of one request: some 0.5 s */

/* The file of objects: the collector's own, which is not cut short meanwhile. */
struct file {
	void *bytes; /* NULL: it is empty */
	uint64_t len;
};

static void unmap_file(struct file *f)
{
	if (f->bytes)
		munmap(f->bytes, f->len);
}

static int answer_object(const struct file *f, uint64_t offset, uint64_t size_bytes,
			 uint64_t *steps_left, struct wire_writer *reply)
{
	_cleanup_(cfi_object_deinit) struct cfi_object o = {0};
	int err = 0;

	if (offset < f->len && size_bytes <= f->len - offset)
		err = cfi_object_read((uint8_t *)f->bytes + offset, size_bytes,
				      steps_left, &o);
	if (err)
		return err;
	wire_put_u32(reply, (uint32_t)o.nr_texts);
	for (size_t i = 0; i < o.nr_texts; i++) {
		const struct cfi_text *text = &o.texts[i];

		wire_put_u64(reply, text->start);
		wire_put_u64(reply, text->end);
		cfi_pages_write(&text->rows, text->start, text->start, text->end, reply);
	}
	return reply->failed ? -ENOMEM : 0;
}

int cfi_jit_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(unmap_file) struct file file = {0};
	uint32_t nr = wire_get_u32(request);
	uint64_t steps_left = MAX_STEPS;
	int err;

	(void)call;
	if (nr_fds != 1 || request->failed)
		return -EBADMSG;
	err = io_map_file(fds[0], UINT64_MAX, &file.bytes, &file.len);
	for (uint32_t i = 0; i < nr && !err; i++) {
		uint64_t offset = wire_get_u64(request), size = wire_get_u64(request);

		err = request->failed
			      ? -EBADMSG
			      : answer_object(&file, offset, size, &steps_left, reply);
	}
	return err;
}
