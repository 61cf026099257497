// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/index.h"

#include "base/search.h"

static uint64_t get_value(struct cfi_bytes *b, uint8_t format)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_signed:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cfi_get_fixed(b, 8);
	case DW_EH_PE_uleb128:
		return cfi_get_uleb(b);
	case DW_EH_PE_udata2:
		return cfi_get_fixed(b, 2);
	case DW_EH_PE_udata4:
		return cfi_get_fixed(b, 4);
	case DW_EH_PE_sleb128:
		return (uint64_t)cfi_get_sleb(b);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)cfi_get_fixed(b, 2);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)cfi_get_fixed(b, 4);
	default:
		b->failed = true;
		return 0;
	}
}

uint64_t cfi_get_pointer(struct cfi_bytes *b, uint8_t encoding,
			 const struct cfi_bases *bases, bool *ret_is_null)
{
	uint64_t here = bases->vaddr + (uint64_t)(b->at - bases->bytes), base = 0, value;
	uint8_t relative = encoding & 0x70;

	if (relative == DW_EH_PE_aligned) { /* padded, then an address */
		cfi_get_block(b, -here & 7);
		relative = DW_EH_PE_absptr;
	}
	if (relative == DW_EH_PE_pcrel)
		base = here;
	else if (relative == DW_EH_PE_textrel)
		base = bases->text_vaddr;
	else if (relative == DW_EH_PE_datarel)
		base = bases->data_vaddr;
	else if (relative == DW_EH_PE_funcrel)
		base = bases->function_vaddr;
	else if (relative != DW_EH_PE_absptr)
		b->failed = true;
	if (encoding & DW_EH_PE_indirect)
		b->failed = true;
	value = get_value(b, encoding & 0x0f);
	if (ret_is_null)
		*ret_is_null = !value;
	return value + base;
}

#define ENTRY_BYTES    8
#define TABLE_ENCODING (DW_EH_PE_datarel | DW_EH_PE_sdata4)

bool cfi_index_open(const uint8_t *bytes, size_t len, uint64_t vaddr,
		    struct cfi_index *ret)
{
	struct cfi_bases bases = {.bytes = bytes, .vaddr = vaddr, .data_vaddr = vaddr};
	struct cfi_bytes b = {.at = bytes, .end = bytes + len};
	struct cfi_index index = {.vaddr = vaddr};
	uint8_t version = cfi_get_u8(&b), frames_encoding = cfi_get_u8(&b);
	uint8_t nr_encoding = cfi_get_u8(&b), table_encoding = cfi_get_u8(&b);
	uint64_t nr;

	if (b.failed || version != 1 || frames_encoding == DW_EH_PE_omit)
		return false;
	index.frames_vaddr = cfi_get_pointer(&b, frames_encoding, &bases, NULL);
	if (b.failed)
		return false;
	/* Entries of another form cannot be searched; nobody writes them. */
	if (nr_encoding != DW_EH_PE_omit && table_encoding == TABLE_ENCODING) {
		nr = cfi_get_pointer(&b, nr_encoding, &bases, NULL);
		if (!b.failed && nr <= (size_t)(b.end - b.at) / ENTRY_BYTES) {
			index.entries = b.at;
			index.nr = nr;
		}
	}
	*ret = index;
	return true;
}

static uint64_t get(const struct cfi_index *index, size_t i, size_t at)
{
	int32_t distance;

	memcpy(&distance, index->entries + i * ENTRY_BYTES + at, sizeof(distance));
	return index->vaddr + (uint64_t)distance;
}

uint64_t cfi_index_function(const struct cfi_index *index, size_t i)
{
	return get(index, i, 0);
}

uint64_t cfi_index_fde(const struct cfi_index *index, size_t i)
{
	return get(index, i, 4);
}

size_t cfi_index_find(const struct cfi_index *index, uint64_t vaddr)
{
	size_t above = SEARCH_FIRST(i, index->nr, cfi_index_function(index, i) > vaddr);

	return above ? above - 1 : 0;
}
