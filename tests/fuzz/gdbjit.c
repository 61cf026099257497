// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gdbjit_serve(): the input is registered twice, the second time for a limited time,
 * and addresses of its code are looked up. Then the input is used as the request.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/answer.h"
#include "decode/jit/image.h"
#include "decode/requests.h"
#include "lib/cost.h"

#define NR_ADDRESSES 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 100000, .per_byte = 200};

static void serve(const uint8_t *request, size_t len, int fd, size_t nr)
{
	struct wire_reader r = {.data = request, .len = len};
	struct strpool *pool = strpool_new(1 << 20);
	struct answers answers = {0};
	struct wire_writer reply = {0};

	if (!gdbjit_serve(NULL, &r, &fd, 1, &reply) && nr) {
		/* The collector must accept the answer. */
		r = (struct wire_reader){.data = reply.data, .len = reply.len};
		assert(wire_get_u32(&r) < NR_MISSES);
		wire_get_u64(&r);
		assert(!answers_read(&r, nr, pool, &answers));
		answers_deinit(&answers);
	}
	wire_writer_deinit(&reply);
	strpool_free(pool);
}

/* Addresses spread over the code of the object. */
static void choose(const uint8_t *data, size_t size, uint64_t *ret)
{
	struct image_code code[IMAGE_MAX_CODE];
	size_t nr = 0;
	struct jit_image m;

	if (image_open(data, size, &m))
		nr = image_code(&m, code);
	for (size_t i = 0; i < NR_ADDRESSES; i++) {
		const struct image_code *c = &code[nr ? i % nr : 0];

		ret[i] = nr ? c->start_ip + (c->end_ip - c->start_ip) / NR_ADDRESSES * i
			    : i;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_writer request = {0};
	uint64_t ips[NR_ADDRESSES];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	if (write(fd, data, size) != (ssize_t)size) {
		close(fd);
		return 0;
	}
	choose(data, size, ips);
	wire_put_u32(&request, 2);
	for (uint64_t i = 0; i < 2; i++) {
		wire_put_u64(&request, 0);
		wire_put_u64(&request, size);
		wire_put_u64(&request, 100 * i);
		wire_put_u64(&request, i ? 250 : UINT64_MAX);
		/* Seen by a walk at this time; 0: registered at its start time. */
		wire_put_u64(&request, size % 3 * 60 * i);
	}
	wire_put_u32(&request, NR_ADDRESSES);
	for (size_t i = 0; i < NR_ADDRESSES; i++) {
		wire_put_u64(&request, ips[i]);
		wire_put_u64(&request, 10 * i);
		wire_put_u64(&request, 10 * i + 40);
	}
	serve(request.data, request.len, fd, NR_ADDRESSES);
	serve(data, size, fd, 0);
	wire_writer_deinit(&request);
	close(fd);
	return 0;
}
