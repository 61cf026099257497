// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/symbols.h"

#include <gelf.h>
#include <string.h>

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
