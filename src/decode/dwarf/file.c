// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/file.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/search.h"
#include "base/vec.h"

#define MAX_SECTIONS 1000000 /* that are read; -ffunction-sections makes many */

/* Without the leading ".debug_" or ".zdebug_". */
static const char *const section_names[] = {
	[DEBUG_INFO] = "info",         [DEBUG_ABBREV] = "abbrev",
	[DEBUG_LINE] = "line",         [DEBUG_STR] = "str",
	[DEBUG_LINE_STR] = "line_str", [DEBUG_STR_OFFSETS] = "str_offsets",
	[DEBUG_ADDR] = "addr",         [DEBUG_RANGES] = "ranges",
	[DEBUG_RNGLISTS] = "rnglists", [DEBUG_CU_INDEX] = "cu_index",
};
_Static_assert(ARRAY_SIZE(section_names) == NR_DEBUG_SECTIONS, "one name per section");

/*
 * Returns the section called @name, or -1. Only a .dwp has indexes; their names do not
 * end in ".dwo".
 */
static int section_from_name(const char *name, bool split)
{
	size_t len;

	if (!strncmp(name, ".debug_", 7))
		name += 7;
	else if (!strncmp(name, ".zdebug_", 8))
		name += 8;
	else
		return -1;
	len = strlen(name);
	if (split && len > 4 && !strcmp(name + len - 4, ".dwo"))
		len -= 4;
	else if (split && strcmp(name, section_names[DEBUG_CU_INDEX]))
		return -1;
	for (int i = 0; i < NR_DEBUG_SECTIONS; i++)
		if (strlen(section_names[i]) == len &&
		    !memcmp(section_names[i], name, len))
			return i;
	return -1;
}

static int add_exec(struct debug_file *f, const GElf_Shdr *sh)
{
	if (!sh->sh_size || sh->sh_addr + sh->sh_size < sh->sh_addr ||
	    f->nr_exec > DEBUG_MAX_EXEC_RANGES)
		return 0;
	if (vec_grow(&f->exec, &f->cap_exec, f->nr_exec + 1, sizeof(*f->exec), 0))
		return -ENOMEM;
	f->exec[f->nr_exec++] =
		(struct addr_range){sh->sh_addr, sh->sh_addr + sh->sh_size};
	return 0;
}

static int range_compare(const void *a, const void *b)
{
	const struct addr_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Sorts and merges; drops all if there are too many, because some are missing. */
static void sort_exec(struct debug_file *f)
{
	size_t n = 0;

	if (f->nr_exec > DEBUG_MAX_EXEC_RANGES)
		f->nr_exec = 0;
	if (!f->nr_exec)
		return;
	qsort(f->exec, f->nr_exec, sizeof(*f->exec), range_compare);
	for (size_t i = 1; i < f->nr_exec; i++) {
		if (f->exec[i].start > f->exec[n].end)
			f->exec[++n] = f->exec[i];
		else if (f->exec[i].end > f->exec[n].end)
			f->exec[n].end = f->exec[i].end;
	}
	f->nr_exec = n + 1;
}

static int scan_sections(struct debug_file *f)
{
	size_t names, nr = 0;
	Elf_Scn *scn = NULL;

	if (elf_getshdrstrndx(f->binary->elf, &names) != 0)
		return -EBADMSG;
	while ((scn = elf_nextscn(f->binary->elf, scn)) && nr++ < MAX_SECTIONS) {
		const char *name;
		GElf_Shdr sh;
		int which;

		if (!gelf_getshdr(scn, &sh))
			return -EBADMSG;
		if ((sh.sh_flags & SHF_EXECINSTR) && (sh.sh_flags & SHF_ALLOC) &&
		    add_exec(f, &sh) < 0)
			return -ENOMEM;
		name = binary_string(f->binary, names, sh.sh_name);
		if (!name || sh.sh_type == SHT_NOBITS)
			continue;
		which = section_from_name(name, f->kind == DEBUG_FILE_SPLIT);
		if (which >= 0 && !f->sections[which].scn)
			f->sections[which].scn = scn;
	}
	sort_exec(f);
	return 0;
}

static void allow_work(struct debug_file *f, uint64_t bytes)
{
	f->work_allowed += DEBUG_WORK_PER_BYTE * bytes;
	f->context->work_left += DEBUG_WORK_PER_BYTE * bytes;
}

int debug_file_open(struct binary *binary, enum debug_file_kind kind,
		    struct debug_context *context, struct debug_file **ret)
{
	_cleanup_(debug_file_freep) struct debug_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->kind = kind;
	f->context = context;
	f->binary = binary;
	if (!binary->is_little_endian ||
	    (binary->type == ET_REL && kind == DEBUG_FILE_PROGRAM))
		return -ENODATA;
	r = scan_sections(f);
	if (r < 0)
		return r;
	if (!f->sections[DEBUG_INFO].scn)
		return -ENODATA;
	allow_work(f, binary->size_bytes);
	*ret = take_ptr(f);
	return 0;
}

void debug_file_free(struct debug_file *f)
{
	if (!f)
		return;
	debug_file_free(f->alt);
	debug_file_free(f->dwp);
	for (size_t i = 0; i < NR_DEBUG_SECTIONS; i++)
		f->context->inflated_left += f->sections[i].inflated_bytes;
	if (f->owns_binary)
		binary_free(f->binary);
	free(f->exec);
	free(f->units);
	free(f);
}

uint64_t debug_file_heap_bytes(const struct debug_file *f)
{
	if (!f)
		return 0;
	return sizeof(*f) + f->binary->heap_bytes + f->cap_exec * sizeof(*f->exec) +
	       f->cap_units * sizeof(*f->units) + debug_file_heap_bytes(f->alt) +
	       debug_file_heap_bytes(f->dwp);
}

/* Return: false when the section cannot be decompressed, or is over the limit. */
static bool inflate(struct debug_file *f, int which, Elf_Scn *scn)
{
	GElf_Shdr sh;
	uint64_t size;

	if (!gelf_getshdr(scn, &sh))
		return false;
	size = binary_inflated_size(scn, &sh);
	if (!size)
		return true;
	if (size > f->context->inflated_left) {
		f->context->over_inflated = true;
		log_debug("debug section %s of %llu bytes is over the limit, skipping",
			  section_names[which], (unsigned long long)size);
		return false;
	}
	if (!binary_inflate(scn, &sh)) {
		log_debug("cannot decompress debug section %s: %s, skipping",
			  section_names[which], elf_errmsg(-1));
		f->context->corrupt_section = true;
		return false;
	}
	f->context->inflated_left -= size;
	allow_work(f, size);
	f->sections[which].inflated_bytes += size;
	return true;
}

struct bytes debug_file_section(struct debug_file *f, enum debug_section which)
{
	Elf_Scn *scn = f->sections[which].scn;
	Elf_Data *data;

	if (f->sections[which].loaded || !scn)
		return f->sections[which].bytes;
	f->sections[which].loaded = true;
	if (!inflate(f, which, scn))
		return f->sections[which].bytes;
	data = f->sections[which].inflated_bytes ? elf_getdata(scn, NULL)
						 : elf_rawdata(scn, NULL);
	if (data && data->d_buf)
		f->sections[which].bytes = (struct bytes){data->d_buf, data->d_size};
	return f->sections[which].bytes;
}

bool debug_file_next_info(struct debug_file *f)
{
	Elf_Scn *scn = f->sections[DEBUG_INFO].scn;
	GElf_Shdr first, sh;
	size_t nr = 0;

	if (!gelf_getshdr(scn, &first))
		return false;
	while ((scn = elf_nextscn(f->binary->elf, scn)) && nr++ < MAX_SECTIONS) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_name != first.sh_name)
			continue;
		/* The bytes of the one before stay decompressed, and count. */
		f->sections[DEBUG_INFO].scn = scn;
		f->sections[DEBUG_INFO].bytes = (struct bytes){0};
		f->sections[DEBUG_INFO].loaded = false;
		return true;
	}
	return false;
}

bool debug_file_is_code(const struct debug_file *f, uint64_t vaddr)
{
	size_t low;

	if (!f->nr_exec)
		return vaddr < UINT64_MAX - 1; /* -1 and -2 mark dropped code */
	low = SEARCH_FIRST(i, f->nr_exec, f->exec[i].end > vaddr);
	return low < f->nr_exec && f->exec[low].start <= vaddr;
}

bool debug_file_altlink(struct debug_file *f, struct bytes *ret_name,
			struct bytes *ret_id)
{
	const Elf_Data *data = binary_section_bytes(
		binary_section(f->binary, ".gnu_debugaltlink", NULL));
	struct cursor c;

	if (!data)
		return false;
	c = cursor_at((struct bytes){data->d_buf, data->d_size}, 0);
	*ret_name = cursor_str(&c);
	*ret_id = (struct bytes){c.p, cursor_left(&c)};
	return !c.failed && ret_id->len > 0 && ret_id->len <= BINARY_MAX_BUILD_ID;
}
