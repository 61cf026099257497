// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Entries of call frame information: common ones (CIE) say how the frames of a
 * compiler begin, one for each function (FDE) goes on from there.
 */
#include "decode/cfi/cfi.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "decode/cfi/index.h"
#include "decode/cfi/program.h"

#define NR_KEPT_CIES         8 /* a power of two; most files have less than four */
#define MAX_AUGMENTATION_LEN 8

struct kept_cie {
	size_t offset;
	bool is_set, is_valid;
	struct cfi_cie cie;
};

struct reader {
	const struct cfi_section *section;
	uint64_t lo, hi;
	uint64_t *steps_left;
	struct cfi_rows *rows;
	struct cfi_stats *stats;
	struct kept_cie cies[NR_KEPT_CIES]; /* by a hash of their offset */
};

static void reader_init(struct reader *r, const struct cfi_section *section, uint64_t lo,
			uint64_t hi, uint64_t *steps_left, struct cfi_rows *rows)
{
	r->section = section;
	r->lo = lo;
	r->hi = hi;
	r->steps_left = steps_left;
	r->rows = rows;
	r->stats = &rows->stats;
	for (size_t i = 0; i < NR_KEPT_CIES; i++)
		r->cies[i].is_set = false;
}

static bool take_step(struct reader *r)
{
	if (!*r->steps_left) {
		r->stats->is_cut = true;
		return false;
	}
	(*r->steps_left)--;
	return true;
}

static struct cfi_bases bases_of(const struct cfi_section *section)
{
	return (struct cfi_bases){.bytes = section->bytes,
				  .vaddr = section->vaddr,
				  .text_vaddr = section->text_vaddr,
				  .data_vaddr = section->data_vaddr};
}

/* ---- entries ---- */

struct cfi_entry {
	struct cfi_bytes body; /* behind its id */
	size_t next_offset;
	bool is_cie;
	size_t cie_offset; /* of an FDE; may lie anywhere */
};

/*
 * A length of 0 is an entry without a body: it ends the section, or the part that one
 * object file brought to it.
 */
static int entry_read(const struct cfi_section *section, size_t offset,
		      struct cfi_entry *ret)
{
	struct cfi_bytes b = {.at = section->bytes + offset,
			      .end = section->bytes + section->len};
	uint64_t len = cfi_get_fixed(&b, 4), id, cie_id = 0;
	size_t id_bytes = 4, id_offset;

	if (len == UINT32_MAX) { /* the 64-bit format; an id of .eh_frame is of 4 bytes */
		len = cfi_get_fixed(&b, 8);
		id_bytes = section->is_debug_frame ? 8 : 4;
	}
	if (b.failed)
		return -EBADMSG;
	b = cfi_get_block(&b, len);
	if ((size_t)(b.end - b.at) < len)
		return -EBADMSG;
	*ret = (struct cfi_entry){.next_offset = (size_t)(b.end - section->bytes)};
	if (!len)
		return -ENODATA;
	id_offset = (size_t)(b.at - section->bytes);
	id = cfi_get_fixed(&b, id_bytes);
	if (section->is_debug_frame)
		cie_id = id_bytes == 8 ? UINT64_MAX : UINT32_MAX;
	ret->body = b;
	ret->is_cie = id == cie_id;
	ret->cie_offset = section->is_debug_frame ? id : id_offset - id;
	return 0;
}

/* ---- common entries ---- */

/* What the letters of an augmentation promise (LSB 5.0, 10.6.1.1.1). */
static bool read_letter(char letter, struct cfi_bytes *data,
			const struct cfi_bases *bases, struct cfi_cie *cie)
{
	switch (letter) {
	case 'R':
		cie->pointer_encoding = cfi_get_u8(data);
		return true;
	case 'P': { /* the personality; often it lies where only a running process says */
		uint8_t encoding = cfi_get_u8(data);

		cfi_get_pointer(data, encoding & (uint8_t)~DW_EH_PE_indirect, bases,
				NULL);
		return true;
	}
	case 'L':
		cfi_get_u8(data);
		return true;
	case 'S':
		cie->is_signal = true;
		return true;
	case 'B': /* arm64: addresses are signed with key B, or memory is tagged */
	case 'G':
		return true;
	default:
		return false;
	}
}

static bool read_augmentation(const char *letters, struct cfi_bytes *b,
			      const struct cfi_bases *bases, struct cfi_cie *cie)
{
	struct cfi_bytes data;

	if (*letters != 'z')
		return !*letters || !strcmp(letters, "eh");
	cie->has_augmentation_data = true;
	data = cfi_get_block(b, cfi_get_uleb(b));
	while (*++letters)
		if (!read_letter(*letters, &data, bases, cie))
			return false;
	return !data.failed;
}

static bool read_letters(struct cfi_bytes *b, char ret[MAX_AUGMENTATION_LEN + 1])
{
	for (size_t i = 0; i <= MAX_AUGMENTATION_LEN; i++) {
		ret[i] = (char)cfi_get_u8(b);
		if (!ret[i])
			return !b->failed;
	}
	return false;
}

static bool read_cie(struct reader *r, size_t offset, struct cfi_cie *ret)
{
	struct cfi_bases bases = bases_of(r->section);
	char letters[MAX_AUGMENTATION_LEN + 1];
	struct cfi_bytes *b;
	struct cfi_entry entry;
	uint8_t version;

	*ret = (struct cfi_cie){.pointer_encoding = DW_EH_PE_absptr};
	if (offset >= r->section->len || entry_read(r->section, offset, &entry) ||
	    !entry.is_cie)
		return false;
	b = &entry.body;
	version = cfi_get_u8(b);
	if ((version != 1 && version != 3 && version != 4) || !read_letters(b, letters))
		return false;
	if (!strcmp(letters, "eh")) /* of old compilers: an address */
		cfi_get_fixed(b, 8);
	/* Size of an address, and of a segment's number before each: nobody has those. */
	if (version == 4 && (cfi_get_u8(b) != 8 || cfi_get_u8(b)))
		return false;
	ret->code_align = cfi_get_uleb(b);
	ret->data_align = cfi_get_sleb(b);
	ret->ra_register = version == 1 ? cfi_get_u8(b) : cfi_get_uleb(b);
	if (!read_augmentation(letters, b, &bases, ret) || b->failed)
		return false;
	return !cfi_cie_run(ret, *b, &bases, r->steps_left);
}

/* NULL: malformed. */
static const struct cfi_cie *find_cie(struct reader *r, size_t offset)
{
	size_t hash = (offset >> 2 ^ offset >> 5 ^ offset >> 11) & (NR_KEPT_CIES - 1);
	struct kept_cie *kept = &r->cies[hash];

	if (!kept->is_set || kept->offset != offset) {
		kept->is_set = true;
		kept->offset = offset;
		kept->is_valid = read_cie(r, offset, &kept->cie);
		r->stats->nr_cies++;
		r->stats->nr_malformed += !kept->is_valid;
	}
	return kept->is_valid ? &kept->cie : NULL;
}

/* ---- functions ---- */

/* As a function's length: the formats that are signed have no meaning there. */
static uint64_t get_length(struct cfi_bytes *b, uint8_t encoding,
			   const struct cfi_bases *bases)
{
	uint64_t len = cfi_get_pointer(b, encoding & 0x0f, bases, NULL);

	if ((encoding & 0x07) == DW_EH_PE_udata4)
		return (uint32_t)len;
	return (encoding & 0x07) == DW_EH_PE_udata2 ? (uint16_t)len : len;
}

/*
 * Linkers leave the FDE of a function that they dropped, with an address of zero. One
 * that is relative to the text may have it, when it is the first there.
 */
static bool is_dropped(uint8_t encoding, bool is_null)
{
	return is_null && (encoding & 0x70) != DW_EH_PE_textrel;
}

/* Return: 0, -EBADMSG, -ENOSPC, -ENOMEM. */
static int read_fde(struct reader *r, struct cfi_entry *entry)
{
	const struct cfi_cie *cie = find_cie(r, entry->cie_offset);
	struct cfi_bases bases = bases_of(r->section);
	struct cfi_run run = {.cie = cie,
			      .bases = &bases,
			      .lo = r->lo,
			      .hi = r->hi,
			      .steps_left = r->steps_left,
			      .rows = r->rows};
	bool is_null;

	if (!cie)
		return -EBADMSG;
	run.start =
		cfi_get_pointer(&entry->body, cie->pointer_encoding, &bases, &is_null);
	run.end = run.start + get_length(&entry->body, cie->pointer_encoding, &bases);
	if (cie->has_augmentation_data)
		cfi_get_block(&entry->body, cfi_get_uleb(&entry->body));
	if (entry->body.failed || run.end < run.start)
		return -EBADMSG;
	if (is_dropped(cie->pointer_encoding, is_null) || run.start >= r->hi ||
	    run.end <= r->lo || run.start == run.end)
		return 0;
	bases.function_vaddr = run.start;
	r->stats->nr_fdes++;
	return cfi_fde_run(&run, entry->body);
}

/* Return: 0; -ENODATA when nothing more is to be read; -ENOMEM. */
static int read_entry(struct reader *r, struct cfi_entry *entry)
{
	int err = entry->is_cie ? 0 : read_fde(r, entry);

	if (err == -EBADMSG) {
		r->stats->nr_malformed++;
		r->stats->is_cut |= !*r->steps_left;
	}
	if (err == -ENOSPC) {
		r->stats->is_cut = true;
		return -ENODATA;
	}
	return err == -ENOMEM ? err : 0;
}

int cfi_read(const struct cfi_section *section, uint64_t lo, uint64_t hi,
	     uint64_t *steps_left, struct cfi_rows *rows)
{
	struct cfi_entry entry;
	struct reader r;
	int err = 0;

	reader_init(&r, section, lo, hi, steps_left, rows);
	for (size_t offset = 0; section->len - offset >= 4 && take_step(&r);) {
		err = entry_read(section, offset, &entry);
		if (err == -EBADMSG) { /* where the next one is cannot be known */
			r.stats->nr_malformed++;
			return 0;
		}
		if (!err)
			err = read_entry(&r, &entry);
		else
			err = 0;
		if (err)
			break;
		offset = entry.next_offset;
	}
	return err == -ENOMEM ? err : 0;
}

int cfi_read_indexed(const struct cfi_section *section, const struct cfi_index *index,
		     uint64_t lo, uint64_t hi, uint64_t *steps_left,
		     struct cfi_rows *rows)
{
	struct cfi_entry entry;
	struct reader r;
	int err = 0;

	reader_init(&r, section, lo, hi, steps_left, rows);
	for (size_t i = cfi_index_find(index, lo); !err && i < index->nr; i++) {
		uint64_t offset = cfi_index_fde(index, i) - section->vaddr;

		if (cfi_index_function(index, i) >= hi || !take_step(&r))
			break;
		if (offset >= section->len || entry_read(section, offset, &entry) ||
		    entry.is_cie)
			r.stats->nr_malformed++;
		else
			err = read_entry(&r, &entry);
	}
	return err == -ENOMEM ? err : 0;
}
