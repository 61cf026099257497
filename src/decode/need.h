/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that the ELF decoder may request from the collector. The request is
 * hostile: the collector resolves names in the target's root only, ids and
 * basenames are checked, and the decoder must verify what it gets (build id, CRC).
 */
#ifndef LB_DECODE_NEED_H
#define LB_DECODE_NEED_H

#include <stddef.h>
#include <stdint.h>

#include "base/wire.h"

enum need_kind {
	NEED_DEBUG_BY_BUILD_ID, /* separate debug file; build_id */
	NEED_DEBUG_BY_LINK, /* .gnu_debuglink; name is a basename */
	NEED_DWZ, /* .gnu_debugaltlink; name as written, build_id; relative to origin */
	NEED_DWO, /* DW_AT_dwo_name; name, comp_dir */
	NEED_DWP, /* <binary>.dwp next to the binary */
};

struct need {
	enum need_kind kind;
	uint8_t build_id[64];
	size_t build_id_len;
	char name[4096]; /* "" if not used; terminated */
	char comp_dir[4096]; /* same */
};

void need_put(struct wire_writer *w, const struct need *need);
/** Return: 0, or -EBADMSG when malformed. */
int need_get(struct wire_reader *r, struct need *ret);

#endif
