// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks a list of JIT objects in fake memory. */
#include "decode/jit/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "base/hash.h"

/* ---- a target ---- */

struct fake_descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

struct fake_entry {
	uint64_t next, prev, symfile, bytes;
};

#define BASE            UINT64_C(0x7f0000000000)
#define ENTRIES_OFF     64
#define OBJECTS_OFF     (4u << 20)
#define MEMORY_BYTES    (40u << 20)
#define OBJECT_STEP     4096u
#define ENTRY(i)        (BASE + ENTRIES_OFF + (i) * sizeof(struct fake_entry))
#define OBJECT(i)       (BASE + OBJECTS_OFF + (uint64_t)(i)*OBJECT_STEP)
#define OBJECT_BYTES(i) (100 + (i)*8) /* below OBJECT_STEP for the first 400 */

struct target {
	uint8_t *memory;
	uint64_t hole_start, hole_end; /* unmapped */
	unsigned int nr_reads;
	uint64_t nr_bytes; /* bytes read */
	void (*before_read)(struct target *t, uint64_t addr); /* may be NULL */
	uint64_t last_addr; /* address of the previous read */
	unsigned int nr_changes;
	unsigned int out_of_time_at; /* read number; 0: never */
	bool by_pages;
};

static struct fake_descriptor *descriptor(struct target *t)
{
	return (struct fake_descriptor *)t->memory;
}

static struct fake_entry *entry(struct target *t, size_t i)
{
	return (struct fake_entry *)(t->memory + ENTRIES_OFF) + i;
}

static uint8_t *object(struct target *t, size_t i)
{
	return t->memory + OBJECTS_OFF + i * OBJECT_STEP;
}

static int target_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct target *t = ctx;

	t->nr_reads++;
	if (t->out_of_time_at && t->nr_reads >= t->out_of_time_at)
		return -ETIME;
	if (t->before_read)
		t->before_read(t, addr);
	t->last_addr = addr;
	if (addr < BASE || addr - BASE > MEMORY_BYTES ||
	    len > MEMORY_BYTES - (addr - BASE) ||
	    (addr < t->hole_end && addr + len > t->hole_start))
		return -EFAULT;
	memcpy(buf, t->memory + (addr - BASE), len);
	t->nr_bytes += len;
	return 0;
}

static void fill_object(struct target *t, size_t i, uint8_t mark)
{
	memset(object(t, i), mark, OBJECT_BYTES(i));
	memcpy(object(t, i), "\177ELF", 4);
}

/* Makes a list of entries 0 .. @nr - 1 in this order, each with its object. */
static void make_list(struct target *t, size_t nr)
{
	*descriptor(t) = (struct fake_descriptor){
		.version = 1, .relevant = nr ? ENTRY(0) : 0, .first = nr ? ENTRY(0) : 0};
	for (size_t i = 0; i < nr; i++) {
		*entry(t, i) = (struct fake_entry){.next = i + 1 < nr ? ENTRY(i + 1) : 0,
						   .prev = i ? ENTRY(i - 1) : 0,
						   .symfile = OBJECT(i),
						   .bytes = OBJECT_BYTES(i)};
		fill_object(t, i, (uint8_t)i);
	}
}

static int set_up(void **state)
{
	static struct target t;

	t = (struct target){.memory = calloc(1, MEMORY_BYTES)};
	*state = &t;
	return t.memory ? 0 : -1;
}

static int tear_down(void **state)
{
	struct target *t = *state;

	free(t->memory);
	return 0;
}

/* ---- results of a walk ---- */

struct found {
	size_t nr[NR_LIST_STATES];
	uint8_t mark[400]; /* of the new object of entry i; 0xff: none */
	uint8_t state[400]; /* of entry i; 0xff: none */
	bool is_mixed; /* an object has bytes of two marks */
	const struct target *target;
};

static void note(void *ctx, const struct list_object *o, enum list_state state,
		 const void *bytes)
{
	struct found *f = ctx;
	size_t i = (o->entry_addr - ENTRY(0)) / sizeof(struct fake_entry);
	const uint8_t *b = bytes;

	f->nr[state]++;
	assert_int_equal(bytes != NULL, state == LIST_NEW);
	if (i < ARRAY_SIZE(f->state))
		f->state[i] = (uint8_t)state;
	if (state != LIST_NEW)
		return;
	assert_memory_equal(b, "\177ELF", 4);
	for (uint64_t off = 4; off < o->size_bytes; off++)
		f->is_mixed |= b[off] != b[4];
	if (i < ARRAY_SIZE(f->mark))
		f->mark[i] = b[4];
}

static enum list_walk walk_any(struct target *t, struct list_object *known, size_t nr,
			       uint64_t max_bytes, struct found *f)
{
	const struct list_request request = {.descriptor_addr = BASE,
					     .known = known,
					     .nr_known = nr,
					     .max_bytes = max_bytes,
					     .by_pages = t->by_pages,
					     .read = target_read,
					     .read_ctx = t};
	enum list_walk result = NR_LIST_WALKS;

	memset(f, 0, sizeof(*f));
	memset(f->mark, 0xff, sizeof(f->mark));
	memset(f->state, 0xff, sizeof(f->state));
	t->nr_reads = 0;
	t->nr_bytes = 0;
	assert_int_equal(list_walk(&request, note, f, &result), 0);
	return result;
}

static enum list_walk walk_known(struct target *t, struct list_object *known, size_t nr,
				 uint64_t max_bytes, struct found *f)
{
	enum list_walk result = walk_any(t, known, nr, max_bytes, f);

	assert_false(f->is_mixed);
	return result;
}

static enum list_walk walk(struct target *t, struct found *f)
{
	return walk_known(t, NULL, 0, 64 << 20, f);
}

/* ---- lists that do not change ---- */

static void all_objects_are_found(void **state)
{
	struct target *t = *state;
	struct found f;

	for (size_t nr = 0; nr <= 300; nr = nr * 3 + 1) {
		make_list(t, nr);
		assert_int_equal(walk(t, &f), LIST_OK);
		assert_int_equal(f.nr[LIST_NEW], nr);
		for (size_t i = 0; i < nr; i++)
			assert_int_equal(f.mark[i], (uint8_t)i);
	}
}

static void what_is_no_descriptor_has_no_list(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 3);
	descriptor(t)->version = 2;
	assert_int_equal(walk(t, &f), LIST_NONE);
	descriptor(t)->version = 0;
	assert_int_equal(walk(t, &f), LIST_NONE);
	descriptor(t)->version = 1;
	t->hole_start = BASE + 16;
	t->hole_end = BASE + 24;
	assert_int_equal(walk(t, &f), LIST_NONE);
	assert_int_equal(f.nr[LIST_NEW], 0);
}

static void known_objects_are_not_read_again(void **state)
{
	struct target *t = *state;
	struct list_object known[] = {
		{ENTRY(7), OBJECT(7), OBJECT_BYTES(7), 0},
		{ENTRY(2), OBJECT(2), OBJECT_BYTES(2), 0},
		{ENTRY(3), OBJECT(3), OBJECT_BYTES(3) + 8, 0}, /* another before */
		{ENTRY(4), OBJECT(5), OBJECT_BYTES(4), 0},
		{ENTRY(0) + 8, OBJECT(0), OBJECT_BYTES(0), 0},
	};
	struct found f;
	uint64_t all;

	make_list(t, 5);
	assert_int_equal(walk(t, &f), LIST_OK);
	all = t->nr_bytes;
	assert_int_equal(walk_known(t, known, ARRAY_SIZE(known), 64 << 20, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 4);
	assert_int_equal(f.nr[LIST_KNOWN], 1);
	assert_int_equal(f.state[2], LIST_KNOWN);
	/* Reads saved: magic, bytes twice with the descriptor after each, entry. */
	assert_int_equal(all - t->nr_bytes, 4 + 2 * (OBJECT_BYTES(2) + 24) + 32);
}

static uint64_t ends_of(struct target *t, size_t i, uint64_t bytes)
{
	return hash_ends(object(t, i), object(t, i) + bytes - hash_end_len(bytes), bytes);
}

/* Whether a walk takes entry 1 as unchanged. */
static bool has_known(struct target *t, struct list_object *known)
{
	struct found f;

	assert_int_equal(walk_any(t, known, 2, 64 << 20, &f), LIST_OK);
	return f.state[1] == LIST_KNOWN;
}

/* A small and a large object. Only both ends of the large one are compared. */
static void known_objects_whose_bytes_changed_are_read(void **state)
{
	const uint64_t large = 5 * HASH_END_BYTES + 100;
	struct target *t = *state;
	struct list_object known[2];
	struct found f;

	make_list(t, 2);
	entry(t, 1)->bytes = large;
	memset(object(t, 1) + 4, 1, large - 4);
	known[0] = (struct list_object){ENTRY(0), OBJECT(0), OBJECT_BYTES(0),
					ends_of(t, 0, OBJECT_BYTES(0))};
	known[1] = (struct list_object){ENTRY(1), OBJECT(1), large, ends_of(t, 1, large)};
	assert_int_equal(walk_known(t, known, 2, 64 << 20, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_KNOWN], 2);
	fill_object(t, 0, 9);
	assert_int_equal(walk_known(t, known, 2, 64 << 20, &f), LIST_OK);
	assert_int_equal(f.state[0], LIST_NEW);
	assert_int_equal(f.mark[0], 9);
	assert_int_equal(f.state[1], LIST_KNOWN);
	/* A change at the end, then at the start, then in the middle. */
	object(t, 1)[large - 1] ^= 1;
	assert_false(has_known(t, known));
	object(t, 1)[large - 1] ^= 1;
	object(t, 1)[4] ^= 1;
	assert_false(has_known(t, known));
	object(t, 1)[4] ^= 1;
	object(t, 1)[large / 2] ^= 1;
	assert_true(has_known(t, known));
	/* It can no longer be read. */
	t->hole_start = OBJECT(1);
	t->hole_end = OBJECT(1) + 1;
	assert_int_equal(walk_known(t, known, 2, 64 << 20, &f), LIST_OK);
	assert_int_equal(f.state[1], LIST_UNREADABLE);
}

/* Erlang's runtime registers objects in a format of its own. */
static void foreign_objects_are_told(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 4);
	memcpy(object(t, 1), "GDB!", 4);
	entry(t, 1)->bytes = 5; /* any size is accepted */
	entry(t, 2)->bytes = UINT64_C(1) << 60;
	memcpy(object(t, 2), "\177ELG", 4);
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 2);
	assert_int_equal(f.nr[LIST_FOREIGN], 2);
	assert_int_equal(f.state[1], LIST_FOREIGN);
	assert_int_equal(f.state[2], LIST_FOREIGN);
}

/* One bad object does not lose the others. */
static void sizes_are_checked(void **state)
{
	static const uint64_t bad[] = {0,
				       4,
				       LIST_MIN_OBJECT_BYTES - 1,
				       LIST_MAX_OBJECT_BYTES + 1,
				       MEMORY_BYTES,
				       UINT64_C(1) << 60,
				       UINT64_MAX};
	struct target *t = *state;
	struct found f;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		make_list(t, 3);
		entry(t, 1)->bytes = bad[i];
		assert_int_equal(walk(t, &f), LIST_OK);
		assert_int_equal(f.nr[LIST_NEW], 2);
		assert_int_equal(f.state[1], LIST_UNREADABLE);
		assert_true(t->nr_bytes < 2000); /* nothing was read for it */
	}
}

static void the_limits_of_a_size_are_inclusive(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 2);
	entry(t, 0)->bytes = LIST_MIN_OBJECT_BYTES;
	entry(t, 1)->bytes = LIST_MAX_OBJECT_BYTES;
	memset(object(t, 1), 9, LIST_MAX_OBJECT_BYTES);
	memcpy(object(t, 1), "\177ELF", 4);
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 2);
}

static void objects_that_are_not_there_are_told(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 4);
	entry(t, 0)->symfile = 0;
	entry(t, 1)->symfile = UINT64_MAX - 20; /* its end wraps */
	t->hole_start = OBJECT(2) + OBJECT_BYTES(2) - 1;
	t->hole_end = OBJECT(3);
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_UNREADABLE], 3);
	assert_int_equal(f.mark[3], 3);
}

/* The same list, read by pages of entries instead of single entries. */
static void entries_are_read_by_pages(void **state)
{
	struct target *t = *state;
	struct found f;
	unsigned int nr_reads;

	make_list(t, 300);
	assert_int_equal(walk(t, &f), LIST_OK);
	nr_reads = t->nr_reads;
	t->by_pages = true;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 300);
	assert_true(t->nr_reads < nr_reads - 290);
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(f.mark[i], (uint8_t)i);
	/* Entries in a partly unmapped page are still found. */
	make_list(t, 5);
	t->hole_start = ENTRY(6);
	t->hole_end = ENTRY(7);
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 5);
}

/* ---- links ---- */

static void links_that_lead_back_end_the_walk(void **state)
{
	struct target *t = *state;
	struct found f;

	for (size_t to = 0; to < 5; to++) {
		make_list(t, 5);
		entry(t, 4)->next = ENTRY(to);
		assert_int_equal(walk(t, &f), LIST_DAMAGED);
		assert_int_equal(f.nr[LIST_NEW], 5);
	}
	/* A ring whose links are consistent, but the first entry has a predecessor. */
	entry(t, 4)->next = ENTRY(0);
	entry(t, 0)->prev = ENTRY(4);
	assert_int_equal(walk(t, &f), LIST_DAMAGED);
	assert_int_equal(f.nr[LIST_NEW], 0);
}

static void a_wrong_prev_ends_the_walk(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 5);
	entry(t, 3)->prev = ENTRY(1);
	assert_int_equal(walk(t, &f), LIST_DAMAGED);
	assert_int_equal(f.nr[LIST_NEW], 3);
}

static void links_to_nowhere_end_the_walk(void **state)
{
	static const uint64_t nowhere[] = {1, BASE - 31, UINT64_MAX, UINT64_MAX - 31,
					   BASE + MEMORY_BYTES - 31};
	struct target *t = *state;
	struct found f;

	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++) {
		make_list(t, 5);
		entry(t, 2)->next = nowhere[i];
		assert_int_equal(walk(t, &f), LIST_DAMAGED);
		assert_int_equal(f.nr[LIST_NEW], 3);
		descriptor(t)->first = nowhere[i];
		assert_int_equal(walk(t, &f), LIST_DAMAGED);
		assert_int_equal(f.nr[LIST_NEW], 0);
	}
}

/* The maximum number of entries, and one more; all refer to the same object. */
static void the_number_of_entries_is_limited(void **state)
{
	struct target *t = *state;
	struct found f;

	fill_object(t, 0, 1);
	for (size_t i = 0; i <= LIST_MAX_ENTRIES; i++)
		*entry(t, i) = (struct fake_entry){
			.next = i + 1 < LIST_MAX_ENTRIES ? ENTRY(i + 1) : 0,
			.prev = i ? ENTRY(i - 1) : 0,
			.symfile = OBJECT(0),
			.bytes = OBJECT_BYTES(0)};
	*descriptor(t) = (struct fake_descriptor){.version = 1, .first = ENTRY(0)};
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], LIST_MAX_ENTRIES);
	entry(t, LIST_MAX_ENTRIES - 1)->next = ENTRY(LIST_MAX_ENTRIES);
	assert_int_equal(walk(t, &f), LIST_LIMIT);
	assert_int_equal(f.nr[LIST_NEW], LIST_MAX_ENTRIES);
}

/* A program that adds entries as fast as they are read. */
static void grow_forever(struct target *t, uint64_t addr)
{
	struct fake_entry *e = entry(t, 0);

	if (addr < ENTRY(0) || addr >= BASE + OBJECTS_OFF)
		return;
	e = (struct fake_entry *)(t->memory + (addr - BASE));
	*e = (struct fake_entry){.next = addr == ENTRY(0) ? ENTRY(1) : ENTRY(0),
				 .prev = addr == ENTRY(0) ? ENTRY(1) : ENTRY(0)};
	if (!t->nr_changes++)
		e->prev = 0;
}

static void an_endless_list_ends(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 1);
	t->before_read = grow_forever;
	assert_int_equal(walk(t, &f), LIST_LIMIT);
	assert_true(t->nr_reads < 3 * LIST_MAX_ENTRIES);
}

/* ---- lists that change ---- */

/* Puts entry @i at the head, as LLVM does. */
static void push(struct target *t, size_t i)
{
	uint64_t first = descriptor(t)->first;

	*entry(t, i) = (struct fake_entry){
		.next = first, .symfile = OBJECT(i), .bytes = OBJECT_BYTES(i)};
	fill_object(t, i, (uint8_t)i);
	if (first)
		((struct fake_entry *)(t->memory + (first - BASE)))->prev = ENTRY(i);
	*descriptor(t) = (struct fake_descriptor){1, 1, ENTRY(i), ENTRY(i)};
}

static void push_once(struct target *t, uint64_t addr)
{
	if (addr == ENTRY(2) && !t->nr_changes++)
		push(t, 5);
}

static void push_during_objects(struct target *t, uint64_t addr)
{
	if (addr == OBJECT(4) && !t->nr_changes++)
		push(t, 5);
}

static void push_always(struct target *t, uint64_t addr)
{
	if (addr == ENTRY(4) && t->last_addr == ENTRY(3))
		push(t, 5 + t->nr_changes++);
}

static void an_entry_that_comes_meanwhile_is_found(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 5);
	t->before_read = push_once;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 6);
	assert_int_equal(f.mark[5], 5);
}

/* Pages that one try has read are read again by the next. */
static void pages_are_read_anew_by_each_try(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 5);
	t->by_pages = true;
	t->before_read = push_during_objects;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 6);
}

/* Entry 1 is being removed: neighbours are relinked, the descriptor is not yet set. */
static void unlink_slowly(struct target *t, uint64_t addr)
{
	if (addr == ENTRY(2) && !t->nr_changes++)
		entry(t, 2)->prev = ENTRY(0);
	else if (addr == ENTRY(0) && t->nr_changes == 1 && t->nr_changes++)
		entry(t, 0)->next = ENTRY(2);
}

static void a_link_that_is_being_changed_is_no_damage(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 5);
	t->before_read = unlink_slowly;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.mark[4], 4);
	assert_int_equal(f.mark[2], 2);
}

/* A second try does not read again the objects that the first one read. */
static void a_second_try_reads_what_is_new(void **state)
{
	struct target *t = *state;
	struct found f;
	uint64_t all;

	make_list(t, 6);
	assert_int_equal(walk(t, &f), LIST_OK);
	all = t->nr_bytes;
	make_list(t, 5);
	t->before_read = push_during_objects;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 6);
	/* The descriptor twice and five entries; then object 4 again, with its link. */
	assert_int_equal(t->nr_bytes - all, 2 * 24 + 5 * 32 + OBJECT_BYTES(4) + 24 + 8);
}

static void a_list_that_never_rests_is_given_up(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 5);
	t->before_read = push_always;
	assert_int_equal(walk(t, &f), LIST_CHANGED);
	assert_int_equal(t->nr_changes, LIST_MAX_TRIES);
	/* The initial entries, and one added in each try except the last. */
	assert_int_equal(f.nr[LIST_NEW], 5 + LIST_MAX_TRIES - 1);
}

/* Object 1 changes its magic just after it was read. */
static void lose_magic(struct target *t, uint64_t addr)
{
	if (t->last_addr == OBJECT(1) && !t->nr_changes++)
		memcpy(object(t, 1), "GDB!", 4);
	(void)addr;
}

static void bytes_that_were_an_elf_file_before_are_not_told(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 3);
	t->before_read = lose_magic;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_true(t->nr_changes > 0);
	assert_int_equal(f.nr[LIST_NEW], 2);
	assert_int_equal(f.state[1], LIST_UNREADABLE);
}

static void pop_first(struct target *t, uint64_t addr)
{
	if (addr != ENTRY(1) || t->nr_changes++)
		return;
	/* Entry 0 is unlinked and its memory reused. */
	entry(t, 1)->prev = 0;
	memset(entry(t, 0), 0xee, sizeof(struct fake_entry));
	*descriptor(t) = (struct fake_descriptor){1, 2, ENTRY(0), ENTRY(1)};
}

static void an_entry_that_goes_meanwhile_is_not_told(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 3);
	t->before_read = pop_first;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 2);
	assert_int_equal(f.state[0], 0xff);
}

/* Unlinks entry @i and wipes half of its object; the entry itself is unchanged. */
static void pop(struct target *t, size_t i)
{
	struct fake_entry *e = entry(t, i);

	if (i)
		entry(t, i - 1)->next = e->next;
	else
		descriptor(t)->first = e->next;
	entry(t, i + 1)->prev = e->prev;
	descriptor(t)->action = 2;
	descriptor(t)->relevant = ENTRY(i);
	memset(object(t, i) + 50, 0xdd, OBJECT_BYTES(i) - 50);
}

static void pop_when_object_0_is_read(struct target *t, uint64_t addr)
{
	size_t which[] = {0, 2};

	if (addr == OBJECT(0) && !t->nr_changes++)
		for (size_t i = 0; i < ARRAY_SIZE(which); i++)
			pop(t, which[i]);
}

static void what_is_being_wiped_is_not_taken(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 5);
	t->before_read = pop_when_object_0_is_read;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 3);
	assert_int_equal(f.state[0], 0xff);
	assert_int_equal(f.state[2], 0xff);
}

/* The object's memory is reused between the two reads, or during one. */
static void replace_bytes(struct target *t, uint64_t addr)
{
	if (addr == OBJECT(1) && ++t->nr_changes == 3)
		memset(object(t, 1) + 50, 77, OBJECT_BYTES(1) - 50);
}

static void replace_entry(struct target *t, uint64_t addr)
{
	if (addr == OBJECT(1) && ++t->nr_changes == 3)
		entry(t, 1)->symfile = OBJECT(2);
}

static void torn_objects_are_not_taken(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 3);
	t->before_read = replace_bytes;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 2);
	assert_int_equal(f.state[1], LIST_UNREADABLE);

	make_list(t, 3);
	t->before_read = replace_entry;
	t->nr_changes = 0;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 2);
	assert_int_equal(f.state[1], LIST_UNREADABLE);
}

/*
 * Another thread loses its CPU when it has replaced half of the object, and finishes
 * after the bytes were read. Then everything is consistent again, except the bytes that
 * were read.
 */
static void half_a_replacement(struct target *t, uint64_t addr)
{
	if (addr == OBJECT(1) && ++t->nr_changes == 2) {
		memset(object(t, 1) + 50, 77, OBJECT_BYTES(1) - 50);
		descriptor(t)->action = 2;
	} else if (addr < OBJECT(0) && t->nr_changes >= 2) {
		fill_object(t, 1, 77);
		descriptor(t)->action = 1;
	}
}

static void half_of_two_objects_is_not_taken(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 3);
	descriptor(t)->action = 1;
	t->before_read = half_a_replacement;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 2);
	assert_int_equal(f.state[1], LIST_UNREADABLE);
}

/* The same, but the descriptor shows the change: the next try reads the new object. */
static void replace_object(struct target *t, uint64_t addr)
{
	if (addr != OBJECT(1) || ++t->nr_changes != 3)
		return;
	fill_object(t, 1, 77);
	*descriptor(t) = (struct fake_descriptor){1, 1, ENTRY(1), ENTRY(0)};
}

static void an_object_that_replaced_another_is_read(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 3);
	t->before_read = replace_object;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 3);
	assert_int_equal(f.mark[1], 77);
}

/* An entry is removed and added again after each read of object 0. */
static void toggle(struct target *t, uint64_t addr)
{
	if (addr == BASE && t->last_addr == ENTRY(0) && t->nr_changes++ < 4)
		descriptor(t)->action ^= 3;
}

static void a_descriptor_that_came_back_is_no_rest(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 3);
	descriptor(t)->action = 1;
	t->before_read = toggle;
	assert_int_equal(walk(t, &f), LIST_OK);
	assert_int_equal(f.nr[LIST_NEW], 3);
	assert_int_equal(f.mark[0], 0);
}

static void the_process_ends(struct target *t, uint64_t addr)
{
	if (addr == ENTRY(2))
		t->hole_end = UINT64_MAX;
}

static void a_target_that_ends_is_no_harm(void **state)
{
	struct target *t = *state;
	struct found f;

	make_list(t, 5);
	t->before_read = the_process_ends;
	assert_int_equal(walk(t, &f), LIST_NONE);
}

/* ---- limits ---- */

static void bytes_are_limited(void **state)
{
	struct list_object known[10];
	struct target *t = *state;
	struct found f;

	make_list(t, 10);
	/* The first has 100 bytes, the second 108; the others are larger. */
	assert_int_equal(walk_known(t, NULL, 0, 210, &f), LIST_MORE);
	assert_int_equal(f.nr[LIST_NEW], 2);
	assert_int_equal(f.nr[LIST_LATER], 8);
	for (size_t i = 0; i < 2; i++)
		known[i] = (struct list_object){ENTRY(i), OBJECT(i), OBJECT_BYTES(i), 0};
	/* At least one new object is read. */
	assert_int_equal(walk_known(t, known, 2, 1, &f), LIST_MORE);
	assert_int_equal(f.nr[LIST_NEW], 1);
	assert_int_equal(f.nr[LIST_KNOWN], 2);
	assert_int_equal(f.nr[LIST_LATER], 7);
	/* Just enough. */
	assert_int_equal(walk_known(t, NULL, 0, 10 * 100 + 45 * 8, &f), LIST_OK);
}

static void time_is_limited(void **state)
{
	struct target *t = *state;
	unsigned int nr_reads;
	struct found f;

	make_list(t, 10);
	assert_int_equal(walk(t, &f), LIST_OK);
	nr_reads = t->nr_reads;
	for (unsigned int at = 1; at <= nr_reads; at++) {
		t->out_of_time_at = at;
		assert_int_equal(walk(t, &f), LIST_MORE);
		assert_int_equal(t->nr_reads, at); /* no reads after it */
		assert_int_equal(f.nr[LIST_UNREADABLE] + f.nr[LIST_FOREIGN], 0);
	}
	t->out_of_time_at = nr_reads + 1;
	assert_int_equal(walk(t, &f), LIST_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_objects_are_found),
		TEST(what_is_no_descriptor_has_no_list),
		TEST(known_objects_are_not_read_again),
		TEST(known_objects_whose_bytes_changed_are_read),
		TEST(foreign_objects_are_told),
		TEST(sizes_are_checked),
		TEST(the_limits_of_a_size_are_inclusive),
		TEST(objects_that_are_not_there_are_told),
		TEST(entries_are_read_by_pages),
		TEST(a_link_that_is_being_changed_is_no_damage),
		TEST(pages_are_read_anew_by_each_try),
		TEST(links_that_lead_back_end_the_walk),
		TEST(a_wrong_prev_ends_the_walk),
		TEST(links_to_nowhere_end_the_walk),
		TEST(the_number_of_entries_is_limited),
		TEST(an_endless_list_ends),
		TEST(an_entry_that_comes_meanwhile_is_found),
		TEST(a_second_try_reads_what_is_new),
		TEST(a_list_that_never_rests_is_given_up),
		TEST(bytes_that_were_an_elf_file_before_are_not_told),
		TEST(an_entry_that_goes_meanwhile_is_not_told),
		TEST(what_is_being_wiped_is_not_taken),
		TEST(torn_objects_are_not_taken),
		TEST(half_of_two_objects_is_not_taken),
		TEST(an_object_that_replaced_another_is_read),
		TEST(a_descriptor_that_came_back_is_no_rest),
		TEST(a_target_that_ends_is_no_harm),
		TEST(bytes_are_limited),
		TEST(time_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
