// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program is itself the JIT: it has the interface (GDB's manual, "JIT Compilation
 * Interface"), registers objects and compares what the probe copied. With arguments it
 * runs as a target in its own process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/jit_probe.h"
#include "collect/sampler.h"
#include "lib/scratch.h"

#define KIB       1024u
#define MIB       (1024u * KIB)
#define MAX_SEEN  4096
#define MAX_FILES 3 /* few, because the kernel is slow to remove a probe */

/* ---- the JIT ---- */

struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const void *symfile_addr;
	uint64_t symfile_size;
};

struct jit_descriptor {
	uint32_t version, action_flag;
	struct jit_code_entry *relevant, *first;
};

extern struct jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code(void);

struct jit_descriptor __jit_debug_descriptor = {.version = 1};

__attribute__((noinline)) void __jit_debug_register_code(void)
{
	__asm__ volatile("");
}

static pthread_mutex_t jit_lock = PTHREAD_MUTEX_INITIALIZER;

static void announce(struct jit_code_entry *entry, uint32_t action)
{
	pthread_mutex_lock(&jit_lock);
	__jit_debug_descriptor.relevant = entry;
	__jit_debug_descriptor.action_flag = action;
	__jit_debug_register_code();
	pthread_mutex_unlock(&jit_lock);
}

static uint8_t byte_at(uint64_t size, uint64_t i)
{
	static const uint8_t magic[] = {0x7f, 'E', 'L', 'F'};

	return i < sizeof(magic) ? magic[i] : (uint8_t)(size * 13 + i * 7 + (i >> 8));
}

/* An object whose bytes are derived from its size. */
static struct jit_code_entry *make_object(uint64_t size)
{
	struct jit_code_entry *entry = calloc(1, sizeof(*entry));
	uint8_t *bytes = malloc(size ? size : 1);

	if (!entry || !bytes)
		abort();
	for (uint64_t i = 0; i < size; i++)
		bytes[i] = byte_at(size, i);
	entry->symfile_addr = bytes;
	entry->symfile_size = size;
	return entry;
}

static void free_object(struct jit_code_entry *entry)
{
	free((void *)entry->symfile_addr);
	free(entry);
}

/* Registers, unregisters and forgets @nr objects of @size. */
static void churn(unsigned int nr, uint64_t size)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct jit_code_entry *entry = make_object(size);

		announce(entry, 1);
		announce(entry, 2);
		free_object(entry);
	}
}

/* ---- where the interface lies in the file ---- */

static int find_base(struct dl_phdr_info *info, size_t size, void *data)
{
	uint64_t vaddr = (uintptr_t)__jit_debug_register_code - info->dlpi_addr;

	(void)size;
	/* The first object is the program itself. */
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr &&
		    vaddr < p->p_vaddr + p->p_filesz)
			*(uint64_t *)data = vaddr - p->p_vaddr + p->p_offset;
	}
	return 1;
}

static uint64_t register_off(void)
{
	uint64_t off = 0;

	dl_iterate_phdr(find_base, &off);
	assert_int_not_equal(off, 0);
	return off;
}

static int64_t descriptor_delta(void)
{
	return (int64_t)((uintptr_t)&__jit_debug_descriptor -
			 (uintptr_t)__jit_debug_register_code);
}

/* ---- delivered events ---- */

struct seen {
	struct jit_event evs[MAX_SEEN]; /* object: only set or NULL, not to be read */
	size_t nr;
};

/* A probe on this program and the events that it delivered. */
struct fixture {
	struct sampler *sampler;
	struct jit_probe *probe;
	struct seen seen;
};

static void note(void *ctx, const struct jit_event *ev)
{
	struct seen *seen = ctx;
	const uint8_t *bytes = ev->object;

	assert_true(seen->nr < MAX_SEEN);
	for (uint64_t i = 0; bytes && i < ev->size_bytes; i++)
		if (bytes[i] != byte_at(ev->size_bytes, i))
			fail_msg("byte %llu of %llu", (unsigned long long)i,
				 (unsigned long long)ev->size_bytes);
	seen->evs[seen->nr++] = *ev;
}

static void drain(struct fixture *f)
{
	size_t before;

	do {
		before = f->seen.nr;
		jit_probe_read(f->probe, note, &f->seen);
	} while (f->seen.nr > before);
}

static size_t count_of(const struct seen *seen, uint32_t tgid, uint64_t size, bool whole)
{
	size_t nr = 0;

	for (size_t i = 0; i < seen->nr; i++)
		nr += seen->evs[i].kind == LB_JIT_REGISTER && seen->evs[i].tgid == tgid &&
		      seen->evs[i].size_bytes == size && !seen->evs[i].object == !whole;
	return nr;
}

static size_t unregistered(const struct seen *seen, uint32_t tgid)
{
	size_t nr = 0;

	for (size_t i = 0; i < seen->nr; i++)
		nr += seen->evs[i].kind == LB_JIT_UNREGISTER && seen->evs[i].tgid == tgid;
	return nr;
}

/* Calls are the delivered plus the counted losses, and failed events say why. */
static void assert_adds_up(const struct fixture *f)
{
	struct jit_probe_totals t;
	uint64_t delivered = 0, lost = 0;

	jit_probe_totals(f->probe, &t);
	for (size_t i = 0; i < f->seen.nr; i++)
		delivered += f->seen.evs[i].object ||
			     f->seen.evs[i].kind == LB_JIT_UNREGISTER;
	for (size_t i = LB_JIT_CTR_FAULT; i <= LB_JIT_CTR_NO_ROOM; i++)
		lost += t.n[i];
	assert_int_equal(t.n[LB_JIT_CTR_CALLS], delivered + lost);
}

static uint64_t total(const struct fixture *f, enum lb_jit_counter i)
{
	struct jit_probe_totals t;

	jit_probe_totals(f->probe, &t);
	return t.n[i];
}

/* ---- setup ---- */

static void start(struct fixture *f, bool whole_machine, size_t ring_bytes)
{
	struct sampler_config sampler = {
		.freq_hz = 999, .whole_machine = whole_machine, .walk_user = true};
	struct jit_probe_config probe = {.may_attach = true,
					 .whole_machine = whole_machine,
					 .ring_bytes = ring_bytes,
					 .max_files = MAX_FILES};
	struct error err = {0};

	if (sampler_new(&sampler, &f->sampler, &err) ||
	    jit_probe_new(&probe, f->sampler, &f->probe, &err))
		fail_msg("%s", err.text);
}

/* Probes a file, and waits until it is probed. */
static int attach(struct fixture *f, int fd, uint64_t off, int64_t delta)
{
	int rc = jit_probe_attach(f->probe, fd, off, delta);

	if (!rc)
		assert_true(jit_probe_settle(f->probe, -1, &rc));
	return rc == -EALREADY ? 0 : rc;
}

/* Skips the test if attach() returned @rc because uprobes have no cookies. */
static void need_cookies(int rc)
{
	if (rc != -EOPNOTSUPP)
		return;
	print_message("this kernel has no uprobes with cookies\n");
	skip();
}

static void probe_self(struct fixture *f)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int rc = attach(f, fd, register_off(), descriptor_delta());

	need_cookies(rc);
	assert_int_equal(rc, 0);
}

static void target_self(struct fixture *f)
{
	struct error err = {0};

	if (sampler_add_target(f->sampler, (uint32_t)getpid(), &err))
		fail_msg("%s", err.text);
}

/* Starts a probe on this process with a ring of @ring_bytes. */
static void start_on_self(struct fixture *f, size_t ring_bytes)
{
	start(f, false, ring_bytes);
	probe_self(f);
	target_self(f);
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return !*state;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	jit_probe_free(f->probe);
	sampler_free(f->sampler);
	free(f);
	return 0;
}

static void need_root(void)
{
	if (!geteuid())
		return;
	print_message("needs root\n");
	skip();
}

/* ---- tests ---- */

static void objects_come_whole(void **state)
{
	static const uint64_t sizes[] = {
		4,
		64,
		1000,
		1024,
		1025,
		5 * KIB,
		8192,
		8193,
		LB_JIT_CHUNK_BYTES - 1,
		LB_JIT_CHUNK_BYTES,
		LB_JIT_CHUNK_BYTES + 1,
		LB_JIT_CHUNK_BYTES * 32,
		LB_JIT_CHUNK_BYTES * 32 + 1,
		3 * MIB,
		16 * MIB,
	};
	struct fixture *f = *state;
	uint64_t last_ns = 0;

	need_root();
	start_on_self(f, 32 * MIB);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct jit_code_entry *entry = make_object(sizes[i]);
		const struct jit_event *ev = &f->seen.evs[2 * i];

		announce(entry, 1);
		announce(entry, 2);
		drain(f);
		assert_int_equal(f->seen.nr, 2 * i + 2);
		assert_int_equal(ev[0].kind, LB_JIT_REGISTER);
		assert_non_null(ev[0].object);
		assert_int_equal(ev[0].failure, LB_JIT_OK);
		assert_int_equal(ev[0].tgid, getpid());
		assert_int_equal(ev[0].size_bytes, sizes[i]);
		assert_int_equal(ev[0].entry_addr, (uintptr_t)entry);
		assert_int_equal(ev[0].symfile_addr, (uintptr_t)entry->symfile_addr);
		assert_int_equal(ev[0].code_gen, 2 * i + 1);
		assert_true(ev[0].time_ns > last_ns);
		assert_int_equal(ev[1].kind, LB_JIT_UNREGISTER);
		assert_int_equal(ev[1].entry_addr, (uintptr_t)entry);
		assert_int_equal(ev[1].code_gen, 2 * i + 2);
		assert_true(ev[1].time_ns > ev[0].time_ns);
		assert_int_equal(ev[1].start_boottime_ns, ev[0].start_boottime_ns);
		last_ns = ev[1].time_ns;
		free_object(entry);
	}
	assert_int_equal(total(f, LB_JIT_CTR_CALLS), 2 * ARRAY_SIZE(sizes));
	assert_adds_up(f);
	assert_true(total(f, LB_JIT_CTR_RUN_NS) > 0);
	assert_true(jit_probe_map_bytes(f->probe) >= 32 * MIB);
}

static void what_cannot_be_copied_is_told(void **state)
{
	struct fixture *f = *state;
	struct jit_code_entry *entry, bad;
	const struct jit_event *ev = f->seen.evs;
	struct jit_probe_totals t;
	uint8_t *map;

	need_root();
	start_on_self(f, 0);
	map = mmap(NULL, 256 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	entry = make_object(5 * KIB);
	bad = *entry;

	bad.symfile_addr = "\177ELG, not ELF, of the runtime's own";
	announce(&bad, 1);
	bad.symfile_addr = entry->symfile_addr;
	bad.symfile_size = 3; /* shorter than the magic */
	announce(&bad, 1);
	bad.symfile_size = UINT64_C(1) << 60;
	announce(&bad, 1);
	bad.symfile_size = 16 * MIB + 1;
	announce(&bad, 1);
	bad.symfile_addr = (void *)8;
	announce(&bad, 1);
	bad.symfile_addr = (void *)UINT64_C(0xffffffff81000000); /* a kernel address */
	announce(&bad, 1);
	announce((void *)16, 1); /* no entry */
	announce((void *)16, 2); /* unregistering only needs the entry's address */
	__jit_debug_descriptor.version = 2;
	announce(entry, 1);
	__jit_debug_descriptor.version = 1;
	announce(entry, 0); /* not an action */
	announce(entry, 17);
	/* The end of the object is not mapped. */
	memcpy(map, entry->symfile_addr, 5 * KIB);
	munmap(map + 128 * KIB, 128 * KIB);
	for (size_t i = 5 * KIB; i < 128 * KIB; i++)
		map[i] = 1;
	bad.symfile_addr = map;
	bad.symfile_size = 200 * KIB;
	announce(&bad, 1);
	drain(f);

	static const enum lb_jit_failure expected[] = {
		LB_JIT_NOT_ELF, LB_JIT_NOT_ELF, LB_JIT_TOO_BIG, LB_JIT_TOO_BIG,
		LB_JIT_FAULT,   LB_JIT_FAULT,   LB_JIT_FAULT,   LB_JIT_OK,
		LB_JIT_FAULT,   LB_JIT_FAULT};
	assert_int_equal(f->seen.nr, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_null(ev[i].object);
		assert_int_equal(ev[i].failure, expected[i]);
		assert_int_equal(ev[i].kind,
				 i == 7 ? LB_JIT_UNREGISTER : LB_JIT_REGISTER);
	}
	assert_int_equal(ev[7].entry_addr, 16);
	assert_int_equal(ev[8].entry_addr, 0); /* unknown */
	jit_probe_totals(f->probe, &t);
	assert_int_equal(t.n[LB_JIT_CTR_CALLS], 10);
	assert_int_equal(t.n[LB_JIT_CTR_NOT_ELF], 2);
	assert_int_equal(t.n[LB_JIT_CTR_TOO_BIG], 2);
	assert_int_equal(t.n[LB_JIT_CTR_FAULT], 5);
	assert_int_equal(t.n[LB_JIT_CTR_NO_ROOM], 0);
	assert_int_equal(t.nr_broken, 1);
	assert_adds_up(f);
	free_object(entry);
	munmap(map, 128 * KIB);
}

static void a_full_ring_is_counted(void **state)
{
	struct fixture *f = *state;
	uint64_t no_room, told = 0;

	need_root();
	start_on_self(f, 256 * KIB);
	churn(100, 20 * KIB);
	drain(f);
	assert_int_equal(total(f, LB_JIT_CTR_CALLS), 200);
	no_room = total(f, LB_JIT_CTR_NO_ROOM);
	for (size_t i = 0; i < f->seen.nr; i++)
		told += f->seen.evs[i].failure == LB_JIT_NO_ROOM;
	assert_true(count_of(&f->seen, (uint32_t)getpid(), 20 * KIB, true) >= 6);
	assert_true(told > 50);
	assert_true(no_room >= told);
	assert_adds_up(f);

	/* An emptied ring works again, except for objects larger than the ring. */
	churn(1, 21 * KIB);
	churn(1, 300 * KIB);
	drain(f);
	assert_int_equal(count_of(&f->seen, (uint32_t)getpid(), 21 * KIB, true), 1);
	assert_int_equal(count_of(&f->seen, (uint32_t)getpid(), 300 * KIB, false), 1);
	assert_int_equal(total(f, LB_JIT_CTR_NO_ROOM), no_room + 1);
	assert_adds_up(f);
}

static bool readable(const struct fixture *f)
{
	struct pollfd p = {.fd = jit_probe_poll_fd(f->probe), .events = POLLIN};

	return poll(&p, 1, 100) == 1;
}

/* Registers more while the ring is read, enough for a wake-up that becomes stale. */
static void note_and_churn(void *ctx, const struct jit_event *ev)
{
	struct seen *seen = ctx;

	note(ctx, ev);
	if (seen->nr == 1)
		churn(25, 2000);
}

static void a_stale_wake_up_hides_no_later_one(void **state)
{
	struct fixture *f = *state;

	need_root();
	start_on_self(f, 256 * KIB);
	churn(1, 2000);
	jit_probe_read(f->probe, note_and_churn, &f->seen);
	assert_int_equal(f->seen.nr, 52);
	assert_false(readable(f));
	churn(25, 2000);
	assert_true(readable(f));
}

static void user_space_is_woken_when_it_matters(void **state)
{
	struct fixture *f = *state;
	struct jit_code_entry nowhere = {.symfile_addr = (void *)8, .symfile_size = 99};

	need_root();
	start(f, false, 256 * KIB);
	assert_int_equal(jit_probe_poll_fd(f->probe), -1);
	probe_self(f);
	target_self(f);
	churn(5, 2000);
	assert_false(readable(f));
	churn(20, 2000);
	assert_true(readable(f));
	drain(f);
	assert_false(readable(f));
	announce(&nowhere, 1); /* needs a wake-up: a list walk must fetch it */
	assert_true(readable(f));
	drain(f);
	churn(25, 2000);
	assert_true(readable(f));
	drain(f);
	assert_adds_up(f);
}

static void *churn_thread(void *arg)
{
	churn(100, *(uint64_t *)arg);
	return NULL;
}

static void threads_and_children(void **state)
{
	uint64_t sizes[] = {100, 5 * KIB, 40 * KIB, 18 * KIB};
	pthread_t threads[ARRAY_SIZE(sizes)];
	struct fixture *f = *state;
	uint32_t self = (uint32_t)getpid();
	int status;
	pid_t pid;

	need_root();
	start_on_self(f, 32 * MIB);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, churn_thread, &sizes[i]), 0);
	pid = fork();
	if (!pid) {
		/* Another thread may have held the lock at the fork. */
		jit_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		churn(50, 6 * KIB);
		_exit(0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	drain(f);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_int_equal(count_of(&f->seen, self, sizes[i], true), 100);
	assert_int_equal(unregistered(&f->seen, self), 100 * ARRAY_SIZE(sizes));
	assert_int_equal(count_of(&f->seen, (uint32_t)pid, 6 * KIB, true), 50);
	assert_int_equal(unregistered(&f->seen, (uint32_t)pid), 50);
	assert_int_equal(total(f, LB_JIT_CTR_CALLS), 900);
	assert_adds_up(f);
}

static void strangers_are_left_alone(void **state)
{
	struct fixture *f = *state;
	int status;
	pid_t pid;

	need_root();
	start(f, false, 0);
	probe_self(f);
	churn(3, 5 * KIB); /* this process is no target yet */
	pid = fork();
	if (!pid) {
		raise(SIGSTOP);
		churn(3, 6 * KIB);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	target_self(f);
	assert_int_equal(kill(pid, SIGCONT), 0); /* neither is a child from before */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	churn(1, 7 * KIB);
	drain(f);
	assert_int_equal(f->seen.nr, 2);
	assert_int_equal(count_of(&f->seen, (uint32_t)getpid(), 7 * KIB, true), 1);
	assert_int_equal(total(f, LB_JIT_CTR_CALLS), 2);
}

static void the_whole_machine_needs_no_targets(void **state)
{
	struct fixture *f = *state;

	need_root();
	start(f, true, 0);
	probe_self(f);
	churn(3, 5 * KIB);
	drain(f);
	assert_int_equal(count_of(&f->seen, (uint32_t)getpid(), 5 * KIB, true), 3);
}

/* Copies this program to a new file; @path is a template as of mkostemp(3). */
static void copy_self(char *path)
{
	_cleanup_close_ int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int out = mkostemp(path, O_CLOEXEC);
	struct stat st;

	if (in < 0 || out < 0 || fstat(in, &st) || fchmod(out, 0700))
		abort();
	for (off_t done = 0; done < st.st_size;) {
		ssize_t n = sendfile(out, in, NULL, (size_t)(st.st_size - done));

		if (n <= 0)
			abort();
		done += n;
	}
}

/* Return: a descriptor of a copy of this program whose name is removed. */
static int unlinked_copy(void)
{
	char path[] = "/tmp/lineburn-jit-probe-XXXXXX";
	int fd;

	copy_self(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	return fd;
}

/* Probes the file of a stopped process, continues it, and checks the events. */
static void watch_target(struct fixture *f, int fd, pid_t pid)
{
	struct error err = {0};
	int status, rc;

	start(f, false, 0);
	rc = attach(f, fd, register_off(), descriptor_delta());
	if (!rc) /* attaching again changes nothing */
		rc = attach(f, fd, register_off(), descriptor_delta());
	assert_int_equal(sampler_add_target(f->sampler, (uint32_t)pid, &err), 0);
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	need_cookies(rc);
	assert_int_equal(rc, 0);
	drain(f);
	assert_int_equal(count_of(&f->seen, (uint32_t)pid, 5 * KIB, true), 10);
	assert_int_equal(unregistered(&f->seen, (uint32_t)pid), 10);
	assert_int_equal(f->seen.nr, 20);
	assert_adds_up(f);
}

static void deleted_files_are_probed(void **state)
{
	_cleanup_close_ int fd = -1;
	char path[64];
	int status;
	pid_t pid;

	need_root();
	fd = unlinked_copy();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	pid = fork();
	if (!pid) {
		execl(path, "/jit_probe", "churn", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status)); /* it stops itself in main() */
	watch_target(*state, fd, pid);
}

/* The program lies on a file system that is not mounted in our mount namespace. */
static void other_mount_namespaces_are_probed(void **state)
{
	_cleanup_close_ int fd = -1;
	char dir[SCRATCH_BYTES], exe[64];
	int status;
	pid_t pid;

	need_root();
	scratch_make(dir, 0700);
	pid = fork();
	if (!pid) {
		char path[128];

		snprintf(path, sizeof(path), "%s/copy-XXXXXX", dir);
		if (unshare(CLONE_NEWNS) ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", dir, "tmpfs", 0, NULL))
			_exit(77);
		copy_self(path);
		execl(path, "/jit_probe", "churn", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	rmdir(dir); /* may fail while it is a mount point elsewhere */
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("cannot mount a tmpfs in a mount namespace\n");
		skip();
	}
	assert_true(WIFSTOPPED(status));
	snprintf(exe, sizeof(exe), "/proc/%d/exe", pid);
	fd = open(exe, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	watch_target(*state, fd, pid);
}

static void files_are_bounded(void **state)
{
	struct fixture *f = *state;
	_cleanup_close_ int fd = -1,
			    none = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct jit_probe_totals t;
	int rc;

	need_root();
	start(f, false, 64 * KIB);
	/* No process runs this copy, so the offsets do not matter. */
	fd = unlinked_copy();
	rc = attach(f, fd, 4096, 64);
	need_cookies(rc);
	assert_int_equal(rc, 0);
	assert_int_equal(attach(f, fd, 4096, 0), -EINVAL);
	assert_true(attach(f, none, 4096, 64) < 0);
	assert_int_equal(attach(f, -1, 4096, 64), -EBADF);
	for (uint64_t i = 1; i < MAX_FILES; i++)
		assert_int_equal(attach(f, fd, 4096 + 8 * i, 64), 0);
	assert_int_equal(attach(f, fd, 65536, 64), -ENOSPC);
	jit_probe_totals(f->probe, &t);
	assert_int_equal(t.nr_files, MAX_FILES);
	assert_int_equal(t.nr_files_refused, 4);
}

/* One file is probed at a time, and nobody has to wait for it. */
static void attaching_is_not_waited_for(void **state)
{
	struct fixture *f = *state;
	struct pollfd settled = {.events = POLLIN};
	_cleanup_close_ int fd = -1;
	struct jit_probe_totals t;
	int rc = 1;

	need_root();
	start(f, false, 64 * KIB);
	fd = unlinked_copy();
	need_cookies(attach(f, fd, 2048, 64));
	assert_false(jit_probe_settle(f->probe, -1, &rc));
	assert_int_equal(jit_probe_attach(f->probe, fd, 4096, 64), 0);
	assert_true(jit_probe_is_busy(f->probe));
	assert_int_equal(jit_probe_attach(f->probe, fd, 8192, 64), -EBUSY);
	settled.fd = jit_probe_settled_fd(f->probe);
	assert_int_equal(poll(&settled, 1, 60000), 1);
	jit_probe_totals(f->probe, &t);
	assert_int_equal(t.nr_files, 1);
	assert_true(jit_probe_settle(f->probe, 0, &rc));
	assert_int_equal(rc, 0);
	assert_false(jit_probe_is_busy(f->probe));
	assert_int_equal(poll(&settled, 1, 0), 0);
	assert_int_equal(jit_probe_attach(f->probe, fd, 4096, 64), -EALREADY);
	assert_int_equal(attach(f, fd, 8192, 64), 0);
	jit_probe_totals(f->probe, &t);
	assert_int_equal(t.nr_files, 3);
	assert_int_equal(t.nr_files_refused, 0);
}

static size_t nr_probed(const struct fixture *f)
{
	struct jit_probe_totals t;

	jit_probe_totals(f->probe, &t);
	return t.nr_files;
}

/* The same for removing; afterwards the file can be probed again, and events come once. */
static void removing_is_not_waited_for(void **state)
{
	struct fixture *f = *state;
	struct pollfd settled = {.events = POLLIN};
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	int rc = 1;

	need_root();
	start_on_self(f, 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(jit_probe_detach(f->probe, st.st_dev, st.st_ino, 1), -ENOENT);
	assert_int_equal(jit_probe_detach(f->probe, st.st_dev, st.st_ino, register_off()),
			 0);
	assert_int_equal(nr_probed(f), 0);
	assert_true(jit_probe_is_busy(f->probe));
	assert_int_equal(jit_probe_detach(f->probe, st.st_dev, st.st_ino, register_off()),
			 -EBUSY);
	assert_int_equal(
		jit_probe_attach(f->probe, fd, register_off(), descriptor_delta()),
		-EBUSY);
	settled.fd = jit_probe_settled_fd(f->probe);
	assert_int_equal(poll(&settled, 1, 60000), 1);
	assert_true(jit_probe_settle(f->probe, 0, &rc));
	assert_int_equal(rc, 0);
	churn(1, 100);
	drain(f);
	assert_int_equal(f->seen.nr, 0);
	probe_self(f);
	assert_int_equal(nr_probed(f), 1);
	churn(1, 100);
	drain(f);
	assert_int_equal(f->seen.nr, 2);
}

/* ---- generations in samples ---- */

struct generations {
	uint64_t count[4], first_ns[4], last_ns[4];
};

static void note_sample(void *ctx, const struct sample *sample)
{
	struct generations *g = ctx;

	if (sample->tgid != (uint32_t)getpid())
		return;
	assert_true(sample->code_gen < 4);
	g->count[sample->code_gen] += sample->count;
	if (!g->first_ns[sample->code_gen] ||
	    sample->first_ns < g->first_ns[sample->code_gen])
		g->first_ns[sample->code_gen] = sample->first_ns;
	if (sample->last_ns > g->last_ns[sample->code_gen])
		g->last_ns[sample->code_gen] = sample->last_ns;
}

static void no_first_sample(void *ctx, const struct lb_first_sample *first)
{
	(void)ctx;
	(void)first;
}

static uint64_t samples_of_others(const struct generations *g, uint32_t gen)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < 4; i++)
		count += i == gen ? 0 : g->count[i];
	return count;
}

/*
 * Until 10 samples of generation @gen are taken. Of other generations, only the
 * samples since the last drain may come.
 */
static void burn(struct fixture *f, const struct sampler_handlers *handlers, uint32_t gen)
{
	const struct generations *g = handlers->ctx;
	const uint64_t before = samples_of_others(g, gen);
	volatile unsigned int x = 0;

	while (g->count[gen] < 10) {
		for (int i = 0; i < 1000000; i++)
			x += (unsigned int)i;
		assert_int_equal(sampler_drain(f->sampler, handlers), 0);
		assert_true(samples_of_others(g, gen) - before < 100);
	}
	(void)x;
}

static void samples_carry_the_generation(void **state)
{
	struct fixture *f = *state;
	struct jit_code_entry *entry;
	struct generations g = {{0}, {0}, {0}};
	struct sampler_handlers handlers = {
		.ctx = &g, .first_sample = no_first_sample, .sample = note_sample};
	struct error err = {0};

	need_root();
	start_on_self(f, 0);
	if (sampler_start(f->sampler, &err))
		fail_msg("%s", err.text);
	entry = make_object(5 * KIB);
	burn(f, &handlers, 0);
	announce(entry, 1);
	burn(f, &handlers, 1);
	announce(entry, 2);
	burn(f, &handlers, 2);
	sampler_stop(f->sampler);
	assert_int_equal(sampler_drain(f->sampler, &handlers), 0);
	drain(f);
	assert_int_equal(f->seen.nr, 2);
	assert_int_equal(g.count[3], 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(f->seen.evs[i].code_gen, i + 1);
		assert_true(g.last_ns[i] < f->seen.evs[i].time_ns);
		/*
		 * Samples may be older than the event by the run time of the two
		 * programs: code_gen() of the sampler.
		 */
		assert_true(g.first_ns[i + 1] + 100000000 > f->seen.evs[i].time_ns);
	}
	free_object(entry);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(objects_come_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_copied_is_told, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_full_ring_is_counted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(user_space_is_woken_when_it_matters,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_stale_wake_up_hides_no_later_one,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(threads_and_children, set_up, tear_down),
		cmocka_unit_test_setup_teardown(strangers_are_left_alone, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_whole_machine_needs_no_targets,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(deleted_files_are_probed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(other_mount_namespaces_are_probed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(files_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(attaching_is_not_waited_for, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(removing_is_not_waited_for, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(samples_carry_the_generation, set_up,
						tear_down),
	};

	if (argc > 1 && !strcmp(argv[1], "churn")) {
		raise(SIGSTOP);
		churn(10, 5 * KIB);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
