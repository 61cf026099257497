// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stub has no symbol. It jumps through a slot of the GOT, and a relocation fills
 * that slot with a named symbol:
 *
 *   1030:  ff 25 ca 2f 00 00   jmp *0x2fca(%rip)     # slot 4000
 *   .rela.plt:  4000  R_X86_64_JUMP_SLOT  puts
 *
 * Reading the jump works for .plt, .plt.sec (CET) and .plt.got alike, whatever
 * order the linker chose.
 */
#include "decode/elf/plt.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define MAX_STUB_BYTES 64
#define JMP_LEN        6 /* ff 25, 32-bit displacement */

struct jump {
	uint64_t slot; /* vaddr in the GOT */
	size_t i; /* of the address asked for */
};

/* Return: the slot that the stub at @bytes jumps through; 0: it is no stub. */
static uint64_t stub_slot(const uint8_t *bytes, size_t len, uint64_t stub_vaddr)
{
	for (size_t at = 0; at + JMP_LEN <= len; at++) {
		uint32_t disp;

		if (bytes[at] != 0xff || bytes[at + 1] != 0x25)
			continue;
		memcpy(&disp, bytes + at + 2, sizeof(disp));
		return stub_vaddr + at + JMP_LEN +
		       (uint64_t)(int64_t)(int32_t)le32toh(disp);
	}
	return 0;
}

/* Adds a jump for each address that lies in the stubs of section @name. */
static size_t find_jumps(const struct binary *b, const char *name, const uint64_t *vaddrs,
			 size_t nr, struct jump *jumps, size_t nr_jumps)
{
	GElf_Shdr shdr;
	const Elf_Data *data = binary_section_bytes(binary_section(b, name, &shdr));
	uint64_t stub_bytes;

	if (!data)
		return nr_jumps;
	stub_bytes = shdr.sh_entsize;
	if (stub_bytes < 8 || stub_bytes > MAX_STUB_BYTES)
		stub_bytes = 16;
	for (size_t i = 0; i < nr && nr_jumps < nr; i++) {
		uint64_t off = vaddrs[i] - shdr.sh_addr, slot, left;

		if (vaddrs[i] < shdr.sh_addr || off >= data->d_size)
			continue;
		off -= off % stub_bytes;
		left = data->d_size - off;
		slot = stub_slot((const uint8_t *)data->d_buf + off,
				 left < stub_bytes ? left : stub_bytes,
				 shdr.sh_addr + off);
		if (slot)
			jumps[nr_jumps++] = (struct jump){.slot = slot, .i = i};
	}
	return nr_jumps;
}

static int compare_jumps(const void *va, const void *vb)
{
	const struct jump *a = va, *b = vb;

	return (a->slot > b->slot) - (a->slot < b->slot);
}

/* First of the jumps through @slot, or @nr. */
static size_t find_slot(const struct jump *jumps, size_t nr, uint64_t slot)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (jumps[mid].slot < slot)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const char *symbol_name(const struct binary *b, Elf_Scn *symtab, size_t index)
{
	Elf_Data *data = elf_getdata(symtab, NULL);
	GElf_Shdr shdr;
	GElf_Sym sym;

	if (!data || index > INT32_MAX || !gelf_getshdr(symtab, &shdr) ||
	    !gelf_getsym(data, (int)index, &sym))
		return NULL;
	return elf_strptr(b->elf, shdr.sh_link, sym.st_name);
}

static void name_jumps(const struct binary *b, Elf_Scn *rela, const GElf_Shdr *shdr,
		       const struct jump *jumps, size_t nr_jumps, const char **names)
{
	Elf_Data *data = elf_getdata(rela, NULL);
	Elf_Scn *symtab = elf_getscn(b->elf, shdr->sh_link);
	size_t entry = gelf_fsize(b->elf, ELF_T_RELA, 1, EV_CURRENT);
	size_t nr = data && entry ? data->d_size / entry : 0;

	for (size_t r = 0; symtab && r < nr && r < INT32_MAX; r++) {
		const char *name;
		GElf_Rela rel;
		size_t j;

		if (!gelf_getrela(data, (int)r, &rel))
			return;
		j = find_slot(jumps, nr_jumps, rel.r_offset);
		if (j == nr_jumps || jumps[j].slot != rel.r_offset)
			continue;
		name = symbol_name(b, symtab, GELF_R_SYM(rel.r_info));
		for (; name && *name && j < nr_jumps && jumps[j].slot == rel.r_offset;
		     j++) {
			/* Hostile tables name one slot again and again. */
			if (names[jumps[j].i])
				break;
			names[jumps[j].i] = name;
		}
	}
}

int elf_plt_names(const struct binary *b, const uint64_t *vaddrs, size_t nr,
		  const char **names)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	_cleanup_free_ struct jump *jumps = NULL;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t nr_jumps = 0;

	if (b->machine != EM_X86_64 || !nr)
		return 0;
	jumps = calloc(nr, sizeof(*jumps));
	if (!jumps)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		nr_jumps = find_jumps(b, sections[i], vaddrs, nr, jumps, nr_jumps);
	if (!nr_jumps)
		return 0;
	qsort(jumps, nr_jumps, sizeof(*jumps), compare_jumps);
	while ((scn = elf_nextscn(b->elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_RELA &&
		    (shdr.sh_flags & SHF_ALLOC))
			name_jumps(b, scn, &shdr, jumps, nr_jumps, names);
	return 0;
}
