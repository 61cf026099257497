// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A user runs a program from a file system in user space, whose server, this program,
 * answers the program itself, and nobody else.
 *
 * usage: served FILE SECONDS fuse|overlay
 *        open|read|getattr|lookup|flush|close|slow|names USER
 *        (as root; mounts as fusermount3 does for a user, with allow_other)
 *   fuse: the program is served.mnt/prog, with the bytes of FILE
 *   overlay: it is served.ovl/prog, in a user namespace where that is an overlay over it
 * The fourth word is what others' requests are never answered. close: flush, but helpers
 * of lineburn get their answer, so that the recorder has the file. slow: each open is
 * answered after 0.1 s; beside prog there are 2000 files, f0 to f1999, with its bytes.
 * names: so is each look-up of a name in the empty folders lib/python3.0 to
 * lib/python3.1999, for which there are files bin/python3.0 to bin/python3.1999.
 * Prints "held PID" when the program runs, and "asked" at the first late answer. Exits and
 * releases all after SECONDS.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM   2 /* node of "prog" */
#define FILES     1000 /* node of "f0" */
#define NR_FILES  2000
#define BIN       4000
#define LIB       4001
#define FOLDERS   5000 /* node of "lib/python3.0" */
#define MAX_WRITE 65536

static int server;
static unsigned int user;
static const char *file_bytes;
static size_t file_size;
static uint32_t held_request;
static bool serves_helpers, is_slow, has_folders;
static pid_t program;
static int started[2]; /* a pipe that exec closes */

static void reply(uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + len), .error = error, .unique = unique};
	char *message = malloc(header.len);

	if (!message)
		exit(1);
	memcpy(message, &header, sizeof(header));
	if (len)
		memcpy(message + sizeof(header), data, len);
	/* ENOENT: the request was interrupted, so no reply is needed. */
	if (write(server, message, header.len) < 0 && errno != ENOENT)
		perror("reply");
	free(message);
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr attr = {.ino = node, .nlink = 1, .uid = user, .gid = user,
				 .mode = S_IFDIR | 0755, .blksize = 4096};

	if (node == PROGRAM || (node >= FILES && node < FILES + NR_FILES)) {
		attr.mode = S_IFREG | 0755;
		attr.size = file_size;
		attr.blocks = (file_size + 511) / 512;
	}
	return attr;
}

static uint64_t node_in_folder(uint64_t folder, const char *name)
{
	unsigned int nr;

	if (folder == 1)
		return !strcmp(name, "bin") ? BIN : !strncmp(name, "lib", 3) ? LIB : 0;
	if (sscanf(name, "python3.%u", &nr) != 1 || nr >= NR_FILES)
		return 0;
	return folder == BIN ? FILES + nr : folder == LIB ? FOLDERS + nr : 0;
}

/* Return: 0: there is no such file. */
static uint64_t node_of(uint64_t folder, const char *name)
{
	unsigned int nr;

	if (!strcmp(name, "prog"))
		return PROGRAM;
	if (has_folders)
		return node_in_folder(folder, name);
	return is_slow && sscanf(name, "f%u", &nr) == 1 && nr < NR_FILES ? FILES + nr : 0;
}

static void answer_lookup(const struct fuse_in_header *in, const char *name)
{
	uint64_t node = node_of(in->nodeid, name);
	struct fuse_entry_out entry = {.nodeid = node, .attr = attributes(node)};

	if (node)
		reply(in->unique, 0, &entry, sizeof(entry));
	else
		reply(in->unique, -ENOENT, NULL, 0);
}

static void answer_read(const struct fuse_in_header *in, const struct fuse_read_in *arg)
{
	size_t at = arg->offset < file_size ? arg->offset : file_size;
	size_t len = file_size - at < arg->size ? file_size - at : arg->size;

	reply(in->unique, 0, file_bytes + at, len);
}

/* Nothing that the kernel might answer from its cache may stay valid. */
static void answer(const struct fuse_in_header *in, const void *arg)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31,
				     .max_readahead = MAX_WRITE, .max_write = MAX_WRITE,
				     .time_gran = 1};
	struct fuse_attr_out attr = {.attr = attributes(in->nodeid)};
	struct fuse_open_out opened = {.fh = 1, .open_flags = FOPEN_DIRECT_IO};
	struct fuse_statfs_out fs = {.st = {.bsize = 4096, .namelen = 255, .blocks = 9}};

	switch (in->opcode) {
	case FUSE_INIT:
		reply(in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer_lookup(in, arg);
		break;
	case FUSE_GETATTR:
		reply(in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPENDIR:
		opened.open_flags = 0;
		/* fallthrough */
	case FUSE_OPEN:
		reply(in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		answer_read(in, arg);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	case FUSE_STATFS:
		reply(in->unique, 0, &fs, sizeof(fs));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		reply(in->unique, 0, NULL, 0);
		break;
	default:
		reply(in->unique, -ENOSYS, NULL, 0);
	}
}

static bool is_helper(uint32_t pid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file = fopen(path, "r");
	if (file && !fgets(name, sizeof(name), file))
		name[0] = '\0';
	if (file)
		fclose(file);
	return !strcmp(name, "lineburn-worker\n");
}

static bool is_held(const struct fuse_in_header *in)
{
	if (has_folders && in->nodeid < FOLDERS)
		return false;
	/* 0: the kernel itself, as for reading ahead. */
	return in->opcode == held_request && in->pid && in->pid != (uint32_t)program &&
	       in->pid != (uint32_t)getpid() && !(serves_helpers && is_helper(in->pid));
}

static void answer_late(void)
{
	static bool is_told;

	if (!is_told) {
		puts("asked");
		fflush(stdout);
	}
	is_told = true;
	usleep(100000);
}

static void serve(void)
{
	static _Alignas(8) char request[MAX_WRITE + 4096];

	for (;;) {
		ssize_t nr = read(server, request, sizeof(request));
		const struct fuse_in_header *in = (const struct fuse_in_header *)request;

		if (nr < 0 && errno != EINTR && errno != ENOENT)
			return;
		if (nr < (ssize_t)sizeof(*in) || (is_held(in) && !is_slow))
			continue;
		if (is_held(in))
			answer_late();
		answer(in, request + sizeof(*in));
	}
}

static void *wait_for_exec(void *arg)
{
	char byte;

	(void)arg;
	while (read(started[0], &byte, 1) < 0 && errno == EINTR)
		;
	printf("held %d\n", program);
	fflush(stdout);
	return NULL;
}

static void write_file(const char *path, const char *format, unsigned int number)
{
	FILE *file = fopen(path, "w");

	if (!file || fprintf(file, format, number) < 0 || fclose(file)) {
		perror(path);
		_exit(1);
	}
}

static void make_overlay(void)
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
	if (mount("served", "served.ovl", "overlay", 0, "lowerdir=served.mnt:served.empty")) {
		perror("an overlay");
		_exit(1);
	}
}

static _Noreturn void run_program(bool overlay)
{
	const char *path = overlay ? "served.ovl/prog" : "served.mnt/prog";

	close(server);
	if (setresgid(user, user, user) || setresuid(user, user, user))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (overlay)
		make_overlay();
	execl(path, "prog", "1000", NULL);
	perror(path);
	_exit(1);
}

static void take_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		exit(1);
	}
	file_size = (size_t)st.st_size;
	file_bytes = mmap(NULL, file_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file_bytes == MAP_FAILED)
		exit(1);
}

static uint32_t request_of(const char *word)
{
	static const struct {
		const char *word;
		uint32_t opcode;
	} words[] = {{"open", FUSE_OPEN},
		     {"slow", FUSE_OPEN},
		     {"names", FUSE_LOOKUP},
		     {"read", FUSE_READ},
		     {"getattr", FUSE_GETATTR},
		     {"lookup", FUSE_LOOKUP},
		     {"flush", FUSE_FLUSH},
		     {"close", FUSE_FLUSH}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i].word))
			return words[i].opcode;
	exit(2);
}

static void mount_it(void)
{
	char options[128];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		perror("a mount namespace");
		exit(1);
	}
	mkdir("served.mnt", 0755);
	mkdir("served.ovl", 0777);
	mkdir("served.empty", 0755);
	server = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40755,user_id=%u,group_id=%u,allow_other", server, user, user);
	if (server < 0 || mount("served", "served.mnt", "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("FUSE");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 6)
		return 2;
	/* The end of this program ends the file system, and all waits for it. */
	alarm((unsigned int)atoi(argv[2]));
	held_request = request_of(argv[4]);
	serves_helpers = !strcmp(argv[4], "close");
	has_folders = !strcmp(argv[4], "names");
	is_slow = has_folders || !strcmp(argv[4], "slow");
	user = (unsigned int)atoi(argv[5]);
	take_file(argv[1]);
	mount_it();
	if (pipe2(started, O_CLOEXEC))
		return 1;
	program = fork();
	if (!program)
		run_program(!strcmp(argv[3], "overlay"));
	close(started[1]);
	if (program < 0 || pthread_create(&thread, NULL, wait_for_exec, NULL))
		return 1;
	serve();
	return 0;
}
