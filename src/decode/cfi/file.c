// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/file.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "decode/dwarf/cursor.h"

#define MAX_PROGRAM_HEADERS   512
#define MAX_DEBUG_FRAME_BYTES (128u << 20) /* decompressed */

/* ---- segments ---- */

static int by_file_off(const void *va, const void *vb)
{
	const struct cfi_segment *a = va, *b = vb;

	return (a->file_off > b->file_off) - (a->file_off < b->file_off);
}

/* Bytes that two segments share belong to the first one. */
static void make_disjoint(struct cfi_file *f)
{
	uint64_t free_off = 0;
	size_t nr = 0;

	for (size_t i = 0; i < f->nr_segments; i++) {
		struct cfi_segment s = f->segments[i];
		uint64_t shared = free_off > s.file_off ? free_off - s.file_off : 0;

		if (shared >= s.size_bytes)
			continue;
		s.file_off += shared;
		s.vaddr += shared;
		s.size_bytes -= shared;
		free_off = s.file_off + s.size_bytes;
		f->segments[nr++] = s;
	}
	f->nr_segments = nr;
}

static void read_segments(struct cfi_file *f)
{
	size_t file_bytes = 0;

	elf_rawfile(f->binary->elf, &file_bytes);
	for (size_t i = 0; i < f->binary->nr_loads; i++) {
		const struct binary_load *load = &f->binary->loads[i];
		uint64_t len = load->file_bytes;

		if (!(load->flags & PF_X) || load->file_off >= file_bytes)
			continue;
		if (len > file_bytes - load->file_off)
			len = file_bytes - load->file_off;
		if (!len || load->vaddr + len < load->vaddr ||
		    f->nr_segments == CFI_FILE_MAX_SEGMENTS)
			continue;
		f->segments[f->nr_segments++] =
			(struct cfi_segment){.file_off = load->file_off,
					     .vaddr = load->vaddr,
					     .size_bytes = len};
	}
	qsort(f->segments, f->nr_segments, sizeof(f->segments[0]), by_file_off);
	make_disjoint(f);
}

/* ---- sections ---- */

static uint64_t section_vaddr(const struct cfi_file *f, const char *name)
{
	GElf_Shdr sh;

	return binary_section(f->binary, name, &sh) ? sh.sh_addr : 0;
}

static bool take_bytes(struct cfi_section *section, const Elf_Data *data)
{
	if (!data || !data->d_buf || !data->d_size)
		return false;
	section->bytes = data->d_buf;
	section->len = data->d_size;
	return true;
}

/* ---- .eh_frame ---- */

static void find_index(struct cfi_file *f)
{
	const uint8_t *bytes;
	GElf_Phdr ph;
	size_t nr, len;

	if (elf_getphdrnum(f->binary->elf, &nr))
		return;
	for (size_t i = 0; i < nr && i < MAX_PROGRAM_HEADERS; i++) {
		if (!gelf_getphdr(f->binary->elf, (int)i, &ph) ||
		    ph.p_type != PT_GNU_EH_FRAME)
			continue;
		bytes = binary_bytes_from(f->binary, ph.p_vaddr, &len);
		if (bytes)
			cfi_index_open(bytes, len < ph.p_memsz ? len : ph.p_memsz,
				       ph.p_vaddr, &f->index);
		return;
	}
}

/* Returns the length up to the terminating entry (length 0) or an invalid length. */
static size_t frames_len(const uint8_t *bytes, size_t len)
{
	size_t at = 0;

	while (len - at >= 4) {
		struct cursor c = {.p = bytes + at, .end = bytes + len};
		uint64_t entry = cursor_u32(&c);

		if (!entry || entry > cursor_left(&c))
			break;
		at += 4 + entry;
	}
	return at;
}

/* If section headers were stripped, .eh_frame_hdr gives the address. */
static bool find_eh_frame(struct cfi_file *f)
{
	struct cfi_section *section = &f->section;
	GElf_Shdr sh;
	Elf_Scn *scn = binary_section(f->binary, ".eh_frame", &sh);

	find_index(f);
	if (scn && take_bytes(section, elf_rawdata(scn, NULL))) {
		section->vaddr = sh.sh_addr;
		if (f->index.frames_vaddr != section->vaddr)
			f->index = (struct cfi_index){0};
		return true;
	}
	if (!f->index.frames_vaddr)
		return false;
	section->vaddr = f->index.frames_vaddr;
	section->bytes = binary_bytes_from(f->binary, section->vaddr, &section->len);
	if (section->bytes)
		section->len = frames_len(section->bytes, section->len);
	else
		section->len = 0;
	return section->len;
}

/* ---- .debug_frame ---- */

/* Tables that each Go program has, stripped or not. */
static bool has_go_tables(const struct cfi_file *f)
{
	GElf_Shdr sh;

	return binary_section(f->binary, ".gopclntab", &sh) ||
	       binary_section(f->binary, ".data.rel.ro.gopclntab", &sh);
}

static bool find_debug_frame(struct cfi_file *f)
{
	static const char *const names[] = {".debug_frame", ".zdebug_frame"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		GElf_Shdr sh;
		Elf_Scn *scn = binary_section(f->binary, names[i], &sh);

		uint64_t packed = scn ? binary_inflated_size(scn, &sh) : 0;

		if (!scn || packed > MAX_DEBUG_FRAME_BYTES ||
		    (packed && !binary_inflate(scn, &sh)) ||
		    !take_bytes(&f->section, elf_getdata(scn, NULL)))
			continue;
		f->section.is_debug_frame = true;
		f->is_go = has_go_tables(f);
		return true;
	}
	return false;
}

/* ---- the file ---- */

bool cfi_file_open(int fd, struct cfi_file *ret)
{
	_cleanup_(cfi_file_deinit) struct cfi_file f = {0};

	if (binary_open(fd, &f.binary) || !f.binary->is_64bit ||
	    !f.binary->is_little_endian || f.binary->machine != EM_X86_64)
		return false;
	read_segments(&f);
	if (find_eh_frame(&f) || find_debug_frame(&f)) {
		f.section.text_vaddr = section_vaddr(&f, ".text");
		f.section.data_vaddr = section_vaddr(&f, ".got");
	}
	*ret = f;
	f.binary = NULL;
	return true;
}

void cfi_file_deinit(struct cfi_file *f)
{
	binary_free(f->binary);
	*f = (struct cfi_file){0};
}

bool cfi_file_symbols(const struct cfi_file *f, struct image_table *ret)
{
	struct jit_image m;
	size_t len = 0;
	const char *bytes = elf_rawfile(f->binary->elf, &len);

	return bytes && image_open(bytes, len, &m) &&
	       (image_table_find(&m, SHT_SYMTAB, ret) ||
		image_table_find(&m, SHT_DYNSYM, ret));
}
