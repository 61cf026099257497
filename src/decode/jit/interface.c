// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nearly every file that is mapped executable is asked about, and nearly none has
 * the interface. So the names are searched first, as text: only a string table
 * that has them is worth a look at its symbols (170,000 in LLVM).
 * The file is read as it is mapped, without libelf, which would convert tables.
 */
#include "decode/jit/interface.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "decode/jit/image.h"
#include "decode/runtimes.h"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#error "the JIT interface is known on x86-64 and arm64"
#endif

#define REGISTER_NAME    "__jit_debug_register_code"
#define DESCRIPTOR_NAME  "__jit_debug_descriptor"
#define DESCRIPTOR_BYTES 24 /* what of it is read, see jit/list.c */

#define MAX_NAMES_BYTES  (256u << 20) /* LLVM has 15 MB; a sparse file is no trap */

/* Places where a name may begin; linkers leave one, or one per table they merged. */
#define MAX_NAME_OFFS 8

struct name_offs {
	uint64_t off[MAX_NAME_OFFS];
	size_t nr;
};

static bool open_file(const void *bytes, size_t len, struct jit_image *ret)
{
	return image_open(bytes, len, ret) && ret->header.e_machine == OUR_MACHINE &&
	       (ret->header.e_type == ET_EXEC || ret->header.e_type == ET_DYN);
}

/* The first section of @type: there is one of a kind. */
static bool find_section(const struct jit_image *elf, uint32_t type, Elf64_Shdr *ret)
{
	for (size_t i = 1; i < elf->nr_sections; i++) {
		*ret = image_section(elf, i);
		if (ret->sh_type == type)
			return true;
	}
	return false;
}

/* ---- names ---- */

/*
 * Where @name ends at a NUL, or at the version that linkers append in .symtab
 * ("name@@LLVM_14"). It may be the tail of a longer name: linkers merge those.
 */
static void find_name(const uint8_t *names, uint64_t names_len, const char *name,
		      struct name_offs *ret)
{
	const size_t len = strlen(name);
	const uint8_t *at = names, *end = names + names_len;

	ret->nr = 0;
	while (ret->nr < MAX_NAME_OFFS) {
		at = memmem(at, (size_t)(end - at), name, len);
		if (!at || at + len == end)
			return;
		if (at[len] == '\0' || at[len] == '@')
			ret->off[ret->nr++] = (uint64_t)(at - names);
		at += len;
	}
}

static bool has_name(const Elf64_Sym *sym, const struct name_offs *offs)
{
	for (size_t i = 0; i < offs->nr; i++)
		if (sym->st_name == offs->off[i])
			return true;
	return false;
}

static bool is_defined(const Elf64_Sym *sym, unsigned int type)
{
	unsigned int is = ELF64_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS && sym->st_value &&
	       (is == type || is == STT_NOTYPE);
}

/* Both symbols of one table. @ret's vaddrs are set, if they are there. */
static bool find_symbols(const struct jit_image *elf, uint32_t type,
			 struct jit_interface *ret)
{
	struct name_offs registers, descriptors;
	const uint8_t *names, *symbols;
	Elf64_Shdr table, strings;
	uint64_t nr;

	if (!find_section(elf, type, &table) || table.sh_entsize != sizeof(Elf64_Sym) ||
	    table.sh_link >= elf->nr_sections)
		return false;
	strings = image_section(elf, table.sh_link);
	names = image_section_bytes(elf, &strings);
	symbols = image_section_bytes(elf, &table);
	if (strings.sh_type != SHT_STRTAB || strings.sh_size > MAX_NAMES_BYTES ||
	    !names || !symbols)
		return false;
	find_name(names, strings.sh_size, REGISTER_NAME, &registers);
	if (!registers.nr)
		return false;
	find_name(names, strings.sh_size, DESCRIPTOR_NAME, &descriptors);
	ret->register_vaddr = ret->descriptor_vaddr = 0;
	nr = table.sh_size / sizeof(Elf64_Sym);
	for (uint64_t i = 1; i < nr; i++) {
		Elf64_Sym sym;

		memcpy(&sym, symbols + i * sizeof(sym), sizeof(sym));
		if (!ret->register_vaddr && has_name(&sym, &registers) &&
		    is_defined(&sym, STT_FUNC))
			ret->register_vaddr = sym.st_value;
		if (!ret->descriptor_vaddr && has_name(&sym, &descriptors) &&
		    is_defined(&sym, STT_OBJECT))
			ret->descriptor_vaddr = sym.st_value;
		if (ret->register_vaddr && ret->descriptor_vaddr)
			return true;
	}
	return false;
}

/* ---- where they are loaded ---- */

/* The loaded segment with @flags that has [@vaddr, @vaddr + @len) in memory. */
static bool find_segment(const struct jit_image *elf, uint64_t vaddr, uint64_t len,
			 uint32_t flags, Elf64_Phdr *ret)
{
	for (size_t i = 0; image_segment(elf, i, ret); i++)
		if (ret->p_type == PT_LOAD && (ret->p_flags & flags) == flags &&
		    vaddr >= ret->p_vaddr && vaddr - ret->p_vaddr <= ret->p_memsz &&
		    len <= ret->p_memsz - (vaddr - ret->p_vaddr))
			return true;
	return false;
}

/* Fills in the file offset. Return: can both be where the symbols say? */
static bool locate(const struct jit_image *elf, struct jit_interface *h)
{
	Elf64_Phdr text, data;
	uint64_t in_text;

	if (!find_segment(elf, h->register_vaddr, 1, PF_X, &text) ||
	    !find_segment(elf, h->descriptor_vaddr, DESCRIPTOR_BYTES, PF_W, &data))
		return false;
	in_text = h->register_vaddr - text.p_vaddr;
	if (in_text >= text.p_filesz || text.p_offset > elf->len ||
	    in_text >= elf->len - text.p_offset)
		return false;
	h->register_off = text.p_offset + in_text;
	return true;
}

static bool find(const void *bytes, size_t len, struct jit_interface *ret)
{
	static const uint32_t tables[] = {SHT_SYMTAB, SHT_DYNSYM};
	struct jit_image elf;

	if (!open_file(bytes, len, &elf))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (find_symbols(&elf, tables[i], ret) && locate(&elf, ret))
			return true;
	return false;
}

bool jit_recognise(const char *path)
{
	(void)path;
	return true;
}

bool jit_inspect(const struct inspected_file *file, void *ret)
{
	struct jit_interface point = {0};
	void *data = NULL;
	uint64_t len = 0;
	bool is_found;

	_Static_assert(sizeof(point) <= RUNTIME_FACTS_BYTES, "it fits");
	if (io_map_file(file->fd, UINT64_MAX, &data, &len) || !data)
		return false;
	is_found = find(data, len, &point);
	munmap(data, len);
	if (is_found)
		memcpy(ret, &point, sizeof(point));
	return is_found;
}
