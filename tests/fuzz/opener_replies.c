// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an opener answers, as the collector reads it. First byte: how many looks are made,
 * and how many descriptors each answer has; from 72 to 143, that can be written to; from 144
 * on, at two processes at once, of which the second has to be opened; from 208 to 215, none,
 * but all processes are listed; from 216 to 223, none at one, whose threads are looked at; from 224 on, at one that has to be opened. Rest: the
 * answers, each of u16 bytes and these bytes; an empty one does not come in time. A look that
 * succeeded has what it was made for, no descriptor can be written to or is left open, and a
 * malformed answer is counted.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "opener/opener.h"
#include "process/proc_dir.h"
#include "lib/cost.h"
#include "lib/replies.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 20000, .per_byte = 700};

/* Return: the lowest free descriptor, which tells whether one was left open. */
static int lowest_fd(void)
{
	int fd = fcntl(0, F_DUPFD_CLOEXEC, 3);

	close(fd);
	return fd;
}

static uint64_t nr_failed(void)
{
	struct opener_stats stats;

	opener_stats(&stats);
	return stats.nr_failed;
}

#define MAX_BYTES 100
#define NAME      "name"

/* Of text. The caller leaves some to the opener. */
static size_t max_of(enum look_what what)
{
	switch (what) {
	case LOOK_LINK:
		return PATH_MAX;
	case LOOK_OWNERS:
		return (strlen(NAME) + 2) * sizeof(struct look_owner);
	default:
		return MAX_BYTES;
	}
}

static void check_look(struct look *look, int rc)
{
	assert(look->rc <= 0 && look->rc >= -4095);
	assert(!rc || (look->rc == rc && look->fd < 0 && !look->text));
	bool with_fd = look->what == LOOK_HANDLE || look->what == LOOK_FILE;

	assert((look->fd >= 0) == (!look->rc && with_fd));
	assert((look->text != NULL) ==
	       (!look->rc && !with_fd && look->what != LOOK_FACTS));
	assert(look->text ? !look->text[look->len] : !look->len);
	assert(look->len <= max_of(look->what));
	assert(look->fd < 0 || (fcntl(look->fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
	assert(look->fd < 0 || look->what != LOOK_HANDLE ||
	       fcntl(look->fd, F_GETFL) & O_PATH);
	look_deinit(look);
}

static void close_directory(const struct look_group *process)
{
	assert(process->base_fd != -1);
	if (process->base_fd >= 0)
		assert(!close(process->base_fd));
}

static void look_at_new(int base, struct look *looks, size_t nr)
{
	struct look_group process = {
		.base_fd = -1, .proc_fd = base, .pid = 7, .looks = looks, .nr = nr};
	int rc = opener_look_at_process(&process);

	assert(process.base_fd >= 0 || rc == process.base_fd);
	close_directory(&process);
}

/* Return: the rc of a look that was not made; 0: they were. */
static int look_at_two(int base, struct look *looks, size_t nr)
{
	struct look_group groups[] = {
		{.base_fd = base, .who = {.uid = 1000}, .looks = looks, .nr = nr / 2},
		{.base_fd = -1,
		 .proc_fd = base,
		 .pid = 7,
		 .who = {.uid = 1001},
		 .looks = looks + nr / 2,
		 .nr = nr - nr / 2}};

	opener_look_groups(groups, ARRAY_SIZE(groups));
	close_directory(&groups[1]);
	for (size_t i = 0; i < nr; i++)
		if (looks[i].rc != -EAGAIN)
			return 0;
	return -EAGAIN;
}

static int check_thread(void *ctx, const char *tid, const char *text)
{
	size_t *nr = ctx;

	assert(strlen(tid) <= MAX_BYTES && strlen(text) < 65536);
	assert(++*nr <= MAX_BYTES);
	return 0;
}

static void look_at_threads(int base)
{
	size_t nr = 0;

	assert(proc_dir_each_thread(base, "stat", MAX_BYTES, check_thread, &nr) <= 0);
}

static int check_process(void *ctx, uint32_t pid, int dir)
{
	uint32_t *last = ctx;

	assert(pid > *last && dir < 0);
	*last = pid;
	return 0;
}

static void list_processes(int base)
{
	uint32_t last = 0;

	worker.nr_fds = 0;
	assert(proc_dir_each(base, check_process, &last) <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int before = lowest_fd(), base;
	struct look looks[OPENER_MAX_LOOKS];
	bool at_two, at_new;
	size_t nr;

	if (!size)
		return -1;
	nr = data[0] % OPENER_MAX_LOOKS + 1u;
	worker.nr_fds = data[0] / OPENER_MAX_LOOKS % (OPENER_MAX_LOOKS + 1);
	at_new = data[0] >= 28 * OPENER_MAX_LOOKS;
	at_two = data[0] >= 2 * OPENER_MAX_LOOKS * (OPENER_MAX_LOOKS + 1);
	worker.access = data[0] / (OPENER_MAX_LOOKS * (OPENER_MAX_LOOKS + 1)) == 1
				? O_RDWR
				: O_RDONLY;
	worker.replies = (struct pieces){data + 1, size - 1};
	if (opener_begin(NULL))
		abort();
	base = open("/", O_PATH | O_CLOEXEC);
	if (data[0] / OPENER_MAX_LOOKS == 26)
		list_processes(base);
	if (data[0] / OPENER_MAX_LOOKS == 27)
		look_at_threads(base);
	while (worker.replies.size > sizeof(uint16_t)) {
		uint64_t failed_before = nr_failed();
		size_t left = worker.replies.size;
		int rc;

		for (size_t i = 0; i < nr; i++)
			looks[i] = (struct look){
				.where = (enum look_where)(i % NR_LOOK_WHERE),
				.what = (enum look_what)(i % NR_LOOK_WHAT),
				.name = NAME,
				.fd = base};
		for (size_t i = 0; i < nr; i++)
			if (max_of(looks[i].what) == MAX_BYTES)
				looks[i].max_bytes = MAX_BYTES;
		if (at_new)
			look_at_new(base, looks, nr);
		rc = at_new   ? 0
		     : at_two ? look_at_two(base, looks, nr)
			      : opener_look(base, TENANT_UNKNOWN, looks, nr);
		for (size_t i = 0; i < nr; i++)
			check_look(&looks[i], rc);
		assert(rc != -EBADMSG || nr_failed() > failed_before);
		/* It was not asked: too many looks were late. */
		if (worker.replies.size == left)
			break;
	}
	opener_end();
	assert(!close(base)); /* what the caller left in a look is not closed */
	assert(lowest_fd() == before);
	return 0;
}
