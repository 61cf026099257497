// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/elf/minidebug.h"

#include <errno.h>
#include <lzma.h>

#include "base/vec.h"

struct unpacker {
	lzma_stream lzma;
	uint8_t *out;
	size_t cap;
};

static void unpacker_deinit(struct unpacker *u)
{
	lzma_end(&u->lzma);
	free(u->out);
}

static int unpack(struct unpacker *u)
{
	lzma_ret state;

	do {
		size_t used = u->lzma.total_out;
		int err;

		/* One byte more than may come out, to tell "all" from "too much". */
		if (used == u->cap) {
			if (used > MINIDEBUG_MAX_BYTES)
				return -EFBIG;
			err = vec_grow(&u->out, &u->cap, used ? used * 2 : 65536, 1, 0);
			if (err)
				return err;
		}
		u->lzma.next_out = u->out + used;
		u->lzma.avail_out = u->cap - used;
		state = lzma_code(&u->lzma, LZMA_FINISH);
	} while (state == LZMA_OK);
	if (state == LZMA_STREAM_END)
		return u->lzma.total_out > MINIDEBUG_MAX_BYTES ? -EFBIG : 0;
	return state == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int elf_minidebug_read(const struct binary *b, void **ret, size_t *ret_len)
{
	_cleanup_(unpacker_deinit) struct unpacker u = {.lzma = LZMA_STREAM_INIT};
	const Elf_Data *data =
		binary_section_bytes(binary_section(b, ".gnu_debugdata", NULL));
	int err;

	if (!data)
		return -ENODATA;
	if (lzma_stream_decoder(&u.lzma, MINIDEBUG_MAX_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	u.lzma.next_in = data->d_buf;
	u.lzma.avail_in = data->d_size;
	err = unpack(&u);
	if (err)
		return err;
	*ret_len = u.lzma.total_out;
	*ret = take_ptr(u.out);
	return 0;
}
