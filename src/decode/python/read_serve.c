// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reader's side: reads code objects from a running CPython. It is not stopped, so its
 * memory can change meanwhile: a result counts only if the address held the requested
 * code object both before and after its texts were read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "decode/answer.h"
#include "decode/requests.h"
#include "lineburn_unwind.h"
#include "worker/reader.h"

#define STR_BYTES       128 /* most that is read of a str's header */
#define WIRE_CODE_BYTES 20

/* One requested code object. */
struct wanted_code {
	uint64_t addr, table_addr;
	uint32_t first_line;
};

struct read_target {
	pid_t pid;
	struct lb_interp layout;
	/* To read of a code object. Not more: it may be at the end of mapped memory. */
	size_t code_bytes;
	uint8_t *bytes; /* buffer for one text */
};

static bool read_exact(const struct read_target *t, uint64_t addr, void *buf, size_t len)
{
	return reader_read(t->pid, addr, buf, len) == (ssize_t)len;
}

static uint64_t u64_at(const uint8_t *bytes, size_t offset)
{
	uint64_t v;

	memcpy(&v, bytes + offset, sizeof(v));
	return v;
}

static uint32_t u32_at(const uint8_t *bytes, size_t offset)
{
	uint32_t v;

	memcpy(&v, bytes + offset, sizeof(v));
	return v;
}

static void put_nothing(struct wire_writer *w)
{
	wire_put_u8(w, 0);
	wire_put_u8(w, 1);
	wire_put_bytes(w, NULL, 0);
}

/* Reads @chars characters at @addr, cut at @max bytes, into @w. */
static void put_read(const struct read_target *t, uint64_t addr, uint64_t chars,
		     unsigned int width, size_t max, struct wire_writer *w)
{
	bool is_cut = chars > max / width;
	size_t len = (is_cut ? max / width : (size_t)chars) * width;

	if (!read_exact(t, addr, t->bytes, len)) {
		put_nothing(w);
		return;
	}
	wire_put_u8(w, (uint8_t)width);
	wire_put_u8(w, is_cut);
	wire_put_bytes(w, t->bytes, len);
}

/*
 * Position of the kind in a str's state (Include/cpython/unicodeobject.h). It follows
 * "interned", which has 2 bits, from 3.14 on 16, in the free-threaded 3.13 8. The
 * latter is recognised by its longer object header.
 */
static unsigned int kind_shift(const struct lb_interp *layout)
{
	if (layout->version >= 0x030e)
		return 16;
	return layout->str_length == 16 ? 2 : 8;
}

static void put_str(const struct read_target *t, uint64_t addr, struct wire_writer *w)
{
	const struct lb_interp *l = &t->layout;
	uint8_t head[STR_BYTES];
	unsigned int kind;
	uint32_t state;

	if (!read_exact(t, addr, head, l->str_state + sizeof(uint32_t))) {
		put_nothing(w);
		return;
	}
	state = u32_at(head, l->str_state) >> kind_shift(l);
	kind = state & 7;
	/* Bit 3: compact, the characters follow the header; bit 4: ASCII. */
	if ((kind != 1 && kind != 2 && kind != 4) || !(state & 8)) {
		put_nothing(w);
		return;
	}
	put_read(t, addr + (state & 16 ? l->str_ascii : l->str_wide),
		 u64_at(head, l->str_length), kind, INTERP_MAX_TEXT_BYTES, w);
}

static void put_table(const struct read_target *t, uint64_t addr, struct wire_writer *w)
{
	uint64_t size_bytes;

	if (read_exact(t, addr + t->layout.bytes_size, &size_bytes, sizeof(size_bytes)))
		put_read(t, addr + t->layout.bytes_data, size_bytes, 1,
			 INTERP_MAX_TABLE_BYTES, w);
	else
		put_nothing(w);
}

/* Reads a code object. Return: could it be read, and is it the one that was sampled? */
static bool read_code(const struct read_target *t, const struct wanted_code *wanted,
		      uint8_t *ret)
{
	return read_exact(t, wanted->addr, ret, t->code_bytes) &&
	       u64_at(ret, t->layout.code_linetable) == wanted->table_addr &&
	       u32_at(ret, t->layout.code_firstlineno) == wanted->first_line;
}

static void put_code(const struct read_target *t, const struct wanted_code *wanted,
		     struct wire_writer *reply)
{
	uint8_t before[LB_INTERP_CODE_BYTES], after[LB_INTERP_CODE_BYTES];
	size_t at = reply->len;

	wire_put_u8(reply, 1);
	if (read_code(t, wanted, before)) {
		put_str(t, u64_at(before, t->layout.code_filename), reply);
		put_str(t, u64_at(before, t->layout.code_qualname), reply);
		put_table(t, wanted->table_addr, reply);
		if (read_code(t, wanted, after))
			return;
	}
	if (reply->failed)
		return;
	reply->len = at;
	wire_put_u8(reply, 0);
	put_nothing(reply);
	put_nothing(reply);
	put_nothing(reply);
}

/* Return: bytes of a code object up to the last member used; 0: unusable layout. */
static size_t check_layout(const struct lb_interp *l)
{
	const size_t offsets[] = {l->code_filename, l->code_qualname, l->code_linetable,
				  l->code_firstlineno};
	size_t last = 0;

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
		last = offsets[i] > last ? offsets[i] : last;
	if (last > LB_INTERP_CODE_BYTES - sizeof(uint64_t) ||
	    l->str_state > STR_BYTES - sizeof(uint32_t) ||
	    l->str_state < l->str_length + sizeof(uint64_t))
		return 0;
	return last + sizeof(uint64_t);
}

int python_code_read_serve(struct worker_call *call, struct wire_reader *request,
			   const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_free_ uint8_t *bytes = malloc(INTERP_MAX_TABLE_BYTES);
	struct read_target t = {.bytes = bytes};
	const void *layout;
	size_t len, nr;

	(void)call, (void)fds, (void)nr_fds;
	if (!bytes)
		return -ENOMEM;
	t.pid = (pid_t)wire_get_u32(request);
	layout = wire_get_bytes(request, &len);
	nr = answer_get_count(request, WIRE_CODE_BYTES, UINT32_MAX);
	if (request->failed || len != sizeof(t.layout))
		return -EBADMSG;
	memcpy(&t.layout, layout, len);
	t.code_bytes = check_layout(&t.layout);
	if (!t.code_bytes)
		return -EINVAL;
	for (size_t i = 0; i < nr; i++) {
		struct wanted_code wanted;

		wanted.addr = wire_get_u64(request);
		wanted.table_addr = wire_get_u64(request);
		wanted.first_line = wire_get_u32(request);
		put_code(&t, &wanted, reply);
	}
	return 0;
}
