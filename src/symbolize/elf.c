// SPDX-License-Identifier: GPL-2.0-or-later
/* Names addresses of ELF files with the decoder, which opens each file once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "decode/requests.h"
#include "symbolize/debugfile.h"
#include "symbolize/symbolizer_internal.h"
#include "worker/child.h"

/* Deadline of the retry without lines, after the decoder died. */
#define RETRY_DEADLINE_MS 5000
static void search_init(struct debugfile_search *search, const struct symbolizer *s)
{
	*search = (struct debugfile_search){
		.own_root_fd = s->own_root_fd,
		.own_debug_fd = s->own_debug_fd,
		.debug_dir = s->config.debug_dir,
		.target_root_fd = -1,
		.uid = (uid_t)-1,
		.binary_path = "",
	};
}

/* Set anew for each request: the process may have another root now, or none. */
static void search_in_target(struct resolve_work *w)
{
	const struct source_user *user = w->nr_users ? &w->users[w->user] : NULL;
	const struct process *proc =
		user && process_may_open_in(user->process, user->root_id) ? user->process
									  : NULL;
	struct debugfile_search *search = &w->search;

	search->was_denied = false;
	search->target_root_fd = proc ? proc->root_fd : -1;
	search->uid = proc ? proc->uid : (uid_t)-1;
	search->who = proc ? proc->tenant : TENANT_UNKNOWN;
	if (!proc)
		return;
	search->gid = proc->gid;
	search->root_uid = proc->root_uid;
	if (!w->source->in_memory)
		search->binary_path = user->path;
}

/* Goes on with the next user. Return: false: all of them were asked. */
static bool next_user(struct resolve_work *w)
{
	if (w->nr_searched + 1 >= w->nr_users)
		return false;
	w->nr_searched++;
	w->user = (w->user + 1) % w->nr_users;
	w->search.last_question = 0;
	return true;
}

/* Opens what the decoder needs; @ctx: the symbolizer. */
static int open_needed(void *ctx, const void *what, size_t len)
{
	struct resolve_work *w = &((struct symbolizer *)ctx)->work;
	uint64_t needed = hash_bytes(0, what, len);
	bool was_denied = false;
	int fd;

	if (!w->source)
		return debugfile_open(&w->search, what, len);
	if (needed != w->needed)
		w->nr_searched = 0;
	w->needed = needed;
	do {
		search_in_target(w);
		fd = debugfile_open(&w->search, what, len);
		was_denied |= w->search.was_denied;
	} while (fd < 0 && w->search.was_denied && next_user(w));
	w->was_denied |= fd < 0 && was_denied;
	return fd;
}

struct elf_question {
	uint32_t flags; /* ELF_REQUEST_* */
	int fd;
	struct tenant who; /* waits for it */
	const uint8_t *build_id; /* expected */
	size_t build_id_len; /* 0: any */
	uint64_t root_id; /* of the source */
	size_t nr_code; /* the first nr_code addresses request code */
};

/* Begins a request; the caller appends the addresses, u64. */
static void put_request(struct symbolizer *s, struct elf_question *question)
{
	struct resolve_work *work = &s->work;
	struct wire_writer *w = &work->request;

	debugfile_search_again(&work->search);
	work->user = work->nr_searched = 0;
	if (question->nr_code)
		question->flags |= ELF_REQUEST_CODE;
	if (work->is_retry)
		question->flags |= ELF_REQUEST_NO_LINES;
	if (s->config.names_often)
		question->flags |= ELF_REQUEST_KEEP;
	wire_put_u32(w, question->flags);
	wire_put_bytes(w, question->build_id, question->build_id_len);
	if (question->flags & ELF_REQUEST_KEEP)
		wire_put_u64(w, question->root_id);
	if (question->nr_code)
		wire_put_u32(w, (uint32_t)question->nr_code);
	wire_put_u32(w, (uint32_t)work->nr_asked);
}

static int send_request(struct symbolizer *s, const struct elf_question *question)
{
	unsigned int deadline_ms = s->config.deadline_ms;

	if (s->work.is_retry && deadline_ms > RETRY_DEADLINE_MS)
		deadline_ms = RETRY_DEADLINE_MS;
	return symbolizer_send(s, question->who, DECODER_ELF, &question->fd, 1,
			       open_needed, deadline_ms);
}

/* Return: enum miss, or -ENOMEM. */
static int read_reply(struct symbolizer *s, struct wire_reader *r, size_t nr,
		      struct object *object, struct answers *ret)
{
	uint32_t miss = wire_get_u32(r);
	size_t id_len;
	const uint8_t *id = wire_get_bytes(r, &id_len);
	uint64_t vaddr = wire_get_u64(r), file_off = wire_get_u64(r);
	uint64_t size = wire_get_u64(r), nr_bad_units = wire_get_u64(r);
	const char *path = s->work.search.binary_path;
	int err;

	if (r->failed || miss >= NR_MISSES)
		return MISS_DECODER_GAVE_UP;
	if (miss != MISS_NONE)
		return (int)miss;
	if (nr_bad_units)
		log_info("debug info of %s: units that are malformed, or of an unknown "
			 "version or form of DWARF: %llu, skipping",
			 *path ? path : "the file", (unsigned long long)nr_bad_units);
	err = answers_read(r, nr, s->pool, ret);
	if (err)
		return err == -ENOMEM ? err : MISS_DECODER_GAVE_UP;
	if (!object)
		return MISS_NONE;
	if (id_len && id_len <= sizeof(object->build_id)) {
		memcpy(object->build_id, id, id_len);
		object->build_id_len = id_len;
	}
	if (object->start == object->limit && size && vaddr + size > vaddr) {
		object->start = vaddr;
		object->limit = vaddr + size;
		object->file_off = file_off;
	}
	return MISS_NONE;
}

static bool worker_gave_up(enum worker_answer answer)
{
	return answer == WORKER_DIED || answer == WORKER_DEADLINE ||
	       answer == WORKER_BAD_REPLY;
}

/*
 * Takes the answer to a request. If the decoder gave up, the request must be repeated
 * once, for symbols without lines.
 *
 * @object  gets build id and segment; may be NULL
 * @ret     set on MISS_NONE: one answer per address
 * Return: the enum miss of the whole file, -EAGAIN: repeat the request, or -ENOMEM.
 */
static int take_answer(struct symbolizer *s, enum worker_answer answer,
		       struct wire_reader *r, struct object *object, struct answers *ret)
{
	struct resolve_work *w = &s->work;
	bool was_retry = w->is_retry;
	int miss;

	w->is_retry = !was_retry && worker_gave_up(answer);
	if (w->is_retry) {
		log_debug("%s: the decoder gave up, reading symbols only",
			  w->search.binary_path);
		return -EAGAIN;
	}
	if (answer != WORKER_OK)
		return MISS_DECODER_GAVE_UP;
	miss = read_reply(s, r, w->nr_asked, object, ret);
	/*
	 * These names lack lines because the decoder gave up, not because of the file.
	 */
	for (size_t i = 0; was_retry && miss == MISS_NONE && i < ret->nr; i++)
		ret->items[i].miss = MISS_DECODER_GAVE_UP;
	return miss;
}

/* Sets @miss, and the address in the file, for all entries of @ids. */
static void set_miss(const struct symbolizer *s, const uint32_t *ids, size_t nr,
		     enum miss miss)
{
	for (size_t i = 0; i < nr; i++) {
		struct entry *entry = table_entry(&s->table, ids[i]);

		entry->resolved.miss = miss;
		/* Else it has the name of an earlier answer. */
		if (!entry->resolved.nr_frames)
			entry->resolved.address = entry->lookup + entry->is_return;
	}
}

/*
 * A read may have taken long, once: the file's names are asked for again after a pause. Until
 * then only symbols are, for addresses that are new, if they came in time.
 */
static void note_late(const struct resolve_work *w, struct source *source,
		      enum worker_answer answer)
{
	uint64_t now_ns = clock_now_ns();

	if (answer == WORKER_DEADLINE && !source->is_late) {
		retry_pause_begin(&source->late,
				  SYMBOLIZER_LATE_TIMES * (now_ns - w->sent_ns),
				  UINT64_MAX, now_ns);
		source->is_late = true;
	}
	if (w->is_retry && source->is_late && answer == WORKER_DEADLINE) {
		retry_pause_begin(&source->no_names,
				  SYMBOLIZER_LATE_TIMES * (now_ns - w->sent_ns),
				  RETRY_MAX_NS, now_ns);
		source->has_no_names = true;
	} else if (answer == WORKER_OK) {
		retry_pause_forget(w->is_retry ? &source->no_names : &source->late,
				   now_ns);
	}
}

static void mark_late(const struct symbolizer *s, const struct source *source,
		      const uint32_t *ids, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct entry *entry = table_entry(&s->table, ids[i]);
		uint32_t nr_pauses = entry->resolved.nr_frames ? source->nr_pauses
							       : source->nr_all_pauses;

		entry->late_in = source->is_late ? nr_pauses + 1 : 0;
	}
}

/* Moves the entries that request code to the front. Return: number of them. */
static size_t code_first(const struct symbolizer *s, uint32_t *ids, size_t nr)
{
	size_t nr_code = 0;

	for (size_t i = 0; i < nr; i++) {
		uint32_t id = ids[i];

		if (!table_entry(&s->table, id)->wants_code)
			continue;
		ids[i] = ids[nr_code];
		ids[nr_code++] = id;
	}
	return nr_code;
}

static int by_lookup(const void *a, const void *b, void *ctx)
{
	const struct address_table *t = ctx;
	uint64_t x = table_entry(t, *(const uint32_t *)a)->lookup;
	uint64_t y = table_entry(t, *(const uint32_t *)b)->lookup;

	return (x > y) - (x < y);
}

/*
 * An address has an entry for each name of its file. They become neighbours, as it is asked
 * for once.
 */
static void sort(struct symbolizer *s, struct source *source, size_t nr_code)
{
	qsort_r(source->pending, nr_code, sizeof(*source->pending), by_lookup, &s->table);
	qsort_r(source->pending + nr_code, source->nr_pending - nr_code,
		sizeof(*source->pending), by_lookup, &s->table);
}

/* Those who can open its debug files, first who pays. */
static void find_users(struct resolve_work *w, const struct source *source)
{
	for (size_t i = 0; i < source->nr_users; i++) {
		const struct source_user *user = &source->users[i];

		if (!process_may_open_in(user->process, user->root_id) ||
		    !child_has_room(user->tenant))
			continue;
		w->users[w->nr_users++] = *user;
		if (tenant_is_same(user->tenant, source->tenant)) {
			w->users[w->nr_users - 1] = w->users[0];
			w->users[0] = *user;
		}
	}
}

static int begin(struct symbolizer *s, struct source *source)
{
	struct resolve_work *w = &s->work;

	w->source = source;
	w->nr_code = code_first(s, source->pending, source->nr_pending);
	if (source->object->next)
		sort(s, source, w->nr_code);
	search_init(&w->search, s);
	if (source->file && !source->in_memory)
		w->search.binary_path = source->path;
	find_users(w, source);
	if (source->kind == SOURCE_FILE)
		s->nr_files++;
	return 0;
}

/* Returns how many addresses of the batch, at its start, request code. */
static size_t nr_code_of_batch(const struct resolve_work *w)
{
	return w->nr_code < w->nr ? w->nr_code : w->nr;
}

/* Is entry @i of the batch @ids asked for with the one before it? */
static bool is_repeated(const struct symbolizer *s, const uint32_t *ids, size_t i)
{
	return i && i != nr_code_of_batch(&s->work) &&
	       table_entry(&s->table, ids[i])->lookup ==
		       table_entry(&s->table, ids[i - 1])->lookup;
}

/* Returns how many different addresses the first @nr of the batch @ids have. */
static size_t nr_different(const struct symbolizer *s, const uint32_t *ids, size_t nr)
{
	size_t left = nr;

	for (size_t i = 0; i < nr; i++)
		left -= is_repeated(s, ids, i);
	return left;
}

/* Asks nothing. Return: 0. */
static int give_up(const struct symbolizer *s, const struct source *source)
{
	const uint32_t *ids = source->pending + s->work.from;
	size_t nr = source->nr_pending - s->work.from;

	set_miss(s, ids, nr, MISS_DECODER_GAVE_UP);
	mark_late(s, source, ids, nr);
	return 0;
}

static int ask(struct symbolizer *s, struct source *source)
{
	struct elf_question question = {.fd = s->vdso_fd};
	struct resolve_work *w = &s->work;
	const uint32_t *ids = source->pending + w->from;

	w->nr = symbolizer_batch(source->nr_pending - w->from);
	if (!w->nr)
		return 0;
	if (source->has_no_names)
		return give_up(s, source);
	w->is_retry |= source->is_late;
	w->nr_asked = nr_different(s, ids, w->nr);
	if (source->kind == SOURCE_FILE) {
		question.fd = source->file->fd;
		question.who = source->tenant;
		question.build_id = source->file->build_id;
		question.build_id_len = source->file->build_id_len;
		/* What the decoder has kept lacks the files that were denied. */
		question.root_id = source->was_denied
					   ? hash_u64(source->root_id, source->nr_came)
					   : source->root_id;
	}
	question.nr_code = nr_different(s, ids, nr_code_of_batch(w));
	put_request(s, &question);
	for (size_t i = 0; i < w->nr; i++)
		if (!is_repeated(s, ids, i))
			wire_put_u64(&w->request, table_entry(&s->table, ids[i])->lookup);
	return send_request(s, &question);
}

/* Also entries that were asked for together have frames of their own in the profile. */
static uint64_t nr_middle_of(const struct symbolizer *s, const uint32_t *ids,
			     const struct answer *answer)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < s->work.nr; i++) {
		answer += i && !is_repeated(s, ids, i);
		nr += answer_nr_middle(answer);
	}
	return nr;
}

static int apply(struct symbolizer *s, const struct source *source, const uint32_t *ids,
		 struct answers *answers)
{
	uint64_t nr_middle = nr_middle_of(s, ids, answers->items);
	const struct answer *answer = answers->items;

	if (symbolizer_keep_answers(s, source, answers, nr_middle) ||
	    symbolizer_keep_codes(s, source, answers))
		return -ENOMEM;
	for (size_t i = 0; i < s->work.nr; i++) {
		struct entry *entry = table_entry(&s->table, ids[i]);

		answer += i && !is_repeated(s, ids, i);
		entry->denied_to = s->work.was_denied ? source->nr_came : 0;
		symbolizer_apply(&entry->resolved, answer);
		entry->resolved.address =
			(answer->vaddr ? answer->vaddr : entry->lookup) +
			entry->is_return;
	}
	return 0;
}

static int take(struct symbolizer *s, struct source *source, enum worker_answer answer,
		struct wire_reader *r)
{
	_cleanup_(answers_deinit) struct answers answers = {0};
	struct resolve_work *w = &s->work;
	const uint32_t *ids = source->pending + w->from;
	int rc;

	note_late(w, source, answer);
	rc = take_answer(s, answer, r, source->object, &answers);
	if (rc == -EAGAIN)
		return 0;
	if (rc > MISS_NONE)
		set_miss(s, ids, w->nr, (enum miss)rc);
	else if (!rc)
		rc = apply(s, source, ids, &answers);
	if (rc < 0)
		return rc;
	mark_late(s, source, ids, w->nr);
	w->nr_code -= nr_code_of_batch(w);
	w->from += w->nr;
	return 0;
}

static void end(struct symbolizer *s, struct source *source, bool is_whole)
{
	size_t from = s->work.from;

	source->was_denied |= s->work.was_denied;
	if (!is_whole)
		set_miss(s, source->pending + from, source->nr_pending - from,
			 MISS_DECODER_GAVE_UP);
}

const struct resolver symbolizer_elf = {
	.begin = begin, .step = ask, .take = take, .end = end};

/* Names one batch and waits for it. Return: the enum miss of all, or -ENOMEM. */
static int ask_vaddrs(struct symbolizer *s, int fd, const uint64_t *vaddrs, size_t nr,
		      struct answers *ret)
{
	struct resolve_work *w = &s->work;
	enum worker_answer answer;
	struct wire_reader r;
	int rc;

	do {
		struct elf_question question = {.flags = ELF_REQUEST_VADDR, .fd = fd};

		w->nr = w->nr_asked = nr;
		w->request = (struct wire_writer){.max = WORKER_MAX_REQUEST_BYTES};
		put_request(s, &question);
		for (size_t i = 0; i < nr; i++)
			wire_put_u64(&w->request, vaddrs[i]);
		rc = send_request(s, &question);
		while (rc > 0 &&
		       (answer = worker_receive(s->worker, &r, NULL)) == WORKER_PENDING)
			worker_wait(s->worker);
		w->is_sent = false;
		wire_writer_deinit(&w->request);
		if (rc > 0)
			rc = take_answer(s, answer, &r, NULL, ret);
	} while (rc == -EAGAIN);
	return rc;
}

int symbolizer_resolve_vaddrs(struct symbolizer *s, int fd, const uint64_t *vaddrs,
			      size_t nr, struct resolved *ret)
{
	search_init(&s->work.search, s);
	for (size_t done = 0, batch; done < nr; done += batch) {
		_cleanup_(answers_deinit) struct answers answers = {0};
		int miss;

		batch = symbolizer_batch(nr - done);
		miss = ask_vaddrs(s, fd, vaddrs + done, batch, &answers);
		if (miss < 0)
			return miss;
		if (miss == MISS_NONE && symbolizer_keep_frames(s, &answers.frames))
			return -ENOMEM;
		for (size_t i = 0; i < batch; i++) {
			struct resolved *resolved = &ret[done + i];

			*resolved = (struct resolved){.address = vaddrs[done + i],
						      .miss = (enum miss)miss};
			if (miss == MISS_NONE)
				symbolizer_apply(resolved, &answers.items[i]);
		}
	}
	return 0;
}
