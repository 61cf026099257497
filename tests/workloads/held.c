// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unprivileged processes that block whoever looks at them, with dirty pages of a file
 * system in user space, whose server, this program, does not answer writes.
 *
 * usage: held FILE SECONDS [lock|spin|exec|task|look|folder [NR [USER [FOLDER]]]]
 *        (as root; mounts as fusermount3 does for a user)
 *   lock: each of NR processes (1) maps FILE, and one of its threads is stuck in munmap(2)
 *         with the lock of the mappings (mmap_lock): every other writer waits for it, and
 *         with one waiting every reader.
 *   spin: the same, and its first thread runs, so that a profiler reads its memory.
 *   exec: each is stuck in execve(2): who reads its maps, root or exe in /proc waits.
 *   task: each has lost its first thread, and its folder "task" is held: one thread is stuck
 *         listing it, another making a folder there, for which who opens a name in it, or
 *         lists it, waits. One more runs.
 *   folder: each holds FOLDER, of cgroups, in the same way.
 *   look: one runs FILE in a user namespace of its own, where held.ovl is an overlay over
 *         that file system: who looks there for a name that begins with "g" waits.
 * Prints "held" when all are stuck (look: when FILE begins). Exits and releases them after SECONDS in any case.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY     65534
#define FIRST_FILE 2 /* node of "0"; each process has a file */
#define FILE_BYTES (1 << 20)

static int server;
static atomic_int *nr_left; /* processes that are not stuck yet; shared with them */
static const char *held_folder; /* NULL: none */
static unsigned int user = NOBODY;
static char *page;

/* One more is stuck. */
static void tell(void)
{
	if (atomic_fetch_sub(nr_left, 1) == 1) {
		puts("held");
		fflush(stdout);
	}
}

static void reply(uint64_t unique, int error, const void *data, size_t len)
{
	static char message[sizeof(struct fuse_out_header) + FILE_BYTES];
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + len), .error = error, .unique = unique};

	memcpy(message, &header, sizeof(header));
	if (len)
		memcpy(message + sizeof(header), data, len);
	/* ENOENT: the request was interrupted, so no reply is needed. */
	if (write(server, message, header.len) < 0 && errno != ENOENT)
		perror("reply");
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr attr = {.ino = node, .nlink = 1, .uid = user, .gid = user,
				 .mode = S_IFDIR | 0755, .blksize = 4096};

	if (node >= FIRST_FILE) {
		attr.mode = S_IFREG | 0644;
		attr.size = FILE_BYTES;
	}
	return attr;
}

static void answer(const struct fuse_in_header *in, const void *arg)
{
	uint64_t node = in->opcode == FUSE_LOOKUP ? FIRST_FILE + (uint64_t)atoi(arg)
						  : in->nodeid;
	static const char zeroes[FILE_BYTES];
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31,
				     .max_readahead = 65536, .max_write = 65536,
				     .flags = FUSE_WRITEBACK_CACHE, .time_gran = 1};
	struct fuse_entry_out entry = {.nodeid = node, .attr_valid = 1000,
				       .entry_valid = 1000, .attr = attributes(node)};
	struct fuse_attr_out attr = {.attr_valid = 1000, .attr = attributes(node)};
	struct fuse_open_out opened = {.fh = 1};
	struct fuse_statfs_out fs = {.st = {.bsize = 4096, .namelen = 255, .blocks = 1000}};
	const struct fuse_read_in *reading = arg;

	if (in->opcode == FUSE_LOOKUP && *(const char *)arg == 'g')
		return;
	switch (in->opcode) {
	case FUSE_INIT:
		reply(in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		reply(in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		reply(in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		if (!held_folder)
			reply(in->unique, 0, zeroes,
			      reading->size < FILE_BYTES ? reading->size : FILE_BYTES);
		break;
	case FUSE_WRITE:
		tell(); /* a process waits for the answer to this */
		break;
	case FUSE_SETATTR:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	case FUSE_STATFS:
		reply(in->unique, 0, &fs, sizeof(fs));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_ACCESS:
		reply(in->unique, 0, NULL, 0);
		break;
	default:
		reply(in->unique, -ENOSYS, NULL, 0);
	}
}

static void *unmap(void *arg)
{
	(void)arg;
	/* Gives a profiler time to read the mappings first. */
	sleep(1);
	page[0] = 1;
	munmap(page, 4096);
	return NULL;
}

static void *map_more(void *arg)
{
	(void)arg;
	sleep(2);
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return NULL;
}

static void map_page(int number)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "held.mnt/%d", number);
	fd = open(name, O_RDWR);
	page = fd < 0 ? MAP_FAILED
		      : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		perror(name);
		_exit(1);
	}
}

static void hold_lock(const char *path, int spins)
{
	pthread_t thread, other;
	int fd = open(path, O_RDONLY);

	if (fd < 0 ||
	    mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
		perror(path);
		_exit(1);
	}
	if (pthread_create(&thread, NULL, unmap, NULL) ||
	    pthread_create(&other, NULL, map_more, NULL))
		_exit(1);
	for (;;)
		if (!spins)
			pause();
}

static atomic_int lister, maker; /* threads; 0: not yet */

/* Is this thread in this system call, where it waits? */
static bool is_in(int thread, long call)
{
	char path[64];
	long nr = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", thread);
	file = thread ? fopen(path, "r") : NULL;
	if (file && fscanf(file, "%ld", &nr) != 1)
		nr = -1;
	if (file)
		fclose(file);
	return nr == call;
}

static void *list_folder(void *arg)
{
	int fd = open(held_folder, O_RDONLY | O_DIRECTORY);

	(void)arg;
	lister = gettid();
	/* The kernel writes names into the page, which nobody reads for it. */
	syscall(SYS_getdents64, fd, page, 4096);
	return NULL;
}

static void *make_in_folder(void *arg)
{
	char path[4096];

	(void)arg;
	snprintf(path, sizeof(path), "%s/x", held_folder);
	while (!is_in(lister, SYS_getdents64))
		usleep(1000);
	maker = gettid();
	syscall(SYS_mkdirat, AT_FDCWD, path, 0755);
	return NULL;
}

static _Noreturn void *run_beside(void *arg)
{
	(void)arg;
	while (!is_in(maker, SYS_mkdirat))
		usleep(1000);
	tell();
	for (volatile unsigned long i = 0;; i++)
		;
}

static void hold_folder(void)
{
	pthread_t threads[3];

	/* So that it may read its own "syscall". */
	prctl(PR_SET_DUMPABLE, 1);
	if (pthread_create(&threads[0], NULL, list_folder, NULL) ||
	    pthread_create(&threads[1], NULL, make_in_folder, NULL) ||
	    pthread_create(&threads[2], NULL, run_beside, NULL))
		_exit(1);
	syscall(SYS_exit, 0); /* only this thread */
}

static void write_file(const char *path, const char *format, unsigned int number)
{
	FILE *file = fopen(path, "w");

	if (!file || fprintf(file, format, number) < 0 || fclose(file)) {
		perror(path);
		_exit(1);
	}
}

static void run_with_overlay(const char *path)
{
	/* Another user's process has these files only when it may be dumped. */
	prctl(PR_SET_DUMPABLE, 1);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) {
		perror("a user namespace");
		_exit(1);
	}
	write_file("/proc/self/setgroups", "deny%.0u", 0);
	write_file("/proc/self/uid_map", "0 %u 1", user);
	write_file("/proc/self/gid_map", "0 %u 1", user);
	if (mount("held", "held.ovl", "overlay", 0, "lowerdir=held.mnt:held.empty")) {
		perror("an overlay");
		_exit(1);
	}
	puts("held");
	fflush(stdout);
	execl(path, path, "600", NULL);
	_exit(1);
}

static void victim(const char *path, int number, const char *mode)
{
	close(server);
	if (setresgid(user, user, user) || setresuid(user, user, user))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!strcmp(mode, "look"))
		run_with_overlay(path);
	map_page(number);
	if (held_folder)
		hold_folder();
	if (strcmp(mode, "exec") != 0)
		hold_lock(path, !strcmp(mode, "spin"));
	page[0] = 1;
	execl(path, path, "600", NULL);
	_exit(1);
}

static void serve(void)
{
	static _Alignas(8) char request[FILE_BYTES + 4096];

	for (;;) {
		ssize_t nr = read(server, request, sizeof(request));

		if (nr < 0 && errno != EINTR && errno != ENOENT)
			return;
		if (nr >= (ssize_t)sizeof(struct fuse_in_header))
			answer((const struct fuse_in_header *)request,
			       request + sizeof(struct fuse_in_header));
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 3 ? argv[3] : "lock";
	char options[128];

	if (argc < 3)
		return 2;
	nr_left = mmap(NULL, sizeof(*nr_left), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (nr_left == MAP_FAILED)
		return 1;
	atomic_store(nr_left, argc > 4 ? atoi(argv[4]) : 1);
	if (!strcmp(mode, "task"))
		held_folder = "/proc/self/task";
	if (!strcmp(mode, "folder") && argc > 6)
		held_folder = argv[6];
	if (argc > 5)
		user = (unsigned int)atoi(argv[5]);
	/* The end of this program ends the file system, and all waits for it. */
	alarm((unsigned int)atoi(argv[2]));
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		perror("a mount namespace");
		return 1;
	}
	mkdir("held.mnt", 0755);
	mkdir("held.ovl", 0777);
	mkdir("held.empty", 0755);
	server = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=%u,group_id=%u", server,
		 user, user);
	if (server < 0 || mount("held", "held.mnt", "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("FUSE");
		return 1;
	}
	for (int i = atomic_load(nr_left); i-- > 0;)
		if (!fork())
			victim(argv[1], i, mode);
	serve();
	return 0;
}
