// SPDX-License-Identifier: GPL-2.0-or-later
#include "fold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "dump.h"
#include "fold_code.h"

#define MAX_STACK    (2 * LB_MAX_FRAMES)
#define ROWS_AT_ONCE 65536 /* each file is opened once for so many */

void fold_deinit(struct fold *f)
{
	free(f->mapping_of);
	free(f->location_of);
	free(f->owners);
	hashmap_deinit(&f->owner_index);
	*f = (struct fold){0};
}

static bool owner_eq(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct fold *)ctx)->owners[item].path == key; /* interned */
}

static void note_owner(struct fold *f, const char *path, const struct process *process)
{
	uint64_t hash = hash_u64(0, (uintptr_t)path);

	if (!process || !*path ||
	    hashmap_find(&f->owner_index, hash, owner_eq, path, f) != HASHMAP_NONE)
		return;
	if (vec_grow(&f->owners, &f->cap_owners, f->nr_owners + 1, sizeof(*f->owners),
		     0) ||
	    hashmap_add(&f->owner_index, hash, (uint32_t)f->nr_owners))
		return; /* the listing will lack this source, and say so */
	f->owners[f->nr_owners++] =
		(struct source_owner){.path = path, .process = process};
}

const struct process *fold_source_owner(const struct fold *f, const char *path)
{
	uint32_t item = hashmap_find(&f->owner_index, hash_u64(0, (uintptr_t)path),
				     owner_eq, path, f);

	return item == HASHMAP_NONE ? NULL : f->owners[item].process;
}

uint32_t fold_mapping(struct fold *f, const struct object *object)
{
	struct profile_mapping m = {
		.start = object->start,
		.limit = object->limit,
		.file_off = object->file_off,
		.filename = object->name,
		/* We looked: other tools must not look again and lose inlined frames. */
		.has_functions = true,
		.has_filenames = true,
		.has_line_numbers = true,
		.has_inline_frames = true,
	};
	char hex[2 * sizeof(object->build_id) + 1] = "";

	if (vec_grow(&f->mapping_of, &f->cap_mapping_of, object->id + 1, sizeof(uint32_t),
		     0))
		return PROFILE_NONE;
	if (!f->mapping_of[object->id]) {
		for (size_t i = 0; i < object->build_id_len; i++)
			snprintf(hex + 2 * i, 3, "%02x", object->build_id[i]);
		m.build_id = strpool_add(f->profile->pool, hex);
		f->mapping_of[object->id] = profile_add_mapping(f->profile, &m) + 1;
	}
	return f->mapping_of[object->id] - 1;
}

static uint32_t add_location(struct fold *f, const struct resolved *r)
{
	struct profile_line lines[FRAMES_MAX_INLINE];
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_frames && nr < FRAMES_MAX_INLINE; i++) {
		const struct frame *frame = &r->frames[i];
		struct profile_function function = {
			.name = frame->function,
			.system_name = frame->system_name,
			.filename = frame->file,
			.start_line = frame->start_line,
		};

		if (!*frame->function && !frame->line)
			continue;
		note_owner(f, frame->file, r->process);
		lines[nr].function = profile_add_function(f->profile, &function);
		lines[nr++].line = frame->line;
	}
	return profile_add_location(f->profile, fold_mapping(f, r->object), r->address,
				    r->miss, lines, nr);
}

static uint32_t location_of(struct fold *f, uint32_t id)
{
	if (vec_grow(&f->location_of, &f->cap_location_of, id + 1, sizeof(uint32_t), 0))
		return PROFILE_NONE;
	if (!f->location_of[id] && f->dump)
		dump_resolved(symbolizer_get(f->symbolizer, id), stderr);
	if (!f->location_of[id])
		f->location_of[id] = add_location(f, symbolizer_get(f->symbolizer, id)) +
				     1;
	return f->location_of[id] - 1;
}

/* Notes every address of the row, kernel first, leaf first. Returns how many. */
static size_t want(const struct fold *f, const struct row *row,
		   const struct row_stack *stack, uint32_t *ids)
{
	const uint64_t *user = stack->ips, *kern = stack->ips + stack->nr_user;
	size_t nr = 0;

	for (size_t i = 0; i < stack->nr_kern; i++)
		ids[nr++] = symbolizer_want_kernel(f->symbolizer, kern[i],
						   i ? FRAME_RETURN : FRAME_LEAF);
	for (size_t i = 0; i < stack->nr_user; i++) {
		bool is_return = i || stack->user_leaf_is_return;

		ids[nr++] = symbolizer_want(f->symbolizer, row->process, user[i],
					    is_return ? FRAME_RETURN : FRAME_LEAF,
					    row->first_ns, row->last_ns);
	}
	return nr;
}

static size_t make_labels(const struct fold *f, const struct row *row,
			  const struct row_stack *stack, struct profile_label labels[4])
{
	struct strpool *pool = f->profile->pool;
	const char *none = strpool_add(pool, "");
	const char *comm = stack->comm;
	size_t nr = 0;

	if (!*comm && row->process)
		comm = row->process->comm;
	labels[nr++] = (struct profile_label){.key = strpool_add(pool, "pid"),
					      .str = none,
					      .num = row->tgid,
					      .unit = none};
	if (*comm)
		labels[nr++] = (struct profile_label){.key = strpool_add(pool, "comm"),
						      .str = strpool_add(pool, comm),
						      .unit = none};
	if (f->keep_tid && stack->tid)
		labels[nr++] = (struct profile_label){.key = strpool_add(pool, "tid"),
						      .str = none,
						      .num = stack->tid,
						      .unit = none};
	if (stack->cgroup_id > 1) /* 1 is the root cgroup: no information */
		labels[nr++] =
			(struct profile_label){.key = strpool_add(pool, "cgroup_id"),
					       .str = none,
					       .num = (int64_t)stack->cgroup_id,
					       .unit = none};
	return nr;
}

/*
 * Where a thread's stack begins. The C library's entry code keeps no frame pointer,
 * so a walk that came so far ends in a bad one, and is complete all the same.
 */
static bool is_entry(const char *function)
{
	static const char *const entries[] = {
		"_start",
		"__libc_start_call_main",
		"__libc_start_main",
		"__libc_start_main_impl",
		"libc_start_main_stage2",
		"start_thread",
		"start",
		"clone",
		"clone3",
		"__clone",
		"__clone3",
		"runtime.goexit",
		"runtime.goexit.abi0",
		"runtime.mstart",
		"runtime.mcall",
	};

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (!strcmp(entries[i], function))
			return true;
	return false;
}

static bool is_in_libc(const struct resolved *r)
{
	const char *slash = strrchr(r->object->name, '/');
	const char *base = slash ? slash + 1 : r->object->name;

	return !strncmp(base, "libc.so", 7) || !strncmp(base, "libc-", 5) ||
	       !strncmp(base, "ld-musl", 7);
}

/*
 * The walk's own word, unless the names of the frames tell better. A stripped C
 * library does not name its entry code: then it is what called main().
 *
 * @ids  of the stack, leaf first; @nr > 0
 */
static uint32_t status_of(const struct fold *f, const struct row *row,
			  const uint32_t *ids, size_t nr)
{
	const struct resolved *r, *callee;

	if (row->status != LB_STACK_BAD_FP && row->status != LB_STACK_FAULT)
		return row->status;
	r = symbolizer_get(f->symbolizer, ids[nr - 1]);
	if (r->nr_frames && is_entry(r->frames[r->nr_frames - 1].function))
		return LB_STACK_COMPLETE;
	if (nr < 2 || !is_in_libc(r))
		return row->status;
	callee = symbolizer_get(f->symbolizer, ids[nr - 2]);
	if (callee->nr_frames &&
	    !strcmp(callee->frames[callee->nr_frames - 1].function, "main"))
		return LB_STACK_COMPLETE;
	return row->status;
}

static int add_row(struct fold *f, const struct rows *rows, const struct row *row,
		   const uint32_t *ids)
{
	const struct row_stack *stack = rows_stack(rows, row);
	size_t nr = (size_t)stack->nr_kern + stack->nr_user;
	struct profile_label labels[4];
	uint32_t locations[MAX_STACK];
	size_t nr_labels = make_labels(f, row, stack, labels);

	for (size_t i = 0; i < nr; i++) {
		locations[i] = location_of(f, ids[i]);
		if (locations[i] == PROFILE_NONE)
			return -ENOMEM;
	}
	return profile_add_sample(f->profile, locations, nr, labels, nr_labels,
				  nr ? status_of(f, row, ids, nr) : row->status,
				  (int64_t)row->count,
				  (int64_t)(row->count * f->period_ns)) == PROFILE_NONE
		       ? -ENOMEM
		       : 0;
}

/* Names and adds rows [first, last). Their ids are held only so long. */
static int fold_some(struct fold *f, const struct rows *rows, size_t first, size_t last,
		     struct error *err)
{
	_cleanup_free_ uint32_t *ids = NULL;
	size_t nr_ids = 0, cap_ids = 0, at = 0;
	int rc;

	for (size_t i = first; i < last; i++) {
		const struct row *row = &rows->items[i];

		if (vec_grow(&ids, &cap_ids, nr_ids + MAX_STACK, sizeof(*ids), 0))
			return error_set(err, -ENOMEM, "out of memory");
		nr_ids += want(f, row, rows_stack(rows, row), ids + nr_ids);
	}
	fold_want_code(f->symbolizer, rows, first, last, ids);
	rc = symbolizer_resolve(f->symbolizer, err);
	if (rc)
		return rc;
	for (size_t i = first; i < last; i++) {
		const struct row_stack *stack = rows_stack(rows, &rows->items[i]);

		if (add_row(f, rows, &rows->items[i], ids + at))
			f->nr_dropped += rows->items[i].count;
		at += (size_t)stack->nr_kern + stack->nr_user;
	}
	return 0;
}

int fold_rows(struct fold *f, const struct rows *rows, struct error *err)
{
	int rc = 0;

	for (size_t first = 0; !rc && first < rows->nr; first += ROWS_AT_ONCE) {
		size_t last = first + ROWS_AT_ONCE;

		rc = fold_some(f, rows, first, last < rows->nr ? last : rows->nr, err);
	}
	return rc;
}
