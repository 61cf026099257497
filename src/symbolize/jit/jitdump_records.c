// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "symbolize/jit/jitdump.h"

#define MAGIC               0x4a695444u /* "JiTD"; a foreign byte order reads differently */
#define VERSION             1
#define FLAG_ARCH_TIMESTAMP 1

#define ID_LOAD             0
#define ID_MOVE             1
#define ID_DEBUG_INFO       2

#define V8_SHIFT            0x40
#define V8_LOST_BYTES       16
#define MAX_LINE            (1u << 24)
#define MAX_CODE_SIZE       (1ULL << 32)

struct file_header {
	uint32_t magic, version, total_size, elf_mach, pad, pid;
	uint64_t time_ns, flags;
};

struct record_header {
	uint32_t id, total_size;
	uint64_t time_ns;
};

struct load_body {
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
};

struct move_body {
	uint32_t pid, tid;
	uint64_t vma, old_addr, new_addr, size, index;
};

struct debug_body {
	uint64_t addr, nr_entries;
};

struct debug_entry {
	uint64_t addr;
	uint32_t line, discriminator;
};

/* Copies @size bytes at @at; false beyond @end. Records are not aligned. */
static bool get(const struct jitdump *d, size_t at, size_t end, void *ret, size_t size)
{
	if (at > end || size > end - at)
		return false;
	memcpy(ret, d->data + at, size);
	return true;
}

int jitdump_open(const void *data, size_t len, struct jitdump *ret)
{
	struct jitdump d = {.data = data, .len = len};
	struct file_header h;

	if (!get(&d, 0, len, &h, sizeof(h)) || h.magic != MAGIC || h.version != VERSION ||
	    h.total_size < sizeof(h) || h.total_size > len)
		return -EBADMSG;
	d.at = h.total_size;
	d.timeless = h.flags & FLAG_ARCH_TIMESTAMP;
	*ret = d;
	return 0;
}

static bool read_load(const struct jitdump *d, size_t at, size_t end,
		      struct jitdump_record *ret)
{
	struct load_body body;
	size_t name_at = at + sizeof(struct record_header) + sizeof(body);

	if (!get(d, at + sizeof(struct record_header), end, &body, sizeof(body)) ||
	    name_at >= end || !memchr(d->data + name_at, '\0', end - name_at) ||
	    body.size > MAX_CODE_SIZE || body.addr + body.size < body.addr)
		return false;
	ret->kind = JITDUMP_LOAD;
	ret->addr = body.addr;
	ret->size = body.size;
	ret->index = body.index;
	ret->name = (const char *)d->data + name_at;
	return true;
}

static bool read_move(const struct jitdump *d, size_t at, size_t end,
		      struct jitdump_record *ret)
{
	struct move_body body;

	if (!get(d, at + sizeof(struct record_header), end, &body, sizeof(body)) ||
	    body.size > MAX_CODE_SIZE || body.new_addr + body.size < body.new_addr)
		return false;
	ret->kind = JITDUMP_MOVE;
	ret->addr = body.new_addr;
	ret->size = body.size;
	ret->index = body.index;
	return true;
}

/* A DEBUG_INFO record belongs to the next LOAD, if that is of the same code. */
static size_t debug_of(const struct jitdump *d, size_t debug_at, uint64_t addr)
{
	struct debug_body body;

	if (!debug_at ||
	    !get(d, debug_at + sizeof(struct record_header), d->len, &body, sizeof(body)))
		return 0;
	return body.addr == addr ? debug_at : 0;
}

bool jitdump_next(struct jitdump *d, struct jitdump_record *ret)
{
	size_t debug_at = 0;

	for (;;) {
		struct record_header h;
		size_t at = d->at, end;
		bool good;

		if (at == d->len)
			return false;
		if (!get(d, at, d->len, &h, sizeof(h)) || h.total_size < sizeof(h) ||
		    h.total_size > d->len - at) {
			/* A tail that is not written yet, or was cut by the end of the process. */
			d->nr_bad++;
			d->at = d->len;
			return false;
		}
		end = at + h.total_size;
		d->at = end;
		if (h.id == ID_DEBUG_INFO) {
			debug_at = at;
			continue;
		}
		if (h.id != ID_LOAD && h.id != ID_MOVE)
			continue;
		*ret = (struct jitdump_record){.time_ns = h.time_ns, .at = at};
		good = h.id == ID_LOAD ? read_load(d, at, end, ret)
				       : read_move(d, at, end, ret);
		if (good) {
			if (h.id == ID_LOAD)
				ret->debug_at = debug_of(d, debug_at, ret->addr);
			return true;
		}
		d->nr_bad++;
		debug_at = 0;
	}
}

bool jitdump_load_at(const struct jitdump *d, size_t at, size_t debug_at,
		     struct jitdump_record *ret)
{
	struct record_header h;

	if (!get(d, at, d->len, &h, sizeof(h)) || h.id != ID_LOAD ||
	    h.total_size > d->len - at)
		return false;
	*ret = (struct jitdump_record){
		.time_ns = h.time_ns, .at = at, .debug_at = debug_at};
	return read_load(d, at, at + h.total_size, ret);
}

/* ---- lines ---- */

struct debug_reader {
	const struct jitdump *d;
	size_t at, end; /* of the entries */
	uint64_t low, high; /* addresses that an entry may have */
	const char *own_file, *previous;
	bool is_v8;
};

/* Could an entry, or the padding behind the last one, start at @at? */
static bool is_entry_or_end(const struct debug_reader *r, size_t at)
{
	struct debug_entry e;

	if (at == r->end || (at < r->end && r->end - at < 8))
		return true;
	return get(r->d, at, r->end, &e, sizeof(e)) && e.addr >= r->low &&
	       e.addr <= r->high && e.line < MAX_LINE;
}

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

/* Is the name at @at what remains of @file after its first bytes were lost? */
static bool is_remains_of(const struct debug_reader *r, size_t at, const char *file)
{
	size_t len = strlen(file), lost = len < V8_LOST_BYTES ? len : V8_LOST_BYTES;
	const char *text = (const char *)r->d->data + at;

	return len && len < r->end - at && !text[len] &&
	       !memcmp(text + lost, file + lost, len - lost) &&
	       is_entry_or_end(r, at + len + 1);
}

/* Reads the name at r->at and moves behind it. NULL: it cannot be told. */
static const char *next_name(struct debug_reader *r)
{
	const char *text = (const char *)r->d->data + r->at;
	size_t room = r->end - r->at;
	size_t len = strnlen(text, room);

	if (len == room)
		return NULL;
	if (len == 1 && (unsigned char)text[0] == 0xff) {
		r->at += 2;
		return r->previous; /* "the same as before" */
	}
	if (is_entry_or_end(r, r->at + len + 1) && is_printable(text)) {
		r->at += len + 1;
		return text;
	}
	if (r->is_v8 && is_remains_of(r, r->at, r->own_file)) {
		r->at += strlen(r->own_file) + 1;
		return r->own_file;
	}
	return NULL;
}

bool jitdump_find_line(const struct jitdump *d, const struct jitdump_record *load,
		       uint64_t offset, const char *own_file, bool is_v8,
		       struct jitdump_line *ret)
{
	uint64_t shift = is_v8 ? V8_SHIFT : 0;
	uint64_t wanted = load->addr + shift + offset, best = 0;
	struct record_header h;
	struct debug_body body;
	struct debug_reader r = {.d = d, .own_file = own_file, .is_v8 = is_v8};
	bool found = false;

	if (!load->debug_at || !get(d, load->debug_at, d->len, &h, sizeof(h)) ||
	    h.total_size > d->len - load->debug_at)
		return false;
	r.at = load->debug_at + sizeof(h);
	r.end = load->debug_at + h.total_size;
	if (!get(d, r.at, r.end, &body, sizeof(body)))
		return false;
	r.at += sizeof(body);
	/* Erlang's first entry may lie a little below the code. */
	r.low = load->addr > 4096 ? load->addr - 4096 : 0;
	r.high = load->addr + load->size + shift;
	for (uint64_t i = 0; i < body.nr_entries; i++) {
		struct debug_entry e;

		if (!get(d, r.at, r.end, &e, sizeof(e)) || e.addr < r.low ||
		    e.addr > r.high)
			break;
		r.at += sizeof(e);
		r.previous = next_name(&r);
		if (!r.previous)
			break; /* without this name's length there is no next entry */
		if (e.addr > wanted || (found && e.addr < best))
			continue;
		best = e.addr;
		found = true;
		*ret = (struct jitdump_line){.file = r.previous, .line = e.line};
	}
	return found && ret->line && *ret->file;
}
