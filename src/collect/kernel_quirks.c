// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel_quirks.h"

#include <bpf/btf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/io.h"

/*
 * copy_from_user_nofault() checked whether the copy touches vmalloc memory, and took
 * vmap_area_lock for it. A timer interrupt that does this on the CPU holding the lock
 * spins forever, and soon all other CPUs spin, too. Introduced in 5.19, fixed by commit
 * d319f344561d ("mm: Fix copy_from_user_nofault()") in 6.4, 6.3.10 and 6.1.36; 6.0 and
 * 6.2 were never fixed.
 */
#define USERCOPY_LOCK_TEXT                                                          \
	"reading user memory in a timer interrupt can freeze the whole machine on " \
	"this kernel (vmap_area_lock, fixed in 6.1.36, 6.3.10 and 6.4); user "      \
	"stacks are cut to their innermost address"
#define UPDATE_TEXT                                                                     \
	"boot a kernel with the fix: 6.1.36 or a later 6.1, 6.3.10 or a later 6.3, or " \
	"6.4 and newer"

static const struct {
	unsigned int major, minor;
	unsigned int last_patch; /* this patch level and all before it */
	struct kernel_quirk quirk;
} table[] = {
	{5, 19, UINT_MAX, {false, "5.19", USERCOPY_LOCK_TEXT, UPDATE_TEXT}},
	{6, 0, UINT_MAX, {false, "6.0", USERCOPY_LOCK_TEXT, UPDATE_TEXT}},
	{6, 1, 35, {false, "6.1 to 6.1.35", USERCOPY_LOCK_TEXT, UPDATE_TEXT}},
	{6, 2, UINT_MAX, {false, "6.2", USERCOPY_LOCK_TEXT, UPDATE_TEXT}},
	{6, 3, 9, {false, "6.3 to 6.3.9", USERCOPY_LOCK_TEXT, UPDATE_TEXT}},
};

/*
 * bpf_ringbuf_reserve() takes a spinlock_t, which is a sleeping lock on PREEMPT_RT. The
 * sampler calls it in a timer interrupt, where a sleep is fatal, and works with no other
 * kind of ring. Fixed by commit 8b62645b09f8 ("bpf: Use raw_spinlock_t in ringbuf") in
 * 6.12, 6.11.6, 6.6.84 and 6.1.115. Distributions have the fix in other versions, too.
 */
static const struct kernel_quirk sleeping_ring = {
	.is_refused = true,
	.versions = "PREEMPT_RT before 6.12",
	.reason = "writing to a BPF ring buffer in a timer interrupt can crash this "
		  "PREEMPT_RT kernel (its lock sleeps; fixed in 6.1.115, 6.6.84, 6.11.6 "
		  "and 6.12), so lineburn does not record",
	.remedy = "boot a kernel with the fix (6.1.115 or a later 6.1, 6.6.84 or a later "
		  "6.6, or 6.12 and newer), or one without PREEMPT_RT",
};

static const struct kernel_quirk unreadable = {
	.versions = "unknown",
	.reason = "the version of this kernel cannot be read, and on some kernels "
		  "reading user memory in a timer interrupt freezes the machine; user "
		  "stacks are cut to their innermost address",
	.remedy = "mount /proc, so that /proc/sys/kernel/osrelease shows the version",
};

/* Reads up to six decimal digits at *@s. Return: false if there are none. */
static bool get_number(const char **s, unsigned int *ret)
{
	size_t len = strspn(*s, "0123456789");
	bool is_number = len && len <= 6;

	*ret = is_number ? (unsigned int)strtoul(*s, NULL, 10) : 0;
	*s += len;
	return is_number;
}

/* Parses "6.1.192-1" up to the last number. The patch level is optional. */
static bool get_level(const char **s, struct kernel_level *ret)
{
	struct kernel_level level = {0};
	const char *behind;

	if (!get_number(s, &level.major) || *(*s)++ != '.' ||
	    !get_number(s, &level.minor))
		return false;
	behind = *s;
	if (*behind == '.') {
		behind++;
		level.patch_known = get_number(&behind, &level.patch);
		if (level.patch_known)
			*s = behind;
	}
	*ret = level;
	return true;
}

/* Returns whether @word, @len bytes, is a version of the series with a patch level. */
static bool word_has_level(const char *word, size_t len,
			   const struct kernel_level *series, struct kernel_level *ret)
{
	struct kernel_level level;
	const char *s = word;

	if (!get_level(&s, &level) || !level.patch_known || s > word + len)
		return false;
	if (level.major != series->major || level.minor != series->minor)
		return false;
	/*
	 * "6.1.21.2" counts as 6.1.21, but "6.1.x" followed by anything else is not a
	 * version.
	 */
	if (s < word + len && !strchr("-~+.", *s))
		return false;
	*ret = level;
	return true;
}

/*
 * Finds the last word with the level. In /proc/version it searches only after the '#',
 * because the text before it has the versions of compiler and linker, and the release.
 */
static bool find_in_text(const char *text, const char *release,
			 const struct kernel_level *series, struct kernel_level *ret)
{
	static const char blanks[] = " \t\n()";
	size_t release_len = strcspn(release, blanks);
	bool found = false;

	while (*text) {
		size_t line_len = strcspn(text, "\n");
		const char *end = text + line_len;
		const char *hash = memchr(text, '#', line_len);
		const char *word = text;

		if (!strncmp(text, "Linux version ", strlen("Linux version ")))
			word = hash ? hash : end;
		while (word < end) {
			size_t len = strcspn(word, blanks);

			if ((len != release_len || strncmp(word, release, len)) &&
			    word_has_level(word, len, series, ret))
				found = true;
			word += len ? len : 1;
		}
		text = *end ? end + 1 : end;
	}
	return found;
}

bool kernel_level_find(const char *release, const char *version, struct kernel_level *ret)
{
	struct kernel_level level, exact;
	const char *s = release;

	if (!release || !get_level(&s, &level))
		return false;
	if (version && find_in_text(version, release, &level, &exact))
		level = exact;
	else if (!level.patch && *s && strncmp(s, "-rc", 3))
		level.patch_known = false;
	*ret = level;
	return true;
}

const struct kernel_quirk *kernel_quirk_find(const char *release, const char *version)
{
	struct kernel_level level;

	if (!kernel_level_find(release, version, &level))
		return &unreadable;
	/* An unknown patch level is 0, which counts as affected. */
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].major == level.major && table[i].minor == level.minor &&
		    level.patch <= table[i].last_patch)
			return &table[i].quirk;
	return NULL;
}

/* Returns the type of a member, without typedefs; NULL if there is no such member. */
static const struct btf_type *find_member(const struct btf *btf, const char *struct_name,
					  const char *name)
{
	int id = btf__find_by_name_kind(btf, struct_name, BTF_KIND_STRUCT);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (__u32)id);

	for (int i = 0; type && i < btf_vlen(type); i++) {
		const struct btf_member *m = &btf_members(type)[i];

		if (!strcmp(btf__name_by_offset(btf, m->name_off), name))
			return btf__type_by_id(btf,
					       (__u32)btf__resolve_type(btf, m->type));
	}
	return NULL;
}

/* On PREEMPT_RT: is the lock of a ring buffer a spinlock_t? */
static bool ring_sleeps(const char *root)
{
	const struct btf_type *lock;
	char path[PATH_MAX];
	struct btf *btf;
	bool sleeps;

	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", root);
	btf = btf__parse_raw(path);
	if (!btf)
		return true;
	lock = find_member(btf, "bpf_ringbuf", "spinlock");
	sleeps = !lock || !strcmp(btf__name_by_offset(btf, lock->name_off), "spinlock");
	btf__free(btf);
	return sleeps;
}

/* Reads a file into @buf, cut and terminated; "" when it cannot be read. */
static void read_text(const char *root, const char *path, char *buf, size_t size)
{
	_cleanup_free_ char *text = NULL;
	char full[PATH_MAX];
	size_t len;

	buf[0] = '\0';
	if (snprintf(full, sizeof(full), "%s%s", root, path) < (int)sizeof(full) &&
	    !io_read_file(full, 64 * 1024, &text, &len))
		snprintf(buf, size, "%s", text);
}

/* Uses uname(2) if /proc shows only processes (subset=pid). */
static void read_uname(char release[KERNEL_RELEASE_BYTES],
		       char version[KERNEL_VERSION_BYTES])
{
	struct utsname names;

	if (uname(&names))
		return;
	if (!release[0])
		snprintf(release, KERNEL_RELEASE_BYTES, "%s", names.release);
	if (!version[0])
		snprintf(version, KERNEL_VERSION_BYTES, "%s", names.version);
}

void kernel_texts_read(const char *root, char release[KERNEL_RELEASE_BYTES],
		       char version[KERNEL_VERSION_BYTES])
{
	size_t len;

	read_text(root, "/proc/sys/kernel/osrelease", release, KERNEL_RELEASE_BYTES);
	release[strcspn(release, "\n")] = '\0';
	read_text(root, "/proc/version", version, KERNEL_VERSION_BYTES / 2);
	len = strlen(version);
	read_text(root, "/proc/version_signature", version + len,
		  KERNEL_VERSION_BYTES - len);
	if (!root[0])
		read_uname(release, version);
}

const struct kernel_quirk *kernel_quirk_find_running(const char *root)
{
	char release[KERNEL_RELEASE_BYTES], version[KERNEL_VERSION_BYTES];

	kernel_texts_read(root, release, version);
	if (strstr(version, "PREEMPT_RT") && ring_sleeps(root))
		return &sleeping_ring;
	return kernel_quirk_find(release, version);
}
