// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * First byte: length of the pieces in which the map is read. Rest: the map. The result
 * must be the same as when it is read in one piece, and what the decoder answers about a
 * file must be the same, too.
 */
#include <assert.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/path.h"
#include "decode/answer.h"
#include "decode/jit/name.h"
#include "decode/jit/perfmap.h"
#include "decode/requests.h"
#include "lib/cost.h"

#define NR_QUERIES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * All addresses may have the same long name, which is split, decoded and compared for each of
 * them, here and in the decoder.
 */
const struct cost_bound cost_bound = {.fixed = 120000, .per_byte = 24 * NR_QUERIES};

static const struct perfmap_look looks[] = {{100, 20}, {200, 40}, {300, 30}, {400, 90}};

static struct query query_number(size_t i)
{
	return (struct query){.ip = i * 0x40,
			      .first_ns = i * 8,
			      .last_ns = i * 8 + i % 8 * 16,
			      .index = i};
}

static void scan(const char *text, size_t len, size_t piece, struct strpool *pool,
		 struct queries *q, struct perfmap_scan *s)
{
	for (size_t i = 0; i < NR_QUERIES; i++)
		q->items[i] = query_number(i);
	perfmap_scan_init(s, looks, ARRAY_SIZE(looks), q, pool);
	for (size_t at = 0; at < len; at += piece)
		assert(!perfmap_scan_bytes(s, text + at,
					   len - at < piece ? len - at : piece));
	perfmap_scan_deinit(s);
}

/* ---- a file ---- */

static void put_request(struct wire_writer *w)
{
	wire_put_u32(w, ARRAY_SIZE(looks));
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		wire_put_u64(w, looks[i].time_ns);
		wire_put_u64(w, looks[i].size_bytes);
	}
	wire_put_u32(w, NR_QUERIES);
	for (size_t i = 0; i < NR_QUERIES; i++) {
		struct query q = query_number(i);

		wire_put_u64(w, q.ip);
		wire_put_u64(w, q.first_ns);
		wire_put_u64(w, q.last_ns);
	}
}

static void check_answer(const struct answer *a, const struct query *q,
			 struct strpool *pool)
{
	struct claim owner;
	enum owner who = query_owner(q, &owner);
	struct frame frame;
	char path[PATH_MAX];

	assert(a->nr_frames == (who == OWNER_ONE || who == OWNER_SAME_NAME));
	if (!a->nr_frames) {
		assert(a->miss ==
		       (who == OWNER_NONE ? MISS_JIT_UNKNOWN : MISS_AMBIGUOUS_TIME));
		return;
	}
	frame = jit_name_frame(owner.name, pool);
	assert(a->miss == MISS_JIT_NO_LINES);
	assert(a->frames[0].function == strpool_add(pool, frame.function));
	assert(!strcmp(a->frames[0].file, path_clean(frame.file, path, sizeof(path))));
}

/* @q, @s  what was found in the map without a file */
static void check_file(const void *map, size_t len, const struct queries *q,
		       const struct perfmap_scan *s, struct strpool *pool)
{
	bool is_refused = !s->nr_lines && s->nr_bad;
	struct wire_writer request = {0}, reply = {0};
	struct answers answers;
	struct wire_reader r;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	assert(fd >= 0 && write(fd, map, len) == (ssize_t)len);
	put_request(&request);
	r = (struct wire_reader){.data = request.data, .len = request.len};
	assert(!perfmap_serve(NULL, &r, &fd, 1, &reply));
	r = (struct wire_reader){.data = reply.data, .len = reply.len};
	assert(wire_get_u32(&r) == (is_refused ? MISS_JIT_FILE_REFUSED : MISS_NONE));
	assert(wire_get_u64(&r) == s->nr_bad);
	assert(!answers_read(&r, NR_QUERIES, pool, &answers));
	for (size_t i = 0; i < NR_QUERIES; i++)
		if (is_refused)
			assert(answers.items[i].miss == MISS_JIT_FILE_REFUSED);
		else
			check_answer(&answers.items[i], &q->items[i], pool);
	answers_deinit(&answers);
	wire_writer_deinit(&request);
	wire_writer_deinit(&reply);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	struct query whole_items[NR_QUERIES], cut_items[NR_QUERIES];
	struct queries whole = {.items = whole_items, .nr = NR_QUERIES};
	struct queries cut = {.items = cut_items, .nr = NR_QUERIES};
	struct perfmap_scan s, t;

	if (!pool || size < 2)
		return 0;
	scan((const char *)data + 1, size - 1, size, pool, &whole, &s);
	scan((const char *)data + 1, size - 1, data[0] + 1u, pool, &cut, &t);
	assert(s.nr_lines == t.nr_lines && s.nr_bad == t.nr_bad && s.offset == t.offset);
	for (size_t i = 0; i < NR_QUERIES; i++) {
		struct claim a = {0}, b = {0};

		assert(query_owner(&whole_items[i], &a) ==
		       query_owner(&cut_items[i], &b));
		assert(a.name == b.name && (!a.name || whole_items[i].ip >= a.start_ip));
	}
	check_file(data + 1, size - 1, &whole, &s, pool);
	return 0;
}
