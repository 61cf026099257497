// SPDX-License-Identifier: GPL-2.0-or-later
/* Version strings of distributions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/btf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/kernel_quirks.h"
#include "lib/scratch.h"

#define DEBIAN_CC                                                               \
	" (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14+deb12u1) " \
	"12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP PREEMPT_DYNAMIC "

/* bad: user stacks must not be walked. patch -1: unknown. */
static const struct {
	const char *release, *version;
	bool bad;
	int patch;
} cases[] = {
	/* The bounds of each range, on kernels with kernel.org's version number. */
	{"5.18.19", NULL, false, 19},
	{"5.19.0", NULL, true, 0},
	{"5.19.17", NULL, true, 17},
	{"6.0.0", NULL, true, 0},
	{"6.0.19", NULL, true, 19},
	{"6.1.0", NULL, true, 0},
	{"6.1.35", NULL, true, 35},
	{"6.1.36", NULL, false, 36},
	{"6.1.192", NULL, false, 192},
	{"6.2.16", NULL, true, 16},
	{"6.3.9", NULL, true, 9},
	{"6.3.10", NULL, false, 10},
	{"6.4.0", NULL, false, 0},
	{"6.10.0", NULL, false, 0},
	{"6.11.3", NULL, false, 3},
	{"7.2.13", NULL, false, 13},
	{"60.1.3", NULL, false, 3},
	{"5.190.3", NULL, false, 3},
	{"6.1", NULL, true, -1},
	{"6.1.0-rc3", NULL, true, 0},
	{"6.4.0-rc1+", NULL, false, 0},
	{"7.3.0-rc7-cloud-amd64", "Linux version 7.3-rc7-cloud-amd64", false, 0},
	/* Fedora, Arch, SUSE, Amazon, Google, Microsoft, Proxmox, Raspberry Pi. */
	{"6.2.9-300.fc38.x86_64",
	 "Linux version 6.2.9-300.fc38.x86_64 "
	 "(mockbuild@38f30b3c0c69453fae61718fc43f33bc)"
	 " (gcc (GCC) 13.0.1 20230318 (Red Hat 13.0.1-0), GNU ld version 2.39-9.fc38)"
	 " #1 SMP PREEMPT_DYNAMIC Thu Mar 30 22:32:58 UTC 2023",
	 true, 9},
	{"6.3.12-200.fc38.x86_64", NULL, false, 12},
	{"6.3.9-arch1-1",
	 "Linux version 6.3.9-arch1-1 (linux@archlinux) (gcc (GCC) 13.1.1 20230429, GNU "
	 "ld"
	 " (GNU Binutils) 2.40.0) #1 SMP PREEMPT_DYNAMIC Wed, 21 Jun 2023 20:46:20 +0000",
	 true, 9},
	{"6.3.9-1-default", NULL, true, 9},
	{"5.14.21-150500.55.19-default", NULL, false, 21},
	{"6.1.25-37.47.amzn2023.x86_64", NULL, true, 25},
	{"6.1.61-85.141.amzn2023.x86_64", NULL, false, 61},
	{"6.1.58+", NULL, false, 58},
	{"6.1.21.2-microsoft-standard-WSL2+", NULL, true, 21},
	{"5.15.153.1-microsoft-standard-WSL2", NULL, false, 153},
	{"6.2.16-3-pve", NULL, true, 16},
	{"6.1.21-v8+", NULL, true, 21},
	{"5.14.0-427.13.1.el9_4.x86_64", NULL, false, -1},
	{"4.18.0-553.el8_10.x86_64", NULL, false, -1},
	/* Debian: the release has the number of the ABI. */
	{"6.1.0-56-cloud-amd64",
	 "Linux version 6.1.0-56-cloud-amd64" DEBIAN_CC "Debian 6.1.192-1 (2026-10-20)",
	 false, 192},
	{"6.1.0-9-amd64",
	 "Linux version 6.1.0-9-amd64" DEBIAN_CC "Debian 6.1.27-1 (2023-05-08)\n", true,
	 27},
	{"6.1.0-10-amd64",
	 "Linux version 6.1.0-10-amd64" DEBIAN_CC "Debian 6.1.37-1 (2023-07-03)", false,
	 37},
	{"6.1.0-0.deb11.13-amd64",
	 "Linux version 6.1.0-0.deb11.13-amd64" DEBIAN_CC
	 "Debian 6.1.55-1~bpo11+1 (2023-10-08)",
	 false, 55},
	{"6.1.0-56-cloud-amd64", NULL, true, -1},
	{"6.1.0-56-cloud-amd64", "", true, -1},
	{"6.3.0-1-amd64",
	 "Linux version 6.3.0-1-amd64" DEBIAN_CC "Debian 6.3.7-1 (2023-06-12)", true, 7},
	{"6.3.0-2-amd64",
	 "Linux version 6.3.0-2-amd64" DEBIAN_CC "Debian 6.3.11-1 (2023-07-01)", false,
	 11},
	{"6.12.117+deb13-cloud-amd64", NULL, false, 117},
	{"6.1.0-kali9-amd64",
	 "Linux version 6.1.0-kali9-amd64 (devel@kali.org) (gcc-12 (Debian 12.2.0-14)"
	 " 12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP PREEMPT_DYNAMIC Debian"
	 " 6.1.27-1kali1 (2023-05-12)",
	 true, 27},
	{"5.10.0-46-cloud-amd64",
	 "Linux version 5.10.0-46-cloud-amd64" DEBIAN_CC "Debian 5.10.300-1 (2026-09-01)",
	 false, 300},
	/* Ubuntu: only the version signature has the patch level. */
	{"6.2.0-26-generic",
	 "Linux version 6.2.0-26-generic (buildd@bos03-amd64-042) "
	 "(x86_64-linux-gnu-gcc-11"
	 " (Ubuntu 11.3.0-1ubuntu1~22.04.1) 11.3.0, GNU ld (GNU Binutils for Ubuntu) "
	 "2.38)"
	 " #26~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC Thu Jul 13 16:27:29 UTC 2\n"
	 "Ubuntu 6.2.0-26.26~22.04.1-generic 6.2.13\n",
	 true, 13},
	{"6.1.0-1033-oem", "Ubuntu 6.1.0-1033.33-oem 6.1.57\n", false, 57},
	{"6.1.0-1015-oem", "Ubuntu 6.1.0-1015.15-oem 6.1.25\n", true, 25},
	{"6.1.0-1033-oem",
	 "Linux version 6.1.0-1033-oem (buildd@lcy02) (gcc) #33-Ubuntu SMP", true, -1},
	{"5.19.0-50-generic", "Ubuntu 5.19.0-50.50-generic 5.19.17\n", true, 17},
	{"6.5.0-44-generic", "Ubuntu 6.5.0-44.44-generic 6.5.13\n", false, 13},
	/* Text before the '#' is about the compiler; other series are ignored. */
	{"6.1.0-1-x", "Linux version 6.1.0-1-x (clang version 6.1.99) #1 SMP", true, -1},
	{"6.1.0-1-x", "Linux version 6.1.0-1-x (x) #1 SMP Debian 6.10.99-1", true, -1},
	{"6.1.0-1-x", "Linux version 6.1.0-1-x (x) #1 SMP 6.1.99build", true, -1},
	{"6.1.0-1-x", "Linux version 6.1.0-1-x", true, -1},
	{"6.1.0-1-x", "Linux version 6.1.0-1-x #1 6.1.", true, -1},
	{"6.1.0-1-x", "#######", true, -1},
};

static void texts_of_distributions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct kernel_quirk *quirk =
			kernel_quirk_find(cases[i].release, cases[i].version);
		struct kernel_level level;

		if (!kernel_level_find(cases[i].release, cases[i].version, &level))
			fail_msg("%s is not read", cases[i].release);
		if (level.patch_known != (cases[i].patch >= 0) ||
		    (int)level.patch != (cases[i].patch > 0 ? cases[i].patch : 0))
			fail_msg("%s, %s: patch %u, known %d", cases[i].release,
				 cases[i].version, level.patch, level.patch_known);
		if (!quirk != !cases[i].bad)
			fail_msg("%s, %s: %s", cases[i].release, cases[i].version,
				 quirk ? quirk->versions : "not bad");
	}
}

static void what_is_no_version_counts_as_bad(void **state)
{
	static const char *const releases[] = {
		NULL,
		"",
		"6",
		"6.",
		"linux",
		"v6.12",
		".12",
		"6.x.1",
		"-6.12",
		"99999999999999999999.1",
		"6.99999999999999999999",
	};
	struct kernel_level level = {.major = 42};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		const struct kernel_quirk *quirk =
			kernel_quirk_find(releases[i], "Debian 6.12.1-1");

		assert_non_null(quirk);
		assert_string_equal(quirk->versions, "unknown");
		assert_false(kernel_level_find(releases[i], NULL, &level));
		assert_int_equal(level.major, 42);
	}
	/* A patch level that overflows is not taken. */
	assert_true(kernel_level_find("6.1.99999999999", NULL, &level));
	assert_false(level.patch_known);
	assert_int_equal(level.patch, 0);
}

static void sentences_are_there(void **state)
{
	const struct kernel_quirk *quirk = kernel_quirk_find("6.2.0-26-generic", NULL);

	(void)state;
	assert_non_null(strstr(quirk->reason, "freeze"));
	assert_non_null(strstr(quirk->reason, "innermost"));
	assert_true(strlen(quirk->remedy) > 20);
	assert_string_equal(quirk->versions, "6.2");
}

static void put_bytes(const char *root, const char *path, const void *bytes, size_t size)
{
	_cleanup_close_ int fd = -1;
	char full[256];

	snprintf(full, sizeof(full), "%s%s", root, path);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
}

static void put(const char *root, const char *path, const char *text)
{
	put_bytes(root, path, text, strlen(text));
}

static void make_folders(const char *root)
{
	static const char *const folders[] = {"/proc", "/proc/sys",   "/proc/sys/kernel",
					      "/sys",  "/sys/kernel", "/sys/kernel/btf"};
	char path[256];

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
}

static void the_running_kernel_is_read_from_proc(void **state)
{
	char root[SCRATCH_BYTES];

	(void)state;
	scratch_make(root, 0700);
	assert_string_equal(kernel_quirk_find_running(root)->versions, "unknown");
	make_folders(root);
	put(root, "/proc/sys/kernel/osrelease", "6.1.0-1033-oem\n");
	assert_string_equal(kernel_quirk_find_running(root)->versions, "6.1 to 6.1.35");
	put(root, "/proc/version", "Linux version 6.1.0-1033-oem (gcc) #33-Ubuntu SMP\n");
	assert_non_null(kernel_quirk_find_running(root));
	put(root, "/proc/version_signature", "Ubuntu 6.1.0-1033.33-oem 6.1.57\n");
	assert_null(kernel_quirk_find_running(root));

	scratch_remove(root);
}

/*
 * Writes the types of a kernel. On PREEMPT_RT a spinlock has an rt_mutex_base; a raw one
 * is the same as elsewhere. @lock is the type of the ring buffer's lock; NULL: there is
 * no such member.
 */
static void put_types(const char *root, const char *lock)
{
	struct btf *btf = btf__new_empty();
	int ints = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int type, typedef_id;
	const void *raw;
	uint32_t size;
	char name[64];

	type = btf__add_struct(btf, lock ? lock : "none", 4);
	assert_int_equal(btf__add_field(btf, "lock", ints, 0, 0), 0);
	snprintf(name, sizeof(name), "%s_t", lock ? lock : "none");
	typedef_id = btf__add_typedef(btf, name, type);
	assert_true(btf__add_struct(btf, "bpf_ringbuf", 8) > 0);
	assert_int_equal(btf__add_field(btf, "mask", ints, 0, 0), 0);
	if (lock)
		assert_int_equal(btf__add_field(btf, "spinlock", typedef_id, 32, 0), 0);
	raw = btf__raw_data(btf, &size);
	assert_non_null(raw);
	put_bytes(root, "/sys/kernel/btf/vmlinux", raw, size);
	btf__free(btf);
}

/* Types show whether a kernel has the fix, whatever its version. */
static void ring_buffers_that_sleep_are_refused(void **state)
{
	static const struct {
		const char *version, *lock; /* lock "": no types */
		bool is_refused;
	} kernels[] = {
		{"#1 SMP PREEMPT_RT Debian 6.1.112-1", "spinlock", true},
		{"#1 SMP PREEMPT_RT Debian 6.1.176-1", "raw_spinlock", false},
		{"#1 SMP PREEMPT_RT Debian 6.1.176-1", "spinlock", true},
		/* A distribution's own backport, and newer kernels. */
		{"#1 SMP PREEMPT_RT", "raw_spinlock", false},
		{"#1 SMP PREEMPT_RT", "rqspinlock", false},
		{"#1 SMP PREEMPT_RT", NULL, true},
		{"#1 SMP PREEMPT_RT", "", true},
		/* Without PREEMPT_RT no spinlock sleeps. */
		{"#1 SMP PREEMPT_DYNAMIC", "spinlock", false},
		{"#1 SMP PREEMPT", "", false},
	};
	char root[SCRATCH_BYTES], types[128];

	(void)state;
	scratch_make(root, 0700);
	make_folders(root);
	put(root, "/proc/sys/kernel/osrelease", "5.14.0-427.el9.x86_64+rt\n");
	snprintf(types, sizeof(types), "%s/sys/kernel/btf/vmlinux", root);
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		const struct kernel_quirk *quirk;

		put(root, "/proc/version", kernels[i].version);
		unlink(types);
		if (!kernels[i].lock || *kernels[i].lock)
			put_types(root, kernels[i].lock);
		quirk = kernel_quirk_find_running(root);
		if ((quirk && quirk->is_refused) != kernels[i].is_refused)
			fail_msg("kernel %zu: %s", i, quirk ? quirk->reason : "no quirk");
	}
	/* It is worse than a cut stack. */
	put(root, "/proc/sys/kernel/osrelease", "6.1.27-rt1\n");
	put(root, "/proc/version", "#1 SMP PREEMPT_RT");
	put_types(root, "spinlock");
	assert_true(kernel_quirk_find_running(root)->is_refused);
	put_types(root, "raw_spinlock");
	assert_false(kernel_quirk_find_running(root)->is_refused);
	scratch_remove(root);
}

/* uname(2) and /proc agree on this machine. */
static void this_kernel_is_read(void **state)
{
	char release[KERNEL_RELEASE_BYTES], version[KERNEL_VERSION_BYTES];
	struct kernel_level level;
	struct utsname name;

	(void)state;
	kernel_texts_read("", release, version);
	assert_int_equal(uname(&name), 0);
	assert_string_equal(release, name.release);
	assert_int_equal(strncmp(version, "Linux version ", 14), 0);
	assert_true(kernel_level_find(release, version, &level));
	assert_true(level.major >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_distributions),
		cmocka_unit_test(what_is_no_version_counts_as_bad),
		cmocka_unit_test(sentences_are_there),
		cmocka_unit_test(the_running_kernel_is_read_from_proc),
		cmocka_unit_test(ring_buffers_that_sleep_are_refused),
		cmocka_unit_test(this_kernel_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
