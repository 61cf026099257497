// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/creds.h"
#include "base/io.h"
#include "decode/requests.h"
#include "worker/worker.h"

/*
 * Opens, as root, paths that an untrusted user named.
 *
 * The path is resolved inside the target's root (a symlink cannot lead out) to an
 * O_PATH descriptor, which opens nothing: a FIFO does not block or wake its
 * writer, a device does not act. Only a verified regular file is opened for
 * reading, through that descriptor, so that it cannot be replaced in between.
 */
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* A concurrent rename or mount makes openat2() fail with EAGAIN: retry. */
#define MAX_RETRIES 32

int safe_open_resolve(const struct safe_open *how)
{
	struct open_how open_how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	if (how->flags & SAFE_OPEN_NOFOLLOW)
		open_how.flags |= O_NOFOLLOW;
	for (int i = 0; i < MAX_RETRIES; i++) {
		long fd = syscall(SYS_openat2, how->root_fd, how->path, &open_how,
				  sizeof(open_how));

		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

/*
 * Refuses pseudo files, which root may read and the target may not, and FUSE files,
 * whose server may be the untrusted user.
 */
static bool is_refused_fs(int fd)
{
	struct statfs fs;

	return io_is_made_up(fd) || fstatfs(fd, &fs) ||
	       (unsigned long)fs.f_type == FUSE_SUPER_MAGIC;
}

int safe_open_check(int fd, const struct safe_open *how)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (is_refused_fs(fd))
		return -EXDEV;
	if (how->flags & SAFE_OPEN_OWNED) {
		if (st.st_uid != how->uid && st.st_uid != how->root_uid)
			return -EPERM;
		/*
		 * A file with a second name may be a hard link to another user's
		 * secret.
		 */
		if (st.st_mode & S_IWOTH || st.st_nlink > 1)
			return -EPERM;
	}
	if (how->max_bytes && (uint64_t)st.st_size > how->max_bytes)
		return -EFBIG;
	return 0;
}

int safe_open(const struct safe_open *how)
{
	_cleanup_close_ int path_fd = -1;
	bool as_owner = how->flags & SAFE_OPEN_AS_OWNER;
	struct creds creds;
	int rc;

	if (as_owner) {
		if (how->uid == (uid_t)-1 || how->gid == (gid_t)-1)
			return -EPERM;
		rc = creds_become(&creds, how->uid, how->gid);
		if (rc)
			return rc;
	}
	rc = path_fd = safe_open_resolve(how);
	if (path_fd >= 0)
		rc = safe_open_check(path_fd, how);
	if (!rc)
		rc = io_reopen(path_fd);
	if (as_owner)
		creds_restore(&creds);
	return rc;
}

/* ---- the vdso ---- */

#define VDSO_MAX_BYTES (1u << 20) /* the vdso of any kernel has 1 to 4 pages */

/* Returns the end of the mapping that begins at @start; 0: there is none. */
static uint64_t mapping_end(uint64_t start)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2 && from == start)
			return to;
	}
	return 0;
}

int vdso_open(uint64_t *ret_size)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	uint64_t end = start ? mapping_end(start) : 0;
	_cleanup_close_ int fd = -1;
	int err;

	if (end <= start || end - start > VDSO_MAX_BYTES)
		return -ENOENT;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = io_write_all(fd, (const void *)(uintptr_t)start, end - start);
	if (err)
		return err;
	*ret_size = end - start;
	return take_fd(&fd);
}

/* ---- facts about a file ---- */

#define FACTS_DEADLINE_MS 2000 /* the symbol names may have to come from a slow disk */

static int read_facts(struct wire_reader *r, struct file_facts *ret)
{
	struct file_facts facts = {0};

	facts.is_elf = wire_get_u32(r) == 1;
	for (size_t i = 0; i < NR_RUNTIMES; i++) {
		size_t len;
		const void *bytes = wire_get_bytes(r, &len);

		if (r->failed || (len && len != RUNTIME_FACTS_BYTES))
			return -ENODATA;
		facts.runtimes[i].is_known = len != 0;
		if (len)
			memcpy(facts.runtimes[i].words, bytes, len);
	}
	if (r->pos != r->len)
		return -ENODATA;
	*ret = facts;
	return 0;
}

int file_facts_read(struct worker *decoder, int fd, const char *path,
		    struct file_facts *ret)
{
	struct wire_writer request = {.max = WORKER_MAX_REQUEST_BYTES};
	enum worker_answer answer = WORKER_FAILED;
	struct wire_reader reply;

	wire_put_str(&request, path);
	if (!request.failed)
		answer = worker_call(decoder, DECODER_INSPECT, request.data, request.len,
				     &fd, 1, NULL, NULL, FACTS_DEADLINE_MS, &reply, NULL);
	wire_writer_deinit(&request);
	return answer == WORKER_OK ? read_facts(&reply, ret) : -ENODATA;
}

const struct file_facts *file_facts_get(struct target_file *file, struct worker *decoder)
{
	if (!file->facts && file->fd >= 0) {
		file->facts = calloc(1, sizeof(*file->facts));
		/* After a failure all facts stay zero. */
		if (file->facts)
			file_facts_read(decoder, file->fd, file->path, file->facts);
	}
	return file->facts;
}
