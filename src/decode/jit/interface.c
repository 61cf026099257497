// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nearly every file that is mapped executable is inspected, and nearly none has the
 * interface. So the names are searched in the string tables first; symbols (170,000 in
 * LLVM) are read only if a string table has both names.
 */
#include "decode/jit/interface.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
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
#define DESCRIPTOR_BYTES 24 /* bytes that are read, see jit/list.c */

#define MAX_NAMES_BYTES  (256u << 20) /* LLVM has 15 MB; limits sparse files */

/* Occurrences of a name; linkers leave one, or one per table they merged. */
#define MAX_NAME_OFFS 8

struct name_offs {
	uint64_t off[MAX_NAME_OFFS];
	size_t nr;
};

/* ---- names ---- */

/*
 * Finds @name followed by a NUL, or by the version that linkers append in .symtab
 * ("name@@LLVM_14"). It may be the tail of a longer name: linkers merge those.
 */
static void find_name(const struct image_table *table, const char *name,
		      struct name_offs *ret)
{
	const size_t len = strlen(name);
	const char *at = table->names, *end = at + table->names_len;

	ret->nr = 0;
	while (ret->nr < MAX_NAME_OFFS) {
		at = memmem(at, (size_t)(end - at), name, len);
		if (!at || at + len == end)
			return;
		if (at[len] == '\0' || at[len] == '@')
			ret->off[ret->nr++] = (uint64_t)(at - table->names);
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

/* Finds both symbols in one table and sets @ret's vaddrs. */
static bool find_symbols(const struct jit_image *elf, uint32_t type,
			 struct jit_interface *ret)
{
	struct name_offs registers, descriptors;
	struct image_table table;

	if (!image_table_find(elf, type, &table) || !table.names_len ||
	    table.names_len > MAX_NAMES_BYTES)
		return false;
	find_name(&table, REGISTER_NAME, &registers);
	if (!registers.nr)
		return false;
	find_name(&table, DESCRIPTOR_NAME, &descriptors);
	ret->register_vaddr = ret->descriptor_vaddr = 0;
	for (size_t i = 1; i < table.nr; i++) {
		Elf64_Sym sym = image_table_symbol(&table, i);

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

/* Sets the file offset. Return: are both symbols in segments of the right kind? */
static bool locate(const struct jit_image *elf, struct jit_interface *h)
{
	const uint8_t *at = image_bytes_at(elf, h->register_vaddr, 1, PF_X);
	Elf64_Phdr data;

	if (!at ||
	    !image_find_load(elf, h->descriptor_vaddr, DESCRIPTOR_BYTES, PF_W, &data))
		return false;
	h->register_off = (uint64_t)(at - elf->bytes);
	return true;
}

bool jit_recognise(const char *path)
{
	(void)path;
	return true;
}

bool jit_inspect(const struct inspected_file *file, void *ret)
{
	static const uint32_t tables[] = {SHT_SYMTAB, SHT_DYNSYM};
	const struct jit_image *elf = file->image;
	struct jit_interface point = {0};
	bool is_found = false;

	_Static_assert(sizeof(point) <= RUNTIME_FACTS_BYTES, "it fits");
	if (!elf || elf->header.e_machine != OUR_MACHINE ||
	    (elf->header.e_type != ET_EXEC && elf->header.e_type != ET_DYN))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(tables) && !is_found; i++)
		is_found = find_symbols(elf, tables[i], &point) && locate(elf, &point);
	if (is_found)
		memcpy(ret, &point, sizeof(point));
	return is_found;
}
