// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "decode/requests.h"
#include "opener/opener.h"
#include "worker/shared.h"

static struct look look_of(const struct safe_open *how, enum look_what what)
{
	return (struct look){.where = LOOK_IN_ROOT,
			     .what = what,
			     .rules = LOOK_CHECKED | how->flags,
			     .name = how->path,
			     .uid = how->uid,
			     .gid = how->gid,
			     .root_uid = how->root_uid,
			     .max_bytes = how->max_bytes,
			     .fd = -1};
}

static int found(int rc, const struct look *look, struct look_facts *ret)
{
	if (ret)
		*ret = look->facts;
	return rc ? rc : look->fd;
}

int safe_open(const struct safe_open *how, struct look_facts *ret)
{
	struct look look = look_of(how, LOOK_FILE);

	return found(opener_look_at(how->root_fd, how->who, &look), &look, ret);
}

int safe_open_find(const struct safe_open *how, struct look_facts *ret)
{
	struct look look = look_of(how, LOOK_HANDLE);

	return found(opener_look_at(how->root_fd, how->who, &look), &look, ret);
}

int safe_open_read(const struct safe_open *how, char **ret, size_t *ret_len,
		   struct look_facts *ret_facts)
{
	struct look look = look_of(how, LOOK_CONTENT);
	int rc = opener_look_at(how->root_fd, how->who, &look);

	*ret_facts = look.facts;

	if (rc)
		return rc;
	*ret = look.text;
	*ret_len = look.len;
	return 0;
}

int safe_reopen(int fd, const struct safe_open *how, struct look_facts *ret)
{
	struct look look = look_of(how, LOOK_FILE);

	look.where = LOOK_ITSELF;
	look.name = NULL;
	look.rules &= ~(unsigned int)LOOK_AS_OWNER;
	return found(opener_look_at(fd, how->who, &look), &look, ret);
}

bool file_is_late(int why)
{
	return why == ETIMEDOUT || why == EBUSY || why == EIO || why == EAGAIN;
}

int safe_reopen_any(int fd, struct tenant who)
{
	struct look look = {.where = LOOK_ITSELF, .what = LOOK_FILE, .fd = -1};
	int rc = opener_look_at(fd, who, &look);

	return rc ? rc : look.fd;
}

int safe_open_facts(int fd, struct tenant who, unsigned int rules, struct look_facts *ret)
{
	struct look look = {
		.where = LOOK_ITSELF, .what = LOOK_FACTS, .rules = rules, .fd = -1};
	int rc = opener_look_at(fd, who, &look);

	*ret = look.facts;
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
	char path[64];
	int err, read_fd;

	if (end <= start || end - start > VDSO_MAX_BYTES)
		return -ENOENT;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = io_write_all(fd, (const void *)(uintptr_t)start, end - start);
	if (err)
		return err;
	/* One decoder must not write what the next one reads. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (read_fd < 0)
		return -errno;
	*ret_size = end - start;
	return read_fd;
}

/* ---- facts about a file ---- */

#define PAUSE_NS          CLOCK_SECOND_NS
#define FACTS_DEADLINE_MS 2000 /* the symbol names may have to come from a slow disk */
#define SHORT_DEADLINE_MS 100 /* for a file in memory, while the loop waits */

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

static enum worker_answer facts_read(struct worker *decoder, struct tenant who, int fd,
				     unsigned int deadline_ms, struct file_facts *ret)
{
	enum worker_answer answer;
	struct wire_reader reply;

	worker_serves(decoder, who);
	answer = worker_call(decoder, DECODER_INSPECT, NULL, 0, &fd, 1, NULL, NULL,
			     deadline_ms, &reply, NULL);
	return answer == WORKER_OK && read_facts(&reply, ret) ? WORKER_BAD_REPLY : answer;
}

int file_facts_read(struct worker *decoder, struct tenant who, int fd,
		    struct file_facts *ret)
{
	return facts_read(decoder, who, fd, FACTS_DEADLINE_MS, ret) == WORKER_OK
		       ? 0
		       : -ENODATA;
}

/* If it is the first one: the entry may have been another file's before. */
static void begin_failures(struct target_file *file)
{
	if (file->inspect_from_ns)
		return;
	file->inspect_died = false;
	file->inspect_late = (struct retry_pause){0};
}

/* A read may have taken long, once: all users have the same libraries. */
static void note_late(struct target_file *file)
{
	begin_failures(file);
	retry_pause_begin(&file->inspect_late, RETRY_FIRST_NS, RETRY_MAX_NS,
			  clock_now_ns());
	file->inspect_from_ns = file->inspect_late.until_ns;
}

uint64_t file_facts_late_until(const struct target_file *file)
{
	return file->inspect_from_ns ? file->inspect_late.until_ns : 0;
}

const struct file_facts *file_facts_get(struct target_file *file, struct worker *decoder,
					struct tenant who)
{
	_cleanup_free_ struct file_facts *facts = NULL;
	enum worker_answer answer;

	if (file->facts || file->fd < 0 || clock_now_ns() < file_facts_late_until(file))
		return file->facts;
	facts = calloc(1, sizeof(*facts));
	if (!facts)
		return NULL;
	answer = facts_read(decoder, who, file->fd, SHORT_DEADLINE_MS, facts);
	if (answer == WORKER_DEADLINE)
		note_late(file);
	else if (answer != WORKER_REFUSED && answer != WORKER_CANNOT_START) /* later */
		file->facts = take_ptr(facts); /* after a failure they stay zero */
	return file->facts;
}

/* @use  of the file when it was sent */
static void take_facts(void *ctx, uint64_t use, enum worker_answer answer,
		       struct wire_reader *reply)
{
	struct target_file *file = ctx;

	/* Another tenant may ask for what one was refused. */
	if (file->use != use || file->facts || answer == WORKER_REFUSED)
		return;
	if (answer == WORKER_DEADLINE) {
		note_late(file);
		return;
	}
	begin_failures(file);
	/* It may have had no memory: once more. That none could begin is not the file's fault. */
	if (answer == WORKER_CANNOT_START ||
	    (answer == WORKER_DIED && !file->inspect_died)) {
		file->inspect_died |= answer == WORKER_DIED;
		file->inspect_from_ns = clock_now_ns() + PAUSE_NS;
		return;
	}
	file->facts = calloc(1, sizeof(*file->facts));
	if (file->facts && answer == WORKER_OK)
		read_facts(reply, file->facts);
}

bool file_facts_are_there(struct target_file *file, struct shared_worker *decoder,
			  struct tenant who)
{
	struct wire_writer content = {.max = WORKER_MAX_REQUEST_BYTES};

	if (file->facts || file->fd < 0)
		return true;
	if (file->inspect_from_ns && clock_now_ns() < file->inspect_from_ns)
		return false;
	if (!shared_worker_may_send(decoder, who))
		return false;
	shared_worker_send(decoder,
			   &(struct shared_request){.op = DECODER_INSPECT,
						    .fd = file->fd,
						    .deadline_ms = FACTS_DEADLINE_MS,
						    .who = who,
						    .take = take_facts,
						    .ctx = file,
						    .tag = file->use},
			   &content);
	return file->facts;
}
