// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/profile_builder.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/match.h"
#include "base/strpool.h"
#include "base/vec.h"
#include "profile/labels.h"
#include "profile/mapping_kind.h"
#include "profile/profile.h"
#include "record/dump.h"
#include "record/service_id.h"
#include "record/stack_table.h"
#include "record/user_names.h"

#define SAMPLE_LABELS_MAX 13

const char *profile_builder_user(struct profile_builder *f, uid_t uid)
{
	char number[16];
	const char *name = user_names_find(&f->users, f->profile->pool, uid, true);

	snprintf(number, sizeof(number), "%u", (unsigned int)uid);
	return strcmp(name, number) ? name : "";
}

static void add_text(struct profile_label *labels, size_t *nr, const char *key,
		     const char *text)
{
	if (text && *text)
		labels[(*nr)++] =
			(struct profile_label){.key = key, .str = text, .unit = ""};
}

static void add_number(struct profile_label *labels, size_t *nr, const char *key,
		       uint64_t number)
{
	if (number)
		labels[(*nr)++] = (struct profile_label){
			.key = key, .str = "", .num = (int64_t)number, .unit = ""};
}

/*
 * Returns the owner of the sample's cgroup, if known. Prefers the process's owner if
 * that comes from a v1 hierarchy, which says more.
 */
static const struct process_owner *owner_of(const struct row *row)
{
	if (!row->process)
		return row->cgroup;
	return row->cgroup && (row->process->owner.by_v2 || !row->process->owner.cgroup)
		       ? row->cgroup
		       : &row->process->owner;
}

/*
 * Returns the user whose CPU time it was: the process may have another one by now. (uid_t)-1:
 * nothing is known of the process.
 */
static uid_t uid_of(const struct process *process, const struct row_stack *stack)
{
	return process->uid != (uid_t)-1 && stack->has_uid ? stack->uid : process->uid;
}

/**
 * @labels  room for SAMPLE_LABELS_MAX; texts belong to @row or @pool, or are constants
 * Return: number of labels
 */
static size_t sample_labels(struct user_names *users, struct strpool *pool,
			    const struct row *row, const struct row_stack *stack,
			    bool keep_tid, struct profile_label *labels)
{
	const struct process *process = row->process;
	const struct process_owner *owner = owner_of(row);
	size_t nr = 0;
	uid_t uid;

	add_number(labels, &nr, LABEL_PID, row->tgid);
	add_text(labels, &nr, LABEL_COMM,
		 *stack->comm || !process ? stack->comm : process->comm);
	add_number(labels, &nr, LABEL_TID, keep_tid ? stack->tid : 0);
	/* 1 is the root cgroup: no information. */
	add_number(labels, &nr, LABEL_CGROUP_ID,
		   stack->cgroup_id > 1 ? stack->cgroup_id : 0);
	if (owner) {
		add_text(labels, &nr, LABEL_CGROUP, owner->cgroup);
		add_text(labels, &nr, LABEL_CONTAINER, owner->container);
		add_text(labels, &nr, LABEL_CONTAINER_NAME, owner->container_name);
		add_text(labels, &nr, LABEL_RUNTIME, owner->runtime);
		add_text(labels, &nr, LABEL_POD, owner->pod);
		add_text(labels, &nr, LABEL_UNIT, owner->unit);
	}
	if (!process)
		return nr;
	if (process->ns_tgid != row->tgid)
		add_number(labels, &nr, LABEL_NS_PID, process->ns_tgid);
	uid = uid_of(process, stack);
	if (uid != (uid_t)-1)
		add_text(labels, &nr, LABEL_USER,
			 user_names_find(users, pool, uid, process->in_our_user_ns));
	add_text(labels, &nr, LABEL_EXE, process->owner.exe);
	return nr;
}

/* User frames of a sample, from the leaf on, whose functions may be hot. */
#define HOT_CODE_FRAMES 3
/* Most addresses whose code is requested per resolve: the hottest ones. */
#define HOT_CODE_MAX_ADDRESSES 2000

struct hot_id {
	uint32_t id;
	uint64_t count; /* samples */
};

static int by_id(const void *a, const void *b)
{
	const struct hot_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_count(const void *a, const void *b)
{
	const struct hot_id *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return by_id(a, b);
}

/* Merges items of the same id. Return: number of remaining items. */
static size_t merge(struct hot_id *hot, size_t nr)
{
	size_t kept = 0;

	qsort(hot, nr, sizeof(*hot), by_id);
	for (size_t i = 0; i < nr; i++)
		if (kept && hot[kept - 1].id == hot[i].id)
			hot[kept - 1].count += hot[i].count;
		else
			hot[kept++] = hot[i];
	return kept;
}

/**
 * Requests the code around the hottest addresses of rows [first, last), before they are
 * resolved. Requests nothing when out of memory.
 *
 * @ids  address ids, row by row: kernel, then user
 */
static void hot_code_want(struct symbolizer *s, const struct stack_table *rows,
			  size_t first, size_t last, const uint32_t *ids)
{
	_cleanup_free_ struct hot_id *hot =
		calloc((last - first) * HOT_CODE_FRAMES + 1, sizeof(*hot));
	size_t nr = 0;

	for (size_t i = first; hot && i < last; i++) {
		const struct row_stack *stack = stack_table_stack(rows, &rows->items[i]);

		ids += stack->nr_kern;
		for (size_t k = 0; k < stack->nr_user && k < HOT_CODE_FRAMES; k++)
			hot[nr++] = (struct hot_id){ids[k], rows->items[i].count};
		ids += stack->nr_user;
	}
	if (!nr)
		return;
	nr = merge(hot, nr);
	qsort(hot, nr, sizeof(*hot), by_count);
	for (size_t i = 0; i < nr && i < HOT_CODE_MAX_ADDRESSES; i++)
		symbolizer_want_code(s, hot[i].id);
}

/* ---- copying code from the symbolizer to the profile ---- */

struct hot_code {
	const struct code *code;
	const struct object *object;
	uint32_t mapping;
	uint64_t count; /* samples */
};

static int by_address(const void *a, const void *b)
{
	const struct hot_code *x = a, *y = b;

	if (x->mapping != y->mapping)
		return x->mapping > y->mapping ? 1 : -1;
	return (x->code->address > y->code->address) -
	       (x->code->address < y->code->address);
}

static int by_heat(const void *a, const void *b)
{
	const struct hot_code *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return by_address(a, b);
}

/* Returns the code that contains @address, or NULL. */
static struct hot_code *find(struct hot_code *codes, size_t nr, uint32_t mapping,
			     uint64_t address)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (codes[mid].mapping < mapping || (codes[mid].mapping == mapping &&
						     codes[mid].code->address <= address))
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || codes[low - 1].mapping != mapping ||
	    address - codes[low - 1].code->address >= codes[low - 1].code->size_bytes)
		return NULL;
	return &codes[low - 1];
}

/*
 * Adds a sample to the code of its innermost frame that has a line, outside the kernel.
 */
static void heat(const struct profile *p, const struct profile_sample *s,
		 struct hot_code *codes, size_t nr)
{
	for (uint32_t i = 0; i < s->nr_locations; i++) {
		const struct profile_location *l =
			&p->locations[p->sample_locations[s->first_location + i]];
		struct hot_code *code;

		if (l->miss != MISS_NONE || l->mapping == PROFILE_NONE ||
		    match_starts(p->mappings[l->mapping].filename, PROFILE_KERNEL))
			continue;
		code = find(codes, nr, l->mapping,
			    frame_lookup(l->address, i ? FRAME_RETURN : FRAME_LEAF));
		if (code)
			code->count += (uint64_t)profile_value(p, s, p->count_value);
		return;
	}
}

/* Returns the profile's name for the source file @file of @object's functions. */
static const char *name_of_file(struct profile_builder *f, const struct object *object,
				const char *file)
{
	return source_names_find(&f->files, file, object, object_user(object));
}

static struct profile_line add_frame(struct profile_builder *f,
				     const struct object *object,
				     const struct frame *frame)
{
	return profile_add_frame(f->profile, frame, name_of_file(f, object, frame->file));
}

static int add_code(struct profile_builder *f, const struct hot_code *hot)
{
	const struct code *from = hot->code;
	_cleanup_free_ struct profile_code_row *rows =
		calloc(from->nr_rows, sizeof(*rows));
	struct profile_code code = {.mapping = hot->mapping,
				    .address = from->address,
				    .size_bytes = from->size_bytes,
				    .rows = rows,
				    .nr_rows = from->nr_rows,
				    .bytes = (uint8_t *)from->bytes};

	if (!rows)
		return -ENOMEM;
	/* Check before adding its functions. */
	if (from->nr_rows * sizeof(*rows) + (from->bytes ? from->size_bytes : 0) >
	    PROFILE_MAX_CODE_BYTES - f->profile->extra.codes_bytes)
		return -ENOSPC;
	for (size_t i = 0; i < from->nr_rows; i++) {
		const struct code_row *row = &from->rows[i];

		rows[i] = (struct profile_code_row){
			row->address, add_frame(f, hot->object, &row->frame)};
	}
	return profile_add_code(f->profile, &code);
}

/* Returns the mapping of @object; PROFILE_NONE: no sample of the profile was in it. */
static uint32_t known_mapping(const struct profile_builder *f,
			      const struct object *object)
{
	return object->id < f->cap_mapping_of && f->mapping_of[object->id]
		       ? f->mapping_of[object->id] - 1
		       : PROFILE_NONE;
}

/* Returns in how many mappings of the profile these codes are: one for each name of the file. */
static size_t nr_places(const struct profile_builder *f,
			const struct resolved_code *codes, size_t nr_codes)
{
	size_t nr = 0;

	for (size_t i = 0; i < nr_codes; i++)
		for (const struct object *o = codes[i].object; o; o = o->next)
			nr += known_mapping(f, o) != PROFILE_NONE;
	return nr;
}

/* The code of a function is stored if this part of the samples is in it. */
#define MAX_CODE_PARTS 1000

int profile_builder_add_code(struct profile_builder *f)
{
	size_t nr_all, nr = 0;
	const struct resolved_code *all = symbolizer_codes(f->symbolizer, &nr_all);
	_cleanup_free_ struct hot_code *codes =
		calloc(nr_places(f, all, nr_all) + 1, sizeof(*codes));
	uint64_t all_count = 0;
	int rc = 0;

	if (!codes)
		return -ENOMEM;
	for (size_t i = 0; i < nr_all; i++) {
		const struct object *object = all[i].object;

		for (; object; object = object->next) {
			uint32_t mapping = known_mapping(f, object);

			if (mapping != PROFILE_NONE)
				codes[nr++] = (struct hot_code){&all[i].code, object,
								mapping, 0};
		}
	}
	qsort(codes, nr, sizeof(*codes), by_address);
	for (size_t i = 0; i < f->profile->nr_samples && nr; i++)
		heat(f->profile, &f->profile->samples[i], codes, nr);
	qsort(codes, nr, sizeof(*codes), by_heat);
	for (size_t i = 0; i < nr; i++)
		all_count += codes[i].count;
	/* Listings show nothing of colder functions. */
	for (size_t i = 0; i < nr && codes[i].count && rc != -ENOMEM; i++)
		if (codes[i].count >= all_count / MAX_CODE_PARTS)
			rc = add_code(f, &codes[i]);
	return rc == -ENOMEM ? rc : 0;
}

#define MAX_STACK      (LB_MAX_FRAMES + LB_MAX_KERN_FRAMES)
#define ROWS_AT_ONCE   65536 /* each file is opened once per this many rows */
#define ROWS_OF_A_STEP 1024 /* a few milliseconds */
#define STEP_NS        UINT64_C(20000000) /* of a step: no row is begun after that */

static void work_deinit(struct builder_work *w)
{
	stack_table_clear(&w->rows);
	free(w->ids);
	*w = (struct builder_work){0};
}

void profile_builder_deinit(struct profile_builder *f)
{
	work_deinit(&f->work);
	free(f->mapping_of);
	free(f->location_of);
	source_names_deinit(&f->files);
	hashmap_deinit(&f->unnamed);
	user_names_deinit(&f->users);
	*f = (struct profile_builder){0};
}

void profile_builder_begin(struct profile_builder *f, struct profile *profile,
			   struct symbolizer *symbolizer, struct strpool *names)
{
	struct profile_builder begun = {
		.symbolizer = symbolizer,
		.names = names,
		.profile = profile,
		.keep_tid = f->keep_tid,
		.keep_code = f->keep_code,
		.is_shared = f->is_shared,
		.dump = f->dump,
		.users = f->users,
		.nr_dropped = f->nr_dropped,
	};

	begun.users.has_unasked = false;
	f->users = (struct user_names){0};
	profile_builder_deinit(f);
	*f = begun;
	source_names_init(&f->files, profile, f->is_shared);
}

/* @process  the one whose code it is, for code that is in no file */
static const char *build_id_of(const struct object *object, const struct process *process,
			       char *ret)
{
	*ret = '\0';
	if (object->kind == OBJECT_JIT || object->kind == OBJECT_INTERP)
		return service_id_of(process, ret);
	for (size_t i = 0; i < object->build_id_len; i++)
		snprintf(ret + 2 * i, 3, "%02x", object->build_id[i]);
	return ret;
}

/*
 * Returns the mapping of @object, which is added if new; PROFILE_NONE: no room.
 * @process as in build_id_of()
 */
static uint32_t mapping_of_object(struct profile_builder *f, const struct object *object,
				  const struct process *process)
{
	const struct object *first = object_first(object);
	char hex[2 * sizeof(object->build_id) + 1];
	struct profile_mapping m = {
		.start = first->start,
		.limit = first->limit,
		.file_off = first->file_off,
		.filename = object->name,
		/*
		 * Tells other tools that the names are complete: symbolizing again
		 * would lose inlined frames.
		 */
		.has_functions = true,
		.has_filenames = true,
		.has_line_numbers = true,
		.has_inline_frames = true,
	};

	if (vec_grow(&f->mapping_of, &f->cap_mapping_of, object->id + 1, sizeof(uint32_t),
		     0))
		return PROFILE_NONE;
	if (!f->mapping_of[object->id]) {
		m.build_id = build_id_of(first, process, hex);
		f->mapping_of[object->id] = profile_add_mapping(f->profile, &m) + 1;
	}
	return f->mapping_of[object->id] - 1;
}

static uint32_t add_location(struct profile_builder *f, const struct resolved *r)
{
	struct profile_line lines[FRAMES_MAX_INLINE];
	/* That of bytecode says nothing when the process has ended. */
	uint64_t address = r->object->kind == OBJECT_INTERP ? 0 : r->address;
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_frames && nr < FRAMES_MAX_INLINE; i++) {
		const struct frame *frame = &r->frames[i];

		if (*frame->function || frame->line)
			lines[nr++] = add_frame(f, r->object, frame);
	}
	return profile_add_location(f->profile,
				    mapping_of_object(f, r->object, r->process), address,
				    r->miss, lines, nr);
}

static uint32_t location_of(struct profile_builder *f, uint32_t id)
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

/* Returns the place of the outermost frame that is not an interpreter's; 0: none is. */
static size_t outermost_native(const struct row_stack *stack)
{
	size_t i = stack->nr_user;

	while (i && stack->ips[i - 1] & LB_FRAME_TAG)
		i--;
	return i ? i - 1 : 0;
}

/*
 * Requests every address of the row, kernel first, leaf first; ahead: only those whose
 * names are final. Return: their number.
 */
static size_t want(const struct profile_builder *f, const struct row *row,
		   const struct row_stack *stack, bool ahead, uint32_t *ids)
{
	const uint64_t *user = stack->ips, *kern = stack->ips + stack->nr_user;
	size_t first_byte = row->status == LB_STACK_AT_FUNCTION ? outermost_native(stack)
								: 0;
	size_t nr = 0;

	symbolizer_begin_stack(f->symbolizer);
	for (size_t i = 0; i < stack->nr_kern; i++)
		ids[nr++] =
			(ahead ? symbolizer_want_kernel_ahead : symbolizer_want_kernel)(
				f->symbolizer, kern[i], i ? FRAME_RETURN : FRAME_LEAF,
				row->first_ns, row->last_ns);
	for (size_t i = 0; i < stack->nr_user; i++) {
		bool is_return = i ? i != first_byte : stack->user_leaf_is_return;

		ids[nr++] = (ahead ? symbolizer_want_ahead : symbolizer_want)(
			f->symbolizer, row->process, user[i],
			is_return ? FRAME_RETURN : FRAME_LEAF, row->first_ns,
			row->last_ns);
	}
	return nr;
}

/*
 * Is this the entry code of a thread? The C library's entry code has no frame pointer:
 * a walk that fails there has the complete stack.
 */
static bool is_entry(const struct resolved *r)
{
	static const char *const entries[] = {
		"__start_context", /* makecontext's first return address */
		"runtime.goexit",  "runtime.goexit.abi0",
		"runtime.mstart",  "runtime.mcall",
	};
	const struct frame *outer = &r->frames[r->nr_frames - 1];

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (!strcmp(entries[i], outer->function))
			return true;
	/* musl's threads; a program's own function of this name has lines. */
	if (!strcmp(outer->function, "start") && !outer->line)
		return true;
	return function_is_start_code(outer->function);
}

/*
 * Returns the walk's status, corrected by the frames' names. If the C library is
 * stripped, its entry code has no name: then the caller of main() is the entry.
 *
 * @ids  of the stack, leaf first; @nr > 0
 */
static uint32_t status_of(const struct profile_builder *f, const struct row *row,
			  const uint32_t *ids, size_t nr)
{
	const struct resolved *r, *callee;

	if (row->status != LB_STACK_BAD_FP && row->status != LB_STACK_FAULT &&
	    row->status != LB_STACK_GUESSED_END)
		return row->status;
	r = symbolizer_get(f->symbolizer, ids[nr - 1]);
	if (r->nr_frames && is_entry(r))
		return LB_STACK_COMPLETE;
	if (nr > 1 && code_kind_of(r->object->name) == CODE_C_RUNTIME) {
		callee = symbolizer_get(f->symbolizer, ids[nr - 2]);
		if (callee->nr_frames &&
		    !strcmp(callee->frames[callee->nr_frames - 1].function, "main"))
			return LB_STACK_COMPLETE;
	}
	return row->status == LB_STACK_GUESSED_END ? LB_STACK_GUESSED : row->status;
}

static void drop_frame(uint32_t *ids, size_t *nr, size_t at)
{
	(*nr)--;
	memmove(&ids[at], &ids[at + 1], (*nr - at) * sizeof(*ids));
}

/*
 * Decides what the first byte of a function is, where a return address should be: the
 * begin of a coroutine's stack, or a pointer to a function, which is dropped.
 *
 * @ids  of the stack, leaf first; changed
 * @nr   their number; changed
 * Return: the walk's status.
 */
static uint32_t status_at_function(const struct profile_builder *f,
				   const struct row_stack *stack, uint32_t *ids,
				   size_t *nr)
{
	size_t at = stack->nr_kern + outermost_native(stack);
	const struct resolved *r = symbolizer_get(f->symbolizer, ids[at]);

	/* Without symbols of the C library, that of makecontext has no name. */
	if (r->nr_frames ? is_entry(r) : code_kind_of(r->object->name) == CODE_C_RUNTIME)
		return LB_STACK_COMPLETE;
	drop_frame(ids, nr, at);
	return LB_STACK_BAD_CFA;
}

/*
 * The walk ended because it knew no mapping of a return address. If the process had none
 * there either, the word was not one: drops it.
 *
 * @ids  of the stack, leaf first; changed
 * @nr   their number; changed
 */
static void drop_unmapped_caller(const struct profile_builder *f,
				 const struct row_stack *stack, uint32_t *ids, size_t *nr)
{
	size_t at = stack->nr_kern + outermost_native(stack);

	if (at >= *nr || at == stack->nr_kern ||
	    symbolizer_get(f->symbolizer, ids[at])->miss != MISS_NO_MAPPING)
		return;
	drop_frame(ids, nr, at);
}

/*
 * A greenlet has no stack of its own: it begins somewhere on its thread's stack. The
 * frames above its first one belong to another greenlet and are swapped when greenlets
 * switch, so they are not its callers. (greenlet: TUserGreenlet.cpp)
 *
 * @ids  of the stack. Return: the number of frames up to the greenlet's first one; 0:
 *       not a greenlet.
 */
static size_t frames_of_greenlet(struct profile_builder *f, const uint32_t *ids,
				 size_t nr)
{
	static const char begin[] = "greenlet::UserGreenlet::inner_bootstrap";

	if (!f->greenlet_begin)
		f->greenlet_begin = strpool_add(f->names, begin);
	for (size_t i = 0; i < nr; i++) {
		const struct resolved *r = symbolizer_get(f->symbolizer, ids[i]);

		if (r->nr_frames &&
		    r->frames[r->nr_frames - 1].function == f->greenlet_begin)
			return i + 1;
	}
	return 0;
}

/* Was the stack walked beyond its leaf? */
static bool was_walked(uint32_t status)
{
	return status != LB_STACK_NO_BODY && status != LB_STACK_LEAF_ONLY &&
	       status != LB_STACK_32_BIT;
}

/* May the kernel side have walked through @ip by the unwind table of other code? */
static bool table_was_stale(const struct process *p, uint64_t ip, const struct row *row,
			    size_t *left)
{
	return maps_table_was_stale(&p->maps, ip, row->first_ns, row->last_ns, left) ||
	       replaced_code_has(&p->replaced_code, ip, row->first_ns, row->last_ns);
}

/*
 * Drops callers that were found by the unwind table of other code, which was at the
 * address before. Frames of an interpreter are on a list of their own: they stay.
 *
 * @ids  of the stack, leaf first; changed
 * @nr   their number; changed
 * Return: whether there was such a table.
 */
static bool drop_stale_callers(const struct row *row, const struct row_stack *stack,
			       uint32_t *ids, size_t *nr)
{
	const struct process *p = row->process;
	size_t kept = stack->nr_kern, left = MAPS_PASSED_MAX;
	bool is_stale = false;

	if (!p || !(p->maps.nr_took_over || p->replaced_code.nr) ||
	    !was_walked(row->status))
		return false;
	for (size_t i = 0; i < stack->nr_user; i++) {
		uint64_t ip = stack->ips[i];
		bool is_native = !(ip & LB_FRAME_TAG);
		enum frame_kind kind = i || stack->user_leaf_is_return ? FRAME_RETURN
								       : FRAME_LEAF;

		if (is_stale && is_native)
			continue;
		ids[kept++] = ids[stack->nr_kern + i];
		if (is_native)
			is_stale = table_was_stale(p, frame_lookup(ip, kind), row, &left);
	}
	*nr = kept;
	return is_stale;
}

/*
 * Counts a process that exited before it was identified; ignores kernel threads, which
 * have never executed a program. A process has no user stack, either, during an exec.
 */
static void note_unnamed(struct profile_builder *f, const struct row *row)
{
	const struct process *p = row->process;
	uint64_t hash = hash_u64(0, (uint64_t)row->tgid << 32 | row->exec_id);

	if ((row->status == LB_STACK_NO_USER && !row->exec_id) ||
	    (p && (p->is_kernel_thread || (p->owner.exe && *p->owner.exe))))
		return;
	f->nr_unnamed_samples += row->count;
	if (hashmap_get(&f->unnamed, hash, NULL, NULL, NULL) == HASHMAP_NONE)
		hashmap_add(&f->unnamed, hash, 0); /* out of memory: not counted */
}

/* @ids  of the stack, leaf first; changed */
static int add_row(struct profile_builder *f, const struct stack_table *rows,
		   const struct row *row, uint32_t *ids)
{
	const struct row_stack *stack = stack_table_stack(rows, row);
	size_t nr = (size_t)stack->nr_kern + stack->nr_user;
	struct profile_label labels[SAMPLE_LABELS_MAX];
	uint32_t locations[MAX_STACK], status = row->status;
	size_t nr_labels = sample_labels(&f->users, f->profile->pool, row, stack,
					 f->keep_tid, labels);
	bool is_stale = drop_stale_callers(row, stack, ids, &nr);
	size_t nr_greenlet = frames_of_greenlet(f, ids, nr);
	int64_t values[1 + LB_NR_VALUES] = {(int64_t)row->count};
	uint32_t sample;

	note_unnamed(f, row);
	if (is_stale) {
		status = LB_STACK_REPLACED;
	} else if (nr_greenlet) {
		nr = nr_greenlet;
		status = LB_STACK_COMPLETE;
	} else if (status == LB_STACK_NO_MAPPING) {
		drop_unmapped_caller(f, stack, ids, &nr);
	} else if (status == LB_STACK_AT_FUNCTION) {
		status = status_at_function(f, stack, ids, &nr);
	} else if (nr) {
		status = status_of(f, row, ids, nr);
	}
	if (status == LB_STACK_COMPLETE && row->callers)
		status = row->callers & LB_CALLERS_GUESSED ? LB_STACK_GUESSED
							   : LB_STACK_DERIVED;

	for (size_t i = 0; i < nr; i++) {
		locations[i] = location_of(f, ids[i]);
		if (locations[i] == PROFILE_NONE)
			return -ENOMEM;
	}
	for (size_t i = 0; i < LB_NR_VALUES; i++)
		values[1 + i] = (int64_t)row->values[i];
	sample = profile_add_sample(f->profile, locations, nr, labels, nr_labels, status,
				    values);
	if (sample == PROFILE_NONE)
		return -ENOMEM;
	f->profile->times_lost |= rows->times_lost;
	profile_add_times(f->profile, sample, &rows->times, &row->times);
	return 0;
}

/* ---- work in steps ---- */

void profile_builder_give(struct profile_builder *f, struct stack_table *rows)
{
	struct builder_work *w = &f->work;

	assert(!w->step);
	*w = (struct builder_work){.rows = stack_table_take(rows), .step = BUILDER_GROUP};
	f->nr_ahead = 0;
	user_names_begin_pass(&f->users);
}

void profile_builder_name_ahead(struct profile_builder *f, const struct stack_table *rows)
{
	struct builder_work *w = &f->work;

	assert(!w->step);
	*w = (struct builder_work){
		.ahead = rows, .step = BUILDER_GROUP, .last = f->nr_ahead};
}

static const struct stack_table *rows_of(const struct builder_work *w)
{
	return w->ahead ? w->ahead : &w->rows;
}

/*
 * Begins the next group of rows, which are named together. Ids are valid within a
 * group.
 */
static void begin_group(struct builder_work *w)
{
	size_t nr = rows_of(w)->nr;

	w->first = w->last;
	w->last = nr - w->first > ROWS_AT_ONCE ? w->first + ROWS_AT_ONCE : nr;
	w->next = w->first;
	w->nr_ids = w->next_id = 0;
	w->step = w->first < w->last ? BUILDER_WANT : BUILDER_DONE;
}

/* Returns the end of the piece that begins at row @w->next. */
static size_t piece_end(const struct builder_work *w)
{
	return w->last - w->next > ROWS_OF_A_STEP ? w->next + ROWS_OF_A_STEP : w->last;
}

static int want_piece(struct profile_builder *f, struct error *err)
{
	struct builder_work *w = &f->work;
	const struct stack_table *rows = rows_of(w);
	uint64_t until_ns = clock_now_ns() + STEP_NS;

	for (size_t end = piece_end(w); w->next < end && clock_now_ns() < until_ns;
	     w->next++) {
		const struct row *row = &rows->items[w->next];

		if (vec_grow(&w->ids, &w->cap_ids, w->nr_ids + MAX_STACK, sizeof(*w->ids),
			     0))
			return error_set(err, -ENOMEM, "out of memory");
		w->nr_ids += want(f, row, stack_table_stack(rows, row), w->ahead,
				  w->ids + w->nr_ids);
	}
	if (w->next < w->last)
		return 0;
	if (f->keep_code)
		hot_code_want(f->symbolizer, rows, w->first, w->last, w->ids);
	w->step = BUILDER_RESOLVE;
	return 0;
}

/* Requests the names of the users of the group's rows. */
static void want_users(struct profile_builder *f)
{
	const struct builder_work *w = &f->work;

	for (size_t i = w->first; i < w->last; i++) {
		const struct row *row = &w->rows.items[i];
		const struct process *p = row->process;
		uid_t uid = p ? uid_of(p, stack_table_stack(&w->rows, row)) : (uid_t)-1;

		if (uid != (uid_t)-1 && p->in_our_user_ns)
			user_names_want(&f->users, uid, row->count);
	}
}

static int resolve_piece(struct profile_builder *f, struct error *err)
{
	int rc = symbolizer_resolve_step(f->symbolizer, err);

	if (rc)
		return rc < 0 ? rc : 0;
	f->work.next = f->work.first;
	f->work.step = f->work.ahead ? BUILDER_DONE : BUILDER_USERS;
	if (f->work.ahead)
		f->nr_ahead = f->work.last;
	else
		want_users(f);
	return 0;
}

static void serve(struct profile_builder *f, struct tenant who)
{
	strpool_serve(f->profile->pool, who);
	source_names_serve(&f->files, who);
}

/* A row may have source files of a slow file system, which are compared with others. */
static void add_piece(struct profile_builder *f)
{
	struct builder_work *w = &f->work;
	uint64_t until_ns = clock_now_ns() + STEP_NS;

	for (size_t end = piece_end(w); w->next < end && clock_now_ns() < until_ns;
	     w->next++) {
		const struct row *row = &w->rows.items[w->next];
		const struct row_stack *stack = stack_table_stack(&w->rows, row);

		serve(f, row->process ? row->process->tenant : (struct tenant){0});
		if (add_row(f, &w->rows, row, w->ids + w->next_id))
			f->nr_dropped += row->count;
		w->next_id += (size_t)stack->nr_kern + stack->nr_user;
	}
	serve(f, (struct tenant){0});
	if (w->next == w->last)
		w->step = BUILDER_GROUP;
}

int profile_builder_step(struct profile_builder *f, struct error *err)
{
	int rc = 0;

	switch (f->work.step) {
	case BUILDER_DONE:
		return 0;
	case BUILDER_GROUP:
		begin_group(&f->work);
		break;
	case BUILDER_WANT:
		rc = want_piece(f, err);
		break;
	case BUILDER_RESOLVE:
		rc = resolve_piece(f, err);
		break;
	case BUILDER_USERS:
		if (!user_names_step(&f->users))
			f->work.step = BUILDER_ADD;
		break;
	case BUILDER_ADD:
		add_piece(f);
		break;
	}
	if (!rc && f->work.step)
		return 1;
	work_deinit(&f->work);
	return rc;
}
