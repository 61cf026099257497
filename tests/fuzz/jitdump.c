// SPDX-License-Identifier: GPL-2.0-or-later
/* A jitdump file, queried at addresses spread over those in its records. */
#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/answer.h"
#include "decode/jit/jitdump.h"
#include "decode/requests.h"
#include "lib/cost.h"

#define MAX_QUERIES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 20000, .per_byte = 50};

static size_t choose_queries(const struct jitdump *jd, struct query *items)
{
	uint64_t off = jd->first_off;
	struct record rec;
	size_t nr = 0;

	while (nr + 4 <= MAX_QUERIES && jitdump_next(jd, &off, &rec) == RECORD_OK) {
		struct record_load load;
		struct record_move move;

		if (rec.id == RECORD_LOAD && record_load(jd, &rec, &load)) {
			for (uint64_t k = 0; k < 4; k++)
				items[nr++] = (struct query){
					.ip = load.start_ip + load.size_bytes / 4 * k,
					.first_ns = rec.time_ns + k,
					.last_ns = rec.time_ns + 2 * k};
		} else if (rec.id == RECORD_MOVE && record_move(jd, &rec, &move)) {
			items[nr++] = (struct query){.ip = move.new_ip,
						     .first_ns = rec.time_ns,
						     .last_ns = rec.time_ns + 1};
		}
	}
	return nr;
}

static void put_request(struct wire_writer *w, const struct query *items, size_t nr)
{
	wire_put_u32(w, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++) {
		wire_put_u64(w, items[i].ip);
		wire_put_u64(w, items[i].first_ns);
		wire_put_u64(w, items[i].last_ns);
	}
}

static void check(struct wire_reader *reply, size_t nr, bool is_jitdump, size_t size)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	struct answers answers;
	uint32_t miss = wire_get_u32(reply);

	assert(miss == MISS_JIT_FILE_REFUSED ||
	       (miss == MISS_NONE && (is_jitdump || !size)));
	wire_get_u64(reply);
	assert(pool && !answers_read(reply, nr, pool, &answers));
	for (size_t i = 0; i < nr; i++)
		assert(miss == MISS_NONE || answers.items[i].miss == miss);
	answers_deinit(&answers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct query items[MAX_QUERIES] = {{.ip = 0x1000}};
	struct wire_writer request = {0}, reply = {0};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct wire_reader r;
	struct jitdump jd;
	bool is_jitdump = jitdump_open(data, size, &jd);
	size_t nr = is_jitdump ? choose_queries(&jd, items) : 1;

	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	put_request(&request, items, nr);
	r = (struct wire_reader){.data = request.data, .len = request.len};
	assert(!jitdump_serve(NULL, &r, &fd, 1, &reply));
	r = (struct wire_reader){.data = reply.data, .len = reply.len};
	check(&r, nr, is_jitdump, size);
	wire_writer_deinit(&request);
	wire_writer_deinit(&reply);
	close(fd);
	return 0;
}
