// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/image.h"

#include <errno.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"

/* ---- header and sections ---- */

static bool within(const struct jit_image *m, uint64_t off, uint64_t size)
{
	return off <= m->len && size <= m->len - off;
}

Elf64_Shdr image_section(const struct jit_image *m, size_t i)
{
	Elf64_Shdr sh;

	memcpy(&sh, m->bytes + m->header.e_shoff + i * sizeof(sh), sizeof(sh));
	return sh;
}

const uint8_t *image_section_bytes(const struct jit_image *m, const Elf64_Shdr *sh)
{
	if (sh->sh_type == SHT_NOBITS || !sh->sh_size ||
	    !within(m, sh->sh_offset, sh->sh_size))
		return NULL;
	return m->bytes + sh->sh_offset;
}

const char *image_section_name(const struct jit_image *m, const Elf64_Shdr *sh)
{
	return sh->sh_name < m->names_len ? m->names + sh->sh_name : "";
}

/*
 * Returns a string table; NULL unless it ends with a NUL, as ELF requires. Then all
 * strings in it are terminated.
 */
static const char *texts(const struct jit_image *m, const Elf64_Shdr *sh, size_t *ret_len)
{
	const char *bytes = (const char *)image_section_bytes(m, sh);

	if (!bytes || bytes[sh->sh_size - 1])
		return NULL;
	*ret_len = sh->sh_size;
	return bytes;
}

/* Finds the section headers, if all of them are in the image. */
static void find_sections(struct jit_image *m)
{
	const Elf64_Ehdr *h = &m->header;
	uint64_t nr = h->e_shnum;
	uint32_t names = h->e_shstrndx;
	Elf64_Shdr first;

	if (!h->e_shoff || h->e_shentsize != sizeof(Elf64_Shdr) ||
	    !within(m, h->e_shoff, sizeof(Elf64_Shdr)))
		return;
	first = image_section(m, 0);
	if (!nr) /* more than the field can hold */
		nr = first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (nr > IMAGE_MAX_SECTIONS || !within(m, h->e_shoff, nr * sizeof(Elf64_Shdr)))
		return;
	m->nr_sections = nr;
	if (names < nr) {
		Elf64_Shdr sh = image_section(m, names);

		m->names = texts(m, &sh, &m->names_len);
	}
}

bool image_open(const void *bytes, size_t len, struct jit_image *ret)
{
	struct jit_image m = {.bytes = bytes, .len = len};

	if (len < sizeof(m.header))
		return false;
	memcpy(&m.header, bytes, sizeof(m.header));
	if (memcmp(m.header.e_ident, ELFMAG, SELFMAG) ||
	    m.header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    m.header.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	find_sections(&m);
	*ret = m;
	return true;
}

/* ---- code ---- */

bool image_segment(const struct jit_image *m, size_t i, Elf64_Phdr *ret)
{
	const Elf64_Ehdr *h = &m->header;

	if (i >= h->e_phnum || h->e_phentsize != sizeof(*ret) ||
	    !within(m, h->e_phoff, h->e_phnum * sizeof(*ret)))
		return false;
	memcpy(ret, m->bytes + h->e_phoff + i * sizeof(*ret), sizeof(*ret));
	return true;
}

bool image_find_load(const struct jit_image *m, uint64_t vaddr, uint64_t len,
		     uint32_t flags, Elf64_Phdr *ret)
{
	for (size_t i = 0; image_segment(m, i, ret); i++)
		if (ret->p_type == PT_LOAD && (ret->p_flags & flags) == flags &&
		    vaddr >= ret->p_vaddr && vaddr - ret->p_vaddr <= ret->p_memsz &&
		    len <= ret->p_memsz - (vaddr - ret->p_vaddr))
			return true;
	return false;
}

const uint8_t *image_bytes_at(const struct jit_image *m, uint64_t vaddr, uint64_t len,
			      uint32_t flags)
{
	Elf64_Phdr ph;
	uint64_t at;

	if (!image_find_load(m, vaddr, len, flags, &ph))
		return NULL;
	at = vaddr - ph.p_vaddr;
	if (at > ph.p_filesz || len > ph.p_filesz - at || ph.p_offset > m->len ||
	    at > m->len - ph.p_offset || !within(m, ph.p_offset + at, len))
		return NULL;
	return m->bytes + ph.p_offset + at;
}

static size_t code_of_segments(const struct jit_image *m, struct image_code *ret)
{
	Elf64_Phdr ph;
	size_t nr = 0;

	for (size_t i = 0; image_segment(m, i, &ph) && nr < IMAGE_MAX_CODE; i++) {
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) || !ph.p_memsz ||
		    ph.p_vaddr + ph.p_memsz < ph.p_vaddr)
			continue;
		ret[nr++] = (struct image_code){
			.start_ip = ph.p_vaddr,
			.end_ip = ph.p_vaddr + ph.p_memsz,
			.bytes = ph.p_filesz >= ph.p_memsz &&
						 within(m, ph.p_offset, ph.p_memsz)
					 ? m->bytes + ph.p_offset
					 : NULL};
	}
	return nr;
}

static bool is_code(const Elf64_Shdr *sh)
{
	return (sh->sh_flags & SHF_EXECINSTR) && (sh->sh_flags & SHF_ALLOC) &&
	       sh->sh_size && sh->sh_addr && sh->sh_addr + sh->sh_size > sh->sh_addr;
}

size_t image_code(const struct jit_image *m, struct image_code *ret)
{
	size_t nr = 0;

	for (size_t i = 1; i < m->nr_sections && nr < IMAGE_MAX_CODE; i++) {
		Elf64_Shdr sh = image_section(m, i);

		if (is_code(&sh))
			ret[nr++] =
				(struct image_code){.start_ip = sh.sh_addr,
						    .end_ip = sh.sh_addr + sh.sh_size,
						    .bytes = image_section_bytes(m, &sh)};
	}
	return nr ? nr : code_of_segments(m, ret);
}

/* ---- symbols ---- */

static bool table_open(const struct jit_image *m, const Elf64_Shdr *sh,
		       struct image_table *ret)
{
	Elf64_Shdr names;

	*ret = (struct image_table){.symbols = image_section_bytes(m, sh)};
	if (!ret->symbols || sh->sh_entsize != sizeof(Elf64_Sym))
		return false;
	ret->nr = sh->sh_size / sizeof(Elf64_Sym);
	if (sh->sh_link < m->nr_sections) {
		names = image_section(m, sh->sh_link);
		ret->names = texts(m, &names, &ret->names_len);
	}
	return true;
}

bool image_table_find(const struct jit_image *m, uint32_t type, struct image_table *ret)
{
	for (size_t i = 1; i < m->nr_sections; i++) {
		Elf64_Shdr sh = image_section(m, i);

		if (sh.sh_type == type && table_open(m, &sh, ret))
			return true;
	}
	return false;
}

const char *image_table_name(const struct image_table *t, const Elf64_Sym *sym)
{
	return sym->st_name < t->names_len ? t->names + sym->st_name : "";
}

/* Finds the run-time address of a symbol. Return: false if it is not in this image. */
static bool symbol_address(const struct jit_image *m, const Elf64_Sym *sym, uint64_t *ret)
{
	*ret = sym->st_value;
	if (sym->st_shndx == SHN_ABS)
		return true;
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= m->nr_sections)
		return false;
	if (m->header.e_type == ET_REL)
		*ret += image_section(m, sym->st_shndx).sh_addr;
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct image_symbol *x = a, *y = b;

	if (x->start_ip != y->start_ip)
		return x->start_ip < y->start_ip ? -1 : 1;
	if (x->end_ip != y->end_ip) /* the narrowest last: the last is found */
		return x->end_ip > y->end_ip ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name; /* all in one string table */
}

static int read_table(const struct jit_image *m, const struct image_table *t,
		      struct image_symbols *ret)
{
	for (size_t i = 0; i < t->nr; i++) {
		Elf64_Sym sym = image_table_symbol(t, i);
		uint64_t start;
		int r;

		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_size ||
		    !symbol_address(m, &sym, &start) || start + sym.st_size < start)
			continue;
		r = vec_grow(&ret->items, &ret->cap, ret->nr + 1, sizeof(*ret->items),
			     IMAGE_MAX_SYMBOLS);
		if (r)
			return r == -ENOSPC ? 0 : r;
		ret->items[ret->nr++] = (struct image_symbol){
			.start_ip = start,
			.end_ip = start + sym.st_size,
			.name = image_table_name(t, &sym),
			.weak = ELF64_ST_BIND(sym.st_info) == STB_WEAK};
	}
	return 0;
}

int image_symbols_read(const struct jit_image *m, struct image_symbols *ret)
{
	static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
	struct image_table t;
	int r = 0;

	*ret = (struct image_symbols){0};
	for (size_t k = 0; k < ARRAY_SIZE(types) && !ret->nr && !r; k++)
		if (image_table_find(m, types[k], &t))
			r = read_table(m, &t, ret);
	if (r) {
		image_symbols_deinit(ret);
		return r;
	}
	if (ret->nr)
		qsort(ret->items, ret->nr, sizeof(*ret->items), by_address);
	return 0;
}

void image_symbols_deinit(struct image_symbols *s)
{
	free(s->items);
	*s = (struct image_symbols){0};
}

const struct image_symbol *image_symbols_at(const struct image_symbols *s, uint64_t ip)
{
	size_t above = SEARCH_FIRST(i, s->nr, s->items[i].start_ip > ip);

	/* Functions do not overlap, but one may have several names. */
	return above && s->items[above - 1].end_ip > ip ? &s->items[above - 1] : NULL;
}

/* ---- relocations ---- */

/*
 * Reads only from the image and writes only to the copy: tables of a hostile image may
 * overlap the section that is written.
 */
struct relocation {
	const struct jit_image *image;
	Elf64_Shdr section; /* to be relocated */
	uint8_t *copy; /* copy of its bytes */
	struct image_table symbols;
};

/* Bytes that a relocation of this type writes (System V ABIs); 0: unsupported. */
static unsigned int relocation_width(uint16_t machine, uint32_t type,
				     bool *ret_is_relative)
{
	*ret_is_relative = false;
	if (machine == EM_AARCH64)
		return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
	if (machine != EM_X86_64)
		return 0;
	switch (type) {
	case R_X86_64_PC64:
		*ret_is_relative = true;
		return 8;
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		*ret_is_relative = true;
		return 4;
	case R_X86_64_64:
		return 8;
	case R_X86_64_32:
	case R_X86_64_32S:
		return 4;
	default:
		return 0;
	}
}

/* @explicit_addend  false: the addend is in the bytes to be relocated (SHT_REL) */
static bool relocate_one(const struct relocation *rel, const Elf64_Rela *r,
			 bool explicit_addend)
{
	uint64_t i = ELF64_R_SYM(r->r_info), value = 0, addend = 0;
	uint32_t type = ELF64_R_TYPE(r->r_info);
	bool is_relative;
	unsigned int width =
		relocation_width(rel->image->header.e_machine, type, &is_relative);
	Elf64_Sym sym;

	if (!type) /* R_*_NONE */
		return true;
	/* PC-relative relocations need the section's address. */
	if (is_relative && !rel->section.sh_addr)
		return false;
	if (!width || r->r_offset > rel->section.sh_size ||
	    width > rel->section.sh_size - r->r_offset || i >= rel->symbols.nr)
		return false;
	sym = image_table_symbol(&rel->symbols, i);
	/* Skip symbols of other images; what we read does not refer to them. */
	if (!symbol_address(rel->image, &sym, &value))
		return true;
	if (explicit_addend)
		addend = (uint64_t)r->r_addend;
	else
		memcpy(&addend, rel->copy + r->r_offset, width);
	value += addend;
	if (is_relative)
		value -= rel->section.sh_addr + r->r_offset;
	memcpy(rel->copy + r->r_offset, &value, width); /* little-endian */
	return true;
}

static bool is_relocations(const Elf64_Shdr *sh)
{
	return sh->sh_type == SHT_RELA || sh->sh_type == SHT_REL;
}

/* Applies the relocations of table @sh. Return: false if one cannot be applied. */
static bool relocate_by(const struct jit_image *m, const Elf64_Shdr *sh, uint8_t *copy,
			uint64_t *budget)
{
	bool rela = sh->sh_type == SHT_RELA;
	size_t size = rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	const uint8_t *entries = image_section_bytes(m, sh);
	struct relocation rel = {.image = m, .copy = copy};
	Elf64_Shdr symbols;

	if (!entries)
		return true;
	if (sh->sh_entsize != size || sh->sh_link >= m->nr_sections)
		return false;
	rel.section = image_section(m, sh->sh_info);
	symbols = image_section(m, sh->sh_link);
	if (!table_open(m, &symbols, &rel.symbols))
		return false;
	for (size_t i = 0; i < sh->sh_size / size; i++, (*budget)--) {
		Elf64_Rela r = {0};

		memcpy(&r, entries + i * size, size);
		if (!*budget || !relocate_one(&rel, &r, rela))
			return false;
	}
	return true;
}

bool image_relocate(const struct jit_image *m, size_t section, uint8_t *copy,
		    uint64_t *budget)
{
	for (size_t i = 1; i < m->nr_sections; i++) {
		Elf64_Shdr sh = image_section(m, i);

		if (is_relocations(&sh) && sh.sh_info == section &&
		    !relocate_by(m, &sh, copy, budget))
			return false;
	}
	return true;
}

/* Applies the relocations of table @sh, if they are for debug info. */
static bool relocate_debug(const struct jit_image *m, const Elf64_Shdr *sh, uint8_t *copy,
			   uint64_t *budget)
{
	Elf64_Shdr target;

	if (!image_section_bytes(m, sh))
		return true;
	if (sh->sh_info >= m->nr_sections)
		return false;
	target = image_section(m, sh->sh_info);
	if (strncmp(image_section_name(m, &target), ".debug_", 7) != 0)
		return true;
	/* Compressed sections cannot be relocated. */
	if ((target.sh_flags & SHF_COMPRESSED) || !image_section_bytes(m, &target))
		return false;
	return relocate_by(m, sh, copy + target.sh_offset, budget);
}

static bool has_section(const struct jit_image *m, const char *name)
{
	for (size_t i = 1; i < m->nr_sections; i++) {
		Elf64_Shdr sh = image_section(m, i);

		if (!strcmp(image_section_name(m, &sh), name))
			return image_section_bytes(m, &sh);
	}
	return false;
}

int image_linked_copy(const struct jit_image *m, uint8_t **ret)
{
	_cleanup_free_ uint8_t *copy = NULL;
	/* Maximum number of entries, unless their tables overlap. */
	uint64_t budget = m->len / sizeof(Elf64_Rel);
	const uint16_t type = ET_EXEC;

	if (!has_section(m, ".debug_info") || !has_section(m, ".debug_line"))
		return -ENODATA;
	copy = malloc(m->len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, m->bytes, m->len);
	for (size_t i = 1; i < m->nr_sections && m->header.e_type == ET_REL; i++) {
		Elf64_Shdr sh = image_section(m, i);

		if (is_relocations(&sh) && !relocate_debug(m, &sh, copy, &budget))
			return -EBADMSG;
	}
	memcpy(copy + offsetof(Elf64_Ehdr, e_type), &type, sizeof(type));
	*ret = take_ptr(copy);
	return 0;
}
