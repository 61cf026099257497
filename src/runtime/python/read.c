// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/read.h"

#include "base/wire.h"
#include "decode/requests.h"
#include "process/table.h"

/*
 * Code objects of one call. Copies without texts, because adding items moves the
 * originals.
 */
struct asked {
	struct interp_code codes[PYTHON_READ_MAX_CODES];
	size_t nr;
};

static void choose(const struct interp_codes *c, struct asked *ret)
{
	ret->nr = 0;
	for (size_t i = 0; i < c->nr && ret->nr < PYTHON_READ_MAX_CODES; i++) {
		struct interp_code *code = &ret->codes[ret->nr];

		if (!c->items[i].is_cut)
			continue;
		*code = c->items[i];
		code->file = code->name = code->table = (struct interp_text){0};
		ret->nr++;
	}
}

static enum worker_answer call_reader(struct worker *reader, const struct process *p,
				      const struct lb_interp *layout,
				      const struct asked *asked, struct wire_reader *ret)
{
	struct wire_writer w = {.max = WORKER_MAX_REQUEST_BYTES};
	enum worker_answer answer = WORKER_FAILED;

	wire_put_u32(&w, p->tgid);
	wire_put_bytes(&w, layout, sizeof(*layout));
	wire_put_u32(&w, (uint32_t)asked->nr);
	for (size_t i = 0; i < asked->nr; i++) {
		wire_put_u64(&w, asked->codes[i].code_addr);
		wire_put_u64(&w, asked->codes[i].table_addr);
		wire_put_u32(&w, asked->codes[i].first_line);
	}
	if (!w.failed)
		answer = worker_call(reader, READER_PYTHON_CODE, w.data, w.len, NULL, 0,
				     NULL, NULL, PYTHON_READ_CALL_MS, ret, NULL);
	wire_writer_deinit(&w);
	return answer;
}

static void get_text(struct wire_reader *r, struct interp_text *ret)
{
	size_t len;

	ret->width = wire_get_u8(r);
	ret->is_cut = wire_get_u8(r) != 0;
	ret->bytes = wire_get_bytes(r, &len);
	ret->len = (uint32_t)len;
}

/* Parses the whole reply before using any of it: takes all or nothing. */
static enum worker_answer take_reply(struct wire_reader *r, struct asked *asked,
				     bool *ret_found)
{
	for (size_t i = 0; i < asked->nr; i++) {
		ret_found[i] = wire_get_u8(r) != 0;
		get_text(r, &asked->codes[i].file);
		get_text(r, &asked->codes[i].name);
		get_text(r, &asked->codes[i].table);
	}
	return r->failed ? WORKER_BAD_REPLY : WORKER_OK;
}

enum worker_answer python_read_cut(struct worker *reader, struct process_table *t,
				   struct process *p, const struct lb_interp *layout)
{
	bool found[PYTHON_READ_MAX_CODES] = {false};
	struct wire_reader reply;
	enum worker_answer answer;
	struct asked asked;
	bool is_its_own;

	if (!p->interp_codes.nr_cut)
		return WORKER_OK;
	choose(&p->interp_codes, &asked);
	answer = call_reader(reader, p, layout, &asked, &reply);
	/* Not its fault: they are read when there is a reader for them. */
	if (answer == WORKER_CANNOT_START || answer == WORKER_REFUSED)
		return answer;
	if (answer == WORKER_OK)
		answer = take_reply(&reply, &asked, found);
	/* Discard the reply if the pid was reused: it may come from another process. */
	is_its_own = answer == WORKER_OK && process_is_alive(t, p);
	for (size_t i = 0; i < asked.nr; i++) {
		if (is_its_own && found[i])
			interp_codes_complete(&p->interp_codes, &asked.codes[i]);
		else
			interp_codes_give_up(&p->interp_codes, asked.codes[i].code_id);
	}
	return answer;
}
