// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/function.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "decode/dwarf/companion.h"

/* The text, unless one is known already; the DIE with the code comes first. */
static void take_name(const struct unit *unit, const struct form_value *v,
		      const char **ret)
{
	const char *name;

	if (**ret)
		return;
	name = form_string(unit, v);
	if (!name)
		unit->file->context->stats.nr_dwz_missing++;
	else if (debug_spend(unit->file, strlen(name)))
		*ret = name;
}

static void take_attr(const struct unit *unit, uint16_t attr, const struct form_value *v,
		      struct function *ret, struct form_value *next)
{
	uint64_t line;

	switch (attr) {
	case DW_AT_name:
		take_name(unit, v, &ret->name);
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		take_name(unit, v, &ret->linkage_name);
		break;
	case DW_AT_decl_line:
		line = form_number(v);
		if (!ret->decl_line && line <= UINT32_MAX)
			ret->decl_line = (uint32_t)line;
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		*next = *v;
		break;
	}
}

/* Return: 0 (@next.form 0: this was the last one), -EBADMSG, -ENOMEM. */
static int read_one(const struct unit *unit, uint64_t off, struct abbrev_cache *abbrevs,
		    struct function *ret, struct form_value *next)
{
	struct bytes info = debug_file_section(unit->file, DEBUG_INFO);
	struct cursor c = cursor_at((struct bytes){info.data, unit->end}, off);
	const struct abbrev_table *table;
	const struct abbrev *abbrev;
	struct form_value value;
	int r;

	*next = (struct form_value){0};
	r = abbrev_cache_get(abbrevs, unit->file, unit->abbrev_off, unit->widths, &table);
	if (r < 0)
		return r;
	abbrev = abbrev_find(table, cursor_uleb(&c));
	if (!abbrev)
		return -EBADMSG;
	for (uint32_t i = 0; i < abbrev->nr_attrs && !c.failed; i++) {
		const struct abbrev_attr *attr = &table->attrs[abbrev->first_attr + i];

		form_read(&c, attr, unit->widths, &value);
		take_attr(unit, attr->name, &value, ret, next);
	}
	return c.failed ? -EBADMSG : 0;
}

/* Finds the DIE that @ref names. @unit becomes its unit, @off its place. */
static int follow(struct unit *unit, const struct form_value *ref, uint64_t *off)
{
	struct debug_file *file = unit->file;

	switch (ref->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		*off = unit->off + ref->u;
		return *off >= unit->root_off && *off < unit->end ? 0 : -EBADMSG;
	case DW_FORM_ref_addr:
		*off = ref->u;
		if (*off >= unit->root_off && *off < unit->end)
			return 0;
		return unit_find(file, *off, unit);
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		*off = ref->u;
		file = companion_alt(file);
		if (file)
			return unit_find(file, *off, unit);
		unit->file->context->stats.nr_dwz_missing++;
		return -EBADMSG;
	default: /* DW_FORM_ref_sig8 names a type */
		return -EBADMSG;
	}
}

int function_read(const struct unit *unit, uint64_t off, struct abbrev_cache *abbrevs,
		  struct function *ret)
{
	struct unit at = *unit;
	struct form_value next;
	int r = 0;

	*ret = (struct function){.name = "", .linkage_name = ""};
	for (int hop = 0; hop < FUNCTION_MAX_HOPS; hop++) {
		r = read_one(&at, off, abbrevs, ret, &next);
		ret->file = at.file;
		ret->unit_off = at.off;
		ret->die_off = off;
		if (r < 0 || !next.form || !debug_spend(at.file, 16))
			break;
		r = follow(&at, &next, &off);
		if (r < 0)
			break;
	}
	return r == -ENOMEM ? r : 0;
}
