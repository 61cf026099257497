// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A Node server's map has 5,000 to a million lines, of which the samples hit some
 * hundred. So lines are not stored: each is looked up among the sorted queries (most
 * fall between two of them), and only lines that are hit add a claim. A line costs a
 * binary search; memory is O(queries). docs/benchmarks.md compares this with storing
 * the lines.
 */
#include "decode/jit/perfmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "decode/answer.h"
#include "decode/jit/name.h"
#include "decode/requests.h"

#define MAX_FILE_BYTES  (1ull << 30)
#define MAX_LINE_BYTES  (64u << 10) /* longer lines are garbage */
#define MAX_POOL_BYTES  (64u << 20) /* names that are hit */
#define PIECE_BYTES     (256u << 10)
#define WIRE_LOOK_BYTES 16

/* ---- lines ---- */

/* A table instead of branches, because each of a million lines has two numbers. */
static const int8_t hex_value[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Parses a number and the blanks after it. Return: what follows, NULL if malformed. */
static const char *parse_hex(const char *p, const char *end, uint64_t *ret)
{
	uint64_t value = 0;
	const char *digits;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	digits = p;
	for (; p < end && hex_value[(uint8_t)*p]; p++) {
		if (value >> 60)
			return NULL;
		value = value << 4 | (uint64_t)(hex_value[(uint8_t)*p] - 1);
	}
	if (p == digits || p == end || (*p != ' ' && *p != '\t'))
		return NULL;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	*ret = value;
	return p;
}

bool perfmap_parse_line(const char *text, size_t len, struct perfmap_line *ret)
{
	const char *p = text, *end = text + len;
	uint64_t start, size;

	if (p < end && end[-1] == '\r')
		end--;
	p = parse_hex(p, end, &start);
	if (p)
		p = parse_hex(p, end, &size);
	if (!p || p == end || start + size < start || memchr(p, '\0', (size_t)(end - p)))
		return false;
	ret->start_ip = start;
	ret->size_bytes = size;
	ret->name = p;
	ret->name_len = (size_t)(end - p);
	if (ret->name_len > JIT_NAME_MAX_BYTES)
		ret->name_len = JIT_NAME_MAX_BYTES;
	return true;
}

/* ---- scan ---- */

void perfmap_scan_init(struct perfmap_scan *s, const struct perfmap_look *looks,
		       size_t nr_looks, struct queries *queries, struct strpool *pool)
{
	*s = (struct perfmap_scan){
		.looks = looks, .nr_looks = nr_looks, .queries = queries, .pool = pool};
	/* Start after the last rewriting of the file: earlier looks do not apply. */
	for (size_t i = 1; i < nr_looks; i++)
		if (looks[i].size_bytes < looks[i - 1].size_bytes)
			s->look = i;
}

void perfmap_scan_deinit(struct perfmap_scan *s)
{
	free(s->tail);
	s->tail = NULL;
}

/* Sets the time at which the line that ends at @end_off was written. */
static void line_time(struct perfmap_scan *s, uint64_t end_off, struct claim *c)
{
	if (!s->nr_looks) {
		/* No looks: all lines are as old as the file, so the last one wins. */
		c->after_ns = c->by_ns = 0;
		return;
	}
	while (s->look < s->nr_looks && s->looks[s->look].size_bytes < end_off)
		s->look++;
	c->after_ns = s->look ? s->looks[s->look - 1].time_ns : 0;
	c->by_ns = s->look < s->nr_looks ? s->looks[s->look].time_ns : UINT64_MAX;
}

static int scan_line(struct perfmap_scan *s, const char *text, size_t len,
		     uint64_t end_off)
{
	struct perfmap_line line;
	struct claim c = {0};
	size_t i;

	if (!perfmap_parse_line(text, len, &line)) {
		s->nr_bad++;
		return 0;
	}
	s->nr_lines++;
	i = queries_lower_bound(s->queries, line.start_ip);
	if (i == s->queries->nr ||
	    s->queries->items[i].ip - line.start_ip >= line.size_bytes)
		return 0;
	c.name = strpool_add_n(s->pool, line.name, line.name_len);
	c.start_ip = line.start_ip;
	line_time(s, end_off, &c);
	return queries_claim(s->queries, &c, line.size_bytes);
}

static int keep_tail(struct perfmap_scan *s, const char *text, size_t len)
{
	if (s->tail_len + len > MAX_LINE_BYTES) {
		s->tail_too_long = true;
		s->tail_len = 0;
	}
	if (s->tail_too_long)
		return 0;
	if (vec_grow(&s->tail, &s->tail_cap, s->tail_len + len, 1, 0))
		return -ENOMEM;
	memcpy(s->tail + s->tail_len, text, len);
	s->tail_len += len;
	return 0;
}

static int end_tail(struct perfmap_scan *s, uint64_t end_off)
{
	int rc = 0;

	if (s->tail_too_long)
		s->nr_bad++;
	else
		rc = scan_line(s, s->tail, s->tail_len, end_off);
	s->tail_len = 0;
	s->tail_too_long = false;
	return rc;
}

int perfmap_scan_bytes(struct perfmap_scan *s, const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	int rc = 0;

	while (p < end && !rc) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((newline ? newline : end) - p);
		uint64_t end_off = s->offset + (uint64_t)(p - text) + n + 1;

		if (s->tail_len || s->tail_too_long || !newline) {
			rc = keep_tail(s, p, n);
			if (!rc && newline)
				rc = end_tail(s, end_off);
		} else {
			rc = n > MAX_LINE_BYTES ? (s->nr_bad++, 0)
						: scan_line(s, p, n, end_off);
		}
		p += n + 1;
	}
	s->offset += len;
	return rc;
}

/* ---- request ---- */

static int read_looks(struct wire_reader *r, struct perfmap_look **ret, size_t *ret_nr)
{
	size_t nr = wire_get_u32(r);
	_cleanup_free_ struct perfmap_look *looks = NULL;

	if (r->failed || nr > (r->len - r->pos) / WIRE_LOOK_BYTES)
		return -EBADMSG;
	looks = calloc(nr ? nr : 1, sizeof(*looks));
	if (!looks)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		looks[i].time_ns = wire_get_u64(r);
		looks[i].size_bytes = wire_get_u64(r);
	}
	*ret = take_ptr(looks);
	*ret_nr = nr;
	return 0;
}

/* Reads up to the current size: the file may keep growing. */
static int scan_file(struct perfmap_scan *s, int fd)
{
	_cleanup_free_ char *piece = malloc(PIECE_BYTES);
	struct stat st;
	uint64_t size;

	if (!piece)
		return -ENOMEM;
	if (fstat(fd, &st))
		return -errno;
	size = (uint64_t)st.st_size;
	if (!S_ISREG(st.st_mode) || size > MAX_FILE_BYTES)
		return -EFBIG;
	while (s->offset < size) {
		size_t want = size - s->offset < PIECE_BYTES ? size - s->offset
							     : PIECE_BYTES;
		ssize_t n = pread(fd, piece, want, (off_t)s->offset);
		int rc;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : 0; /* truncated since */
		rc = perfmap_scan_bytes(s, piece, (size_t)n);
		if (rc)
			return rc;
	}
	return 0;
}

static void answer_query(struct answer_writer *a, const struct query *q,
			 struct strpool *pool)
{
	struct claim owner;
	struct frame frame;

	switch (query_owner(q, &owner)) {
	case OWNER_NONE:
		answer_set(a, q->index, 0, MISS_JIT_UNKNOWN, NULL, 0);
		break;
	case OWNER_AMBIGUOUS:
		answer_set(a, q->index, 0, MISS_AMBIGUOUS_TIME, NULL, 0);
		break;
	case OWNER_ONE:
	case OWNER_SAME_NAME:
		frame = jit_name_frame(owner.name, pool);
		answer_set(a, q->index, 0, MISS_JIT_NO_LINES, &frame, 1);
		break;
	}
}

int perfmap_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(answer_writer_freep) struct answer_writer *a = NULL;
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(MAX_POOL_BYTES);
	_cleanup_(perfmap_scan_deinit) struct perfmap_scan scan = {0};
	_cleanup_(queries_deinit) struct queries queries = {0};
	_cleanup_free_ struct perfmap_look *looks = NULL;
	size_t nr_looks = 0;
	bool refused;
	int rc;

	(void)call;
	if (nr_fds < 1)
		return -EINVAL;
	rc = read_looks(request, &looks, &nr_looks);
	if (!rc)
		rc = queries_read(request, &queries);
	if (rc)
		return rc;
	a = answer_writer_new(queries.nr);
	if (!pool || !a)
		return -ENOMEM;
	perfmap_scan_init(&scan, looks, nr_looks, &queries, pool);
	rc = scan_file(&scan, fds[0]);
	if (rc == -ENOMEM)
		return rc;
	/* Garbage: the file has lines, but none is a valid one. */
	refused = rc || (!scan.nr_lines && scan.nr_bad);
	for (size_t i = 0; i < queries.nr; i++) {
		if (refused)
			answer_set(a, queries.items[i].index, 0, MISS_JIT_FILE_REFUSED,
				   NULL, 0);
		else
			answer_query(a, &queries.items[i], pool);
	}
	wire_put_u32(reply, refused ? MISS_JIT_FILE_REFUSED : MISS_NONE);
	wire_put_u64(reply, scan.nr_bad);
	answer_write(a, reply);
	return reply->failed ? -ENOMEM : 0;
}
