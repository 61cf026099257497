// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/bytes.h"

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
