// SPDX-License-Identifier: GPL-2.0-or-later
/* Resolves addresses of ELF files by the decoder, once per file. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "decode/requests.h"
#include "symbolize/debugfile.h"
#include "symbolize/symbolizer_internal.h"

/* Deadline of the retry without lines after a decoder died. */
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

static void search_in_target(struct debugfile_search *search, const struct source *source)
{
	const struct process *proc = source->process;
	const struct target_file *file = source->file;

	if (file && !source->in_memory)
		search->binary_path = file->path;
	if (!proc || !process_may_open(proc))
		return;
	search->target_root_fd = proc->root_fd;
	search->uid = proc->uid;
	search->gid = proc->gid;
	search->root_uid = proc->root_uid;
}

static void put_request(struct wire_writer *w, const struct elf_question *question,
			uint32_t flags, const uint64_t *addresses, size_t nr)
{
	wire_put_u32(w, flags);
	wire_put_bytes(w, question->build_id, question->build_id_len);
	if (flags & ELF_REQUEST_CODE)
		wire_put_u32(w, (uint32_t)question->nr_code);
	wire_put_u32(w, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++)
		wire_put_u64(w, addresses[i]);
}

/* Return: enum miss, or -ENOMEM. */
static int read_reply(struct symbolizer *s, struct wire_reader *r, size_t nr,
		      struct object *object, struct answers *ret)
{
	uint32_t miss = wire_get_u32(r);
	size_t id_len;
	const uint8_t *id = wire_get_bytes(r, &id_len);
	uint64_t vaddr = wire_get_u64(r), file_off = wire_get_u64(r);
	uint64_t size = wire_get_u64(r);
	int err;

	if (r->failed || miss >= NR_MISSES)
		return MISS_DECODER_GAVE_UP;
	if (miss != MISS_NONE)
		return (int)miss;
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

int symbolizer_elf_ask(struct symbolizer *s, const struct elf_question *question,
		       const uint64_t *addresses, size_t nr, struct object *object,
		       struct answers *ret)
{
	unsigned int deadline_ms = s->config.deadline_ms;
	uint32_t flags = question->flags;
	bool retried = false;

	for (;;) {
		struct wire_writer w = {.max = WORKER_MAX_REQUEST_BYTES};
		enum worker_answer answer;
		struct wire_reader r;
		int error = 0, miss;

		put_request(&w, question, flags, addresses, nr);
		if (w.failed) {
			wire_writer_deinit(&w);
			return -ENOMEM;
		}
		answer = worker_call(s->worker, DECODER_ELF, w.data, w.len, &question->fd,
				     1, debugfile_open, question->search, deadline_ms, &r,
				     &error);
		wire_writer_deinit(&w);
		if (worker_gave_up(answer) && !retried) {
			log_debug("%s: the decoder gave up, reading symbols only",
				  question->search->binary_path);
			flags |= ELF_REQUEST_NO_LINES;
			if (deadline_ms > RETRY_DEADLINE_MS)
				deadline_ms = RETRY_DEADLINE_MS;
			retried = true;
			continue;
		}
		if (answer != WORKER_OK)
			return MISS_DECODER_GAVE_UP;
		miss = read_reply(s, &r, nr, object, ret);
		/* These names lack lines, but not because of the file. */
		for (size_t i = 0; retried && miss == MISS_NONE && i < ret->nr; i++)
			ret->items[i].miss = MISS_DECODER_GAVE_UP;
		return miss;
	}
}

/* Sets the same answer for all entries of @ids: @miss, at their address in the file. */
static void set_miss(const struct symbolizer *s, const uint32_t *ids, size_t nr,
		     enum miss miss)
{
	for (size_t i = 0; i < nr; i++) {
		struct entry *entry = table_entry(&s->table, ids[i]);

		entry->resolved.miss = miss;
		entry->resolved.address = entry->lookup + entry->is_return;
	}
}

static int resolve_batch(struct symbolizer *s, const struct source *source,
			 const struct elf_question *question, const uint32_t *ids,
			 size_t nr)
{
	_cleanup_free_ uint64_t *addresses = calloc(nr, sizeof(*addresses));
	_cleanup_(answers_deinit) struct answers answers = {0};
	int miss;

	if (!addresses)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		addresses[i] = table_entry(&s->table, ids[i])->lookup;
	miss = symbolizer_elf_ask(s, question, addresses, nr, source->object, &answers);
	if (miss < 0)
		return miss;
	if (miss != MISS_NONE) {
		set_miss(s, ids, nr, (enum miss)miss);
		return 0;
	}
	if (symbolizer_keep_frames(s, &answers.frames) ||
	    symbolizer_keep_codes(s, source->object, &answers))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct entry *entry = table_entry(&s->table, ids[i]);
		uint64_t vaddr = answers.items[i].vaddr;

		symbolizer_apply(&entry->resolved, &answers.items[i]);
		entry->resolved.address = (vaddr ? vaddr : entry->lookup) +
					  entry->is_return;
	}
	return 0;
}

/* Moves the entries that request code to the front. Return: their number. */
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

int symbolizer_elf_resolve(struct symbolizer *s, struct source *source)
{
	struct elf_question question = {.fd = s->vdso_fd};
	struct debugfile_search search;
	size_t nr_code = code_first(s, source->pending, source->nr_pending);

	search_init(&search, s);
	search_in_target(&search, source);
	question.search = &search;
	if (source->kind == SOURCE_FILE) {
		question.fd = source->file->fd;
		question.build_id = source->file->build_id;
		question.build_id_len = source->file->build_id_len;
		s->nr_files++;
	}
	for (size_t done = 0; done < source->nr_pending;) {
		size_t nr = source->nr_pending - done;
		int err;

		if (nr > SYMBOLIZER_MAX_BATCH)
			nr = SYMBOLIZER_MAX_BATCH;
		question.nr_code = nr_code < nr ? nr_code : nr;
		question.flags = question.nr_code ? ELF_REQUEST_CODE : 0;
		nr_code -= question.nr_code;
		err = resolve_batch(s, source, &question, source->pending + done, nr);
		if (err) {
			set_miss(s, source->pending + done, source->nr_pending - done,
				 MISS_DECODER_GAVE_UP);
			return err;
		}
		done += nr;
	}
	return 0;
}

int symbolizer_resolve_vaddrs(struct symbolizer *s, int fd, const uint64_t *vaddrs,
			      size_t nr, struct resolved *ret)
{
	struct elf_question question = {.flags = ELF_REQUEST_VADDR, .fd = fd};
	struct debugfile_search search;

	search_init(&search, s);
	question.search = &search;
	for (size_t done = 0, batch; done < nr; done += batch) {
		_cleanup_(answers_deinit) struct answers answers = {0};
		int miss;

		batch = nr - done < SYMBOLIZER_MAX_BATCH ? nr - done
							 : SYMBOLIZER_MAX_BATCH;
		miss = symbolizer_elf_ask(s, &question, vaddrs + done, batch, NULL,
					  &answers);
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
