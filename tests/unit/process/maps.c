// SPDX-License-Identifier: GPL-2.0-or-later
/* The log of mappings: overlaps, time, limits, fork. */
#include "process/maps.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static struct mapping file_at(uint64_t start, uint64_t end, uint64_t off,
			      const char *path, uint64_t from_ns)
{
	return (struct mapping){.start = start,
				.end = end,
				.file_off = off,
				.kind = MAPPING_FILE,
				.path = path,
				.from_ns = from_ns};
}

static struct mapping anon_at(uint64_t start, uint64_t end, uint64_t from_ns)
{
	return (struct mapping){.start = start,
				.end = end,
				.kind = MAPPING_ANON,
				.path = "",
				.from_ns = from_ns};
}

static void add(struct maps *maps, struct mapping m)
{
	assert_int_equal(maps_add(maps, &m), 0);
}

/* "path+offset" of the mapping of @ip in [first, last]; "-": none, "?": ambiguous. */
static const char *owner(const struct maps *maps, uint64_t ip, uint64_t first,
			 uint64_t last)
{
	static char text[128];
	const struct mapping *m = NULL;

	switch (maps_find(maps, ip, first, last, &m)) {
	case MAPS_NONE:
		return "-";
	case MAPS_AMBIGUOUS:
		return "?";
	case MAPS_FOUND:
		break;
	}
	if (m->kind == MAPPING_ANON)
		return "anon";
	snprintf(text, sizeof(text), "%s+%llx", m->path,
		 (unsigned long long)mapping_ip_to_file_off(m, ip));
	return text;
}

static bool table_was_stale(const struct maps *maps, uint64_t ip, uint64_t first,
			    uint64_t last)
{
	size_t left = MAPS_PASSED_MAX;

	return maps_table_was_stale(maps, ip, first, last, &left);
}

static void finds_by_address(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};
	static const struct {
		uint64_t ip;
		const char *owner;
	} cases[] = {
		{0, "-"},
		{0xfff, "-"},
		{0x1000, "/a+500"},
		{0x1fff, "/a+14ff"},
		{0x2000, "-"},
		{0x2fff, "-"},
		{0x3000, "/b+0"},
		{0x4000, "/c+7000"},
		{0x4fff, "/c+7fff"},
		{0x5000, "-"},
		{UINT64_MAX, "-"},
		{UINT64_MAX - 1, "/top+fffffffffffffffe"},
	};

	(void)state;
	assert_string_equal(owner(&maps, 0x1000, 1, 1), "-");
	add(&maps, file_at(0x4000, 0x5000, 0x7000, "/c", 0));
	add(&maps, file_at(0x1000, 0x2000, 0x500, "/a", 0));
	add(&maps, file_at(0x3000, 0x4000, 0, "/b", 0));
	add(&maps,
	    file_at(UINT64_MAX - 0xfff, UINT64_MAX, UINT64_MAX - 0xfff, "/top", 0));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(owner(&maps, cases[i].ip, 5, 6), cases[i].owner);
}

static void overlap_keeps_both_sides(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};

	(void)state;
	add(&maps, file_at(0x1000, 0x9000, 0x10000, "/old", 10));
	add(&maps, file_at(0x3000, 0x5000, 0, "/new", 20));
	assert_string_equal(owner(&maps, 0x1000, 30, 30), "/old+10000");
	assert_string_equal(owner(&maps, 0x2fff, 30, 30), "/old+11fff");
	assert_string_equal(owner(&maps, 0x3000, 30, 30), "/new+0");
	assert_string_equal(owner(&maps, 0x4fff, 30, 30), "/new+1fff");
	assert_string_equal(owner(&maps, 0x5000, 30, 30), "/old+14000");
	assert_string_equal(owner(&maps, 0x8fff, 30, 30), "/old+17fff");
	/* Before the split it was one mapping; beside it nothing is ambiguous. */
	assert_string_equal(owner(&maps, 0x4000, 12, 19), "/old+13000");
	assert_string_equal(owner(&maps, 0x4000, 12, 20), "?");
	assert_string_equal(owner(&maps, 0x2000, 12, 30), "/old+11000");
	assert_string_equal(owner(&maps, 0x6000, 12, 30), "/old+15000");
	for (size_t i = 1; i < maps.nr; i++)
		assert_true(maps.items[i - 1].from_ns <= maps.items[i].from_ns);
}

static void overlap_of_several(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};

	(void)state;
	add(&maps, file_at(0x1000, 0x3000, 0, "/a", 1));
	add(&maps, file_at(0x3000, 0x4000, 0, "/b", 1));
	add(&maps, file_at(0x4000, 0x6000, 0, "/c", 1));
	add(&maps, file_at(0x2000, 0x5000, 0x100000, "/wide", 2));
	assert_string_equal(owner(&maps, 0x1fff, 3, 3), "/a+fff");
	assert_string_equal(owner(&maps, 0x2000, 3, 3), "/wide+100000");
	assert_string_equal(owner(&maps, 0x3000, 3, 3), "/wide+101000");
	assert_string_equal(owner(&maps, 0x4fff, 3, 3), "/wide+102fff");
	assert_string_equal(owner(&maps, 0x5000, 3, 3), "/c+1000");
	assert_string_equal(owner(&maps, 0x3000, 1, 1), "/b+0");
	assert_int_equal(maps.nr_live, 3);
}

static void owner_changes_in_time(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};
	static const struct {
		uint64_t first, last;
		const char *owner;
	} cases[] = {
		{1, 9, "-"}, /* before any mapping */
		{1, 10, "/a+0"}, /* unmapped, then mapped */
		{10, 19, "/a+0"}, {19, 20, "?"}, {20, 20, "/b+0"},
		{20, 39, "/b+0"}, /* mapped again at 30: same file */
		{29, 31, "/b+0"}, {15, 35, "?"}, {39, 40, "?"},
		{40, 99, "anon"}, {1, 99, "?"},
	};

	(void)state;
	add(&maps, file_at(0x1000, 0x2000, 0, "/a", 10));
	add(&maps, file_at(0x1000, 0x2000, 0, "/b", 20));
	add(&maps, file_at(0x1000, 0x2000, 0, "/b", 30));
	add(&maps, anon_at(0x1000, 0x2000, 40));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(owner(&maps, 0x1000, cases[i].first, cases[i].last),
				    cases[i].owner);
}

/* Before the kernel side has the table of new code, it has that of the old code. */
static void new_code_has_the_table_of_old_code(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};

	(void)state;
	add(&maps, file_at(0x1000, 0x3000, 0, "/a", 10));
	add(&maps, file_at(0x1000, 0x2000, 0, "/never-told", 20));
	assert_false(table_was_stale(&maps, 0x1000, 30, 30));
	maps_told(&maps, 40);
	assert_false(table_was_stale(&maps, 0x1000, 30, 50));

	add(&maps, file_at(0x1000, 0x2000, 0, "/b", 60));
	assert_false(table_was_stale(&maps, 0x1000, 50, 50));
	assert_true(table_was_stale(&maps, 0x1000, 60, 61));
	assert_true(table_was_stale(&maps, 0x1fff, 100, 200));
	assert_false(table_was_stale(&maps, 0x2000, 100, 200)); /* still /a */
	assert_false(table_was_stale(&maps, 0x3000, 100, 200));
	/* Samples of both codes are one row. */
	assert_true(table_was_stale(&maps, 0x1000, 50, 70));

	/* Even later code finds the table of the oldest. */
	add(&maps, anon_at(0x1000, 0x2000, 300));
	maps_told(&maps, 400);
	assert_true(table_was_stale(&maps, 0x1000, 310, 310));
	assert_true(table_was_stale(&maps, 0x1000, 100, 200));
	assert_false(table_was_stale(&maps, 0x1000, 400, 500));
	/* The same file again changes nothing. */
	add(&maps, file_at(0x2000, 0x3000, 0x1000, "/a", 600));
	assert_false(table_was_stale(&maps, 0x2000, 600, 600));
}

static void same_file_elsewhere_is_another_owner(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};
	struct mapping m = file_at(0x1000, 0x2000, 0, "/a", 1);

	(void)state;
	add(&maps, m);
	add(&maps, file_at(0x1000, 0x2000, 0x1000, "/a", 2));
	assert_string_equal(owner(&maps, 0x1000, 1, 2), "?");
	assert_string_equal(owner(&maps, 0x1000, 2, 2), "/a+1000");

	/* Same path, another file: by inode or build id. */
	maps_deinit(&maps);
	m.inode = 7;
	add(&maps, m);
	m.inode = 8;
	m.from_ns = 2;
	add(&maps, m);
	assert_string_equal(owner(&maps, 0x1000, 1, 2), "?");
	m.inode = 0;
	m.build_id_len = 20;
	m.from_ns = 3;
	add(&maps, m);
	assert_string_equal(owner(&maps, 0x1000, 2, 3), "/a+0");
	m.build_id[19] = 1;
	m.from_ns = 4;
	add(&maps, m);
	assert_string_equal(owner(&maps, 0x1000, 3, 4), "?");
}

static void repetition_only_adds_knowledge(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};
	struct mapping m = file_at(0x1000, 0x4000, 0x1000, "/a", 1);
	const struct mapping *found;

	(void)state;
	m.inode = 7;
	add(&maps, m);
	m = file_at(0x2000, 0x3000, 0x2000, "/a", 5);
	m.build_id_len = 20;
	m.build_id[0] = 0xab;
	add(&maps, m);
	assert_int_equal(maps.nr, 1);
	assert_int_equal(maps_find(&maps, 0x3fff, 1, 5, &found), MAPS_FOUND);
	assert_int_equal(found->build_id[0], 0xab);
	assert_int_equal(found->build_id_len, 20);
	assert_int_equal(found->inode, 7);
	assert_int_equal(found->from_ns, 1);
}

static void anonymous_memory_grows_together(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};

	(void)state;
	add(&maps, anon_at(0x5000, 0x6000, 1));
	add(&maps, anon_at(0x6000, 0x7000, 2)); /* adjacent, above */
	add(&maps, anon_at(0x4000, 0x5000, 3)); /* adjacent, below */
	add(&maps, anon_at(0x9000, 0xa000, 4));
	assert_int_equal(maps.nr_live, 2);
	assert_int_equal(maps.items[maps.live[0]].start, 0x4000);
	assert_int_equal(maps.items[maps.live[0]].end, 0x7000);
	add(&maps, anon_at(0x6800, 0x9800, 5)); /* merges the two */
	assert_int_equal(maps.nr_live, 1);
	assert_int_equal(maps.items[maps.live[0]].start, 0x4000);
	assert_int_equal(maps.items[maps.live[0]].end, 0xa000);
	assert_string_equal(owner(&maps, 0x5800, 1, 9), "anon");

	/* A JIT that changes the protection of its pages does not fill the log. */
	for (uint64_t i = 0; i < 100000; i++)
		add(&maps, anon_at(0x4000 + (i % 6) * 0x1000, 0x5000 + (i % 6) * 0x1000,
				   10 + i));
	assert_int_equal(maps.nr_live, 1);
	assert_true(maps.nr < 10);

	/* A file in the middle splits it. */
	add(&maps, file_at(0x6000, 0x7000, 0, "/f", 200000));
	assert_int_equal(maps.nr_live, 3);
	assert_string_equal(owner(&maps, 0x6000, 200000, 200000), "/f+0");
	assert_string_equal(owner(&maps, 0x7000, 1, 200001), "anon");
}

static void late_entries_keep_the_order(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};

	(void)state;
	add(&maps, file_at(0x1000, 0x2000, 0, "/a", 50));
	add(&maps, file_at(0x3000, 0x4000, 0, "/b", 20));
	assert_int_equal(maps.items[1].from_ns, 50);
}

static void empty_range_is_refused(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};
	struct mapping m = file_at(0x1000, 0x1000, 0, "/a", 1);

	(void)state;
	assert_int_equal(maps_add(&maps, &m), -EINVAL);
	m.end = 0xfff;
	assert_int_equal(maps_add(&maps, &m), -EINVAL);
	assert_int_equal(maps.nr, 0);
}

static void maximum_is_counted(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};
	struct mapping m;
	uint64_t nr_added = 0;

	(void)state;
	for (uint64_t i = 0; i < MAPS_MAX + 100; i++) {
		m = file_at(i * 0x2000, i * 0x2000 + 0x1000, 0, "/a", i);
		if (!maps_add(&maps, &m))
			nr_added++;
		else
			assert_int_equal(maps_add(&maps, &m), -ENOSPC);
	}
	assert_true(nr_added <= MAPS_LIVE_MAX && nr_added >= MAPS_LIVE_MAX - 3);
	assert_int_equal(maps.nr_dropped, 2 * (MAPS_MAX + 100 - nr_added));
	/* Known mappings stay right. */
	assert_string_equal(owner(&maps, 0x2000, 1, 1), "/a+0");
	assert_string_equal(owner(&maps, (nr_added - 1) * 0x2000, nr_added, nr_added),
			    "/a+0");
}

/* Dropping moves all entries, so that it must not happen at each mapping. */
static void a_full_log_drops_many_at_once(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};
	const uint64_t page = (MAPS_LIVE_MAX / 2) * 0x1000;
	uint64_t nr_forgotten = 0, nr_times = 0, time_ns = 0;
	struct mapping m;

	(void)state;
	do {
		m = file_at(time_ns * 0x1000, (time_ns + 1) * 0x1000, 0, "/a", time_ns);
		time_ns++;
	} while (!maps_add(&maps, &m));
	assert_int_equal(maps.nr_past, 0);
	/* Leave room for those that are not there yet while they replace others. */
	maps_see(&maps, 0x4000, UINT64_MAX);
	maps_end_unseen(&maps, time_ns);
	for (uint64_t i = 0; i < 3 * MAPS_PAST_MAX; i++, time_ns++) {
		add(&maps, file_at(page, page + 0x1000, 0x1000 * i, "/b", time_ns));
		if (maps.nr_forgotten == nr_forgotten)
			continue;
		assert_true(maps.nr_forgotten - nr_forgotten >= MAPS_PAST_MAX / 2);
		nr_forgotten = maps.nr_forgotten;
		nr_times++;
	}
	assert_in_range(nr_times, 3, 6);
}

/* As many as a process may map, with gaps. */
static void fill(struct maps *maps, uint64_t from_ns)
{
	for (uint64_t i = 0; i < MAPS_LIVE_MAX - 3; i++)
		add(maps,
		    file_at((2 * i + 1) << 12, (2 * i + 2) << 12, 0, "/a", from_ns));
}

/* One mapping, or one read, can end all others. */
static void what_ends_at_once_is_bounded(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};
	const uint64_t end = (uint64_t)MAPS_MAX << 14, last = (2 * MAPS_LIVE_MAX - 7)
							      << 12;
	size_t left;

	(void)state;
	fill(&maps, 1);
	add(&maps, file_at(0, end, 0, "/wide", 10));
	assert_int_equal(maps.nr_live, 1);
	assert_int_equal(maps.nr_past, MAPS_PAST_MAX / 2);
	assert_int_equal(maps_nr_ever(&maps), MAPS_LIVE_MAX - 2);
	assert_string_equal(owner(&maps, last, 5, 5), "/a+0");
	assert_string_equal(owner(&maps, 0x1000, 5, 5), "-");
	assert_string_equal(owner(&maps, 0x1000, 10, 10), "/wide+1000");

	/* Who has passed as many as it may is told that nothing is certain. */
	left = 2 * maps.nr_past + 1;
	for (size_t i = 0; i < 4; i++) {
		const struct mapping *m;

		assert_int_equal(maps_find_within(&maps, end, 5, 5, &left, &m),
				 i < 2 ? MAPS_NONE : MAPS_AMBIGUOUS);
		assert_int_equal(maps_find_within(&maps, 0, 10, 10, &left, &m),
				 MAPS_FOUND);
	}
	assert_int_equal(left, 0);

	maps_deinit(&maps);
	fill(&maps, 1);
	maps_end_unseen(&maps, 10);
	assert_int_equal(maps.nr, MAPS_PAST_MAX / 2);
	assert_string_equal(owner(&maps, last, 5, 5), "/a+0");
}

/* Libraries that come and go: code of each keeps its owner, in any stack of 16 frames. */
static void many_libraries_in_one_place_are_told_apart(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};
	const uint64_t nr = MAPS_PAST_MAX;

	(void)state;
	for (uint64_t i = 0; i <= nr; i++)
		add(&maps, file_at(0x1000, 0x2000, i << 12, "/a", 2 * i));
	for (uint64_t i = 0; i <= nr; i += nr / 16) {
		size_t left = MAPS_PASSED_MAX / 16;
		const struct mapping *m = NULL;

		assert_int_equal(
			maps_find_within(&maps, 0x1800, 2 * i, 2 * i + 1, &left, &m),
			MAPS_FOUND);
		assert_int_equal(m->file_off, i << 12);
		/* The search ends at the owner. */
		assert_int_equal(MAPS_PASSED_MAX / 16 - left, nr - i);
	}
}

static void what_a_read_does_not_show_ends(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0}, fork = {0};

	(void)state;
	add(&maps, file_at(0x1000, 0x3000, 0, "/gone", 10));
	add(&maps, file_at(0x3000, 0x5000, 0, "/cut", 11));
	add(&maps, file_at(0x5000, 0x6000, 0, "/stays", 12));
	maps_told(&maps, 13);
	add(&maps, file_at(0x8000, 0x9000, 0, "/began", 30));
	assert_int_equal(maps_copy(&fork, &maps), 0);
	for (struct maps *m = &maps; m; m = m == &maps ? &fork : NULL) {
		maps_see(m, 0x4000, 0x6000);
		maps_end_unseen(m, 30);
		assert_string_equal(owner(m, 0x1000, 29, 29), "/gone+0");
		assert_string_equal(owner(m, 0x1000, 30, 30), "-");
		assert_string_equal(owner(m, 0x3000, 40, 40), "/cut+0");
		assert_string_equal(owner(m, 0x5000, 40, 40), "/stays+0");
		assert_string_equal(owner(m, 0x8000, 40, 40), "/began+0");
	}
	/* The next read shows none of them. */
	maps_end_unseen(&maps, 50);
	assert_int_equal(maps.nr_live, 0);
	assert_string_equal(owner(&maps, 0x5000, 49, 49), "/stays+0");
	/* What began in between, as an event tells late, is in order. */
	add(&maps, file_at(0x1000, 0x2000, 0, "/late", 45));
	assert_string_equal(owner(&maps, 0x1000, 49, 49), "-");
	assert_string_equal(owner(&maps, 0x1000, 50, 50), "/late+0");
	/* Until told, the kernel side has the table of what was there. */
	assert_true(table_was_stale(&maps, 0x1000, 50, 50));
	maps_told(&maps, 60);
	assert_false(table_was_stale(&maps, 0x1000, 60, 60));
	add(&maps, file_at(0x9000, 0xa000, 0, "/new", 70));
	assert_false(table_was_stale(&maps, 0x9000, 70, 70));
}

static void the_oldest_past_is_forgotten(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};
	char names[2][3] = {"/a", "/b"};
	uint64_t last = 20000;

	(void)state;
	add(&maps, file_at(0x9000, 0xa000, 0, "/stays", 0));
	for (uint64_t i = 0; i <= last; i++)
		add(&maps, file_at(0x1000, 0x2000, 0, names[i & 1], i));
	assert_true(maps.nr <= MAPS_PAST_MAX + 8);
	assert_int_equal(maps.nr_dropped, 0);
	assert_int_equal(maps.nr_forgotten + maps.nr, last + 2);
	assert_string_equal(owner(&maps, 0x9000, 0, last), "/stays+0");
	assert_string_equal(owner(&maps, 0x1000, last, last + 1), "/a+0");
	assert_string_equal(owner(&maps, 0x1000, last - 1, last - 1), "/b+0");
	assert_string_equal(owner(&maps, 0x1000, last - 1000, last - 1000), "/a+0");
	assert_string_equal(owner(&maps, 0x1000, last - 1001, last - 1000), "?");
	assert_string_equal(owner(&maps, 0x1000, 5, 5), "-"); /* forgotten */
}

static void what_ended_long_ago_goes_when_told(void **state)
{
	_cleanup_(maps_deinit) struct maps maps = {0};
	char names[2][3] = {"/a", "/b"};

	(void)state;
	maps_forget(&maps, UINT64_MAX - 1); /* of an empty log */
	add(&maps, file_at(0x9000, 0xa000, 0, "/stays", 0));
	for (uint64_t i = 0; i <= 100; i++)
		add(&maps, file_at(0x1000, 0x2000, 0, names[i & 1], i));
	maps_forget(&maps, 90);
	assert_int_equal(maps.nr, 12);
	assert_int_equal(maps_nr_ever(&maps), 102);
	assert_string_equal(owner(&maps, 0x9000, 0, 100), "/stays+0");
	assert_string_equal(owner(&maps, 0x1000, 100, 101), "/a+0");
	assert_string_equal(owner(&maps, 0x1000, 91, 91), "/b+0");
	assert_string_equal(owner(&maps, 0x1000, 89, 89), "-");
	maps_forget(&maps, UINT64_MAX - 1);
	assert_int_equal(maps.nr, 2);
	add(&maps, file_at(0x1000, 0x2000, 0, "/c", 200));
	assert_int_equal(maps_nr_ever(&maps), 103);
	assert_string_equal(owner(&maps, 0x1000, 150, 150), "/a+0");
	assert_string_equal(owner(&maps, 0x1000, 200, 200), "/c+0");
}

static void fork_copies_what_is_there(void **state)
{
	_cleanup_(maps_deinit) struct maps parent = {0}, child = {0};

	(void)state;
	assert_int_equal(maps_copy(&child, NULL), 0);
	assert_int_equal(child.nr, 0);
	assert_int_equal(maps_copy(&child, &parent), 0);
	add(&parent, file_at(0x5000, 0x6000, 0, "/late", 1));
	add(&parent, file_at(0x1000, 0x2000, 0, "/a", 2));
	add(&parent, file_at(0x1000, 0x2000, 0, "/b", 3));
	add(&parent, file_at(0x3000, 0x4000, 0, "/c", 4));
	assert_int_equal(maps_copy(&child, &parent), 0);
	assert_int_equal(child.nr, 3);
	add(&child, file_at(0x3000, 0x3800, 0, "/d", 5));
	add(&parent, file_at(0x5000, 0x6000, 0, "/e", 6));
	assert_string_equal(owner(&child, 0x1000, 9, 9), "/b+0");
	assert_string_equal(owner(&child, 0x1000, 2, 2), "-");
	assert_string_equal(owner(&child, 0x3000, 9, 9), "/d+0");
	assert_string_equal(owner(&child, 0x3800, 4, 9), "/c+800");
	assert_string_equal(owner(&child, 0x5000, 9, 9), "/late+0");
	assert_string_equal(owner(&parent, 0x3000, 9, 9), "/c+0");
	assert_string_equal(owner(&parent, 0x5000, 9, 9), "/e+0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_by_address),
		cmocka_unit_test(overlap_keeps_both_sides),
		cmocka_unit_test(overlap_of_several),
		cmocka_unit_test(owner_changes_in_time),
		cmocka_unit_test(new_code_has_the_table_of_old_code),
		cmocka_unit_test(same_file_elsewhere_is_another_owner),
		cmocka_unit_test(repetition_only_adds_knowledge),
		cmocka_unit_test(anonymous_memory_grows_together),
		cmocka_unit_test(late_entries_keep_the_order),
		cmocka_unit_test(empty_range_is_refused),
		cmocka_unit_test(maximum_is_counted),
		cmocka_unit_test(a_full_log_drops_many_at_once),
		cmocka_unit_test(what_ends_at_once_is_bounded),
		cmocka_unit_test(many_libraries_in_one_place_are_told_apart),
		cmocka_unit_test(what_a_read_does_not_show_ends),
		cmocka_unit_test(the_oldest_past_is_forgotten),
		cmocka_unit_test(what_ended_long_ago_goes_when_told),
		cmocka_unit_test(fork_copies_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
