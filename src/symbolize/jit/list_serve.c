// SPDX-License-Identifier: GPL-2.0-or-later
/* The walk of a list as an operation of a reader. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "symbolize/decoder.h"
#include "symbolize/jit/list.h"
#include "worker/reader.h"

/*
 * Half of the time that the caller gives: what is slow (a list that others keep
 * changing, a machine that is busy) ends here with what it has, so that only a
 * read that hangs is killed.
 */
#define CALL_MS    100
#define CALL_BYTES (16u << 20) /* read twice and sent within the other half */

#define NS_PER_MS  1000000
#define NS_PER_S   1000000000

struct target {
	pid_t pid;
	int64_t end_ns; /* CLOCK_MONOTONIC */
};

static int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec;
}

static int read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct target *t = ctx;
	ssize_t n;

	if (clock_ns() >= t->end_ns)
		return -ETIME;
	n = reader_read(t->pid, addr, buf, len);
	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -EFAULT;
}

static void put_object(void *ctx, const struct list_object *o, enum list_state state,
		       const void *bytes)
{
	struct wire_writer *reply = ctx;

	wire_put_u32(reply, 1);
	wire_put_u64(reply, o->entry_addr);
	wire_put_u64(reply, o->symfile_addr);
	wire_put_u64(reply, o->size_bytes);
	wire_put_u32(reply, state);
	wire_put_bytes(reply, bytes, bytes ? (size_t)o->size_bytes : 0);
}

/* Return: 0, -EBADMSG or -ENOMEM. */
static int read_known(struct wire_reader *r, struct list_request *ret)
{
	uint32_t nr = wire_get_u32(r);

	if (r->failed || nr > LIST_MAX_KNOWN)
		return -EBADMSG;
	ret->known = calloc(nr ? nr : 1, sizeof(*ret->known));
	if (!ret->known)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		ret->known[i].entry_addr = wire_get_u64(r);
		ret->known[i].symfile_addr = wire_get_u64(r);
		ret->known[i].size_bytes = wire_get_u64(r);
	}
	ret->nr_known = nr;
	return r->failed ? -EBADMSG : 0;
}

int list_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
	       size_t nr_fds, struct wire_writer *reply)
{
	struct target target = {.end_ns = clock_ns() + CALL_MS * (int64_t)NS_PER_MS};
	struct list_request list = {.max_bytes = CALL_BYTES,
				    .by_pages = true,
				    .read = read_memory,
				    .read_ctx = &target};
	enum list_walk result;
	int rc;

	(void)call, (void)fds, (void)nr_fds;
	target.pid = (pid_t)wire_get_u32(request);
	list.descriptor_addr = wire_get_u64(request);
	rc = read_known(request, &list);
	if (!rc)
		rc = list_walk(&list, put_object, reply, &result);
	free(list.known);
	if (rc)
		return rc;
	wire_put_u32(reply, 0);
	wire_put_u32(reply, result);
	return 0;
}
