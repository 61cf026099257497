// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf map files (Linux: tools/perf/Documentation/jit-interface.txt): one line
 * "START SIZE NAME" in hex per function; runtimes write 0x or not, append, and
 * use an address again. A later line owns its range. Lines have no time: the
 * sizes that the file had at each look tell between which looks a line came.
 *
 * The file is read once, front to back; only the names that a query meets are
 * kept, so a million lines cost no memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbolize/answer.h"
#include "symbolize/decoder.h"
#include "symbolize/frame.h"
#include "symbolize/jit/code_name.h"
#include "symbolize/jit/owner.h"
#include "symbolize/jit/perfmap.h"

#define CHUNK_BYTES        (1u << 20)
#define LOOK_BYTES         16
#define MAX_FUNCTION_BYTES (1ULL << 32) /* a larger size is garbage */

struct look {
	uint64_t time_ns, size_bytes;
};

struct perfmap {
	struct jit_queries queries;
	char **names; /* of each query's owner; heap */
	struct look *looks;
	size_t nr_looks;
	uint64_t nr_lines, nr_bad_lines;
};

static void perfmap_deinit(struct perfmap *m)
{
	for (size_t i = 0; m->names && i < m->queries.nr; i++)
		free(m->names[i]);
	free(m->names);
	free(m->looks);
	jit_queries_deinit(&m->queries);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* One number and the blanks behind it. False: not a number of at most 64 bits. */
static bool parse_hex(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;
	int digits = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (; p < end && hex_digit(*p) >= 0; p++, digits++)
		value = value << 4 | (uint64_t)hex_digit(*p);
	if (!digits || digits > 16 || p == end || (*p != ' ' && *p != '\t'))
		return false;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	*at = p;
	*ret = value;
	return true;
}

bool perfmap_parse_line(const char *line, size_t len, struct perfmap_line *ret)
{
	const char *p = line, *end = line + len;

	while (end > line && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (!parse_hex(&p, end, &ret->start) || !parse_hex(&p, end, &ret->size))
		return false;
	if (p == end || ret->size > MAX_FUNCTION_BYTES ||
	    ret->start + ret->size < ret->start)
		return false;
	ret->name = p;
	ret->name_len = (size_t)(end - p);
	if (ret->name_len > CODE_NAME_MAX - 1)
		ret->name_len = CODE_NAME_MAX - 1;
	return true;
}

/* When a line that ends at @offset of the file came. Without looks: always there. */
static struct appearance appeared(const struct perfmap *m, uint64_t offset)
{
	struct appearance when = {0};
	size_t i = 0;

	if (!m->nr_looks)
		return when;
	while (i < m->nr_looks && m->looks[i].size_bytes < offset)
		i++;
	when.not_before_ns = i ? m->looks[i - 1].time_ns : 0;
	when.by_ns = i < m->nr_looks ? m->looks[i].time_ns : UINT64_MAX;
	return when;
}

static int take_name(struct perfmap *m, size_t i, const struct perfmap_line *line)
{
	char *name = strndup(line->name, line->name_len);

	if (!name)
		return -ENOMEM;
	free(m->names[i]);
	m->names[i] = name;
	m->queries.items[i].found = true;
	m->queries.items[i].ambiguous = false;
	return 0;
}

static bool is_same(const char *name, const struct perfmap_line *line)
{
	return !strncmp(name, line->name, line->name_len) && !name[line->name_len];
}

static int offer(struct perfmap *m, const struct perfmap_line *line, uint64_t offset)
{
	struct appearance when;
	size_t i = jit_queries_from(&m->queries, line->start);

	if (i == m->queries.nr || m->queries.items[i].ip - line->start >= line->size)
		return 0;
	when = appeared(m, offset);
	for (; i < m->queries.nr && m->queries.items[i].ip - line->start < line->size;
	     i++) {
		struct jit_query *q = &m->queries.items[i];

		switch (owner_offer(q, &when, true)) {
		case OWNER_TAKEN:
			if (take_name(m, i, line))
				return -ENOMEM;
			break;
		case OWNER_IN_DOUBT:
			q->ambiguous |= !is_same(m->names[i], line);
			break;
		case OWNER_REFUSED:
			break;
		}
	}
	return 0;
}

/* Parses whole lines of @text; returns the bytes used, or a negative errno. */
static ssize_t parse_chunk(struct perfmap *m, const char *text, size_t len,
			   uint64_t offset)
{
	size_t used = 0;

	for (;;) {
		const char *line = text + used;
		const char *newline = memchr(line, '\n', len - used);
		struct perfmap_line parsed;
		size_t line_len;

		if (!newline)
			return (ssize_t)used; /* not written to its end yet */
		line_len = (size_t)(newline - line);
		used += line_len + 1;
		if (!line_len)
			continue;
		m->nr_lines++;
		if (!perfmap_parse_line(line, line_len, &parsed))
			m->nr_bad_lines++;
		else if (offer(m, &parsed, offset + used))
			return -ENOMEM;
	}
}

static int read_map(struct perfmap *m, int fd)
{
	_cleanup_free_ char *buf = malloc(CHUNK_BYTES);
	uint64_t offset = 0; /* of buf in the file */
	size_t len = 0;

	if (!buf)
		return -ENOMEM;
	for (;;) {
		ssize_t n =
			pread(fd, buf + len, CHUNK_BYTES - len, (off_t)(offset + len));
		ssize_t used;

		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		len += (size_t)n;
		used = parse_chunk(m, buf, len, offset);
		if (used < 0)
			return (int)used;
		if (!used && len == CHUNK_BYTES) {
			m->nr_lines++; /* a line of a megabyte is no line */
			m->nr_bad_lines++;
			used = (ssize_t)len;
		}
		memmove(buf, buf + used, len - (size_t)used);
		len -= (size_t)used;
		offset += (uint64_t)used;
	}
}

static int read_request(struct wire_reader *r, struct perfmap *m)
{
	size_t nr = wire_get_u32(r);
	int rc;

	if (r->failed || nr > (r->len - r->pos) / LOOK_BYTES)
		return -EBADMSG;
	m->looks = calloc(nr ? nr : 1, sizeof(*m->looks));
	if (!m->looks)
		return -ENOMEM;
	m->nr_looks = nr;
	for (size_t i = 0; i < nr; i++) {
		m->looks[i].time_ns = wire_get_u64(r);
		m->looks[i].size_bytes = wire_get_u64(r);
	}
	rc = jit_queries_read(r, &m->queries);
	if (rc)
		return rc;
	m->names = calloc(m->queries.nr ? m->queries.nr : 1, sizeof(*m->names));
	return m->names ? 0 : -ENOMEM;
}

static void answer_query(struct answer_writer *a, const struct jit_query *q,
			 const char *raw)
{
	struct code_name name;
	struct frame frame;

	if (!q->found) {
		answer_set(a, q->index, q->ip, MISS_JIT_UNKNOWN, NULL, 0);
		return;
	}
	if (q->ambiguous) {
		answer_set(a, q->index, q->ip, MISS_AMBIGUOUS_TIME, NULL, 0);
		return;
	}
	code_name_parse(raw, strlen(raw), &name);
	frame = code_name_frame(&name, raw);
	answer_set(a, q->index, q->ip, MISS_JIT_NO_LINES, &frame, 1);
}

int perfmap_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(perfmap_deinit) struct perfmap m = {0};
	_cleanup_(answer_writer_freep) struct answer_writer *a = NULL;
	enum miss miss = MISS_NONE;
	int rc;

	(void)call;
	if (nr_fds != 1)
		return -EINVAL;
	rc = read_request(request, &m);
	if (!rc)
		rc = read_map(&m, fds[0]);
	if (rc)
		return rc;
	if (m.nr_lines && m.nr_lines == m.nr_bad_lines)
		miss = MISS_JIT_FILE_REFUSED;
	a = answer_writer_new(m.queries.nr);
	if (!a)
		return -ENOMEM;
	for (size_t i = 0; i < m.queries.nr; i++)
		answer_query(a, &m.queries.items[i], m.names[i]);
	wire_put_u32(reply, miss);
	wire_put_u64(reply, m.nr_bad_lines);
	answer_write(a, reply);
	return 0;
}
