// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/file.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define MAX_PROGRAM_HEADERS   512
#define MAX_DEBUG_FRAME_BYTES (128u << 20) /* when it is unpacked */
#define GNU_HEADER_BYTES      12 /* of .zdebug_*: "ZLIB", then its size, big-endian */

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
	size_t nr, file_bytes = 0;
	GElf_Phdr ph;

	elf_rawfile(f->elf, &file_bytes);
	if (elf_getphdrnum(f->elf, &nr))
		return;
	for (size_t i = 0; i < nr && i < MAX_PROGRAM_HEADERS; i++) {
		if (!gelf_getphdr(f->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    !(ph.p_flags & PF_X) || ph.p_offset >= file_bytes)
			continue;
		if (ph.p_filesz > file_bytes - ph.p_offset)
			ph.p_filesz = file_bytes - ph.p_offset;
		if (!ph.p_filesz || ph.p_vaddr + ph.p_filesz < ph.p_vaddr ||
		    f->nr_segments == CFI_FILE_MAX_SEGMENTS)
			continue;
		f->segments[f->nr_segments++] =
			(struct cfi_segment){.file_off = ph.p_offset,
					     .vaddr = ph.p_vaddr,
					     .size_bytes = ph.p_filesz};
	}
	qsort(f->segments, f->nr_segments, sizeof(f->segments[0]), by_file_off);
	make_disjoint(f);
}

/* Bytes of the program from @vaddr up to the end of its segment in the file, or NULL. */
static const uint8_t *bytes_from(const struct cfi_file *f, uint64_t vaddr,
				 size_t *ret_len)
{
	size_t nr, file_bytes = 0;
	const char *bytes = elf_rawfile(f->elf, &file_bytes);
	GElf_Phdr ph;

	if (!bytes || elf_getphdrnum(f->elf, &nr))
		return NULL;
	for (size_t i = 0; i < nr && i < MAX_PROGRAM_HEADERS; i++) {
		uint64_t at;

		if (!gelf_getphdr(f->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    vaddr < ph.p_vaddr || vaddr - ph.p_vaddr >= ph.p_filesz)
			continue;
		if (__builtin_add_overflow(ph.p_offset, vaddr - ph.p_vaddr, &at) ||
		    at >= file_bytes)
			continue;
		*ret_len = ph.p_filesz - (vaddr - ph.p_vaddr);
		if (*ret_len > file_bytes - at)
			*ret_len = file_bytes - at;
		return (const uint8_t *)bytes + at;
	}
	return NULL;
}

/* ---- sections ---- */

/* The first one of that name that has bytes in the file, or NULL. */
static Elf_Scn *find_section(const struct cfi_file *f, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(f->elf, &names))
		return NULL;
	while ((scn = elf_nextscn(f->elf, scn))) {
		const char *its;

		if (!gelf_getshdr(scn, ret) || ret->sh_type == SHT_NOBITS ||
		    !ret->sh_size)
			continue;
		its = elf_strptr(f->elf, names, ret->sh_name);
		if (its && !strcmp(its, name))
			return scn;
	}
	return NULL;
}

static uint64_t section_vaddr(const struct cfi_file *f, const char *name)
{
	GElf_Shdr sh;

	return find_section(f, name, &sh) ? sh.sh_addr : 0;
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

	if (elf_getphdrnum(f->elf, &nr))
		return;
	for (size_t i = 0; i < nr && i < MAX_PROGRAM_HEADERS; i++) {
		if (!gelf_getphdr(f->elf, (int)i, &ph) || ph.p_type != PT_GNU_EH_FRAME)
			continue;
		bytes = bytes_from(f, ph.p_vaddr, &len);
		if (bytes)
			cfi_index_open(bytes, len < ph.p_memsz ? len : ph.p_memsz,
				       ph.p_vaddr, &f->index);
		return;
	}
}

/* Up to the entry of length 0 that ends it, or as far as lengths make sense. */
static size_t frames_len(const uint8_t *bytes, size_t len)
{
	size_t at = 0;

	while (len - at >= 4) {
		uint32_t entry;

		memcpy(&entry, bytes + at, sizeof(entry));
		if (!entry || entry > len - at - sizeof(entry))
			break;
		at += sizeof(entry) + entry;
	}
	return at;
}

/* Section headers may have been stripped: then .eh_frame_hdr says where it is. */
static bool find_eh_frame(struct cfi_file *f)
{
	struct cfi_section *section = &f->section;
	GElf_Shdr sh;
	Elf_Scn *scn = find_section(f, ".eh_frame", &sh);

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
	section->bytes = bytes_from(f, section->vaddr, &section->len);
	if (section->bytes)
		section->len = frames_len(section->bytes, section->len);
	else
		section->len = 0;
	return section->len;
}

/* ---- .debug_frame ---- */

static bool unpack(Elf_Scn *scn, const GElf_Shdr *sh, bool is_gnu)
{
	const Elf_Data *packed;
	uint64_t size = 0;
	GElf_Chdr ch;

	if (sh->sh_flags & SHF_COMPRESSED) {
		return gelf_getchdr(scn, &ch) && ch.ch_size <= MAX_DEBUG_FRAME_BYTES &&
		       elf_compress(scn, 0, 0) >= 0;
	}
	if (!is_gnu)
		return true;
	packed = elf_rawdata(scn, NULL);
	if (!packed || packed->d_size < GNU_HEADER_BYTES ||
	    memcmp(packed->d_buf, "ZLIB", 4))
		return false;
	for (size_t i = 4; i < GNU_HEADER_BYTES; i++)
		size = size << 8 | ((const uint8_t *)packed->d_buf)[i];
	return size <= MAX_DEBUG_FRAME_BYTES && elf_compress_gnu(scn, 0, 0) >= 0;
}

/* Tables that each Go program has, stripped or not. */
static bool has_go_tables(const struct cfi_file *f)
{
	GElf_Shdr sh;

	return find_section(f, ".gopclntab", &sh) ||
	       find_section(f, ".data.rel.ro.gopclntab", &sh);
}

static bool find_debug_frame(struct cfi_file *f)
{
	static const char *const names[] = {".debug_frame", ".zdebug_frame"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		GElf_Shdr sh;
		Elf_Scn *scn = find_section(f, names[i], &sh);

		if (!scn || !unpack(scn, &sh, i == 1) ||
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
	GElf_Ehdr eh;

	elf_version(EV_CURRENT);
	f.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!f.elf || elf_kind(f.elf) != ELF_K_ELF || !gelf_getehdr(f.elf, &eh) ||
	    eh.e_machine != EM_X86_64 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	read_segments(&f);
	if (find_eh_frame(&f) || find_debug_frame(&f)) {
		f.section.text_vaddr = section_vaddr(&f, ".text");
		f.section.data_vaddr = section_vaddr(&f, ".got");
	}
	*ret = f;
	f.elf = NULL;
	return true;
}

void cfi_file_deinit(struct cfi_file *f)
{
	if (f->elf)
		elf_end(f->elf);
	*f = (struct cfi_file){0};
}

/* ---- its symbols, and the code that they name ---- */

static bool open_section(Elf *elf, uint32_t type, struct cfi_symbols *ret)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		const Elf_Data *data;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
			continue;
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		*ret = (struct cfi_symbols){.bytes = data->d_buf,
					    .nr = data->d_size / sizeof(Elf64_Sym),
					    .elf = elf,
					    .names = sh.sh_link};
		return true;
	}
	return false;
}

bool cfi_symbols_open(const struct cfi_file *f, struct cfi_symbols *ret)
{
	return open_section(f->elf, SHT_SYMTAB, ret) ||
	       open_section(f->elf, SHT_DYNSYM, ret);
}

Elf64_Sym cfi_symbol(const struct cfi_symbols *symbols, size_t i)
{
	Elf64_Sym sym;

	memcpy(&sym, symbols->bytes + i * sizeof(sym), sizeof(sym));
	return sym;
}

const char *cfi_symbol_name(const struct cfi_symbols *symbols, const Elf64_Sym *sym)
{
	return elf_strptr(symbols->elf, symbols->names, sym->st_name);
}

const uint8_t *cfi_code_at(const struct cfi_file *f, uint64_t vaddr, uint64_t len)
{
	size_t file_bytes = 0;
	const char *bytes = elf_rawfile(f->elf, &file_bytes);

	for (size_t i = 0; bytes && i < f->nr_segments; i++) {
		const struct cfi_segment *s = &f->segments[i];
		uint64_t at = vaddr - s->vaddr;

		if (vaddr < s->vaddr || at >= s->size_bytes || len > s->size_bytes - at)
			continue;
		if (s->file_off > file_bytes || s->size_bytes > file_bytes - s->file_off)
			return NULL;
		return (const uint8_t *)bytes + s->file_off + at;
	}
	return NULL;
}
