// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Serves DECODER_ELF: addresses of one file -> chains of source frames. Names come from
 * symbol tables, lines from DWARF; the symbol supplies names that DWARF lacks.
 */

#include <endian.h>
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/strpool.h"
#include "base/vec.h"
#include "decode/answer.h"
#include "decode/dwarf/dwarf.h"
#include "decode/dwarf/kept.h"
#include "decode/elf/binary.h"
#include "decode/elf/names.h"
#include "decode/elf/symbols.h"
#include "decode/requests.h"

/*
 * ---- the separate debug file of a stripped binary ----
 *
 * The collector opens candidates: each repetition of the same request gives the next
 * one (debugfile.h). A file is used only if its build id or its checksum matches.
 */

#define MAX_CANDIDATES 8 /* tried for one request */

/*
 * .gnu_debuglink: a base name, NUL, padding to 4 bytes, CRC-32 of the file ("Debugging
 * Information in Separate Files", GDB manual).
 */
struct debug_link {
	char name[256];
	uint32_t crc;
};

struct elf_debug {
	int fd; /* -1: none; owned */
	struct binary *binary; /* owned */
};

/* Requests one file. Return: a descriptor to close, or a negative errno. */
static int elf_debug_ask(struct worker_call *call, const struct need *need)
{
	struct wire_writer w = {0};
	int fd = -ENOMEM;

	need_put(&w, need);
	if (!w.failed)
		fd = worker_need(call, w.data, w.len);
	wire_writer_deinit(&w);
	return fd;
}

static void elf_debug_deinit(struct elf_debug *d)
{
	binary_free(d->binary);
	if (d->fd >= 0)
		close(d->fd);
	*d = (struct elf_debug){.fd = -1};
}

static bool read_debug_link(const struct binary *b, struct debug_link *ret)
{
	const Elf_Data *data =
		binary_section_bytes(binary_section(b, ".gnu_debuglink", NULL));
	const char *ident;
	size_t len, crc_off;

	if (!data)
		return false;
	len = strnlen(data->d_buf, data->d_size);
	crc_off = (len + 4) & ~(size_t)3;
	if (!len || len >= sizeof(ret->name) || data->d_size < 4 ||
	    crc_off > data->d_size - 4)
		return false;
	memcpy(ret->name, data->d_buf, len);
	ret->name[len] = '\0';
	memcpy(&ret->crc, (const char *)data->d_buf + crc_off, sizeof(ret->crc));
	ident = elf_getident(b->elf, NULL);
	ret->crc = ident[EI_DATA] == ELFDATA2MSB ? be32toh(ret->crc) : le32toh(ret->crc);
	return true;
}

static bool same_build_id(const struct binary *a, const struct binary *b)
{
	return a->build_id_len && a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len);
}

static bool crc_fits(const struct binary *b, uint32_t crc)
{
	size_t len = 0;
	const char *bytes = elf_rawfile(b->elf, &len);

	return bytes && crc32_z(0, (const Bytef *)bytes, len) == crc;
}

/* @link  NULL: only a build id can match */
static bool belongs_to(const struct binary *candidate, const struct binary *stripped,
		       const struct debug_link *link)
{
	if (candidate->machine != stripped->machine)
		return false;
	if (stripped->build_id_len && candidate->build_id_len)
		return same_build_id(candidate, stripped);
	return link && crc_fits(candidate, link->crc);
}

/* Does it have anything that the stripped file lacks? */
static bool is_useful(const struct binary *b)
{
	return binary_has_debug_info(b) || binary_section(b, ".symtab", NULL);
}

/* Tries candidates until one matches or there are no more. */
static int find_by(struct worker_call *call, const struct need *need,
		   const struct binary *stripped, const struct debug_link *link,
		   struct elf_debug *ret)
{
	for (int i = 0; i < MAX_CANDIDATES; i++) {
		_cleanup_close_ int fd = elf_debug_ask(call, need);
		_cleanup_(binary_freep) struct binary *b = NULL;

		if (fd < 0)
			return -ENODATA;
		if (binary_open(fd, &b) || !belongs_to(b, stripped, link) ||
		    !is_useful(b))
			continue;
		ret->binary = take_ptr(b);
		ret->fd = take_fd(&fd);
		return 0;
	}
	return -ENODATA;
}

/* @ret is written only on success. Return: 0, -ENODATA (none), -ENOMEM. */
static int elf_debug_find(struct worker_call *call, const struct binary *stripped,
			  struct elf_debug *ret)
{
	_cleanup_free_ struct need *need = calloc(1, sizeof(*need));
	struct debug_link link;

	if (!need)
		return -ENOMEM;
	if (stripped->build_id_len) {
		need->kind = NEED_DEBUG_BY_BUILD_ID;
		memcpy(need->build_id, stripped->build_id, stripped->build_id_len);
		need->build_id_len = stripped->build_id_len;
		if (!find_by(call, need, stripped, NULL, ret))
			return 0;
	}
	if (!read_debug_link(stripped, &link))
		return -ENODATA;
	need->kind = NEED_DEBUG_BY_LINK;
	memcpy(need->name, link.name, sizeof(link.name));
	return find_by(call, need, stripped, &link, ret);
}

/*
 * MiniDebugInfo: a small ELF file with the symbols of the local functions, xz-compressed
 * in section .gnu_debugdata ("MiniDebugInfo", GDB manual).
 */

#define MINIDEBUG_MAX_BYTES (64u << 20) /* decompressed; same for lzma's memory */

struct unpacker {
	lzma_stream lzma;
	uint8_t *out;
	size_t cap;
};

static void unpacker_deinit(struct unpacker *u)
{
	lzma_end(&u->lzma);
	free(u->out);
}

static int unpack(struct unpacker *u)
{
	lzma_ret state;

	do {
		size_t used = u->lzma.total_out;
		int err;

		/* Allow more output than the maximum, to tell "all" from "too much". */
		if (used == u->cap) {
			if (used > MINIDEBUG_MAX_BYTES)
				return -EFBIG;
			err = vec_grow(&u->out, &u->cap, used ? used * 2 : 65536, 1, 0);
			if (err)
				return err;
		}
		u->lzma.next_out = u->out + used;
		u->lzma.avail_out = u->cap - used;
		state = lzma_code(&u->lzma, LZMA_FINISH);
	} while (state == LZMA_OK);
	if (state == LZMA_STREAM_END)
		return u->lzma.total_out > MINIDEBUG_MAX_BYTES ? -EFBIG : 0;
	return state == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

/*
 * Decompresses .gnu_debugdata. The caller frees *ret.
 * Return: 0, -ENODATA (there is none), -EBADMSG, -EFBIG (more than
 * MINIDEBUG_MAX_BYTES), -ENOMEM.
 */
static int elf_minidebug_read(const struct binary *b, void **ret, size_t *ret_len)
{
	_cleanup_(unpacker_deinit) struct unpacker u = {.lzma = LZMA_STREAM_INIT};
	const Elf_Data *data =
		binary_section_bytes(binary_section(b, ".gnu_debugdata", NULL));
	int err;

	if (!data)
		return -ENODATA;
	if (lzma_stream_decoder(&u.lzma, MINIDEBUG_MAX_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	u.lzma.next_in = data->d_buf;
	u.lzma.avail_in = data->d_size;
	err = unpack(&u);
	if (err)
		return err;
	*ret_len = u.lzma.total_out;
	*ret = take_ptr(u.out);
	return 0;
}

/* ---- names in the code of functions ---- */

#define MAX_POOL_BYTES (64u << 20)

/* Cached names of a function: a piece of code has few functions, thousands of rows. */
struct named {
	const char *dwarf_function, *dwarf_system_name; /* compared by pointer */
	const char *function, *system_name; /* interned */
};

struct elf_naming {
	struct elf_names *names;
	struct strpool *pool; /* borrowed */
	struct named *items;
	size_t nr, cap;
	struct hashmap index;
};

static void naming_deinit(struct elf_naming *n)
{
	free(n->items);
	hashmap_deinit(&n->index);
}

static bool named_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct named *named = &((const struct elf_naming *)ctx)->items[item];
	const struct frame *frame = key;

	return named->dwarf_function == frame->function &&
	       named->dwarf_system_name == frame->system_name;
}

static const struct named *name(struct elf_naming *n, const struct frame *frame)
{
	uint64_t hash =
		hash_pointer(hash_pointer(0, frame->function), frame->system_name);
	uint32_t item = hashmap_get(&n->index, hash, named_eq, frame, n);
	const struct frame *readable;
	struct named *named;
	size_t nr = 1;

	if (item != HASHMAP_NONE)
		return &n->items[item];
	if (vec_grow(&n->items, &n->cap, n->nr + 1, sizeof(*n->items), 0) ||
	    hashmap_add(&n->index, hash, (uint32_t)n->nr))
		return NULL;
	readable = elf_names_chain(n->names, frame, &nr);
	named = &n->items[n->nr++];
	*named = (struct named){frame->function, frame->system_name,
				strpool_add(n->pool, readable->function),
				strpool_add(n->pool, readable->system_name)};
	return named;
}

static bool is_of(const struct frame *frame, const struct frame *function)
{
	/* Of one unit: equal names are one pointer. */
	return frame->function == function->function &&
	       frame->system_name == function->system_name;
}

/**
 * Adds @code to @answers; leaves it out if memory, or room for names, runs out.
 *
 * @names     its symbol is that of @function; another one afterwards
 * @function  the function of the code, as DWARF names it; rows with other names are
 *            inlined into it
 */
static void elf_codes_add(struct answer_writer *answers, struct elf_names *names,
			  struct strpool *pool, const struct frame *function,
			  const struct code *code)
{
	_cleanup_free_ struct code_row *rows = calloc(code->nr_rows, sizeof(*rows));
	_cleanup_(naming_deinit) struct elf_naming naming = {.names = names,
							     .pool = pool};
	struct code named_code = *code;
	uint64_t nr_dropped = strpool_nr_dropped(pool);
	bool complete = rows;

	/* The function's rows come first: inlined functions have another symbol. */
	for (int others = 0; others < 2; others++) {
		if (others)
			elf_names_symbol(names, NULL, false);
		for (size_t i = 0; i < code->nr_rows && complete; i++) {
			const struct named *named;

			if (is_of(&code->rows[i].frame, function) == others)
				continue;
			named = name(&naming, &code->rows[i].frame);
			complete = named;
			if (!named)
				break;
			rows[i] = code->rows[i];
			rows[i].frame.function = named->function;
			rows[i].frame.system_name = named->system_name;
		}
	}
	if (!complete || strpool_nr_dropped(pool) != nr_dropped)
		return;
	named_code.rows = rows;
	answer_add_code(answers, &named_code);
}

/* ---- request ---- */

/* One address. Sorted by vaddr, as all readers require. */
struct elf_query {
	uint64_t vaddr;
	size_t asked_as; /* position in the request */
};

struct elf_job {
	struct worker_call *call;
	int fd; /* the file; borrowed */
	uint32_t flags; /* ELF_REQUEST_* */
	uint64_t root; /* for kept_dwarf_open() */
	const uint8_t *expected_id;
	size_t expected_id_len; /* 0: any */

	struct binary *binary;
	struct elf_debug debug;
	void *mini_bytes;
	struct binary *mini;

	uint64_t *asked; /* as in the request */
	size_t nr_asked, nr_code; /* of the first nr_code, code is wanted too */
	struct elf_query *queries; /* those in a segment, ascending */
	uint64_t *vaddrs; /* of queries */
	bool *wants_code; /* per query */
	size_t nr;

	struct elf_symbols symbols;
	const char **plt; /* per query; NULL: not in a stub */
	bool *answered; /* per query */
	enum miss no_line; /* why addresses have no line */
	uint64_t nr_bad_units; /* of the debug info */
	struct elf_names *names;
	struct strpool *pool; /* names in the code of functions */
	struct answer_writer *answers;
};

static void job_deinit(struct elf_job *job)
{
	answer_writer_free(job->answers);
	elf_names_free(job->names);
	strpool_free(job->pool);
	elf_symbols_deinit(&job->symbols);
	free(job->answered);
	free(job->plt);
	free(job->wants_code);
	free(job->vaddrs);
	free(job->queries);
	free(job->asked);
	binary_free(job->mini);
	free(job->mini_bytes);
	elf_debug_deinit(&job->debug);
	binary_free(job->binary);
}

static int read_request(struct elf_job *job, struct wire_reader *r)
{
	size_t nr;

	job->flags = wire_get_u32(r);
	job->expected_id = wire_get_bytes(r, &job->expected_id_len);
	job->root = job->flags & ELF_REQUEST_KEEP ? wire_get_u64(r) : 0;
	job->nr_code = job->flags & ELF_REQUEST_CODE ? wire_get_u32(r) : 0;
	nr = wire_get_u32(r);
	if (r->failed || nr > (r->len - r->pos) / sizeof(uint64_t))
		return -EBADMSG;
	job->asked = calloc(nr ? nr : 1, sizeof(*job->asked));
	job->queries = calloc(nr ? nr : 1, sizeof(*job->queries));
	job->vaddrs = calloc(nr ? nr : 1, sizeof(*job->vaddrs));
	job->wants_code = calloc(nr ? nr : 1, sizeof(*job->wants_code));
	job->plt = calloc(nr ? nr : 1, sizeof(*job->plt));
	job->answered = calloc(nr ? nr : 1, sizeof(*job->answered));
	job->names = elf_names_new();
	job->pool = strpool_new(MAX_POOL_BYTES);
	job->answers = answer_writer_new(nr);
	if (!job->asked || !job->queries || !job->vaddrs || !job->wants_code ||
	    !job->plt || !job->answered || !job->names || !job->pool || !job->answers)
		return -ENOMEM;
	for (job->nr_asked = 0; job->nr_asked < nr; job->nr_asked++)
		job->asked[job->nr_asked] = wire_get_u64(r);
	return 0;
}

static enum miss open_binary(struct elf_job *job)
{
	int err = binary_open(job->fd, &job->binary);

	if (err)
		return err == -ENOMEM ? MISS_DECODER_GAVE_UP : MISS_BAD_FILE;
	if (job->expected_id_len &&
	    (job->expected_id_len != job->binary->build_id_len ||
	     memcmp(job->expected_id, job->binary->build_id, job->expected_id_len)))
		return MISS_FILE_REPLACED;
	return MISS_NONE;
}

static int compare_queries(const void *va, const void *vb)
{
	const struct elf_query *a = va, *b = vb;

	if (a->vaddr != b->vaddr)
		return a->vaddr > b->vaddr ? 1 : -1;
	return (a->asked_as > b->asked_as) - (a->asked_as < b->asked_as);
}

static void make_queries(struct elf_job *job)
{
	for (size_t i = 0; i < job->nr_asked; i++) {
		uint64_t vaddr = job->asked[i];

		if (!(job->flags & ELF_REQUEST_VADDR) &&
		    !binary_file_off_to_vaddr(job->binary, job->asked[i], &vaddr))
			continue; /* stays unanswered: no symbols */
		job->queries[job->nr++] =
			(struct elf_query){.vaddr = vaddr, .asked_as = i};
	}
	qsort(job->queries, job->nr, sizeof(*job->queries), compare_queries);
	for (size_t k = 0; k < job->nr; k++) {
		job->vaddrs[k] = job->queries[k].vaddr;
		job->wants_code[k] = job->queries[k].asked_as < job->nr_code;
	}
}

static int read_minidebug(struct elf_job *job)
{
	size_t len;
	int err = elf_minidebug_read(job->binary, &job->mini_bytes, &len);

	if (!err)
		err = binary_open_memory(job->mini_bytes, len, &job->mini);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = elf_symbols_read(&job->symbols, job->mini, SHT_SYMTAB);
	return err == -ENOMEM ? err : 0;
}

/* Reads all symbol tables, unless the binary has a .symtab, which has everything. */
static int read_symbols(struct elf_job *job)
{
	int err = elf_symbols_init(&job->symbols, job->vaddrs, job->nr);

	if (err)
		return err;
	err = elf_symbols_read(&job->symbols, job->binary, SHT_SYMTAB);
	if (err == -ENODATA) {
		err = elf_symbols_read(&job->symbols, job->binary, SHT_DYNSYM);
		if (err != -ENOMEM)
			err = read_minidebug(job);
		if (!err && job->debug.binary)
			err = elf_symbols_read(&job->symbols, job->debug.binary,
					       SHT_SYMTAB);
	}
	if (err == -ENOMEM)
		return err;
	elf_symbols_finish(&job->symbols);
	return elf_plt_names(job->binary, job->vaddrs, job->nr, job->plt);
}

static void name_symbol(struct elf_job *job, size_t k)
{
	const struct elf_symbol *sym = elf_symbols_at(&job->symbols, k);

	if (sym)
		elf_names_symbol(job->names, sym->name, false);
	else if (job->plt[k])
		elf_names_symbol(job->names, job->plt[k], true);
	else
		elf_names_symbol(job->names, NULL, false);
}

/* Answers from @chain and the symbol, which completes the outermost frame. */
static void answer(struct elf_job *job, size_t k, enum miss miss,
		   const struct frame *chain, size_t nr)
{
	const struct elf_query *query = &job->queries[k];
	struct frame *frames;

	name_symbol(job, k);
	frames = elf_names_chain(job->names, chain, &nr);
	answer_set(job->answers, query->asked_as, query->vaddr, miss, frames, nr);
	job->answered[k] = true;
}

/* Returns why an address that no unit of the debug info covers has no line. */
static enum miss symbol_miss(const struct elf_job *job, size_t k)
{
	if (elf_symbols_at(&job->symbols, k))
		return job->no_line;
	if (job->plt[k]) /* a linker's stub: it has no source */
		return job->no_line == MISS_NO_DEBUG_INFO ? MISS_NO_LINE : job->no_line;
	if (job->symbols.gave_up)
		return MISS_DECODER_GAVE_UP;
	return job->no_line == MISS_NO_DEBUG_INFO ? MISS_NO_SYMBOLS : job->no_line;
}

static void found_lines(void *ctx, size_t k, enum miss miss, const struct frame *frames,
			size_t nr)
{
	struct elf_job *job = ctx;

	if (k >= job->nr)
		return;
	/* No unit has this code: its object file was built without -g. */
	if (!nr && miss == MISS_NO_LINE)
		miss = symbol_miss(job, k);
	answer(job, k, miss, frames, nr);
}

static void found_code(void *ctx, size_t k, const struct frame *function,
		       const struct code *code)
{
	struct elf_job *job = ctx;

	if (k >= job->nr)
		return;
	name_symbol(job, k);
	elf_codes_add(job->answers, job->names, job->pool, function, code);
}

static int ask_for_dwarf(void *ctx, const struct need *need)
{
	struct elf_job *job = ctx;
	int fd = elf_debug_ask(job->call, need);

	return fd < 0 ? -1 : fd;
}

static int ask_dwarf(struct elf_job *job, struct dwarf_source *dwarf)
{
	struct dwarf_stats stats;
	int err;

	if (job->nr_code)
		dwarf_source_want_code(dwarf, found_code, job->wants_code);
	err = dwarf_source_resolve(dwarf, job->vaddrs, job->nr, found_lines, job);
	dwarf_source_stats(dwarf, &stats);
	job->nr_bad_units = stats.nr_bad_units;
	return err;
}

/* Return: why the addresses that it did not answer have no line. */
static enum miss read_lines(struct elf_job *job)
{
	_cleanup_(dwarf_source_freep) struct dwarf_source *dwarf = NULL;
	struct dwarf_source *kept;
	struct binary *binary = job->binary;
	int err, fd = job->fd;

	if (!binary_has_debug_info(binary)) {
		binary = job->debug.binary;
		fd = job->debug.fd;
	}
	if (!binary || !binary_has_debug_info(binary))
		return MISS_NO_DEBUG_INFO;
	if (job->flags & ELF_REQUEST_KEEP) {
		err = kept_dwarf_open(fd, job->root, ask_for_dwarf, job, &kept);
		if (!err)
			err = ask_dwarf(job, kept);
		kept_dwarf_done(!err);
	} else {
		err = dwarf_source_open(binary, ask_for_dwarf, job, &dwarf);
		if (!err)
			err = ask_dwarf(job, dwarf);
	}
	switch (err) {
	case 0:
	case -ENODATA:
		return MISS_NO_DEBUG_INFO;
	case -ENOMEM:
		return MISS_DECODER_GAVE_UP;
	default:
		return MISS_BAD_DEBUG_INFO;
	}
}

static int resolve(struct elf_job *job)
{
	bool lines = !(job->flags & ELF_REQUEST_NO_LINES);
	int err = 0;

	make_queries(job);
	/* A file with symbols and lines of its own needs no other. */
	if (!(lines ? binary_has_debug_info(job->binary)
		    : !!binary_section(job->binary, ".symtab", NULL)))
		err = elf_debug_find(job->call, job->binary, &job->debug);
	if (err != -ENOMEM)
		err = read_symbols(job);
	if (err)
		return err;
	job->no_line = MISS_NO_DEBUG_INFO;
	if (lines)
		job->no_line = read_lines(job);
	for (size_t k = 0; k < job->nr; k++)
		if (!job->answered[k])
			answer(job, k, symbol_miss(job, k), NULL, 0);
	return 0;
}

/* Returns the segment of the first address that is in one; all 0 if none is. */
static struct binary_load first_segment(const struct elf_job *job)
{
	const struct elf_query *first = NULL;
	const struct binary_load *load = NULL;

	for (size_t k = 0; k < job->nr; k++)
		if (!first || job->queries[k].asked_as < first->asked_as)
			first = &job->queries[k];
	if (first)
		load = binary_load_of(job->binary, first->vaddr);
	return load ? *load : (struct binary_load){0};
}

int elf_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
	      size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(job_deinit) struct elf_job job = {.call = call, .debug = {.fd = -1}};
	struct binary_load load = {0};
	enum miss miss;
	int err;

	if (nr_fds != 1)
		return -EBADMSG;
	err = read_request(&job, request);
	if (err)
		return err;
	job.fd = fds[0];
	miss = open_binary(&job);
	if (miss == MISS_NONE) {
		err = resolve(&job);
		if (err)
			return err;
		load = first_segment(&job);
	} else {
		for (size_t i = 0; i < job.nr_asked; i++)
			answer_set(job.answers, i, 0, miss, NULL, 0);
	}
	wire_put_u32(reply, miss);
	wire_put_bytes(reply, job.binary ? job.binary->build_id : NULL,
		       job.binary ? job.binary->build_id_len : 0);
	wire_put_u64(reply, load.vaddr);
	wire_put_u64(reply, load.file_off);
	wire_put_u64(reply, load.mem_bytes);
	wire_put_u64(reply, job.nr_bad_units);
	answer_write(job.answers, reply);
	return reply->failed ? -ENOMEM : 0;
}
