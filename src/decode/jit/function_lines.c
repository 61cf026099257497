// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/function_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/vec.h"
#include "decode/dwarf/dwarf.h"
#include "decode/elf/names.h"
#include "decode/jit/name.h"
#include "decode/numba/name.h"

/* An address whose frames are resolved. */
struct point {
	uint64_t ip;
	uint32_t order; /* insertion order: the last row at one address counts */
	bool is_row; /* a row of the line table; else an address of the request */
	bool unlined;
};

struct line_reading {
	struct line_store *store;
	const struct function_lines *functions;
	size_t nr_functions;
	struct point *points;
	size_t nr_points, cap_points;
	size_t first_row; /* row of points[0] in the store */
	int error;
};

void line_store_deinit(struct line_store *s)
{
	free(s->rows);
	free(s->frames);
	*s = (struct line_store){0};
}

static bool in_function(const struct line_reading *rd, uint64_t ip)
{
	size_t above = SEARCH_FIRST(i, rd->nr_functions, rd->functions[i].start_ip > ip);

	return above && rd->functions[above - 1].end_ip > ip;
}

static void add_point(struct line_reading *rd, uint64_t ip, bool is_row, bool unlined)
{
	int r;

	if (rd->error || !in_function(rd, ip))
		return;
	r = vec_grow(&rd->points, &rd->cap_points, rd->nr_points + 1, sizeof(*rd->points),
		     LINE_STORE_MAX_ROWS);
	if (r) {
		rd->error = r;
		return;
	}
	rd->points[rd->nr_points] = (struct point){.ip = ip,
						   .order = (uint32_t)rd->nr_points,
						   .is_row = is_row,
						   .unlined = unlined};
	rd->nr_points++;
}

static void add_row(void *ctx, uint64_t vaddr, uint32_t line)
{
	add_point(ctx, vaddr, true, !line);
}

/* Ascending; at one address rows of the line table come first, the last one first. */
static int compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	if (x->is_row != y->is_row)
		return x->is_row ? -1 : 1;
	return x->order > y->order ? -1 : x->order < y->order;
}

/* Keeps one point per address. If it is no row, `unlined` is that of the row before. */
static void merge_points(struct line_reading *rd)
{
	size_t nr = 0;

	if (rd->nr_points)
		qsort(rd->points, rd->nr_points, sizeof(*rd->points), compare_points);
	for (size_t i = 0; i < rd->nr_points; i++) {
		if (nr && rd->points[nr - 1].ip == rd->points[i].ip)
			continue;
		rd->points[nr] = rd->points[i];
		if (nr && !rd->points[nr].is_row)
			rd->points[nr].unlined = rd->points[nr - 1].unlined;
		nr++;
	}
	rd->nr_points = nr;
}

/* PHP gives each of its traces line 1 of a file of this name. */
static bool is_stand_in(const char *file)
{
	return !strcmp(file, "unknown");
}

static const char *cut(struct strpool *pool, const char *s)
{
	return s ? strpool_add_n(pool, s, JIT_NAME_MAX_BYTES) : "";
}

static void found(void *ctx, size_t i, enum miss miss, const struct frame *frames,
		  size_t nr)
{
	struct line_reading *rd = ctx;
	struct line_store *s = rd->store;
	struct function_row *row = &s->rows[rd->first_row + i];
	int r = vec_grow(&s->frames, &s->cap_frames, s->nr_frames + nr,
			 sizeof(*s->frames), LINE_STORE_MAX_FRAMES);

	if (r || rd->error) {
		rd->error = rd->error ? rd->error : r;
		return;
	}
	row->miss = miss;
	row->first_frame = (uint32_t)s->nr_frames;
	row->nr_frames = (uint32_t)nr;
	for (size_t k = 0; k < nr; k++) {
		struct frame *f = &s->frames[s->nr_frames++];

		*f = frames[k];
		if (is_stand_in(f->file)) {
			f->file = "";
			f->line = f->start_line = 0;
			row->miss = k ? row->miss : MISS_JIT_NO_LINES;
		}
		f->function = cut(s->pool, f->function);
		f->system_name = cut(s->pool, f->system_name);
		f->file = cut(s->pool, f->file);
	}
}

static int resolve_points(struct line_reading *rd, struct dwarf_source *dwarf)
{
	struct line_store *s = rd->store;
	_cleanup_free_ uint64_t *ips = calloc(rd->nr_points + 1, sizeof(*ips));
	int r = vec_grow(&s->rows, &s->cap_rows, s->nr_rows + rd->nr_points,
			 sizeof(*s->rows), LINE_STORE_MAX_ROWS);

	if (r || !ips)
		return r ? r : -ENOMEM;
	rd->first_row = s->nr_rows;
	for (size_t i = 0; i < rd->nr_points; i++) {
		ips[i] = rd->points[i].ip;
		s->rows[s->nr_rows++] =
			(struct function_row){.ip = rd->points[i].ip,
					      .miss = MISS_NO_LINE,
					      .unlined = rd->points[i].unlined};
	}
	r = dwarf_source_resolve(dwarf, ips, rd->nr_points, found, rd);
	return r ? r : rd->error;
}

/* Points are ascending, like the functions. */
static void assign_rows(const struct line_reading *rd, struct function_lines *functions)
{
	size_t i = 0;

	for (size_t k = 0; k < rd->nr_functions; k++) {
		struct function_lines *f = &functions[k];
		size_t first;

		while (i < rd->nr_points && rd->points[i].ip < f->start_ip)
			i++;
		first = i;
		while (i < rd->nr_points && rd->points[i].ip < f->end_ip)
			i++;
		f->first_row = (uint32_t)(rd->first_row + first);
		f->nr_rows = (uint32_t)(i - first);
	}
}

static int read_dwarf(struct line_reading *rd, struct dwarf_source *dwarf,
		      const uint64_t *ips, size_t nr_ips)
{
	int r;

	for (size_t i = 0; i < rd->nr_functions; i++)
		add_point(rd, rd->functions[i].start_ip, false, false);
	for (size_t i = 0; i < nr_ips; i++)
		add_point(rd, ips[i], false, false);
	r = dwarf_source_rows(dwarf, add_row, rd);
	if (r || rd->error)
		return r ? r : rd->error;
	merge_points(rd);
	return resolve_points(rd, dwarf);
}

int function_lines_read(struct line_store *s, const struct jit_image *m,
			struct function_lines *functions, size_t nr_functions,
			const uint64_t *ips, size_t nr_ips)
{
	_cleanup_free_ uint8_t *copy = NULL; /* outlives its readers, below */
	_cleanup_(binary_freep) struct binary *binary = NULL;
	_cleanup_(dwarf_source_freep) struct dwarf_source *dwarf = NULL;
	struct line_reading rd = {
		.store = s, .functions = functions, .nr_functions = nr_functions};
	int r = image_linked_copy(m, &copy);

	for (size_t i = 0; i < nr_functions; i++)
		functions[i].nr_rows = 0;
	if (!r)
		r = binary_open_memory(copy, m->len, &binary);
	if (!r)
		r = dwarf_source_open(binary, NULL, NULL, &dwarf);
	if (!r)
		r = read_dwarf(&rd, dwarf, ips, nr_ips);
	if (!r)
		assign_rows(&rd, functions);
	free(rd.points);
	return r;
}

struct function_row *function_lines_at(const struct line_store *s,
				       const struct function_lines *f, uint64_t ip)
{
	size_t above = SEARCH_FIRST(i, f->nr_rows, s->rows[f->first_row + i].ip > ip);

	return above && ip < f->end_ip ? &s->rows[f->first_row + above - 1] : NULL;
}

#define MAX_MODULES   (1u << 20)
#define MAX_READABLES (1u << 20)

/* The module of a file; both interned. */
struct file_module {
	const char *file, *module;
};

struct readable_name {
	const char *system; /* interned, as the readable one is */
	bool numba; /* in an image of Numba */
	const char *readable; /* "": it is not mangled */
};

void function_names_deinit(struct function_names *n)
{
	free(n->modules);
	hashmap_deinit(&n->index);
	free(n->readables);
	hashmap_deinit(&n->readables_index);
}

/* ---- modules ---- */

static bool module_eq(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct function_names *)ctx)->modules[item].file == key;
}

static uint32_t module_find(const struct function_names *n, const char *file)
{
	return hashmap_get(&n->index, hash_pointer(0, file), module_eq, file, n);
}

static int module_add(struct function_names *n, const char *file, const char *module)
{
	int r;

	if (module_find(n, file) != HASHMAP_NONE)
		return 0;
	r = vec_grow(&n->modules, &n->cap_modules, n->nr_modules + 1, sizeof(*n->modules),
		     MAX_MODULES);
	if (r)
		return r == -ENOSPC ? 0 : r;
	n->modules[n->nr_modules] = (struct file_module){file, module};
	return hashmap_add(&n->index, hash_pointer(0, file), (uint32_t)n->nr_modules++);
}

/*
 * Returns the module of an installed file: /x/site-packages/numba/np/arraymath.py is
 * numba.np.arraymath. "" if the file is not in such a folder.
 */
static const char *installed_module(struct strpool *pool, const char *file)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
	char module[NUMBA_NAME_MAX];
	const char *at = NULL;
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(folders) && !at; i++) {
		at = strstr(file, folders[i]);
		if (at)
			at += strlen(folders[i]);
	}
	len = at ? strlen(at) : 0;
	if (len <= 3 || len >= sizeof(module) || strcmp(at + len - 3, ".py"))
		return "";
	memcpy(module, at, len - 3);
	module[len - 3] = '\0';
	for (char *c = module; *c; c++)
		if (*c == '/')
			*c = '.';
	len = strlen(module);
	if (len > 9 && !strcmp(module + len - 9, ".__init__"))
		module[len - 9] = '\0';
	return strpool_add(pool, module);
}

static const char *module_of(const struct function_names *n, const char *file)
{
	uint32_t item = module_find(n, file);

	return item == HASHMAP_NONE ? installed_module(n->pool, file)
				    : n->modules[item].module;
}

/* ---- names ---- */

bool function_names_is_numba(const char *symbol)
{
	struct numba_name name;

	return numba_name_parse(symbol, &name) && name.certain;
}

const char *function_names_last_part(const char *symbol, char *buf, size_t size)
{
	struct numba_name name;
	const char *dot;

	buf[0] = '\0';
	if (!numba_name_parse(symbol, &name))
		return buf;
	dot = strrchr(name.path, '.');
	snprintf(buf, size, "%s", dot ? dot + 1 : name.path);
	return buf;
}

static const char *read_mangled(struct strpool *pool, const char *system, bool numba)
{
	char buf[NUMBA_NAME_MAX + 32];
	struct numba_name name;

	if (numba_name_parse(system, &name) && (numba || name.certain))
		return strpool_add(pool, numba_name_text(&name, buf, sizeof(buf)));
	return strpool_add(pool, demangle(system, buf, sizeof(buf)) == buf ? buf : "");
}

static bool readable_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct readable_name *have =
		&((const struct function_names *)ctx)->readables[item];
	const struct readable_name *want = key;

	return have->system == want->system && have->numba == want->numba;
}

/* The readable form of a mangled name; @plain is the name in DWARF ("" none). */
static const char *readable(struct function_names *n, const char *system,
			    const char *plain, bool numba)
{
	struct readable_name name = {.system = system, .numba = numba};
	uint64_t hash = hash_pointer(numba, system);
	uint32_t i = hashmap_get(&n->readables_index, hash, readable_eq, &name, n);

	if (i != HASHMAP_NONE) {
		name = n->readables[i];
	} else {
		name.readable = read_mangled(n->pool, system, numba);
		if (!vec_grow(&n->readables, &n->cap_readables, n->nr_readables + 1,
			      sizeof(*n->readables), MAX_READABLES) &&
		    !hashmap_add(&n->readables_index, hash, (uint32_t)n->nr_readables))
			n->readables[n->nr_readables++] = name;
	}
	if (*name.readable)
		return name.readable;
	return *plain ? plain : system;
}

/* Adds the module to the name of an inlined function: DWARF has only the last part. */
static const char *with_module(const struct function_names *n, const struct frame *f)
{
	char buf[NUMBA_NAME_MAX];
	const char *module = *f->file ? module_of(n, f->file) : "";

	if (!*module || !*f->function)
		return f->function;
	snprintf(buf, sizeof(buf), "%s.%s", module, f->function);
	return strpool_add(n->pool, buf);
}

/* Numba's names of generated functions contain addresses, which differ by process. */
static const char *readable_generated(const struct function_names *n, const char *raw,
				      const struct function_name *name)
{
	const char *prange = name->prange ? name->prange : "prange body";
	char buf[NUMBA_NAME_MAX];

	return strpool_add(n->pool, numba_name_generated(raw, prange, buf, sizeof(buf)));
}

static bool is_prange(const char *function)
{
	return !strncmp(function, "prange in ", strlen("prange in "));
}

/* The readable name of a frame; @outer: it is of the function with the symbol. */
static const char *name_of(struct function_names *n, const struct frame *f,
			   const struct function_name *name, bool outer)
{
	const char *system = *f->system_name || !outer ? f->system_name : name->symbol;

	if (is_prange(f->function))
		return f->function;
	if (numba_name_is_generated(system))
		return readable_generated(n, system, name);
	if (numba_name_is_generated(f->function))
		return readable_generated(n, f->function, name);
	if (*system)
		return readable(n, system, f->function, name->numba);
	return name->numba ? with_module(n, f) : f->function;
}

/* Drops the folder of "/home/u/<ipython-input-3-abc>": it is none. */
static const char *file_of(const struct function_names *n, const char *file)
{
	const char *slash = strrchr(file, '/');
	size_t len = strlen(file);

	if (slash && slash[1] == '<' && file[len - 1] == '>')
		return strpool_add(n->pool, slash + 1);
	return file;
}

int function_names_learn(struct function_names *n, const struct line_store *s,
			 const struct function_lines *f, const struct function_name *name)
{
	for (uint32_t i = 0; i < f->nr_rows && name->numba; i++) {
		const struct function_row *row = &s->rows[f->first_row + i];
		const struct frame *outer;
		const char *function;
		size_t len, tail;

		if (!row->nr_frames)
			continue;
		outer = &s->frames[row->first_frame + row->nr_frames - 1];
		tail = strlen(outer->function);
		if (!*outer->file || !tail || is_prange(outer->function))
			continue;
		function = name_of(n, outer, name, true);
		len = strlen(function);
		/* "__main__.Bag.fill", in DWARF "Bag.fill": the rest is the module. */
		if (len <= tail + 1 || function[len - tail - 1] != '.' ||
		    strcmp(function + len - tail, outer->function) != 0)
			return 0;
		return module_add(n, outer->file,
				  strpool_add_n(n->pool, function, len - tail - 1));
	}
	return 0;
}

static void apply_one(struct function_names *n, struct frame *f,
		      const struct function_name *name, bool outer)
{
	const char *function = name_of(n, f, name, outer);

	if (outer && !*f->system_name)
		f->system_name = name->symbol;
	/* Generated functions have no visible source, so drop their start line. */
	if (numba_name_is_generated(f->function))
		f->start_line = 0;
	f->function = function;
	if (!strcmp(f->system_name, function))
		f->system_name = "";
	f->file = file_of(n, f->file);
}

void function_names_apply(struct function_names *n, struct line_store *s,
			  const struct function_lines *f,
			  const struct function_name *name)
{
	for (uint32_t i = 0; i < f->nr_rows; i++) {
		const struct function_row *row = &s->rows[f->first_row + i];

		for (uint32_t k = 0; k < row->nr_frames; k++)
			apply_one(n, &s->frames[row->first_frame + k], name,
				  k + 1 == row->nr_frames);
	}
}

struct frame function_names_bare(struct function_names *n,
				 const struct function_name *name)
{
	struct frame f = {.function = "", .system_name = "", .file = ""};

	if (*name->symbol)
		apply_one(n, &f, name, true);
	return f;
}
