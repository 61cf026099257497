// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An unprivileged process that maps a file, and holds the lock of its own mappings
 * (mmap_lock) for some seconds. One of its threads unmaps a dirty page of a file system
 * in user space, whose server, this program, does not answer the write. Every writer
 * of that lock has to wait.
 *
 * usage: held FILE SECONDS   (as root; mounts as fusermount3 does for a user)
 * Prints "held" when the lock is held. Exits and releases it after SECONDS in any case.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY     65534
#define FILE_NODE  2
#define FILE_BYTES (1 << 20)

static int server;
static char *page;

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
	struct fuse_attr attr = {.ino = node, .nlink = 1, .uid = NOBODY, .gid = NOBODY,
				 .mode = S_IFDIR | 0755, .blksize = 4096};

	if (node == FILE_NODE) {
		attr.mode = S_IFREG | 0644;
		attr.size = FILE_BYTES;
	}
	return attr;
}

static void answer(const struct fuse_in_header *in, const void *arg)
{
	static const char zeroes[FILE_BYTES];
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31,
				     .max_readahead = 65536, .max_write = 65536,
				     .flags = FUSE_WRITEBACK_CACHE, .time_gran = 1};
	struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr_valid = 1000,
				       .entry_valid = 1000, .attr = attributes(FILE_NODE)};
	struct fuse_attr_out attr = {.attr_valid = 1000, .attr = attributes(in->nodeid)};
	struct fuse_open_out opened = {.fh = 1};
	const struct fuse_read_in *reading = arg;

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
		reply(in->unique, 0, zeroes,
		      reading->size < FILE_BYTES ? reading->size : FILE_BYTES);
		break;
	case FUSE_WRITE:
		/* The thread in munmap(2) waits for the answer to this. */
		puts("held");
		fflush(stdout);
		break;
	case FUSE_SETATTR:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
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

static void hold(const char *path)
{
	pthread_t thread;
	int fd = open(path, O_RDONLY), dirty;

	if (fd < 0 ||
	    mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
		perror(path);
		_exit(1);
	}
	dirty = open("held.mnt/file", O_RDWR);
	page = dirty < 0 ? MAP_FAILED
			 : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, dirty, 0);
	if (page == MAP_FAILED) {
		perror("held.mnt/file");
		_exit(1);
	}
	if (pthread_create(&thread, NULL, unmap, NULL))
		_exit(1);
	for (;;)
		pause();
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
	char options[128];
	pid_t pid;

	if (argc != 3)
		return 2;
	/* The end of this program ends the file system, and all waits for it. */
	alarm((unsigned int)atoi(argv[2]));
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		perror("a mount namespace");
		return 1;
	}
	mkdir("held.mnt", 0755);
	server = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%d,group_id=%d", server,
		 NOBODY, NOBODY);
	if (server < 0 || mount("held", "held.mnt", "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("FUSE");
		return 1;
	}
	pid = fork();
	if (!pid) {
		close(server);
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		hold(argv[1]);
	}
	serve();
	return 0;
}
