// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/bpf_programs.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* More than any program has; the verifier allows 256 of one's own (BPF_MAX_SUBPROGS). */
#define MAX_FUNCTIONS 4096

/* A program that cannot be asked (of a device that is gone) has no functions. */
static int list_functions(int fd, void (*handler)(void *ctx, const struct task_event *ev),
			  void *ctx)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info), nr;
	_cleanup_free_ uint64_t *starts = NULL;
	_cleanup_free_ uint32_t *lens = NULL;

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return 0;
	nr = info.nr_jited_ksyms;
	if (nr > MAX_FUNCTIONS)
		return 0;
	starts = calloc(nr + 1, sizeof(*starts));
	lens = calloc(nr + 1, sizeof(*lens));
	if (!starts || !lens)
		return -ENOMEM;
	info = (struct bpf_prog_info){.nr_jited_ksyms = nr,
				      .jited_ksyms = (uintptr_t)starts,
				      .nr_jited_func_lens = nr,
				      .jited_func_lens = (uintptr_t)lens};
	len = sizeof(info);
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return 0;
	for (uint32_t i = 0; i < nr; i++) {
		const struct task_event ev = {.kind = TASK_EVENT_KERNEL_CODE,
					      .start = starts[i],
					      .end = starts[i] + lens[i]};

		/* 0: the kernel hides its addresses, or interprets the program. */
		if (starts[i])
			handler(ctx, &ev);
	}
	return 0;
}

uint64_t bpf_programs_missed(const int *fds, size_t nr)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < nr; i++) {
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);

		if (fds[i] >= 0 && !bpf_obj_get_info_by_fd(fds[i], &info, &len))
			sum += info.recursion_misses;
	}
	return sum;
}

/* Needs CAP_SYS_ADMIN. *id is the last program's; 0: none yet. Return: fd or -errno. */
static int open_next(uint32_t *id)
{
	int fd;

	do {
		if (bpf_prog_get_next_id(*id, id))
			return -errno;
		fd = bpf_prog_get_fd_by_id(*id);
	} while (fd < 0 && errno == ENOENT); /* it has ended meanwhile */
	return fd < 0 ? -errno : fd;
}

int bpf_programs_serve_next(void *ctx, const struct broker_message *request,
			    struct broker_message *reply)
{
	uint32_t id;
	int fd;

	(void)ctx;
	reply->len = sizeof(id);
	if (request->len != sizeof(id))
		return -EBADMSG;
	memcpy(&id, request->data, sizeof(id));
	fd = open_next(&id);
	if (fd < 0)
		return fd;
	memcpy(reply->data, &id, sizeof(id));
	reply->fds[reply->nr_fds++] = fd;
	return 0;
}

static int ask_for_next(uint32_t *id)
{
	struct broker_message request = {.data = id, .len = sizeof(*id)};
	struct broker_message reply = {.data = id, .len = sizeof(*id)};
	int rc = broker_ask(BROKER_HELPERS, BROKER_NEXT_BPF_PROGRAM, &request, &reply);

	return reply.nr_fds ? reply.fds[0] : rc ? rc : -EMFILE;
}

int bpf_programs_list(void (*handler)(void *ctx, const struct task_event *ev), void *ctx)
{
	uint32_t id = 0;
	int rc = 0;

	while (!rc) {
		_cleanup_close_ int fd = broker_is_there(BROKER_HELPERS)
						 ? ask_for_next(&id)
						 : open_next(&id);

		if (fd < 0)
			return fd == -ENOENT ? 0 : fd;
		rc = list_functions(fd, handler, ctx);
	}
	return rc;
}
