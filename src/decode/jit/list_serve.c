// SPDX-License-Identifier: GPL-2.0-or-later
/* The walk of a list as an operation of a reader. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "decode/jit/list.h"
#include "decode/requests.h"
#include "worker/reader.h"

#define CALL_NS    UINT64_C(100000000) /* half of the time that the caller gives */
#define CALL_BYTES (16u << 20) /* read twice and sent within the other half */

static int read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	ssize_t n = reader_read_until(ctx, addr, buf, len);

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
		ret->known[i].ends = wire_get_u64(r);
	}
	ret->nr_known = nr;
	return r->failed ? -EBADMSG : 0;
}

int list_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
	       size_t nr_fds, struct wire_writer *reply)
{
	struct reader_target target = {.end_ns = clock_now_ns() + CALL_NS};
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
