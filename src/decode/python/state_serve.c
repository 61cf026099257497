// SPDX-License-Identifier: GPL-2.0-or-later
/* The search for thread states as an operation of a reader. */
#include <errno.h>

#include "base/clock.h"
#include "decode/python/state.h"
#include "decode/requests.h"
#include "worker/reader.h"

#if defined(__x86_64__)
#define THREAD_ID_IS_POINTER true
#else
/* pthread_self() and the thread pointer are apart by a size that is nowhere said. */
#define THREAD_ID_IS_POINTER false
#endif

#define CALL_NS UINT64_C(100000000) /* half of what the caller gives */

static ssize_t read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return reader_read_until(ctx, addr, buf, len);
}

int python_state_serve(struct worker_call *call, struct wire_reader *request,
		       const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	struct reader_target target = {.end_ns = clock_now_ns() + CALL_NS};
	struct python_search search = {.read = read_memory, .ctx = &target};
	struct python_state_found found = {.tls_off = 0};
	enum python_state state = PYTHON_UNKNOWN;

	(void)call, (void)fds, (void)nr_fds;
	target.pid = (pid_t)wire_get_u32(request);
	search.version = wire_get_u32(request);
	search.runtime_addr = wire_get_u64(request);
	if (request->failed)
		return -EBADMSG;
	if (THREAD_ID_IS_POINTER)
		state = python_state_search(&search, &found);
	wire_put_u32(reply, state);
	wire_put_bytes(reply, &found.layout, sizeof(found.layout));
	wire_put_u64(reply, (uint64_t)(int64_t)found.tls_off);
	return 0;
}
