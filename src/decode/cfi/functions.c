// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/functions.h"

#include <string.h>

#include "base/cleanup.h"
#include "decode/cfi/code_frames.h"
#include "decode/cfi/symbols.h"

/*
 * V8's own code: one piece of it enters another by a jump, with the frame that its caller
 * made, so its first instruction does not have a return address on top of the stack. It
 * keeps frame pointers.
 */
static bool is_of_v8(const struct cfi_symbols *symbols, const Elf64_Sym *sym)
{
	static const char prefix[] = "Builtins_";
	const char *name = cfi_symbol_name(symbols, sym);

	return name && !strncmp(name, prefix, sizeof(prefix) - 1);
}

/* Frame pointers may lead on where the code does not tell. */
static void drop_unsupported(struct cfi_rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++)
		if (rows->items[i].rule.cfa == LB_CFA_UNSUPPORTED)
			rows->items[i].rule = (struct lb_unwind_rule){.cfa = LB_CFA_NONE};
	rows->stats.nr_unsupported = 0;
}

static int read_function(const struct cfi_file *f, const Elf64_Sym *sym,
			 uint64_t *steps_left, struct cfi_rows *ret)
{
	const uint8_t *code = cfi_code_at(f, sym->st_value, sym->st_size);

	return code ? code_frames_read(code, sym->st_size, sym->st_value, steps_left, ret)
		    : 0;
}

static bool is_wanted(const struct cfi_range *wanted, size_t nr, const Elf64_Sym *sym)
{
	size_t low = 0, high = nr;

	/* Most of a large file are not. */
	if (!nr || sym->st_value >= wanted[nr - 1].hi ||
	    sym->st_value + sym->st_size <= wanted[0].lo)
		return false;
	while (low < high) { /* the first one that ends above its begin */
		size_t mid = low + (high - low) / 2;

		if (wanted[mid].hi <= sym->st_value)
			low = mid + 1;
		else
			high = mid;
	}
	return low < nr && sym->st_value + sym->st_size > wanted[low].lo;
}

int cfi_functions_read(const struct cfi_file *f, const struct cfi_range *wanted,
		       size_t nr_wanted, uint64_t *steps_left, struct cfi_rows *rows)
{
	_cleanup_(cfi_rows_deinit) struct cfi_rows found = {0};
	struct cfi_symbols symbols;
	int err = 0;

	if (!cfi_symbols_open(f, &symbols))
		return 0;
	for (size_t i = 0; i < symbols.nr && *steps_left && !err; i++) {
		Elf64_Sym sym = cfi_symbol(&symbols, i);

		(*steps_left)--;
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_size ||
		    !is_wanted(wanted, nr_wanted, &sym) ||
		    cfi_rows_cover(rows, sym.st_value) || is_of_v8(&symbols, &sym))
			continue;
		err = read_function(f, &sym, steps_left, &found);
	}
	if (err)
		return err;
	drop_unsupported(&found);
	return cfi_rows_add_below(rows, &found);
}
