// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is there anything that libdw decodes and we do not? Every version, type of unit,
 * form, and form of each attribute that we use, in a program built byte by byte: a
 * function with an inlined call. If a newer libdw knows more, this test fails, and our
 * reader has to learn it. The opposite may be: we also decode what libdw refuses.
 *
 * How long a value of an unknown form is, is not known either. So each form is tried
 * with values of several lengths; a reader that knows it gives the right answer for one
 * of them.
 */
#include "unit/decode/dwarf/workload.h"

#include <dwarf.h>
#include <elf.h>
#include <sys/mman.h>

#include "lib/libdw.h"

/* ---- bytes ---- */

struct buffer {
	uint8_t bytes[8192];
	size_t len;
};

static void put(struct buffer *b, uint64_t value, size_t size)
{
	assert_true(b->len + size <= sizeof(b->bytes));
	for (size_t i = 0; i < size; i++)
		b->bytes[b->len++] = i < 8 ? (uint8_t)(value >> (8 * i)) : 0;
}

static void put_bytes(struct buffer *b, const void *bytes, size_t size)
{
	assert_true(b->len + size <= sizeof(b->bytes));
	memcpy(b->bytes + b->len, bytes, size);
	b->len += size;
}

static void put_text(struct buffer *b, const char *text)
{
	put_bytes(b, text, strlen(text) + 1);
}

static void put_uleb(struct buffer *b, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put(b, (value & 0x7f) | 0x80, 1);
	put(b, value, 1);
}

/* The length of what follows, in a header with offsets of @offset_size bytes. */
static size_t begin_length(struct buffer *b, size_t offset_size)
{
	if (offset_size == 8)
		put(b, UINT32_MAX, 4);
	put(b, 0, offset_size);
	return b->len;
}

static void end_length(struct buffer *b, size_t start, size_t offset_size)
{
	uint64_t len = b->len - start;

	memcpy(b->bytes + start - offset_size, &len, offset_size);
}

/* ---- the program ---- */

#define FUNCTION_START 0x20
#define FUNCTION_BYTES 0x40
#define CALL_START     0x28
#define CALL_BYTES     0x10
#define PROBE          0x30

#define LINE_OFF       0x10 /* of the line table: not 0, so that its value counts */
#define RANGES_OFF     0x10
#define NR_INDEXED     256 /* entries of .debug_addr and .debug_str_offsets */

enum {
	INNER_DECL = 3,
	INNER_LINE = 4,
	OUTER_DECL = 10,
	CALL_LINE = 12
};

enum die {
	ROOT,
	INNER, /* the abstract function that was inlined */
	OUTER, /* the function with the code */
	CALL, /* of INNER in OUTER */
	NR_DIES,
};

/* An attribute and its value. */
struct attribute {
	uint16_t name, form;
	uint64_t value;
	size_t size; /* of the value */
	const char *text; /* DW_FORM_string: the value */
};

/* One program: what is different from a program of its version. */
struct program {
	uint16_t version, line_version;
	bool old_header, old_line_header; /* that of DWARF 2-4, whatever the version */
	uint8_t unit_type;
	uint8_t addr_size, offset_size;
	enum die die; /* that has the next one */
	struct attribute tried; /* replaces the DIE's attribute of that name */
	bool indirect; /* its form is not in the abbreviation, but before the value */
	struct attribute tried_file; /* of the files of a line table; name is DW_LNCT_* */
};

enum section {
	TEXT = 1,
	INFO,
	ABBREV,
	LINE,
	STR,
	LINE_STR,
	STR_OFFSETS,
	ADDR,
	RANGES,
	RNGLISTS,
	NAMES,
	NR_SECTIONS,
};

static const char *const section_names[NR_SECTIONS] = {
	"",
	".text",
	".debug_info",
	".debug_abbrev",
	".debug_line",
	".debug_str",
	".debug_line_str",
	".debug_str_offsets",
	".debug_addr",
	".debug_ranges",
	".debug_rnglists",
	".shstrtab",
};

static struct buffer sections[NR_SECTIONS];

static bool has_tables(const struct program *p)
{
	return !p->old_header;
}

static size_t table_header_bytes(const struct program *p)
{
	return !has_tables(p) ? 0 : p->offset_size == 8 ? 16 : 8;
}

static uint64_t rnglists_base(const struct program *p)
{
	return table_header_bytes(p) + 4;
}

/* Offset of INNER in the unit, set by put_die(). */
static uint64_t inner_off;

static size_t base_attributes(const struct program *p, enum die die,
			      struct attribute ret[10])
{
	size_t table = table_header_bytes(p), nr = 0;
	bool sec_offset = p->version >= 4 && p->version <= 5;

#define ADD(name, form, value, size)          \
	ret[nr++] = (struct attribute)        \
	{                                     \
		name, form, value, size, NULL \
	}
#define ADD_TEXT(name, text)                     \
	ret[nr++] = (struct attribute)           \
	{                                        \
		name, DW_FORM_string, 0, 0, text \
	}
	if (die == INNER || die == OUTER) {
		ADD_TEXT(DW_AT_name, die == INNER ? "inner" : "outer");
		ADD(DW_AT_decl_line, DW_FORM_data1,
		    die == INNER ? INNER_DECL : OUTER_DECL, 1);
	}
	if (die == ROOT || die == OUTER) {
		ADD(DW_AT_low_pc, DW_FORM_addr, FUNCTION_START, p->addr_size);
		ADD(DW_AT_high_pc, DW_FORM_data8, FUNCTION_BYTES, 8);
	}
	if (die == ROOT) {
		ADD_TEXT(DW_AT_name, "f.c");
		ADD_TEXT(DW_AT_comp_dir, "/d");
		ADD(DW_AT_stmt_list, sec_offset ? DW_FORM_sec_offset : DW_FORM_data4,
		    LINE_OFF, sec_offset ? p->offset_size : 4);
	}
	if (die == ROOT && table) {
		ADD(DW_AT_str_offsets_base, DW_FORM_sec_offset, table, p->offset_size);
		ADD(DW_AT_addr_base, DW_FORM_sec_offset, table, p->offset_size);
		ADD(DW_AT_rnglists_base, DW_FORM_sec_offset, rnglists_base(p),
		    p->offset_size);
	}
	if (die == CALL) {
		ADD(DW_AT_abstract_origin, DW_FORM_ref4, inner_off, 4);
		ADD(DW_AT_low_pc, DW_FORM_addr, CALL_START, p->addr_size);
		ADD(DW_AT_high_pc, DW_FORM_data8, CALL_BYTES, 8);
		ADD(DW_AT_call_file, DW_FORM_data1, 1, 1);
		ADD(DW_AT_call_line, DW_FORM_data1, CALL_LINE, 1);
	}
#undef ADD
#undef ADD_TEXT
	return nr;
}

/* A list of ranges replaces the start and the end. */
static bool is_replaced(const struct program *p, enum die die,
			const struct attribute *base)
{
	if (!p->tried.name || p->die != die)
		return false;
	return base->name == p->tried.name ||
	       (p->tried.name == DW_AT_ranges &&
		(base->name == DW_AT_low_pc || base->name == DW_AT_high_pc));
}

static void put_value(struct buffer *b, const struct attribute *a)
{
	if (a->text)
		put_text(b, a->text);
	else
		put(b, a->value, a->size);
}

static void put_attribute(const struct attribute *a, bool indirect)
{
	put_uleb(&sections[ABBREV], a->name);
	put_uleb(&sections[ABBREV], indirect ? DW_FORM_indirect : a->form);
	if (!indirect && a->form == DW_FORM_implicit_const)
		put_uleb(&sections[ABBREV], a->value);
	if (indirect)
		put_uleb(&sections[INFO], a->form);
	put_value(&sections[INFO], a);
}

static void put_die(const struct program *p, enum die die, uint16_t tag, bool children)
{
	struct attribute base[10];
	size_t nr = base_attributes(p, die, base);

	put_uleb(&sections[INFO], die + 1);
	put_uleb(&sections[ABBREV], die + 1);
	put_uleb(&sections[ABBREV], tag);
	put(&sections[ABBREV], children, 1);
	/* First, so that a value of another length shifts all others. */
	if (p->tried.name && p->die == die)
		put_attribute(&p->tried, p->indirect);
	for (size_t i = 0; i < nr; i++)
		if (!is_replaced(p, die, &base[i]))
			put_attribute(&base[i], false);
	put(&sections[ABBREV], 0, 2);
}

static void put_unit(const struct program *p)
{
	struct buffer *b = &sections[INFO];
	size_t start = begin_length(b, p->offset_size);

	put(b, p->version, 2);
	if (!p->old_header) {
		put(b, p->unit_type, 1);
		put(b, p->addr_size, 1);
	}
	put(b, 0, p->offset_size); /* in .debug_abbrev */
	if (p->old_header)
		put(b, p->addr_size, 1);
	else if (p->unit_type == DW_UT_skeleton || p->unit_type == DW_UT_split_compile)
		put(b, 1, 8);
	put_die(p, ROOT, DW_TAG_compile_unit, true);
	inner_off = b->len;
	put_die(p, INNER, DW_TAG_subprogram, false);
	put_die(p, OUTER, DW_TAG_subprogram, true);
	put_die(p, CALL, DW_TAG_inlined_subroutine, false);
	put(b, 0, 2);
	end_length(b, start, p->offset_size);
	put(&sections[ABBREV], 0, 1);
}

/* ---- the program's line table and other tables ---- */

static void put_names_4(struct buffer *b)
{
	put_text(b, ""); /* no directories */
	put_text(b, "f.c");
	put(b, 0, 3); /* directory, time, length */
	put_text(b, "");
}

/* @tried  replaces what the files have of its name, or is added */
static void put_names_5(struct buffer *b, const struct attribute *tried)
{
	struct attribute of_file[3] = {
		{DW_LNCT_path, DW_FORM_string, 0, 0, "g.c"},
		{DW_LNCT_directory_index, DW_FORM_udata, 0, 1, NULL}};
	size_t nr = 2;

	if (tried->name > DW_LNCT_directory_index)
		of_file[nr++] = *tried;
	else if (tried->name)
		of_file[tried->name - DW_LNCT_path] = *tried;
	put(b, 1, 1);
	put_uleb(b, DW_LNCT_path);
	put_uleb(b, DW_FORM_string);
	put_uleb(b, 1);
	put_text(b, "/d");
	put(b, nr, 1);
	for (size_t i = 0; i < nr; i++) {
		put_uleb(b, of_file[i].name);
		put_uleb(b, of_file[i].form);
	}
	put_uleb(b, 2);
	for (size_t i = 0; i < 2 * nr; i++) {
		if (i == nr)
			of_file[0].text = of_file[0].text ? "f.c" : NULL;
		put_value(b, &of_file[i % nr]);
	}
}

static void put_row(struct buffer *b, uint64_t advance, int lines)
{
	put(b, DW_LNS_advance_pc, 1);
	put_uleb(b, advance);
	put(b, DW_LNS_advance_line, 1);
	put(b, (uint64_t)lines & 0x7f, 1);
	put(b, DW_LNS_copy, 1);
}

static void put_line_table(const struct program *p)
{
	static const uint8_t opcode_lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	struct buffer *b = &sections[LINE];
	size_t start, header;

	put(b, 0, LINE_OFF);
	start = begin_length(b, p->offset_size);
	put(b, p->line_version, 2);
	if (!p->old_line_header) {
		put(b, p->addr_size, 1);
		put(b, 0, 1); /* segment selectors */
	}
	put(b, 0, p->offset_size);
	header = b->len;
	put(b, 1, 1); /* bytes of an instruction */
	if (p->line_version >= 4)
		put(b, 1, 1); /* operations of an instruction */
	put(b, 0x0d0efb01,
	    4); /* is_stmt 1, line_base -5, line_range 14, opcode_base 13 */
	put_bytes(b, opcode_lengths, sizeof(opcode_lengths));
	if (p->old_line_header)
		put_names_4(b);
	else
		put_names_5(b, &p->tried_file);
	end_length(b, header, p->offset_size);
	put(b, 0, 1);
	put_uleb(b, p->addr_size + 1);
	put(b, DW_LNE_set_address, 1);
	put(b, FUNCTION_START, p->addr_size);
	put_row(b, 0, OUTER_DECL);
	put_row(b, CALL_START - FUNCTION_START, INNER_LINE - OUTER_DECL - 1);
	put_row(b, CALL_BYTES, OUTER_DECL);
	put(b, DW_LNS_advance_pc, 1);
	put_uleb(b, FUNCTION_BYTES);
	put(b, 0, 1);
	put_uleb(b, 1);
	put(b, DW_LNE_end_sequence, 1);
	end_length(b, start, p->offset_size);
}

static void put_table(const struct program *p, struct buffer *b, bool addresses,
		      bool is_constant)
{
	size_t size = addresses ? p->addr_size : p->offset_size, start = 0;

	if (has_tables(p)) {
		start = begin_length(b, p->offset_size);
		put(b, 5, 2);
		put(b, addresses ? p->addr_size : 0, 2);
	}
	for (uint64_t i = 0; i < NR_INDEXED; i++)
		put(b, is_constant ? 1 : i, size);
	if (has_tables(p))
		end_length(b, start, p->offset_size);
}

static void put_tables(const struct program *p)
{
	struct buffer *b = &sections[RNGLISTS];
	size_t start = begin_length(b, p->offset_size);

	put(b, 5, 2);
	put(b, p->addr_size, 2);
	put(b, 2, 4);
	for (int i = 0; i < 2; i++)
		put(b, 2U * p->offset_size, p->offset_size);
	put(b, DW_RLE_start_end, 1);
	put(b, FUNCTION_START, p->addr_size);
	put(b, FUNCTION_START + FUNCTION_BYTES, p->addr_size);
	put(b, DW_RLE_end_of_list, 1);
	end_length(b, start, p->offset_size);

	b = &sections[RANGES]; /* relative to the root's low_pc */
	put(b, 0, RANGES_OFF);
	put(b, 0, p->addr_size);
	put(b, FUNCTION_BYTES, p->addr_size);
	put(b, 0, 2U * p->addr_size);

	put_table(p, &sections[STR_OFFSETS], false, true);
	put_table(p, &sections[ADDR], true, false);
	put_text(&sections[STR], "");
	put_text(&sections[STR], "named");
	sections[LINE_STR] = sections[STR];
}

/* Return: a descriptor of the program. */
static int build(const struct program *p)
{
	Elf64_Ehdr head = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(head),
		.e_ehsize = sizeof(head),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = NAMES,
	};
	Elf64_Shdr table[NR_SECTIONS] = {0};
	uint64_t off = sizeof(head) + sizeof(table);
	int fd = memfd_create("program", MFD_CLOEXEC);

	memset(sections, 0, sizeof(sections));
	put(&sections[TEXT], 0, FUNCTION_START + FUNCTION_BYTES);
	put_unit(p);
	put_line_table(p);
	put_tables(p);
	for (int i = 0; i < NR_SECTIONS; i++) {
		table[i].sh_name = (Elf64_Word)sections[NAMES].len;
		put_text(&sections[NAMES], section_names[i]);
	}
	assert_int_equal(write(fd, &head, sizeof(head)), sizeof(head));
	for (int i = 1; i < NR_SECTIONS; i++) {
		table[i].sh_type = i == NAMES ? SHT_STRTAB : SHT_PROGBITS;
		table[i].sh_flags = i == TEXT ? SHF_ALLOC | SHF_EXECINSTR : 0;
		table[i].sh_offset = off;
		table[i].sh_size = sections[i].len;
		off += sections[i].len;
	}
	assert_int_equal(write(fd, table, sizeof(table)), sizeof(table));
	for (int i = 1; i < NR_SECTIONS; i++)
		assert_int_equal(write(fd, sections[i].bytes, sections[i].len),
				 sections[i].len);
	return fd;
}

/* ---- who decodes it ---- */

static bool is_name(const struct program *p, enum die die, const char *name,
		    const struct frame *frame)
{
	/* In another form it is another name. */
	if (p->tried.name == DW_AT_name && p->die == die)
		return *frame->function;
	return !strcmp(frame->function, name);
}

static bool is_right(const struct program *p, const struct frame *frames, size_t nr)
{
	if (nr != 2 || !is_name(p, INNER, "inner", &frames[0]) ||
	    !is_name(p, OUTER, "outer", &frames[1]))
		return false;
	if (p->tried.name == DW_AT_linkage_name && !*frames[0].system_name)
		return false;
	if (p->tried_file.name != DW_LNCT_path && !ends_with(frames[1].file, "/f.c"))
		return false;
	return *frames[1].file && frames[0].line == INNER_LINE &&
	       frames[1].line == CALL_LINE && frames[0].start_line == INNER_DECL &&
	       frames[1].start_line == OUTER_DECL;
}

static bool ours_decodes(const struct program *p, int fd)
{
	_cleanup_(binary_freep) struct binary *b = NULL;
	_cleanup_(dwarf_source_freep) struct dwarf_source *d = NULL;
	struct got got = {0};
	uint64_t vaddr = PROBE;
	bool right;

	if (open_source(fd, NULL, NULL, &b, &d))
		return false;
	assert_int_equal(dwarf_source_resolve(d, &vaddr, 1, keep, &got), 0);
	right = is_right(p, got.frames, got.nr);
	forget(&got, 1);
	return right;
}

static bool libdw_decodes(const struct program *p, int fd)
{
	static struct libdw_answer answer;
	struct libdw_file f;
	char path[64];
	bool right;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	answer.nr = 0;
	if (libdw_open(path, &f))
		libdw_resolve(&f, PROBE, &answer);
	right = is_right(p, answer.frames, answer.nr);
	libdw_close(&f);
	return right;
}

/* What each decodes, of one kind of trial. */
struct tally {
	size_t nr_both, nr_only_ours, nr_only_libdw;
	uint64_t ours[4]; /* one bit per number below 256 */
};

static void count(struct tally *t, const char *what, unsigned int number, bool ours,
		  bool libdw)
{
	t->nr_both += ours && libdw;
	t->nr_only_ours += ours && !libdw;
	t->nr_only_libdw += !ours && libdw;
	if (ours && number < 256)
		t->ours[number / 64] |= 1ULL << number % 64;
	if (libdw && !ours)
		print_message("only libdw decodes %s %#x\n", what, number);
}

static void try(struct tally *t, const char *what, unsigned int number,
		const struct program *p)
{
	_cleanup_close_ int fd = build(p);

	count(t, what, number, ours_decodes(p, fd), libdw_decodes(p, fd));
}

static bool is_ours(const struct tally *t, unsigned int number)
{
	return number < 256 && (t->ours[number / 64] >> number % 64 & 1);
}

static void conclude(const struct tally *t, const char *what)
{
	print_message("%s: both %zu, only ours %zu, only libdw %zu; ours:", what,
		      t->nr_both, t->nr_only_ours, t->nr_only_libdw);
	for (unsigned int i = 0, end; i < 256; i = end) {
		for (end = i; is_ours(t, end); end++)
			;
		if (end == i)
			end++;
		else
			print_message(end == i + 1 ? " %#x" : " %#x-%#x", i, end - 1);
	}
	print_message("\n");
	assert_true(t->nr_both > 0);
	assert_int_equal(t->nr_only_libdw, 0);
}

/* ---- trials ---- */

static struct program of_version(uint16_t version)
{
	return (struct program){
		.version = version,
		.line_version = version,
		.old_header = version < 5,
		.old_line_header = version < 5,
		.unit_type = DW_UT_compile,
		.addr_size = 8,
		.offset_size = 4,
	};
}

/* Larger ones: a version that is cut to a byte, or read with its bytes swapped. */
static const uint16_t large_versions[] = {0xff, 0x102, 0x104, 0x105, 0x500, 0xffff};

static void test_versions(void **state)
{
	struct tally units = {0}, lines = {0};

	(void)state;
	for (uint16_t i = 0; i < 32 + ARRAY_SIZE(large_versions); i++) {
		uint16_t version = i < 32 ? i : large_versions[i - 32];

		for (unsigned int variant = 0; variant < 8; variant++) {
			struct program p = of_version(5), q;

			p.offset_size = variant & 1 ? 8 : 4;
			p.addr_size = variant & 2 ? 4 : 8;
			q = p;
			p.version = version;
			p.old_header = variant & 4;
			try(&units, "units of version", version, &p);
			q.line_version = version;
			q.old_line_header = variant & 4;
			try(&lines, "line tables of version", version, &q);
		}
	}
	conclude(&units, "versions of units");
	conclude(&lines, "versions of line tables");
	/* 2 to 5. Also of us: what is not known must not count as decoded. */
	assert_int_equal(units.ours[0], 0x3c);
	assert_int_equal(lines.ours[0], 0x3c);
}

static void test_headers(void **state)
{
	struct tally types = {0}, sizes = {0};

	(void)state;
	for (unsigned int i = 0; i < 256; i++) {
		struct program p = of_version(5);

		p.unit_type = (uint8_t)i;
		try(&types, "units of type", i, &p);
	}
	for (unsigned int i = 0; i < 4 * 17; i++) {
		struct program p = of_version((uint16_t)(2 + i % 4));

		p.addr_size = (uint8_t)(i / 4);
		try(&sizes, "addresses of size", i / 4, &p);
	}
	conclude(&types, "types of units");
	conclude(&sizes, "sizes of addresses");
}

static bool is_index(uint16_t form)
{
	return (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4) ||
	       form == DW_FORM_addrx || form == DW_FORM_GNU_addr_index ||
	       form == DW_FORM_loclistx || form == DW_FORM_rnglistx;
}

/*
 * Not valid by the standard, so no compiler writes it, but libdw reads something: the
 * index of an address or a list as a number, a reference to another file as one to this
 * file.
 */
static bool is_invalid(const struct attribute *a)
{
	switch (a->name) {
	case DW_AT_decl_line:
	case DW_AT_call_file:
	case DW_AT_call_line:
	case DW_AT_stmt_list:
		return is_index(a->form);
	case DW_AT_high_pc:
		return a->form == DW_FORM_loclistx || a->form == DW_FORM_rnglistx;
	case DW_AT_abstract_origin:
		return a->form == DW_FORM_ref_sup4 || a->form == DW_FORM_ref_sup8;
	default:
		return false;
	}
}

static uint64_t value_of(const struct program *p, const struct attribute *a)
{
	struct program same_version = of_version(p->version);

	if (a->name == DW_AT_abstract_origin) {
		close(build(&same_version));
		return inner_off;
	}
	if (a->name != DW_AT_ranges)
		return a->value;
	if (p->old_header)
		return RANGES_OFF;
	return a->form == DW_FORM_rnglistx ? 1 : rnglists_base(p) + 2U * p->offset_size;
}

/* Tries all forms for @a, an attribute in @p. */
static void try_forms(struct tally *t, const char *what, struct program *p,
		      struct attribute *a)
{
	/* Of the standard, of GNU, of LLVM; most do not exist yet. */
	static const struct {
		uint16_t first, last;
	} ranges[] = {{1, 0x3f}, {0x1f00, 0x1f2f}, {0x2000, 0x200f}};
	static const size_t sizes[] = {0, 1, 2, 3, 4, 8, 16};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		for (a->form = ranges[i].first; a->form <= ranges[i].last; a->form++) {
			/* The form is in the value: see program.indirect. */
			if (a->form == DW_FORM_indirect || is_invalid(a))
				continue;
			a->value = value_of(p, a);
			for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
				a->size = sizes[k];
				try(t, what, a->form, p);
			}
		}
}

/* An attribute that no one needs, so its value must only be skipped. */
static void test_skipped_forms(void **state)
{
	struct tally t = {0};

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		struct program p = of_version((uint16_t)(2 + i % 4));

		p.die = OUTER;
		p.indirect = i >= 4;
		p.tried.name = 0x3ff0;
		try_forms(&t, "form", &p, &p.tried);
	}
	conclude(&t, "forms");
}

static void test_forms_of_attributes(void **state)
{
	static const struct {
		const char *what;
		enum die die;
		uint16_t name;
		uint64_t value;
	} tried[] = {
		{"name in form", INNER, DW_AT_name, 1},
		{"linkage name in form", INNER, DW_AT_linkage_name, 1},
		{"line of a declaration in form", OUTER, DW_AT_decl_line, OUTER_DECL},
		{"ranges in form", CALL, DW_AT_ranges, 0},
		{"origin in form", CALL, DW_AT_abstract_origin, 0},
		{"file of a call in form", CALL, DW_AT_call_file, 1},
		{"line of a call in form", CALL, DW_AT_call_line, CALL_LINE},
		{"start in form", CALL, DW_AT_low_pc, CALL_START},
		{"end in form", CALL, DW_AT_high_pc, CALL_START + CALL_BYTES},
		{"line table in form", ROOT, DW_AT_stmt_list, LINE_OFF},
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(tried); k++) {
		struct tally t = {0};

		for (uint16_t version = 2; version <= 5; version++) {
			struct program p = of_version(version);

			p.die = tried[k].die;
			p.tried.name = tried[k].name;
			p.tried.value = tried[k].value;
			try_forms(&t, tried[k].what, &p, &p.tried);
		}
		conclude(&t, tried[k].what);
	}
}

static void test_forms_of_files(void **state)
{
	static const uint16_t names[] = {DW_LNCT_path, DW_LNCT_directory_index,
					 DW_LNCT_MD5, DW_LNCT_MD5 + 1, DW_LNCT_lo_user};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct program p = of_version(5);
		struct tally t = {0};

		p.tried_file.name = names[i];
		p.tried_file.value = names[i] == DW_LNCT_path;
		try_forms(&t, "file of a line table in form", &p, &p.tried_file);
		conclude(&t, "files of a line table");
	}
}

/* Is the inlined chain of probe_leaf found, which only the .dwp has? */
static bool ours_unpacks(uint64_t vaddr)
{
	struct needs needs = {0};
	struct got got = {0};
	bool right;

	resolve("program", &needs, &vaddr, 1, &got, NULL);
	right = got.nr == 4;
	forget(&got, 1);
	return right;
}

static bool libdw_unpacks(uint64_t vaddr)
{
	static struct libdw_answer answer;
	struct libdw_file f;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/program", dir);
	answer.nr = 0;
	if (libdw_open(path, &f))
		libdw_resolve(&f, vaddr, &answer);
	libdw_close(&f);
	return answer.nr == 4;
}

/* Writes the first bytes of the index of "dir/program.dwp". */
static void set_index_version(uint32_t version)
{
	_cleanup_(binary_freep) struct binary *b = NULL;
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	GElf_Shdr sh;

	snprintf(path, sizeof(path), "%s/program.dwp", dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(binary_open(fd, &b), 0);
	assert_non_null(binary_section(b, ".debug_cu_index", &sh));
	assert_int_equal(pwrite(fd, &version, 4, (off_t)sh.sh_offset), 4);
}

/*
 * 2 is GNU's, for DWARF 4. That of DWARF 5 has two bytes, and two reserved bytes follow.
 * libdw reads packages from 0.191 on.
 */
static void test_versions_of_packages(void **state)
{
	static const uint32_t large[] = {0x10002, 0x10005, 0xffff0005, 0x50000};
	struct tally t = {0};

	(void)state;
	if (!have("llvm-dwp")) {
		print_message("no llvm-dwp\n");
		skip();
	}
	for (unsigned int dwarf = 4; dwarf <= 5; dwarf++) {
		uint64_t vaddr;

		assert_int_equal(shell("cd %s && gcc -w -O2 -gdwarf-%u -gsplit-dwarf -o "
				       "program %s/inline.c && llvm-dwp -o program.dwp "
				       "*.dwo && rm *.dwo",
				       dir, dwarf, sources),
				 0);
		vaddr = probe("program", "probe_leaf");
		for (uint32_t i = 0; i < 32 + ARRAY_SIZE(large); i++) {
			uint32_t version = i < 32 ? i : large[i - 32];

			set_index_version(version);
			count(&t, "packages of version", version, ours_unpacks(vaddr),
			      libdw_unpacks(vaddr));
		}
	}
	print_message("packages: both %zu, only ours %zu, only libdw %zu\n", t.nr_both,
		      t.nr_only_ours, t.nr_only_libdw);
	assert_int_equal(t.ours[0], 0x24);
	assert_int_equal(t.nr_both + t.nr_only_ours, 8);
	assert_int_equal(t.nr_only_libdw, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_skipped_forms),
		cmocka_unit_test(test_forms_of_attributes),
		cmocka_unit_test(test_forms_of_files),
		cmocka_unit_test(test_versions_of_packages),
	};

	return cmocka_run_group_tests(tests, setup_dir, remove_dir);
}
