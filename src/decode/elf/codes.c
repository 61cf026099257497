// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/elf/codes.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/vec.h"

/* Names of one function: a piece of code has few, and thousands of rows. */
struct named {
	const char *dwarf_function, *dwarf_system_name; /* compared by pointer */
	char *function, *system_name; /* heap */
};

struct naming {
	struct elf_names *names;
	struct named *items;
	size_t nr, cap;
	struct hashmap index;
};

static void naming_deinit(struct naming *n)
{
	for (size_t i = 0; i < n->nr; i++) {
		free(n->items[i].function);
		free(n->items[i].system_name);
	}
	free(n->items);
	hashmap_deinit(&n->index);
}

static bool named_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct named *named = &((const struct naming *)ctx)->items[item];
	const struct code_row *row = key;

	return named->dwarf_function == row->function &&
	       named->dwarf_system_name == row->system_name;
}

static const struct named *name(struct naming *n, const struct code_row *row)
{
	uint64_t hash = hash_pointer(hash_pointer(0, row->function), row->system_name);
	uint32_t item = hashmap_find(&n->index, hash, named_eq, row, n);
	struct frame frame = {.function = row->function, .system_name = row->system_name};
	const struct frame *readable;
	struct named *named;
	size_t nr = 1;

	if (item != HASHMAP_NONE)
		return &n->items[item];
	if (vec_grow(&n->items, &n->cap, n->nr + 1, sizeof(*n->items), 0))
		return NULL;
	readable = elf_names_chain(n->names, &frame, &nr);
	named = &n->items[n->nr];
	named->dwarf_function = row->function;
	named->dwarf_system_name = row->system_name;
	named->function = strdup(readable->function);
	named->system_name = strdup(readable->system_name);
	n->nr++;
	if (!named->function || !named->system_name ||
	    hashmap_add(&n->index, hash, (uint32_t)(n->nr - 1)))
		return NULL;
	return named;
}

static bool is_of(const struct code_row *row, const struct frame *function)
{
	return !strcmp(row->function, function->function) &&
	       !strcmp(row->system_name, function->system_name);
}

void elf_codes_add(struct answer_writer *answers, struct elf_names *names,
		   const struct frame *function, const struct code *code)
{
	_cleanup_free_ struct code_row *rows = calloc(code->nr_rows, sizeof(*rows));
	_cleanup_(naming_deinit) struct naming naming = {.names = names};
	struct code named_code = *code;
	bool complete = rows;

	/* The symbol is that of the function, not of what was inlined: it goes first. */
	for (int others = 0; others < 2; others++) {
		if (others)
			elf_names_symbol(names, NULL, false);
		for (size_t i = 0; i < code->nr_rows && complete; i++) {
			const struct named *named;

			if (is_of(&code->rows[i], function) == others)
				continue;
			named = name(&naming, &code->rows[i]);
			complete = named;
			if (!named)
				break;
			rows[i] = code->rows[i];
			rows[i].function = named->function;
			rows[i].system_name = named->system_name;
		}
	}
	if (!complete)
		return;
	named_code.rows = rows;
	answer_add_code(answers, &named_code);
}
