// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/libdw.h"

#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"

/* ---- units and their ranges ---- */

static void add_range(struct libdw_range **items, size_t *nr, size_t *cap, uint64_t start,
		      uint64_t end, size_t unit)
{
	if (vec_grow(items, cap, *nr + 1, sizeof(**items), 0))
		abort();
	(*items)[(*nr)++] = (struct libdw_range){start, end, unit, false};
}

static void find_code(struct libdw_file *f, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_EXECINSTR))
			add_range(&f->code, &f->nr_code, &f->cap_code, sh.sh_addr,
				  sh.sh_addr + sh.sh_size, 0);
}

/* Linkers leave ranges of functions that they dropped, at address 0 or so. */
static bool is_code(const struct libdw_file *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->nr_code; i++)
		if (vaddr >= f->code[i].start && vaddr < f->code[i].end)
			return true;
	return false;
}

static size_t add_ranges(struct libdw_file *f, Dwarf_Die *die, size_t unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	size_t nr = 0;

	for (; (offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0; nr++)
		if (start < end && is_code(f, start))
			add_range(&f->ranges, &f->nr_ranges, &f->cap_ranges, start, end,
				  unit);
	return nr;
}

static int add_function(Dwarf_Die *function, void *f)
{
	add_ranges(f, function, ((struct libdw_file *)f)->nr_units - 1);
	return DWARF_CB_OK;
}

static void add_sequences(struct libdw_file *f, Dwarf_Die *root)
{
	Dwarf_Addr start = 0, vaddr = 0;
	bool inside = false, ends;
	Dwarf_Lines *rows;
	size_t nr;

	if (dwarf_getsrclines(root, &rows, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		Dwarf_Line *row = dwarf_onesrcline(rows, i);

		dwarf_lineaddr(row, &vaddr);
		dwarf_lineendsequence(row, &ends);
		if (!inside)
			start = vaddr;
		else if (ends && start < vaddr && is_code(f, start))
			add_range(&f->ranges, &f->nr_ranges, &f->cap_ranges, start, vaddr,
				  f->nr_units - 1);
		inside = !ends;
	}
}

static void add_unit(struct libdw_file *f, const Dwarf_Die *root, const Dwarf_Die *split)
{
	struct libdw_unit *u;
	size_t first;

	if (vec_grow(&f->units, &f->cap_units, f->nr_units + 1, sizeof(*f->units), 0))
		abort();
	u = &f->units[f->nr_units++];
	u->root = *root;
	u->dies = split->addr ? *split : *root;
	if (add_ranges(f, &u->root, f->nr_units - 1))
		return;
	/* A unit without ranges has those of its functions and of its line table. */
	first = f->nr_ranges;
	dwarf_getfuncs(&u->dies, add_function, f, 0);
	add_sequences(f, &u->root);
	for (size_t i = first; i < f->nr_ranges; i++)
		f->ranges[i].is_last = true;
}

bool libdw_open(const char *path, struct libdw_file *ret)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die root, split;
	uint8_t type;

	*ret = (struct libdw_file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	elf_version(EV_CURRENT);
	ret->dw = ret->fd < 0 ? NULL : dwarf_begin(ret->fd, DWARF_C_READ);
	if (!ret->dw)
		return false;
	find_code(ret, dwarf_getelf(ret->dw));
	while (dwarf_get_units(ret->dw, cu, &cu, NULL, &type, &root, &split) == 0)
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			add_unit(ret, &root, &split);
	return ret->nr_units > 0;
}

void libdw_close(struct libdw_file *f)
{
	dwarf_end(f->dw);
	if (f->fd >= 0)
		close(f->fd);
	for (size_t i = 0; i < f->nr_paths; i++)
		free(f->paths[i]);
	free(f->paths);
	free(f->units);
	free(f->ranges);
	free(f->code);
}

static bool is_better(const struct libdw_range *a, const struct libdw_range *b)
{
	if (a->is_last != b->is_last)
		return b->is_last;
	return !a->is_last && a->end - a->start < b->end - b->start;
}

static struct libdw_unit *unit_at(struct libdw_file *f, uint64_t vaddr)
{
	const struct libdw_range *best = NULL;

	for (size_t i = 0; i < f->nr_ranges; i++) {
		const struct libdw_range *r = &f->ranges[i];

		if (vaddr >= r->start && vaddr < r->end && (!best || is_better(r, best)))
			best = r;
	}
	return best ? &f->units[best->unit] : NULL;
}

/* ---- frames ---- */

static const char *text_of(Dwarf_Die *die, unsigned int attr)
{
	Dwarf_Attribute value;
	const char *s = dwarf_formstring(dwarf_attr_integrate(die, attr, &value));

	return s ? s : "";
}

static uint32_t number_of(Dwarf_Die *die, unsigned int attr)
{
	Dwarf_Attribute value;
	Dwarf_Word n;

	return dwarf_formudata(dwarf_attr(die, attr, &value), &n) ? 0 : (uint32_t)n;
}

/*
 * libdw joins the compilation directory only with names that have no directory.
 * Returns @path with it; valid until libdw_close().
 */
static const char *full_path(struct libdw_file *f, struct libdw_unit *u, const char *path)
{
	const char *dir = text_of(&u->root, DW_AT_comp_dir);
	size_t len = strlen(dir);
	char *full;

	if (!path || path[0] == '/' || !len ||
	    (!strncmp(path, dir, len) && path[len] == '/'))
		return path ? path : "";
	if (asprintf(&full, "%s/%s", dir, path) < 0 ||
	    vec_grow(&f->paths, &f->cap_paths, f->nr_paths + 1, sizeof(*f->paths), 0))
		abort();
	f->paths[f->nr_paths++] = full;
	return full;
}

static const char *file_of(struct libdw_file *f, struct libdw_unit *u, uint32_t number)
{
	Dwarf_Files *files;
	size_t nr;

	if (dwarf_getsrcfiles(&u->root, &files, &nr) || number >= nr)
		return "";
	return full_path(f, u, dwarf_filesrc(files, number, NULL, NULL));
}

struct place {
	const char *file;
	uint32_t line;
};

/* Sets what does not depend on the address. */
static struct frame function_of(Dwarf_Die *die)
{
	struct frame frame = {.function = text_of(die, DW_AT_name),
			      .system_name = text_of(die, DW_AT_linkage_name),
			      .inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine};
	int line;

	if (!*frame.system_name)
		frame.system_name = text_of(die, DW_AT_MIPS_linkage_name);
	if (dwarf_decl_line(die, &line) == 0)
		frame.start_line = (uint32_t)line;
	return frame;
}

static void add_frame(struct libdw_answer *a, struct frame frame, struct place place)
{
	frame.file = place.file;
	frame.line = place.line;
	a->frames[a->nr++] = frame;
}

/* Functions and calls around an address, the outermost first. */
struct scopes {
	Dwarf_Die *items; /* heap */
	size_t nr, cap;
};

/*
 * Adds the functions and calls below @die that hold @vaddr. The first function that
 * holds it is taken.
 */
static bool find_below(Dwarf_Die *die, uint64_t vaddr, struct scopes *ret)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram) &&
		    dwarf_haspc(&child, vaddr) > 0) {
			if (vec_grow(&ret->items, &ret->cap, ret->nr + 1,
				     sizeof(*ret->items), 0))
				abort();
			ret->items[ret->nr++] = child;
			find_below(&child, vaddr, ret);
			return true;
		}
		if (find_below(&child, vaddr, ret))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/*
 * Not by dwarf_getscopes(), which enters neither namespaces nor enumerations (Rust), nor
 * classes (lambdas).
 *
 * @place  of the innermost frame
 */
static void find_chain(struct libdw_file *f, struct libdw_unit *u, uint64_t vaddr,
		       struct place place, struct libdw_answer *ret)
{
	struct scopes scopes = {0};

	find_below(&u->dies, vaddr, &scopes);
	for (size_t i = scopes.nr; i-- && ret->nr < LIBDW_MAX_FRAMES;) {
		Dwarf_Die *die = &scopes.items[i];

		add_frame(ret, function_of(die), place);
		if (dwarf_tag(die) == DW_TAG_subprogram)
			break;
		place.file = file_of(f, u, number_of(die, DW_AT_call_file));
		place.line = number_of(die, DW_AT_call_line);
	}
	free(scopes.items);
}

static struct place place_of(struct libdw_file *f, struct libdw_unit *u, Dwarf_Line *row)
{
	int line = 0;

	dwarf_lineno(row, &line);
	return (struct place){full_path(f, u, dwarf_linesrc(row, NULL, NULL)),
			      (uint32_t)line};
}

/* Returns the last row with a line up to @row, in its sequence; NULL: none. */
static Dwarf_Line *row_before(struct libdw_unit *u, const Dwarf_Line *row)
{
	Dwarf_Line *last = NULL;
	Dwarf_Lines *rows;
	bool ends;
	size_t nr;
	int line;

	dwarf_getsrclines(&u->root, &rows, &nr);
	for (size_t i = 0; i < nr; i++) {
		Dwarf_Line *at = dwarf_onesrcline(rows, i);

		dwarf_lineendsequence(at, &ends);
		dwarf_lineno(at, &line);
		if (ends)
			last = NULL;
		else if (line)
			last = at;
		if (at == row)
			break;
	}
	return last;
}

void libdw_resolve(struct libdw_file *f, uint64_t vaddr, struct libdw_answer *ret)
{
	struct libdw_unit *u = unit_at(f, vaddr);
	Dwarf_Line *row = u ? dwarf_getsrc_die(&u->root, vaddr) : NULL;
	struct place place = {"", 0};
	size_t skip = 0;

	ret->nr = 0;
	ret->had_no_line = false;
	if (!u)
		return;
	if (row)
		place = place_of(f, u, row);
	ret->had_no_line = row && !place.line;
	find_chain(f, u, vaddr, place, ret);
	if (!ret->nr && row)
		add_frame(ret, (struct frame){.function = "", .system_name = ""}, place);
	while (skip + 1 < ret->nr && !ret->frames[skip].line)
		skip++;
	if (ret->nr && ret->frames[skip].line) {
		ret->nr -= skip;
		memmove(ret->frames, ret->frames + skip, ret->nr * sizeof(*ret->frames));
		return;
	}
	row = ret->nr && row ? row_before(u, row) : NULL;
	if (row) {
		place = place_of(f, u, row);
		ret->frames[0].file = place.file;
		ret->frames[0].line = place.line;
	}
}
