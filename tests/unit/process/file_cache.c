// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the file of a mapping, and opens each file once. */
#include "process/file_cache.h"
#include "process/proc_dir.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "fake_proc.h"

#define START 0x400000ull
#define END   0x500000ull

static struct fake_proc fake;
static struct fd_budget budget;
static struct roots *roots;
static struct file_cache *cache;
static int proc_dir = -1; /* of process 100 */
static struct root *root;

/* The root of the process whose directory is @dir. */
static struct root *root_of(int dir)
{
	struct proc_view view;
	struct root *found;

	proc_view_read(dir, PROC_VIEW_ROOT, &view);
	found = roots_take(roots, &view.root, (struct tenant){0});
	proc_view_deinit(&view);
	return found;
}

static int setup(void **state)
{
	char path[128];

	(void)state;
	fake_proc_init(&fake);
	fake_process_add(&fake, &(struct fake_process){.pid = 100});
	snprintf(path, sizeof(path), "%s/100", fake.proc);
	proc_dir = open(path, O_PATH | O_DIRECTORY);
	budget = (struct fd_budget){.max = 100};
	roots = roots_new(&budget);
	root = root_of(proc_dir);
	cache = file_cache_new(roots, &budget);
	return !root || !cache;
}

static int teardown(void **state)
{
	(void)state;
	file_cache_free(cache);
	roots_put(roots, root);
	assert_int_equal(roots->nr, 0);
	roots_free(roots);
	assert_int_equal(budget.nr_open, 0);
	quota_deinit(&budget.quota);
	close(proc_dir);
	fake_proc_deinit(&fake);
	return 0;
}

static struct mapping mapping_of(const char *path)
{
	return (struct mapping){
		.start = START, .end = END, .kind = MAPPING_FILE, .path = path};
}

static struct mapping with_build_id(struct mapping m, uint8_t first)
{
	m.build_id[0] = first;
	m.build_id_len = 20;
	return m;
}

/* Adds the inode that the kernel would report for a file below the fake root. */
static struct mapping with_inode(struct mapping m)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", fake.root, m.path);
	assert_int_equal(stat(path, &st), 0);
	m.major = major(st.st_dev);
	m.minor = minor(st.st_dev);
	m.inode = st.st_ino;
	return m;
}

static struct target_file *open_live(struct mapping m)
{
	return file_cache_open(cache, &m,
			       &(struct file_source){.proc_dir = proc_dir, .root = root});
}

static struct target_file *open_dead(struct mapping m)
{
	return file_cache_open(cache, &m,
			       &(struct file_source){.proc_dir = -1, .root = root});
}

static void put(const char *path, const char *text)
{
	fake_write(text, strlen(text), "%s%s", fake.root, path);
}

static void the_mapped_file_wins_over_its_path(void **state)
{
	struct target_file *file;

	(void)state;
	put("/bin", "replaced");
	fake_map_file(&fake, 100, START, END, "mapped");
	file = open_live(with_build_id(mapping_of("/bin"), 1));
	assert_string_equal(fake_content(file->fd), "mapped");
	assert_false(file->verify_build_id);
	assert_int_equal(file->build_id[0], 1);
	assert_int_equal(file->size_bytes, 6);
	assert_string_equal(file->path, "/bin");
	assert_true(fcntl(file->fd, F_GETFD) & FD_CLOEXEC);
}

static void a_known_build_id_needs_no_open(void **state)
{
	struct target_file *file;
	struct mapping m = with_build_id(mapping_of("/bin"), 1);

	(void)state;
	fake_map_file(&fake, 100, START, END, "mapped");
	file = open_live(m);
	fake_process_remove(&fake, 100);
	assert_ptr_equal(open_live(m), file);
	assert_ptr_equal(open_dead(m), file);
	m.start += 0x1000; /* another mapping of the same file */
	assert_ptr_equal(open_dead(m), file);
	m.build_id[19] = 1;
	assert_int_equal(open_dead(m)->fd, -1);
}

static void a_dead_process_file_is_found_by_path(void **state)
{
	struct target_file *file;
	struct mapping m;

	(void)state;
	put("/bin", "by path");
	file = open_dead(with_build_id(mapping_of("/bin"), 1));
	assert_string_equal(fake_content(file->fd), "by path");
	assert_true(file->verify_build_id);

	/* Without a build id the inode is compared. */
	m = with_inode(mapping_of("/bin"));
	file = open_dead(m);
	assert_string_equal(fake_content(file->fd), "by path");
	assert_false(file->verify_build_id);
	m.inode++;
	file = open_dead(m);
	assert_int_equal(file->fd, -1);
	assert_int_equal(file->open_errno, ESTALE);

	/* Neither build id nor inode: not opened. */
	file = open_dead(mapping_of("/bin"));
	assert_int_equal(file->fd, -1);
	assert_int_equal(file->open_errno, ENOENT);
	file = open_dead(with_build_id(mapping_of("/none"), 2));
	assert_int_equal(file->open_errno, ENOENT);
}

static void hostile_paths_are_refused(void **state)
{
	static const char *const paths[] = {"/fifo", "/dir", "//toolong", "relative",
					    "/../../../../../../etc/passwd"};
	char path[256];
	struct mapping m;

	(void)state;
	snprintf(path, sizeof(path), "%s/fifo", fake.root);
	assert_int_equal(mkfifo(path, 0644), 0);
	fake_mkdir("%s/dir", fake.root);
	alarm(60);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(open_dead(with_build_id(mapping_of(paths[i]), 1))->fd,
				 -1);
	alarm(0);
	put("/gone", "another one by now");
	m = with_build_id(mapping_of("/gone"), 3);
	m.deleted = true;
	assert_int_equal(open_dead(m)->fd, -1);
}

static void one_file_under_two_names_is_one(void **state)
{
	struct target_file *file;
	struct mapping m;
	char link[256];

	(void)state;
	put("/lib", "x");
	m = with_inode(mapping_of("/lib"));
	file = open_dead(m);
	assert_true(file->fd >= 0);
	assert_int_equal(budget.nr_open, 2); /* the root and the file */
	m.path = "/lib.so.1";
	m.build_id_len = 0;
	snprintf(link, sizeof(link), "%s/lib.so.1", fake.root);
	assert_int_equal(symlink("lib", link), 0);
	assert_ptr_equal(open_dead(m), file);
	assert_int_equal(budget.nr_open, 2);
	/* Its build id becomes known later, under the first name. */
	m.path = "/lib";
	m = with_build_id(m, 9);
	assert_ptr_equal(open_dead(m), file);
	assert_int_equal(file->build_id[0], 9);
	assert_int_equal(budget.nr_open, 2);
}

static void a_rewritten_file_is_another(void **state)
{
	struct target_file *first, *second;
	struct mapping m = mapping_of("/bin");

	(void)state;
	m.inode = 5;
	fake_map_file(&fake, 100, START, END, "one");
	first = open_live(m);
	assert_ptr_equal(open_live(m), first);
	fake_map_file(&fake, 100, START, END, "second");
	second = open_live(m);
	assert_ptr_not_equal(first, second);
	assert_int_equal(second->size_bytes, 6);
	assert_ptr_equal(open_live(m), second);
}

static void a_failure_is_mended(void **state)
{
	struct target_file *file, *again;
	struct mapping m = with_build_id(mapping_of("/bin"), 1);

	(void)state;
	file = open_live(m);
	assert_int_equal(file->fd, -1);
	assert_int_equal(file->open_errno, ENOENT);
	assert_ptr_equal(open_dead(m), file); /* failures of one file share an entry */
	put("/bin", "by path");
	again = open_dead(m);
	assert_ptr_equal(again, file);
	assert_true(file->fd >= 0 && file->verify_build_id);
	assert_int_equal(file->open_errno, 0);
	/* A living process gives the mapped file itself: nothing to verify. */
	fake_map_file(&fake, 100, START, END, "mapped");
	again = open_live(m);
	assert_string_equal(fake_content(again->fd), "mapped");
	assert_false(again->verify_build_id);
}

static void what_nobody_uses_is_closed(void **state)
{
	bool is_used[8] = {false};
	struct target_file *with_id, *without, *again;
	struct mapping m;

	(void)state;
	put("/bin", "one");
	put("/other", "two");
	m = with_inode(mapping_of("/other"));
	without = open_dead(m);
	fake_map_file(&fake, 100, START, END, "mapped");
	with_id = open_live(with_build_id(mapping_of("/bin"), 1));
	assert_int_equal(budget.nr_open, 3); /* including the root */
	is_used[with_id->id] = is_used[without->id] = true;
	file_cache_close_unused(cache, is_used);
	assert_int_equal(budget.nr_open, 3);
	is_used[with_id->id] = is_used[without->id] = false;
	file_cache_close_unused(cache, is_used);
	assert_int_equal(budget.nr_open, 1);
	assert_int_equal(with_id->fd, -1);

	/* The same build id reuses its entry; an equal inode may be another file. */
	again = open_live(with_build_id(mapping_of("/bin"), 1));
	assert_ptr_equal(again, with_id);
	assert_string_equal(fake_content(again->fd), "mapped");
	again = open_dead(m);
	assert_ptr_not_equal(again, without);
	assert_string_equal(fake_content(again->fd), "two");
}

static void other_kinds_have_no_file(void **state)
{
	struct mapping m = mapping_of("");
	const enum mapping_kind kinds[] = {MAPPING_ANON,     MAPPING_HEAP,
					   MAPPING_STACK,    MAPPING_VDSO,
					   MAPPING_VSYSCALL, MAPPING_JITDUMP};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		m.kind = kinds[i];
		assert_null(open_live(m));
	}
	m.kind = MAPPING_MEMFD;
	m.path = "/memfd:x";
	m.deleted = true;
	m.inode = 4;
	fake_map_file(&fake, 100, START, END, "memfd");
	assert_string_equal(fake_content(open_live(m)->fd), "memfd");
}

/* A user may have a quarter of the descriptors. */
static void a_user_leaves_descriptors_to_others(void **state)
{
	static const char *const names[] = {"/a", "/b", "/c", "/d", "/e"};
	struct file_source source = {.proc_dir = -1, .root = root};
	struct target_file *file;
	struct mapping m;

	(void)state;
	budget.max = 8;
	budget.quota.max = 8;
	for (int i = 0; i < 5; i++) {
		put(names[i], "x");
		source.tenant.uid = i < 3 ? 1000 : 1001;
		m = with_inode(mapping_of(names[i]));
		file = file_cache_open(cache, &m, &source);
		assert_int_equal(file->fd >= 0, i != 2);
	}
	assert_int_equal(budget.nr_refused, 1);
	/* When files are closed there is room again. */
	file_cache_close_unused(cache, (bool[8 * 4 + 1]){false});
	source.tenant.uid = 1000;
	m = with_inode(mapping_of("/c"));
	file = file_cache_open(cache, &m, &source);
	assert_true(file->fd >= 0);
}

/* A user may have a quarter of the entries, too, which stay when files are closed. */
static void a_user_leaves_entries_to_others(void **state)
{
	static char names[12][8];
	static const bool nothing[16] = {false};
	struct file_source source = {.proc_dir = -1, .root = root};
	struct target_file *file;
	struct mapping m;

	(void)state;
	budget.max = 8;
	file_cache_share(cache); /* 32 entries: 8 of a user */
	for (int i = 0; i < 12; i++) {
		snprintf(names[i], sizeof(names[i]), "/f%d", i);
		put(names[i], "x");
		source.tenant.uid = i < 10 ? 1000 : 1001;
		m = with_inode(mapping_of(names[i]));
		file = file_cache_open(cache, &m, &source);
		assert_int_equal(file->id == 0, i == 8 || i == 9);
	}
	file_cache_forget_unused(cache, nothing);
	source.tenant.uid = 1000;
	m = with_inode(mapping_of(names[8]));
	assert_int_not_equal(file_cache_open(cache, &m, &source)->id, 0);
}

static const struct tenant nobody = {0}, alice = {.uid = 1000}, mallory = {.uid = 1001};

static struct target_file *open_for(struct tenant who, struct mapping m)
{
	struct file_source source = {.proc_dir = proc_dir, .root = root, .tenant = who};

	return file_cache_open(cache, &m, &source);
}

/* Whoever maps a file first does not pay, and decide, alone. */
static void all_who_map_a_file_pay(void **state)
{
	struct mapping m = with_build_id(mapping_of("/lib"), 1);
	struct target_file *file;

	(void)state;
	file_cache_share(cache);
	fake_map_file(&fake, 100, START, END, "genuine");
	file = open_for(mallory, m);
	assert_int_equal(file->payers.nr, 1);
	assert_ptr_equal(open_for(alice, m), file);
	assert_int_equal(file->payers.nr, 2);
	assert_int_equal(file->payers.items[1].uid, alice.uid);
	assert_ptr_equal(open_for(nobody, m), file);
	assert_int_equal(file->payers.nr, 0);
}

/*
 * Mallory has a file with the path and build id of another in a mount namespace of his
 * own. It is no file of Alice's, whoever is sampled first.
 */
static void a_forged_file_is_only_its_users(void **state)
{
	struct mapping m = with_build_id(mapping_of("/lib"), 1);
	struct target_file *forged, *genuine;

	(void)state;
	file_cache_share(cache);
	fake_map_file(&fake, 100, START, END, "forged");
	forged = open_for(mallory, m);
	assert_string_equal(fake_content(forged->fd), "forged");
	assert_ptr_equal(file_cache_find(cache, &m, mallory), forged);
	assert_null(file_cache_find(cache, &m, alice));
	assert_null(file_cache_find(cache, &m, nobody));
	fake_map_file(&fake, 100, START, END, "genuine");
	genuine = open_for(alice, m);
	assert_string_equal(fake_content(genuine->fd), "genuine");
	assert_ptr_equal(file_cache_find(cache, &m, alice), genuine);
	assert_ptr_equal(file_cache_find(cache, &m, mallory), forged);
	/* Root's mapping makes it everybody's, without another descriptor. */
	assert_ptr_equal(open_for(nobody, m), genuine);
	assert_ptr_equal(file_cache_find(cache, &m, (struct tenant){.uid = 1002}),
			 genuine);
}

/* Nor does a forged file get the place of one that was closed. */
static void a_closed_file_leaves_no_place_to_others(void **state)
{
	static const bool nothing[16] = {false};
	struct mapping m = with_build_id(mapping_of("/lib"), 1);
	struct target_file *forged, *genuine;

	(void)state;
	file_cache_share(cache);
	fake_map_file(&fake, 100, START, END, "genuine");
	genuine = open_for(nobody, m);
	file_cache_close_unused(cache, nothing);
	assert_int_equal(genuine->fd, -1);
	fake_map_file(&fake, 100, START, END, "forged");
	forged = open_for(mallory, m);
	assert_ptr_not_equal(forged, genuine);
	assert_ptr_equal(open_for(mallory, m), forged);
	assert_null(file_cache_find(cache, &m, alice));
	fake_map_file(&fake, 100, START, END, "genuine");
	assert_ptr_equal(open_for(nobody, m), genuine);
	assert_ptr_equal(file_cache_find(cache, &m, alice), genuine);
}

/* Many users of one file: those that are not remembered look at it, and find the same. */
static void a_file_has_one_entry_for_all_users(void **state)
{
	struct mapping m = with_build_id(mapping_of("/lib"), 1);
	struct target_file *file;

	(void)state;
	file_cache_share(cache);
	fake_map_file(&fake, 100, START, END, "genuine");
	file = open_for(alice, m);
	for (uint32_t uid = 1001; uid < 1040; uid++)
		assert_ptr_equal(open_for((struct tenant){.uid = uid % 10 + 2000}, m),
				 file);
	assert_int_equal(file_cache_in_use(cache), 2);
	file_cache_forget_unused(cache, (bool[16]){false});
	file_cache_close_unused(cache, (bool[16]){false});
	file_cache_forget_unused(cache, (bool[16]){false});
	assert_int_equal(file_cache_in_use(cache), 1);
	assert_null(file_cache_find(cache, &m, alice));
}

/* A gone process's file is not looked for in the root of another user. */
static void a_users_root_is_no_place_for_files_of_others(void **state)
{
	struct file_source source = {.proc_dir = -1, .tenant = alice};
	struct mapping m = with_build_id(mapping_of("/lib"), 1);
	const struct target_file *file;

	(void)state;
	put("/lib", "x");
	root->tenant = mallory;
	file_cache_share(cache);
	file = file_cache_open(cache, &m, &source);
	assert_int_equal(file->fd, -1);
	source.tenant = mallory;
	assert_true(file_cache_open(cache, &m, &source)->fd >= 0);
	root->tenant = nobody;
	source.tenant = alice;
	assert_true(file_cache_open(cache, &m, &source)->fd >= 0);
}

static void limits_are_counted(void **state)
{
	struct target_file *file = NULL;
	size_t nr_open = 0;
	static char names[100][8]; /* not freed, like interned strings */

	(void)state;
	budget.max = 8;
	for (int i = 0; i < 100; i++) {
		snprintf(names[i], sizeof(names[i]), "/f%d", i);
		put(names[i], "x");
		file = open_dead(with_inode(mapping_of(names[i])));
		assert_non_null(file);
		if (file->fd >= 0)
			nr_open++;
		else
			assert_int_equal(file->open_errno, EMFILE);
	}
	assert_int_equal(nr_open, 7); /* the eighth is the root */
	assert_int_equal(budget.nr_open, 8);
	assert_int_equal(budget.nr_refused, 93);
	/* Entries are bounded too; files without one share entry 0. */
	assert_int_equal(file_cache_count(cache), 8 * 4 + 1);
	assert_ptr_equal(file, file_cache_at(cache, 0));
	for (size_t i = 0; i < file_cache_count(cache); i++)
		assert_int_equal(file_cache_at(cache, i)->id, i);
	assert_null(file_cache_at(cache, file_cache_count(cache)));
}

/* Ids of forgotten files are reused; `use` counts the reuses of an id. */
static void what_nobody_has_is_given_back(void **state)
{
	static const bool nothing[8] = {false}, first[8] = {[1] = true};
	struct target_file *kept, *gone, *next;
	uint32_t use;

	(void)state;
	put("/a", "a");
	put("/b", "b");
	put("/c", "c");
	kept = open_dead(with_inode(with_build_id(mapping_of("/a"), 1)));
	gone = open_dead(with_inode(with_build_id(mapping_of("/b"), 2)));
	assert_int_equal(file_cache_in_use(cache), 3);
	file_cache_forget_unused(cache, nothing); /* open files stay */
	assert_int_equal(file_cache_in_use(cache), 3);
	file_cache_close_unused(cache, first);
	file_cache_forget_unused(cache, first);
	assert_int_equal(file_cache_in_use(cache), 2);
	assert_int_equal(kept->use, 0);
	use = gone->use;
	assert_int_equal(use, 1);

	next = open_dead(with_inode(with_build_id(mapping_of("/c"), 3)));
	assert_ptr_equal(next, gone);
	assert_int_equal(next->use, use);
	assert_string_equal(fake_content(next->fd), "c");
	assert_int_equal(file_cache_count(cache), 3);
	/* The forgotten file is not found in the new one's place, and opened once. */
	next = open_dead(with_inode(with_build_id(mapping_of("/b"), 2)));
	assert_int_equal(next->id, 3);
	assert_string_equal(fake_content(next->fd), "b");
	assert_ptr_equal(open_dead(with_inode(with_build_id(mapping_of("/a"), 1))), kept);
}

/* The table only grows with the number of files known at the same time. */
static void ids_do_not_run_out(void **state)
{
	static const bool nothing[8] = {false};

	(void)state;
	for (int i = 0; i < 1000; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/file%d", i);
		put(path, path);
		assert_true(open_dead(with_inode(mapping_of(path)))->fd >= 0);
		/* A file that cannot be opened, too. */
		snprintf(path, sizeof(path), "/none%d", i);
		assert_int_equal(open_dead(with_build_id(mapping_of(path), 9))->fd, -1);
		file_cache_close_unused(cache, nothing);
		file_cache_forget_unused(cache, nothing);
	}
	assert_int_equal(file_cache_count(cache), 3);
	assert_int_equal(budget.nr_open, 1);
	assert_int_equal(budget.nr_refused, 0);
}

static void processes_of_one_root_share_it(void **state)
{
	char path[128];
	struct root *same, *other;
	int dir;

	(void)state;
	for (uint32_t pid = 200; pid < 210; pid++) {
		fake_process_add(&fake, &(struct fake_process){.pid = pid});
		snprintf(path, sizeof(path), "%s/%u", fake.proc, pid);
		dir = open(path, O_PATH | O_DIRECTORY);
		same = root_of(dir);
		assert_ptr_equal(same, root);
		roots_put(roots, same);
		close(dir);
	}
	assert_int_equal(roots->nr, 1);

	/* A chroot is another root; it is freed with its last process. */
	snprintf(path, sizeof(path), "%s/200/root", fake.proc);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("../../root/tmp", path), 0);
	snprintf(path, sizeof(path), "%s/200", fake.proc);
	dir = open(path, O_PATH | O_DIRECTORY);
	other = root_ref(root_of(dir));
	assert_ptr_not_equal(other, root);
	assert_int_equal(roots->nr, 2);
	roots_put(roots, other);
	assert_int_equal(roots->nr, 2);
	roots_put(roots, other);
	assert_int_equal(roots->nr, 1);
	assert_int_equal(budget.nr_open, 1);
	close(dir);
	assert_null(root_of(root->fd)); /* not a process directory */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_mapped_file_wins_over_its_path),
		TEST(a_known_build_id_needs_no_open),
		TEST(a_dead_process_file_is_found_by_path),
		TEST(hostile_paths_are_refused),
		TEST(one_file_under_two_names_is_one),
		TEST(a_rewritten_file_is_another),
		TEST(a_failure_is_mended),
		TEST(what_nobody_uses_is_closed),
		TEST(what_nobody_has_is_given_back),
		TEST(ids_do_not_run_out),
		TEST(other_kinds_have_no_file),
		TEST(a_user_leaves_entries_to_others),
		TEST(a_user_leaves_descriptors_to_others),
		TEST(all_who_map_a_file_pay),
		TEST(a_forged_file_is_only_its_users),
		TEST(a_closed_file_leaves_no_place_to_others),
		TEST(a_file_has_one_entry_for_all_users),
		TEST(a_users_root_is_no_place_for_files_of_others),
		TEST(limits_are_counted),
		TEST(processes_of_one_root_share_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
