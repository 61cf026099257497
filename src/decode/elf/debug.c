// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/elf/debug.h"

#include <endian.h>
#include <errno.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>

#include "base/vec.h"

#define MAX_CANDIDATES 8 /* looked at for one question */

/* .gnu_debuglink: a base name, NUL, padding to 4 bytes, CRC-32 of the file
 * ("Debugging Information in Separate Files", GDB manual). */
struct debug_link {
	char name[256];
	uint32_t crc;
};

int elf_debug_ask(struct worker_call *call, const struct need *need)
{
	struct wire_writer w = {0};
	int fd = -ENOMEM;

	need_put(&w, need);
	if (!w.failed)
		fd = worker_need(call, w.data, w.len);
	wire_writer_deinit(&w);
	return fd;
}

void elf_debug_deinit(struct elf_debug *d)
{
	binary_free(d->binary);
	if (d->fd >= 0)
		close(d->fd);
	*d = (struct elf_debug){.fd = -1};
}

static bool read_debug_link(const struct binary *b, struct debug_link *ret)
{
	const Elf_Data *data =
		binary_section_bytes(binary_section(b, ".gnu_debuglink", NULL));
	const char *ident;
	size_t len, crc_off;

	if (!data)
		return false;
	len = strnlen(data->d_buf, data->d_size);
	crc_off = (len + 4) & ~(size_t)3;
	if (!len || len >= sizeof(ret->name) || data->d_size < 4 ||
	    crc_off > data->d_size - 4)
		return false;
	memcpy(ret->name, data->d_buf, len);
	ret->name[len] = '\0';
	memcpy(&ret->crc, (const char *)data->d_buf + crc_off, sizeof(ret->crc));
	ident = elf_getident(b->elf, NULL);
	ret->crc = ident[EI_DATA] == ELFDATA2MSB ? be32toh(ret->crc) : le32toh(ret->crc);
	return true;
}

static bool same_build_id(const struct binary *a, const struct binary *b)
{
	return a->build_id_len && a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len);
}

static bool crc_fits(const struct binary *b, uint32_t crc)
{
	size_t len = 0;
	const char *bytes = elf_rawfile(b->elf, &len);

	return bytes && crc32_z(0, (const Bytef *)bytes, len) == crc;
}

/* @link  NULL when the build id alone must do */
static bool belongs_to(const struct binary *candidate, const struct binary *stripped,
		       const struct debug_link *link)
{
	if (candidate->machine != stripped->machine)
		return false;
	if (stripped->build_id_len && candidate->build_id_len)
		return same_build_id(candidate, stripped);
	return link && crc_fits(candidate, link->crc);
}

/* Is there anything in it that the stripped file lacks? */
static bool is_useful(const struct binary *b)
{
	return binary_has_debug_info(b) || binary_section(b, ".symtab", NULL);
}

/* Tries candidates until one fits or there are no more. */
static int find_by(struct worker_call *call, const struct need *need,
		   const struct binary *stripped, const struct debug_link *link,
		   struct elf_debug *ret)
{
	for (int i = 0; i < MAX_CANDIDATES; i++) {
		_cleanup_close_ int fd = elf_debug_ask(call, need);
		_cleanup_(binary_freep) struct binary *b = NULL;

		if (fd < 0)
			return -ENODATA;
		if (binary_open(fd, &b) || !belongs_to(b, stripped, link) ||
		    !is_useful(b))
			continue;
		ret->binary = take_ptr(b);
		ret->fd = take_fd(&fd);
		return 0;
	}
	return -ENODATA;
}

int elf_debug_find(struct worker_call *call, const struct binary *stripped,
		   struct elf_debug *ret)
{
	_cleanup_free_ struct need *need = calloc(1, sizeof(*need));
	struct debug_link link;

	if (!need)
		return -ENOMEM;
	if (stripped->build_id_len) {
		need->kind = NEED_DEBUG_BY_BUILD_ID;
		memcpy(need->build_id, stripped->build_id, stripped->build_id_len);
		need->build_id_len = stripped->build_id_len;
		if (!find_by(call, need, stripped, NULL, ret))
			return 0;
	}
	if (!read_debug_link(stripped, &link))
		return -ENODATA;
	need->kind = NEED_DEBUG_BY_LINK;
	memcpy(need->name, link.name, sizeof(link.name));
	return find_by(call, need, stripped, &link, ret);
}

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
