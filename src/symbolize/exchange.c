// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions for all kinds of sources: send requests to the decoder, store its answers, and
 * account for its time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/time_share.h"
#include "base/vec.h"
#include "symbolize/symbolizer_internal.h"

/*
 * Time to search definitions of Python functions of one tenant, for which 10,000 functions
 * need less; and as long again to search files of frozen modules.
 */
#define SEARCH_MAX_NS UINT64_C(10000000000)

bool symbolizer_is_used_up(const struct symbolizer *s, struct tenant who)
{
	return s->config.share &&
	       time_share_is_used_up(s->config.share, who, clock_now_ns());
}

void symbolizer_took(struct symbolizer *s, struct tenant who, uint64_t begin_ns)
{
	if (s->config.share)
		time_share_took(s->config.share, who, begin_ns, clock_now_ns());
}

void symbolizer_begin_search(struct symbolizer *s, const struct source *source)
{
	s->work.search_ns = 0;
	for (size_t i = 0; i < s->table.nr_sources; i++) {
		const struct source *one = &s->table.sources[i];

		if (one->kind == source->kind &&
		    tenant_is_same(one->tenant, source->tenant))
			s->work.search_ns += one->search_ns;
	}
}

bool symbolizer_may_search(const struct symbolizer *s, const struct source *source)
{
	return s->work.search_ns < SEARCH_MAX_NS &&
	       !symbolizer_is_used_up(s, source->tenant);
}

void symbolizer_searched(struct symbolizer *s, struct source *source, uint64_t ns)
{
	s->work.search_ns += ns;
	source->search_ns += ns;
}

void symbolizer_count_put_off(struct symbolizer *s)
{
	if (s->config.share)
		s->config.share->nr_put_off++;
}

int symbolizer_send(struct symbolizer *s, struct tenant who, uint32_t op, const int *fds,
		    size_t nr_fds, worker_need_fn need, unsigned int deadline_ms)
{
	struct resolve_work *w = &s->work;

	if (w->request.failed)
		return -ENOMEM;
	worker_serves(s->worker, who);
	worker_send(s->worker, op, w->request.data, w->request.len, fds, nr_fds, need, s,
		    deadline_ms);
	/*
	 * The begin of a child is nobody's time. The worker may have answered while this thread
	 * waited for a CPU.
	 */
	w->sent_ns = worker_begin_ns(s->worker);
	w->is_sent = true;
	return 1;
}

int symbolizer_keep_frames(struct symbolizer *s, struct frame **frames)
{
	int err = vec_grow(&s->frames, &s->cap_frames, s->nr_frames + 1,
			   sizeof(struct frame *), 0);

	if (err)
		return err;
	s->frames[s->nr_frames++] = take_ptr(*frames);
	return 0;
}

struct payers symbolizer_payers(const struct source *source)
{
	if (source->file)
		return source->file->payers;
	return source->process ? payers_of_one(source->process->tenant)
			       : (struct payers){0};
}

int symbolizer_keep_answers(struct symbolizer *s, const struct source *source,
			    struct answers *answers, uint64_t nr_middle)
{
	bool fits = nr_middle <= s->config.max_addresses - s->nr_middle;
	struct payers payers = symbolizer_payers(source);
	struct tenant unused;
	int err = 0;

	if (!fits && payers.nr)
		quota_refuse_full(&s->middle_quota, payers.items[0], nr_middle);
	if (fits && quota_take_any(&s->middle_quota, &payers, nr_middle, &unused))
		s->nr_middle += nr_middle;
	else
		err = answers_drop_middle(answers);
	return err ? err : symbolizer_keep_frames(s, &answers->frames);
}

int symbolizer_keep_all(struct symbolizer *s, const struct source *source,
			struct answers *answers)
{
	uint64_t nr_middle = 0;

	for (size_t i = 0; i < answers->nr; i++)
		nr_middle += answer_nr_middle(&answers->items[i]);
	return symbolizer_keep_answers(s, source, answers, nr_middle);
}

void symbolizer_apply(struct resolved *resolved, const struct answer *answer)
{
	resolved->frames = answer->frames;
	resolved->nr_frames = answer->nr_frames;
	resolved->miss = answer->miss;
}

/* ---- Code of functions from the answers, deduplicated by function ---- */

void symbolizer_codes_deinit(struct symbolizer *s)
{
	for (size_t i = 0; i < s->codes.nr_blocks; i++) {
		free(s->codes.blocks[i].rows);
		free(s->codes.blocks[i].bytes);
	}
	free(s->codes.blocks);
	free(s->codes.items);
	hashmap_deinit(&s->codes.index);
	quota_deinit(&s->codes.quota);
}

/* Strings are interned, so comparing pointers is enough. */
static bool same_row(const struct code_row *a, const struct code_row *b)
{
	const struct frame *x = &a->frame, *y = &b->frame;

	return a->address == b->address && x->function == y->function &&
	       x->system_name == y->system_name && x->file == y->file &&
	       x->line == y->line && x->start_line == y->start_line;
}

static bool same_code(const struct code *a, const struct code *b)
{
	if (a->address != b->address || a->size_bytes != b->size_bytes ||
	    a->nr_rows != b->nr_rows || !a->bytes != !b->bytes)
		return false;
	for (size_t i = 0; i < a->nr_rows; i++)
		if (!same_row(&a->rows[i], &b->rows[i]))
			return false;
	return !a->bytes || !memcmp(a->bytes, b->bytes, a->size_bytes);
}

static bool code_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct symbolizer_codes *codes = ctx;
	const struct resolved_code *want = key;

	return codes->items[item].object == want->object &&
	       same_code(&codes->items[item].code, &want->code);
}

/* Of all that same_code() compares: an answer may have many codes at one address. */
static uint64_t hash_code(const struct resolved_code *code)
{
	const struct code *c = &code->code;
	uint64_t hash = hash_u64((uintptr_t)code->object, c->address);

	hash = hash_u64(hash, c->size_bytes);
	for (size_t i = 0; i < c->nr_rows; i++) {
		const struct frame *f = &c->rows[i].frame;
		const uint64_t row[] = {
			c->rows[i].address,
			(uintptr_t)f->function,
			(uintptr_t)f->file,
			(uintptr_t)f->system_name,
			(uint64_t)f->line << 32 | f->start_line,
		};

		hash = hash_bytes(hash, row, sizeof(row));
	}
	return c->bytes ? hash_bytes(hash, c->bytes, c->size_bytes) : hash;
}

/* Return: 1: added, 0: already stored, or -ENOMEM. */
static int add(struct symbolizer_codes *codes, const struct resolved_code *code)
{
	uint64_t hash = hash_code(code);

	if (hashmap_get(&codes->index, hash, code_eq, code, codes) != HASHMAP_NONE)
		return 0;
	if (vec_grow(&codes->items, &codes->cap, codes->nr + 1, sizeof(*codes->items),
		     HASHMAP_NONE - 1) ||
	    hashmap_add(&codes->index, hash, (uint32_t)codes->nr))
		return -ENOMEM;
	codes->items[codes->nr++] = *code;
	return 1;
}

/* Returns the memory size in bytes. */
static size_t code_size(const struct code *code)
{
	return code->nr_rows * sizeof(*code->rows) + (code->bytes ? code->size_bytes : 0);
}

int symbolizer_keep_codes(struct symbolizer *s, const struct source *source,
			  struct answers *answers)
{
	struct symbolizer_codes *codes = &s->codes;
	size_t size = 0, nr_added = 0;
	struct payers payers = symbolizer_payers(source);
	struct tenant payer;
	int rc = 0;

	for (size_t i = 0; i < answers->nr_codes; i++)
		size += code_size(&answers->codes[i]);
	if (!answers->nr_codes || codes->nr_bytes + size > SYMBOLIZER_MAX_CODE_BYTES)
		return 0;
	if (vec_grow(&codes->blocks, &codes->cap_blocks, codes->nr_blocks + 1,
		     sizeof(*codes->blocks), 0))
		return -ENOMEM;
	if (!quota_take_any(&codes->quota, &payers, size, &payer))
		return 0;
	for (size_t i = 0; i < answers->nr_codes && rc >= 0; i++) {
		rc = add(codes,
			 &(struct resolved_code){source->object, answers->codes[i]});
		nr_added += rc > 0;
	}
	if (!nr_added) {
		quota_give(&codes->quota, payer, size);
		return rc < 0 ? rc : 0;
	}
	codes->nr_bytes += size;
	codes->blocks[codes->nr_blocks].rows = take_ptr(answers->code_rows);
	codes->blocks[codes->nr_blocks++].bytes = take_ptr(answers->code_bytes);
	return rc < 0 ? rc : 0;
}

const struct resolved_code *symbolizer_codes(const struct symbolizer *s, size_t *ret_nr)
{
	*ret_nr = s->codes.nr;
	return s->codes.items;
}
