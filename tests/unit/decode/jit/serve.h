/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls a decoder of JIT files as the collector does, without a worker. */
#ifndef LB_TESTS_SYMBOLIZE_JIT_SERVE_H
#define LB_TESTS_SYMBOLIZE_JIT_SERVE_H

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "decode/answer.h"
#include "decode/requests.h"

struct ask {
	uint64_t ip, first_ns, last_ns;
};

struct look {
	uint64_t time_ns, size_bytes;
};

struct served {
	struct strpool *pool;
	struct answers answers;
	enum miss object_miss;
	uint64_t nr_bad;
};

static inline void served_deinit(struct served *s)
{
	answers_deinit(&s->answers);
	strpool_free(s->pool);
	*s = (struct served){0};
}

/* A descriptor of @len bytes in memory. */
static inline int file_of(const void *bytes, size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	return fd;
}

/* @looks NULL: the operation takes none (jitdump). */
static inline void serve(worker_op op, int fd, const struct look *looks, size_t nr_looks,
			 const struct ask *asks, size_t nr, struct served *ret)
{
	struct wire_writer request = {0}, reply = {0};
	struct wire_reader r;

	served_deinit(ret);
	if (looks) {
		wire_put_u32(&request, (uint32_t)nr_looks);
		for (size_t i = 0; i < nr_looks; i++) {
			wire_put_u64(&request, looks[i].time_ns);
			wire_put_u64(&request, looks[i].size_bytes);
		}
	}
	wire_put_u32(&request, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++) {
		wire_put_u64(&request, asks[i].ip);
		wire_put_u64(&request, asks[i].first_ns);
		wire_put_u64(&request, asks[i].last_ns);
	}
	r = (struct wire_reader){.data = request.data, .len = request.len};
	assert_int_equal(op(NULL, &r, &fd, 1, &reply), 0);
	assert_false(r.failed);
	r = (struct wire_reader){.data = reply.data, .len = reply.len};
	ret->pool = strpool_new(16 << 20);
	ret->object_miss = (enum miss)wire_get_u32(&r);
	ret->nr_bad = wire_get_u64(&r);
	assert_int_equal(answers_read(&r, nr, ret->pool, &ret->answers), 0);
	assert_int_equal(r.pos, r.len);
	wire_writer_deinit(&request);
	wire_writer_deinit(&reply);
}

#endif
