// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/go.h"

#include <string.h>

#include "decode/cfi/file.h"

#define MAX_START_BYTES 4096 /* real ones have some 500 */
#define MAX_STARTS      16 /* two, in files that Go made */

/* Go names what is written in assembly so since 1.17, and without the end before. */
static bool is_named(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	return !strncmp(name, wanted, len) &&
	       (!name[len] || !strcmp(name + len, ".abi0"));
}

/*
 * In runtime.clone the new thread is where its stack pointer has been set, by "mov %rsi,
 * %rsp"; before that runs the thread that makes it, which was called.
 */
static uint64_t thread_offset(const uint8_t *code, uint64_t len)
{
	static const uint8_t to_new_stack[] = {0x48, 0x89, 0xf4};
	const uint8_t *at = memmem(code, len, to_new_stack, sizeof(to_new_stack));

	return at ? (uint64_t)(at - code) + sizeof(to_new_stack) : len;
}

static int add_start(const struct cfi_file *f, const Elf64_Sym *sym, bool is_clone,
		     struct cfi_rows *rows)
{
	static const struct lb_unwind_rule end = {.cfa = LB_CFA_END};
	static const struct lb_unwind_rule none = {.cfa = LB_CFA_NONE};
	const uint8_t *code;
	uint64_t offset = 0;
	int err;

	if (!sym->st_size || sym->st_size > MAX_START_BYTES)
		return 0;
	code = cfi_code_at(f, sym->st_value, sym->st_size);
	if (!code)
		return 0;
	if (is_clone)
		offset = thread_offset(code, sym->st_size);
	if (offset == sym->st_size)
		return 0;
	err = cfi_rows_add(rows, sym->st_value + offset, &end, 0);
	return err ? err : cfi_rows_add(rows, sym->st_value + sym->st_size, &none, 0);
}

int cfi_go_add_starts(const struct cfi_file *f, uint64_t *steps_left,
		      struct cfi_rows *rows)
{
	struct image_table symbols;
	size_t nr = 0;
	int err = 0;

	if (!cfi_file_symbols(f, &symbols))
		return 0;
	for (size_t i = 0; i < symbols.nr && *steps_left && !err && nr < MAX_STARTS;
	     i++) {
		Elf64_Sym sym = image_table_symbol(&symbols, i);
		const char *name;
		bool is_clone;

		(*steps_left)--;
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC)
			continue;
		name = image_table_name(&symbols, &sym);
		is_clone = is_named(name, "runtime.clone");
		if (!is_clone && !is_named(name, "runtime.rt0_go"))
			continue;
		err = add_start(f, &sym, is_clone, rows);
		nr++;
	}
	return err;
}

void cfi_go_keep(struct cfi_rows *rows)
{
	size_t nr = 0;

	for (size_t i = 0; i < rows->nr; i++) {
		struct cfi_row row = rows->items[i];

		if (row.rule.cfa != LB_CFA_END &&
		    (row.rule.cfa != LB_CFA_SP || row.rule.cfa_off != 8))
			row.rule = (struct lb_unwind_rule){.cfa = LB_CFA_NONE};
		if (!nr || rows->items[nr - 1].rule.cfa != row.rule.cfa)
			rows->items[nr++] = row;
	}
	rows->nr = nr;
}
