// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/elf/symbols.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/search.h"
#include "decode/elf/names.h"

#define MAX_SECTIONS (1u << 20)

/* Of a name that is compared with others: all symbols of a hostile file can share one. */
#define MAX_UNDERSCORES 64
#define MAX_COMPARED    ELF_NAMES_MAX_SYSTEM

/* Executable sections by index; start == end for all others. */
struct code_sections {
	struct code_section {
		uint64_t start, end;
	} * items;
	size_t nr;
};

int elf_symbols_init(struct elf_symbols *s, const uint64_t *vaddrs, size_t nr)
{
	*s = (struct elf_symbols){
		.vaddrs = vaddrs, .nr = nr, .budget = ELF_SYMBOLS_BUDGET};
	s->slots = calloc(nr ? nr : 1, sizeof(*s->slots));
	return s->slots ? 0 : -ENOMEM;
}

void elf_symbols_deinit(struct elf_symbols *s)
{
	free(s->slots);
	*s = (struct elf_symbols){0};
}

static int read_code_sections(const struct binary *b, struct code_sections *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t nr;

	if (elf_getshdrnum(b->elf, &nr) || nr > MAX_SECTIONS)
		nr = 0;
	ret->items = calloc(nr ? nr : 1, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	ret->nr = nr;
	while ((scn = elf_nextscn(b->elf, scn))) {
		size_t i = elf_ndxscn(scn);

		if (i >= nr || !gelf_getshdr(scn, &shdr) ||
		    !(shdr.sh_flags & SHF_EXECINSTR) ||
		    shdr.sh_addr + shdr.sh_size < shdr.sh_addr)
			continue;
		ret->items[i].start = shdr.sh_addr;
		ret->items[i].end = shdr.sh_addr + shdr.sh_size;
	}
	return 0;
}

static unsigned int leading_underscores(const char *name)
{
	unsigned int nr = 0;

	while (nr < MAX_UNDERSCORES && name[nr] == '_')
		nr++;
	return nr;
}

/*
 * Is @a the better name? Names that are shown as different ones are never equal, so that
 * the result does not depend on the order of a table.
 */
static bool symbol_better(const struct elf_symbol *a, const struct elf_symbol *b)
{
	if (!b->name)
		return true;
	if (a->start != b->start)
		return a->start > b->start;
	if (a->size != b->size)
		return a->size < b->size;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->underscores != b->underscores)
		return a->underscores < b->underscores;
	return strncmp(a->name, b->name, MAX_COMPARED) < 0;
}

/* First wanted address at or above @vaddr. */
static size_t first_at_or_above(const struct elf_symbols *s, uint64_t vaddr)
{
	return SEARCH_FIRST(i, s->nr, s->vaddrs[i] >= vaddr);
}

static void take_sized(struct elf_symbols *s, const struct elf_symbol *sym)
{
	size_t i = first_at_or_above(s, sym->start);
	uint64_t end = sym->start + sym->size;

	if (i == s->nr)
		return;
	if (end > s->slots[i].sized_end)
		s->slots[i].sized_end = end;
	for (; i < s->nr && s->vaddrs[i] < end; i++) {
		if (!s->budget) {
			s->gave_up = true;
			return;
		}
		s->budget--;
		if (symbol_better(sym, &s->slots[i].covering))
			s->slots[i].covering = *sym;
	}
}

static void take_label(struct elf_symbols *s, const struct elf_symbol *sym)
{
	size_t i = first_at_or_above(s, sym->start);

	/* elf_symbols_finish() extends the label to the addresses above. */
	if (i < s->nr && symbol_better(sym, &s->slots[i].label))
		s->slots[i].label = *sym;
}

/*
 * Is it a symbol of assemblers or annobin, not the name of a function? Mapping symbols
 * are $a, $d, $t, $x and the same with a suffix (ELF for the Arm Architecture, 5.5.5).
 */
static bool name_is_marker(const char *name)
{
	if (!name[0] || !strncmp(name, ".L", 2) || !strncmp(name, ".annobin", 8))
		return true;
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
	       (!name[2] || name[2] == '.');
}

static unsigned int symbol_rank(const GElf_Sym *sym)
{
	unsigned int rank = GELF_ST_TYPE(sym->st_info) == STT_NOTYPE ? 4 : 0;

	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_LOCAL:
		return rank + 1;
	case STB_WEAK:
		return rank + 2;
	default: /* STB_GLOBAL, STB_GNU_UNIQUE */
		return rank;
	}
}

/* A string table, up to its last NUL. */
struct name_table {
	const char *text;
	size_t len;
};

static struct name_table names_of(const Elf_Data *data)
{
	struct name_table names = {0};
	const char *last = data ? memrchr(data->d_buf, '\0', data->d_size) : NULL;

	if (last) {
		names.text = data->d_buf;
		names.len = (size_t)(last - names.text) + 1;
	}
	return names;
}

static void take_symbol(struct elf_symbols *s, const struct binary *b,
			const struct code_sections *code, const struct name_table *names,
			const GElf_Sym *in, uint32_t shndx)
{
	unsigned int type = GELF_ST_TYPE(in->st_info);
	struct elf_symbol sym = {.start = in->st_value, .size = in->st_size};
	const struct code_section *scn;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return;
	if (shndx == SHN_UNDEF || shndx >= code->nr)
		return;
	if (b->machine == EM_ARM && type == STT_FUNC)
		sym.start &= ~1ULL; /* bit 0 marks Thumb code */
	scn = &code->items[shndx];
	if (sym.start < scn->start || sym.start >= scn->end)
		return;
	/* Cut a symbol at the end of its section. */
	if (sym.size > scn->end - sym.start)
		sym.size = scn->end - sym.start;
	sym.limit = scn->end;
	if (!s->nr || s->vaddrs[s->nr - 1] < sym.start)
		return;
	if (in->st_name >= names->len)
		return;
	sym.name = names->text + in->st_name;
	if (name_is_marker(sym.name))
		return;
	sym.underscores = leading_underscores(sym.name);
	sym.rank = symbol_rank(in);
	if (sym.size)
		take_sized(s, &sym);
	else
		take_label(s, &sym);
}

/* Finds the table of section numbers above 65279 of symbol table @index. */
static Elf_Data *find_xndx(const struct binary *b, size_t index)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(b->elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB_SHNDX &&
		    shdr.sh_link == index)
			return elf_getdata(scn, NULL);
	return NULL;
}

static void read_table(struct elf_symbols *s, const struct binary *b, Elf_Scn *scn,
		       const GElf_Shdr *shdr, const struct code_sections *code)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	Elf_Data *xndx = find_xndx(b, elf_ndxscn(scn));
	struct name_table names =
		names_of(binary_section_bytes(elf_getscn(b->elf, shdr->sh_link)));
	size_t entry = gelf_fsize(b->elf, ELF_T_SYM, 1, EV_CURRENT);
	size_t nr;

	if (!data || !names.len || !entry)
		return;
	nr = data->d_size / entry;
	for (size_t i = 1; i < nr && i < INT32_MAX && !s->gave_up; i++) {
		GElf_Sym sym;
		Elf32_Word big_shndx = 0;

		if (!gelf_getsymshndx(data, xndx, (int)i, &sym, &big_shndx))
			return;
		if (sym.st_shndx >= SHN_LORESERVE && sym.st_shndx != SHN_XINDEX)
			continue; /* absolute, common */
		take_symbol(s, b, code, &names, &sym,
			    sym.st_shndx == SHN_XINDEX ? big_shndx : sym.st_shndx);
	}
}

int elf_symbols_read(struct elf_symbols *s, const struct binary *b, uint32_t type)
{
	struct code_sections code;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	int err = -ENODATA;

	if (read_code_sections(b, &code))
		return -ENOMEM;
	/*
	 * Read one table only: valid files have no more, and a hostile file could list
	 * the same bytes any number of times.
	 */
	while (err && (scn = elf_nextscn(b->elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != type || !shdr.sh_size)
			continue;
		read_table(s, b, scn, &shdr, &code);
		err = 0;
	}
	free(code.items);
	return err;
}

void elf_symbols_finish(struct elf_symbols *s)
{
	for (size_t i = 1; i < s->nr; i++) {
		struct elf_symbol_slot *slot = &s->slots[i];
		const struct elf_symbol_slot *left = &s->slots[i - 1];

		if (left->sized_end > slot->sized_end)
			slot->sized_end = left->sized_end;
		if (left->label.name && symbol_better(&left->label, &slot->label))
			slot->label = left->label;
	}
}

const struct elf_symbol *elf_symbols_at(const struct elf_symbols *s, size_t i)
{
	const struct elf_symbol_slot *slot = &s->slots[i];

	if (slot->covering.name)
		return &slot->covering;
	if (slot->label.name && s->vaddrs[i] < slot->label.limit &&
	    slot->label.start >= slot->sized_end)
		return &slot->label;
	return NULL;
}

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

#define MAX_STUB_BYTES 64
#define JMP_LEN        6 /* ff 25, 32-bit displacement */

struct jump {
	uint64_t slot; /* vaddr in the GOT */
	size_t i; /* index of the address */
};

/* Return: the GOT slot through which the stub at @bytes jumps; 0: not a stub. */
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

/* Adds a jump for each address in a stub of section @name. */
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

static const char *symbol_name(const struct binary *b, Elf_Scn *symtab, size_t index)
{
	Elf_Data *data = elf_getdata(symtab, NULL);
	GElf_Shdr shdr;
	GElf_Sym sym;

	if (!data || index > INT32_MAX || !gelf_getshdr(symtab, &shdr) ||
	    !gelf_getsym(data, (int)index, &sym))
		return NULL;
	return binary_string(b, shdr.sh_link, sym.st_name);
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
		j = SEARCH_FIRST(i, nr_jumps, jumps[i].slot >= rel.r_offset);
		if (j == nr_jumps || jumps[j].slot != rel.r_offset)
			continue;
		name = symbol_name(b, symtab, GELF_R_SYM(rel.r_info));
		for (; name && *name && j < nr_jumps && jumps[j].slot == rel.r_offset;
		     j++) {
			/* Hostile tables can name one slot many times. */
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
	uint64_t left = b->size_bytes;

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
		    (shdr.sh_flags & SHF_ALLOC) && binary_take_bytes(&left, shdr.sh_size))
			name_jumps(b, scn, &shdr, jumps, nr_jumps, names);
	return 0;
}
