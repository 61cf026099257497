// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/need.h"

#include <errno.h>
#include <string.h>

void need_put(struct wire_writer *w, const struct need *need)
{
	wire_put_u32(w, need->kind);
	wire_put_bytes(w, need->build_id, need->build_id_len);
	wire_put_str(w, need->name);
	wire_put_str(w, need->comp_dir);
}

/* Copies a string that must fit with its NUL; wire_get_str() rejects embedded NULs. */
static int get_text(struct wire_reader *r, char *buf, size_t size)
{
	size_t len;
	const char *s = wire_get_str(r, &len);

	if (r->failed || len >= size)
		return -EBADMSG;
	memcpy(buf, s, len);
	buf[len] = '\0';
	return 0;
}

int need_get(struct wire_reader *r, struct need *ret)
{
	uint32_t kind = wire_get_u32(r);
	size_t len;
	const void *id = wire_get_bytes(r, &len);

	if (r->failed || kind > NEED_DWP || len > sizeof(ret->build_id))
		return -EBADMSG;
	ret->kind = (enum need_kind)kind;
	memcpy(ret->build_id, id, len);
	ret->build_id_len = len;
	if (get_text(r, ret->name, sizeof(ret->name)))
		return -EBADMSG;
	return get_text(r, ret->comp_dir, sizeof(ret->comp_dir));
}
