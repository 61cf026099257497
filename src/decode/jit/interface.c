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
#include <sys/stat.h>

#include "base/cleanup.h"
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

struct elf_bytes {
	const uint8_t *data;
	uint64_t len;
};

struct elf {
	struct elf_bytes file;
	Elf64_Ehdr header;
};

struct name_offs {
	uint64_t off[MAX_NAME_OFFS];
	size_t nr;
};

/* Return: is all of it in the file? */
static bool slice(struct elf_bytes file, uint64_t off, uint64_t len,
		  struct elf_bytes *ret)
{
	if (off > file.len || len > file.len - off)
		return false;
	*ret = (struct elf_bytes){file.data + off, len};
	return true;
}

/* Copies structure @i of a table of them: nothing in a file need be aligned. */
static bool get(struct elf_bytes file, uint64_t table_off, uint64_t i, void *ret,
		size_t size)
{
	struct elf_bytes at;

	/* Numbers of sections and program headers are below 2^32. */
	if (table_off > file.len || !slice(file, table_off + i * size, size, &at))
		return false;
	memcpy(ret, at.data, size);
	return true;
}

static bool read_header(struct elf_bytes file, struct elf *ret)
{
	Elf64_Ehdr *h = &ret->header;

	ret->file = file;
	return get(file, 0, 0, h, sizeof(*h)) && !memcmp(h->e_ident, ELFMAG, SELFMAG) &&
	       h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB &&
	       h->e_machine == OUR_MACHINE &&
	       (h->e_type == ET_EXEC || h->e_type == ET_DYN) &&
	       h->e_phentsize == sizeof(Elf64_Phdr);
}

static bool get_section(const struct elf *elf, uint64_t i, Elf64_Shdr *ret)
{
	return get(elf->file, elf->header.e_shoff, i, ret, sizeof(*ret));
}

/* The number is in the first section where there are 65280 or more. */
static uint64_t count_sections(const struct elf *elf)
{
	Elf64_Shdr first;

	if (!elf->header.e_shoff || elf->header.e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	if (elf->header.e_shnum)
		return elf->header.e_shnum;
	if (!get_section(elf, 0, &first))
		return 0;
	return first.sh_size < UINT32_MAX ? first.sh_size : UINT32_MAX;
}

/* The first section of @type: there is one of a kind. */
static bool find_section(const struct elf *elf, uint32_t type, Elf64_Shdr *ret)
{
	uint64_t nr = count_sections(elf);

	for (uint64_t i = 1; i < nr; i++) {
		if (!get_section(elf, i, ret))
			return false;
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
static void find_name(struct elf_bytes names, const char *name, struct name_offs *ret)
{
	const size_t len = strlen(name);
	const uint8_t *at = names.data, *end = names.data + names.len;

	ret->nr = 0;
	while (ret->nr < MAX_NAME_OFFS) {
		at = memmem(at, (size_t)(end - at), name, len);
		if (!at || at + len == end)
			return;
		if (at[len] == '\0' || at[len] == '@')
			ret->off[ret->nr++] = (uint64_t)(at - names.data);
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
static bool find_symbols(const struct elf *elf, uint32_t type, struct jit_interface *ret)
{
	struct name_offs registers, descriptors;
	struct elf_bytes names, symbols;
	Elf64_Shdr table, strings;
	uint64_t nr;

	if (!find_section(elf, type, &table) || table.sh_entsize != sizeof(Elf64_Sym) ||
	    !get_section(elf, table.sh_link, &strings) || strings.sh_type != SHT_STRTAB ||
	    strings.sh_size > MAX_NAMES_BYTES ||
	    !slice(elf->file, strings.sh_offset, strings.sh_size, &names) ||
	    !slice(elf->file, table.sh_offset, table.sh_size, &symbols))
		return false;
	find_name(names, REGISTER_NAME, &registers);
	if (!registers.nr)
		return false;
	find_name(names, DESCRIPTOR_NAME, &descriptors);
	ret->register_vaddr = ret->descriptor_vaddr = 0;
	nr = symbols.len / sizeof(Elf64_Sym);
	for (uint64_t i = 1; i < nr; i++) {
		Elf64_Sym sym;

		memcpy(&sym, symbols.data + i * sizeof(sym), sizeof(sym));
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
static bool find_segment(const struct elf *elf, uint64_t vaddr, uint64_t len,
			 uint32_t flags, Elf64_Phdr *ret)
{
	for (uint64_t i = 0; i < elf->header.e_phnum; i++) {
		if (!get(elf->file, elf->header.e_phoff, i, ret, sizeof(*ret)))
			return false;
		if (ret->p_type == PT_LOAD && (ret->p_flags & flags) == flags &&
		    vaddr >= ret->p_vaddr && vaddr - ret->p_vaddr <= ret->p_memsz &&
		    len <= ret->p_memsz - (vaddr - ret->p_vaddr))
			return true;
	}
	return false;
}

/* Fills in the file offset. Return: can both be where the symbols say? */
static bool locate(const struct elf *elf, struct jit_interface *h)
{
	Elf64_Phdr text, data;
	uint64_t in_text;

	if (!find_segment(elf, h->register_vaddr, 1, PF_X, &text) ||
	    !find_segment(elf, h->descriptor_vaddr, DESCRIPTOR_BYTES, PF_W, &data))
		return false;
	in_text = h->register_vaddr - text.p_vaddr;
	if (in_text >= text.p_filesz || text.p_offset > elf->file.len ||
	    in_text >= elf->file.len - text.p_offset)
		return false;
	h->register_off = text.p_offset + in_text;
	return true;
}

static bool find(struct elf_bytes file, struct jit_interface *ret)
{
	static const uint32_t tables[] = {SHT_SYMTAB, SHT_DYNSYM};
	struct elf elf;

	if (!read_header(file, &elf))
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
	struct stat st;
	void *data;
	bool is_found;

	_Static_assert(sizeof(point) <= RUNTIME_FACTS_BYTES, "it fits");
	if (fstat(file->fd, &st) || st.st_size <= 0)
		return false;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file->fd, 0);
	if (data == MAP_FAILED)
		return false;
	is_found = find((struct elf_bytes){data, (uint64_t)st.st_size}, &point);
	munmap(data, (size_t)st.st_size);
	if (is_found)
		memcpy(ret, &point, sizeof(point));
	return is_found;
}
