// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/companion.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"

/* Asks for a file and opens it. Return: 0, -ENOENT, -ENOMEM. */
static int ask(struct debug_context *context, const struct need *need,
	       enum debug_file_kind kind, struct debug_file **ret)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (!context->need)
		return -ENOENT;
	fd = context->need(context->need_ctx, need);
	if (fd < 0)
		return -ENOENT;
	r = debug_file_open(fd, kind, context, ret);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	(*ret)->fd = take_fd(&fd);
	return 0;
}

struct debug_file *companion_alt(struct debug_file *f)
{
	_cleanup_(debug_file_freep) struct debug_file *alt = NULL;
	_cleanup_free_ struct need *need = NULL;
	const uint8_t *id;
	const char *name;
	size_t id_len;

	if (f->alt_tried)
		return f->alt;
	f->alt_tried = true;
	need = calloc(1, sizeof(*need));
	if (!need || !debug_file_altlink(f, &name, &id, &id_len) ||
	    strlen(name) >= sizeof(need->name))
		return NULL;
	need->kind = NEED_DWZ;
	memcpy(need->build_id, id, id_len);
	need->build_id_len = id_len;
	memcpy(need->name, name, strlen(name));
	if (ask(f->context, need, DEBUG_FILE_DWZ, &alt) < 0) {
		log_debug("dwz file %s not found, skipping", name);
		return NULL;
	}
	if (alt->build_id_len != id_len || memcmp(alt->build_id, id, id_len) != 0) {
		log_debug("dwz file %s has another build id, skipping", name);
		return NULL;
	}
	f->alt = take_ptr(alt);
	return f->alt;
}

/* Where the parts of one split unit begin within the sections of a .dwp. */
struct contribution {
	uint64_t info, abbrev, str_offsets, rnglists;
};

static void note_column(struct contribution *ret, uint32_t version, uint32_t id,
			uint32_t off)
{
	/* DWARF 5, table 7.1; GNU's version 2 differs in what is not used here. */
	if (id == DW_SECT_INFO)
		ret->info = off;
	else if (id == DW_SECT_ABBREV)
		ret->abbrev = off;
	else if (id == DW_SECT_STR_OFFSETS)
		ret->str_offsets = off;
	else if (id == DW_SECT_RNGLISTS && version >= 5)
		ret->rnglists = off;
}

/* The row of @dwo_id in the open-addressed hash table (DWARF 5, 7.3.5.3), from 1. */
static uint32_t index_row(struct bytes index, uint32_t slots, uint64_t dwo_id)
{
	uint64_t mask = slots - 1, slot = dwo_id & mask;
	uint64_t step = ((dwo_id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < slots; i++) {
		struct cursor hash = cursor_at(index, 16 + 8 * slot);
		struct cursor row = cursor_at(index, 16 + 8ULL * slots + 4 * slot);
		uint64_t found = cursor_u64(&hash);
		uint32_t n = cursor_u32(&row);

		if (!n || hash.failed || row.failed)
			return 0;
		if (found == dwo_id)
			return n;
		slot = (slot + step) & mask;
	}
	return 0;
}

static bool find_contribution(struct debug_file *dwp, uint64_t dwo_id,
			      struct contribution *ret)
{
	struct bytes index = debug_file_section(dwp, DEBUG_CU_INDEX);
	struct cursor c = cursor_at(index, 0), ids, offs;
	uint32_t version = cursor_u32(&c), columns = cursor_u32(&c);
	uint32_t units = cursor_u32(&c), slots = cursor_u32(&c);
	uint64_t tables = 16 + 12ULL * slots;
	uint32_t row;

	if (c.failed || (version != 2 && version != 5) || !slots ||
	    (slots & (slots - 1)) || columns > 16)
		return false;
	row = index_row(index, slots, dwo_id);
	if (!row || row > units)
		return false;
	ids = cursor_at(index, tables);
	offs = cursor_at(index, tables + 4ULL * columns * row);
	*ret = (struct contribution){0};
	for (uint32_t i = 0; i < columns; i++)
		note_column(ret, version, cursor_u32(&ids), cursor_u32(&offs));
	return !ids.failed && !offs.failed;
}

/* Reads the unit at @at->info as the split unit of @skeleton. */
static bool read_split(struct debug_file *file, const struct contribution *at,
		       const struct unit *skeleton, struct unit *ret)
{
	if (unit_read_header(file, at->info, ret) < 0 || !ret->known)
		return false;
	ret->abbrev_off += at->abbrev;
	ret->str_offsets_base += at->str_offsets;
	ret->rnglists_base += at->rnglists;
	ret->skeleton = skeleton;
	if (ret->type == DW_UT_type || ret->type == DW_UT_split_type ||
	    unit_read_root(ret) < 0)
		return false;
	return ret->has_dwo_id && ret->dwo_id == skeleton->dwo_id;
}

static bool split_from_dwp(const struct unit *skeleton, struct unit *ret)
{
	struct debug_file *file = skeleton->file;
	struct contribution at;

	if (!file->dwp_tried) {
		_cleanup_free_ struct need *need = calloc(1, sizeof(*need));

		file->dwp_tried = true;
		if (need) {
			need->kind = NEED_DWP;
			(void)ask(file->context, need, DEBUG_FILE_SPLIT, &file->dwp);
		}
	}
	return file->dwp && find_contribution(file->dwp, skeleton->dwo_id, &at) &&
	       read_split(file->dwp, &at, skeleton, ret);
}

/* A .dwo holds one compile unit, and type units before or behind it. */
static bool split_from_dwo(struct debug_file *dwo, const struct unit *skeleton,
			   struct unit *ret)
{
	struct contribution at = {0};

	for (;;) {
		if (read_split(dwo, &at, skeleton, ret))
			return true;
		if (ret->end <= at.info || !debug_spend(dwo, 16))
			return false;
		at.info = ret->end;
	}
}

int companion_split_unit(const struct unit *skeleton, struct debug_file **ret_file,
			 struct unit *ret)
{
	_cleanup_(debug_file_freep) struct debug_file *dwo = NULL;
	_cleanup_free_ struct need *need = NULL;
	const char *name, *dir;
	int r;

	if (!skeleton->has_dwo_id)
		return -ENOENT;
	if (split_from_dwp(skeleton, ret)) {
		*ret_file = NULL;
		return 0;
	}
	need = calloc(1, sizeof(*need));
	if (!need)
		return -ENOMEM;
	name = form_string(skeleton, &skeleton->dwo_name);
	dir = form_string(skeleton, &skeleton->comp_dir);
	if (!name || !*name || strlen(name) >= sizeof(need->name))
		return -ENOENT;
	need->kind = NEED_DWO;
	memcpy(need->name, name, strlen(name));
	if (dir && strlen(dir) < sizeof(need->comp_dir))
		memcpy(need->comp_dir, dir, strlen(dir));
	r = ask(skeleton->file->context, need, DEBUG_FILE_SPLIT, &dwo);
	if (r < 0) {
		log_debug("split debug file %s not found, skipping", name);
		return r;
	}
	if (!split_from_dwo(dwo, skeleton, ret)) {
		log_debug("split debug file %s is of another build, skipping", name);
		return -ENOENT;
	}
	*ret_file = take_ptr(dwo);
	return 0;
}
