// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which pages of which files are requested, and when. Kernel, decoder, clock and process
 * table are fakes. A page of a file has one row, whose rule tells the page.
 */
#include "unwind/files.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fake_clock.h"
#include "process/file.h"
#include "process/maps.h"
#include "process/table.h"
#include "runtime/runtime.h"
#include "unit/unwind/fakes.h"
#include "worker/shared.h"

#define PAGE      UINT64_C(65536)
#define SECOND_NS UINT64_C(1000000000)
#define MAPPED_AT UINT64_C(0x7f0000000000)
#define VDSO_FD   90
#define FD(id)    (100 + (int)(id))
#define MAX_ASKED 4096
#define MAX_CALLS 256
#define NR_RULES  65u

/* ---- process/table.h, process/file.h, runtime/runtime.h ---- */

#define MAX_FILES 8
#define SMALL     1 /* 5 pages */
#define LARGE     2 /* 2000 pages, more than are read as a whole */
#define OTHER     3 /* 5 pages, too */

static struct target_file files[MAX_FILES];
const struct target_file *fake_interpreter;

struct target_file *process_table_file(struct process_table *t, uint32_t id)
{
	(void)t;
	return id < MAX_FILES && files[id].id == id ? &files[id] : NULL;
}

uint64_t fake_facts_again_ns = UINT64_MAX;
size_t fake_nr_facts;

bool runtime_facts_of(enum runtime_number number, const struct mapping *m,
		      struct shared_worker *decoder, struct tenant who,
		      struct runtime_facts *ret, uint64_t *ret_again_ns)
{
	(void)decoder;
	(void)who;
	if (number != 0 || m->file != fake_interpreter)
		return false;
	fake_nr_facts++;
	if (fake_facts_again_ns != UINT64_MAX) {
		if (fake_facts_again_ns < *ret_again_ns)
			*ret_again_ns = fake_facts_again_ns;
		return false;
	}
	*ret = m->file->facts ? m->file->facts->runtimes[number]
			      : (struct runtime_facts){0};
	return true;
}

static uint64_t vdso_bytes; /* 0: there is none */

int vdso_open(uint64_t *ret_size)
{
	if (!vdso_bytes)
		return -ENOENT;
	*ret_size = vdso_bytes;
	return dup2(STDIN_FILENO, VDSO_FD);
}

/* ---- the decoder ---- */

struct call {
	int fd;
	size_t first, nr; /* of asked */
};

static struct {
	/* Of the file: pages [0, nr_pages) have rows, nr_rows each. */
	uint64_t nr_pages;
	uint32_t nr_rows;
	bool is_whole; /* answers all of them */
	uint64_t left_out, lie; /* a page; 0: none. lie: answered though nobody asked */
	uint64_t took_ns; /* for each request */
	enum worker_answer how;
	struct wire_writer said;
	/* The log. */
	struct call calls[MAX_CALLS];
	size_t nr_calls;
	struct asked_page asked[MAX_ASKED];
	size_t nr_asked;
} decoder;

static void say_page(uint64_t page)
{
	wire_put_u64(&decoder.said, page);
	wire_put_u32(&decoder.said, decoder.nr_rows);
	for (uint32_t i = 0; i < decoder.nr_rows; i++)
		wire_put_u32(&decoder.said, i | (uint32_t)(1 + page % 64) << 16);
}

static bool is_answered(const struct call *c, uint64_t page)
{
	if (decoder.lie && page == decoder.lie)
		return true;
	if (decoder.is_whole)
		return page < decoder.nr_pages;
	return page < decoder.nr_pages && !(page && page == decoder.left_out) &&
	       page_is_asked(decoder.asked + c->first, c->nr, page);
}

/* The pages of the answer up to @end. Return: how many; says them if @say. */
static uint32_t answer_pages(const struct call *c, uint64_t end, bool say)
{
	uint32_t nr = 0;

	for (uint64_t page = 0; page < end; page++) {
		if (!is_answered(c, page))
			continue;
		nr++;
		if (say)
			say_page(page);
	}
	return nr;
}

static void answer(const struct call *c)
{
	bool leaves_out =
		decoder.left_out && !decoder.is_whole &&
		page_is_asked(decoder.asked + c->first, c->nr, decoder.left_out);

	wire_writer_deinit(&decoder.said);
	wire_put_u32(&decoder.said, decoder.is_whole);
	wire_put_u32(&decoder.said, NR_RULES);
	for (uint32_t i = 0; i < NR_RULES; i++) {
		wire_put_u8(&decoder.said, i ? LB_CFA_SP : LB_CFA_NONE);
		wire_put_u8(&decoder.said, 0);
		wire_put_u32(&decoder.said, 0);
		wire_put_u32(&decoder.said, 8 * i);
	}
	wire_put_u32(&decoder.said, answer_pages(c, 4096, false));
	answer_pages(c, 4096, true);
	wire_put_u32(&decoder.said, leaves_out);
	if (leaves_out)
		wire_put_u64(&decoder.said, decoder.left_out);
}

static enum worker_answer decode(struct wire_reader *request, int fd,
				 struct wire_reader *ret)
{
	struct call *c = &decoder.calls[decoder.nr_calls++];
	uint32_t nr = wire_get_u32(request);

	assert_true(decoder.nr_calls < MAX_CALLS && decoder.nr_asked + nr < MAX_ASKED);
	*c = (struct call){.fd = fd, .first = decoder.nr_asked, .nr = nr};
	for (uint32_t i = 0; i < nr; i++) {
		struct asked_page *a = &decoder.asked[decoder.nr_asked++];

		a->page = wire_get_u64(request);
		a->is_needed = wire_get_u8(request);
	}
	assert_true(!request->failed && request->pos == request->len);
	fake_now_ns += decoder.took_ns;
	if (decoder.how != WORKER_OK)
		return decoder.how;
	answer(c);
	*ret = (struct wire_reader){.data = decoder.said.data, .len = decoder.said.len};
	return WORKER_OK;
}

static void forget_calls(void)
{
	decoder.nr_calls = decoder.nr_asked = 0;
}

/* Call @i asked for pages [first, last]; @needed: which of them are needed. */
static void assert_call(size_t i, uint32_t id, uint64_t first, uint64_t last,
			const uint64_t *needed, size_t nr_needed)
{
	const struct call *c = &decoder.calls[i];
	size_t next = 0;

	assert_true(i < decoder.nr_calls);
	assert_int_equal(c->fd, FD(id));
	assert_int_equal(c->nr, last - first + 1);
	for (size_t k = 0; k < c->nr; k++) {
		const struct asked_page *a = &decoder.asked[c->first + k];
		bool is_needed = next < nr_needed && needed[next] == a->page;

		assert_int_equal(a->page, first + k);
		assert_int_equal(a->is_needed, is_needed);
		next += is_needed;
	}
	assert_int_equal(next, nr_needed);
}

/* ---- fixture ---- */

static struct unwind_tables *tables;
static struct unwind_files *f;
static struct unwind_totals totals;
static struct shared_worker shared;

static void add_file(uint32_t id, uint64_t nr_pages)
{
	files[id] = (struct target_file){
		.fd = FD(id),
		.path = "file",
		.dev = makedev(8, 1),
		.inode = 1000 + id,
		.size_bytes = nr_pages * PAGE - 1,
		.mtime_ns = 5,
		.id = id,
	};
}

static void begin(uint64_t max_row_bytes)
{
	struct error err;

	memset(&decoder, 0, sizeof(decoder));
	memset(files, 0, sizeof(files));
	memset(&totals, 0, sizeof(totals));
	files[0].id = UINT32_MAX;
	fake_interpreter = NULL;
	fake_now_ns = 1000 * SECOND_NS;
	decoder.nr_rows = 1;
	add_file(SMALL, 5);
	add_file(LARGE, 2000);
	add_file(OTHER, 5);
	tables = fake_kernel_begin(max_row_bytes);
	fake_decoder = decode;
	shared_worker_init(&shared, NULL, true);
	assert_int_equal(unwind_files_new(tables, NULL, &shared, &totals, &f, &err), 0);
}

static int set_up(void **state)
{
	(void)state;
	vdso_bytes = 0;
	begin(0);
	return 0;
}

static int set_up_one_slab(void **state)
{
	(void)state;
	vdso_bytes = 0;
	begin(1024 * 1024 + 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unwind_files_free(f);
	shared_worker_deinit(&shared);
	fake_decoder_is_late = false;
	fake_facts_again_ns = UINT64_MAX;
	fake_kernel_end(tables);
	wire_writer_deinit(&decoder.said);
	fake_decoder = NULL;
	return 0;
}

/* Pages [first, last] of a file, mapped so that addresses tell pages. */
static struct mapping map(uint32_t id, uint64_t first, uint64_t last)
{
	return (struct mapping){
		.start = MAPPED_AT + first * PAGE,
		.end = MAPPED_AT + (last + 1) * PAGE,
		.file_off = first * PAGE,
		.kind = MAPPING_FILE,
		.inode = 1000 + id,
		.major = 8,
		.minor = 1,
		.file = &files[id],
	};
}

/* Return: the object of the mapping. */
static uint32_t segment(const struct mapping *m)
{
	struct lb_unwind_segment s;

	unwind_files_segment(f, m, &s);
	assert_int_equal(s.start, m->start);
	assert_int_equal(s.end, m->end);
	assert_int_equal(s.flags, 0);
	return s.first_page;
}

static bool has_rows(const struct mapping *m)
{
	struct lb_unwind_segment s;

	unwind_files_segment(f, m, &s);
	return !(s.flags & LB_SEGMENT_NO_ROWS);
}

static void want_of(const struct mapping *m, uint64_t page, uint32_t uid)
{
	unwind_files_want(f, m, MAPPED_AT + page * PAGE + 7, (struct tenant){.uid = uid});
}

static void want(const struct mapping *m, uint64_t page)
{
	want_of(m, page, 0);
}

static bool serve(void)
{
	return unwind_files_serve(f, fake_now_ns + SECOND_NS);
}

static bool serve_early(void)
{
	return unwind_files_serve_early(f, fake_now_ns + SECOND_NS);
}

/* Pages [first, last] of the object are in @state, the first being page @page of the file. */
static void assert_pages(uint32_t object, uint64_t first, uint64_t last, int state,
			 uint64_t page)
{
	for (uint64_t i = first; i <= last; i++) {
		int found;
		struct lb_unwind_rule rule = fake_kernel_rule(object, i << 16, &found);

		if (found != state)
			fail_msg("page %u of the object: %d", (unsigned int)i, found);
		if (state == LB_PAGE_ROWS)
			assert_int_equal(rule.cfa_off, 8 * (1 + (page + i - first) % 64));
	}
}

/* ---- small files ---- */

static void a_small_file_is_read_as_a_whole(void **state)
{
	struct mapping m = map(SMALL, 1, 3), other = map(SMALL, 4, 4);
	struct lb_unwind_segment s;

	(void)state;
	decoder.nr_pages = 4;
	decoder.is_whole = true;
	unwind_files_segment(f, &m, &s);
	assert_int_equal(m.start - s.bias, PAGE); /* addresses are offsets in the file */
	assert_int_equal(decoder.nr_calls, 0);
	assert_false(serve_early());
	assert_int_equal(decoder.nr_calls, 1);
	assert_int_equal(decoder.calls[0].fd, FD(SMALL));
	assert_int_equal(decoder.calls[0].nr, 0);
	assert_pages(s.first_page, 0, 3, LB_PAGE_ROWS, 0);
	assert_pages(s.first_page, 4, 4, LB_PAGE_EMPTY, 0);
	assert_int_equal(segment(&other), s.first_page);
	want(&m, 2);
	want(&other, 4);
	assert_false(serve());
	assert_false(serve_early());
	assert_int_equal(decoder.nr_calls, 1);
}

static void early_files_wait_for_time(void **state)
{
	struct mapping m = map(SMALL, 0, 3), other = map(OTHER, 0, 3);

	(void)state;
	decoder.is_whole = true;
	decoder.took_ns = SECOND_NS;
	segment(&m);
	segment(&other);
	assert_true(unwind_files_serve_early(f, fake_now_ns));
	assert_int_equal(decoder.nr_calls, 0);
	assert_true(serve_early());
	assert_int_equal(decoder.nr_calls, 1);
	assert_false(serve_early());
	assert_int_equal(decoder.calls[1].fd, FD(OTHER));
	assert_int_equal(totals.nr_asked, 2);
	assert_int_equal(totals.ask_ns, 2 * SECOND_NS);
}

static void the_vdso_is_read_at_once(void **state)
{
	struct mapping m = {.start = 0x7fff00000000,
			    .end = 0x7fff00000000 + 2 * PAGE,
			    .kind = MAPPING_VDSO};
	struct lb_unwind_file_key key = {0};
	uint32_t object;

	tear_down(state);
	vdso_bytes = 2 * PAGE;
	begin(0);
	assert_int_equal(decoder.nr_calls, 1);
	assert_int_equal(decoder.calls[0].fd, VDSO_FD);
	object = segment(&m);
	assert_int_equal(fake_kernel_file(&key)->first_page, object);
	assert_int_equal(fake_kernel_file(&key)->size_bytes, 2 * PAGE);
	m.end -= PAGE; /* of a program of 32 bits */
	assert_false(has_rows(&m));
}

static void files_without_rows(void **state)
{
	struct mapping m = map(SMALL, 0, 3);

	(void)state;
	m.file = NULL;
	assert_false(has_rows(&m));
	m.file = &files[SMALL];
	files[SMALL].verify_build_id = true;
	assert_false(has_rows(&m));
	files[SMALL].verify_build_id = false;
	files[SMALL].fd = -1;
	assert_false(has_rows(&m));
	files[SMALL].fd = FD(SMALL);
	assert_true(has_rows(&m));
	m.kind = MAPPING_VDSO; /* there is none */
	assert_false(has_rows(&m));
}

/* Other processes use an object before their segments are known, but not an interpreter's. */
static void files_are_shared(void **state)
{
	struct lb_unwind_file_key small = {.inode = 1000 + SMALL, .dev = 8 << 20 | 1};
	struct lb_unwind_file_key other = {.inode = 1000 + OTHER, .dev = 8 << 20 | 1};
	struct mapping m = map(SMALL, 1, 3), python = map(OTHER, 0, 3);
	const struct lb_unwind_file *file;
	uint32_t object = segment(&m);

	(void)state;
	fake_interpreter = &files[OTHER];
	segment(&python);
	assert_null(fake_kernel_file(&other));
	file = fake_kernel_file(&small);
	assert_non_null(file);
	assert_int_equal(file->first_page, object);
	assert_int_equal(file->page, 0);
	assert_int_equal(file->nr_pages, 5);
	assert_int_equal(file->size_bytes, 5 * PAGE - 1);
	assert_int_equal(file->mtime_ns, 5);
	/* For who maps it next it is an interpreter. */
	fake_interpreter = &files[SMALL];
	segment(&m);
	assert_null(fake_kernel_file(&small));
	fake_interpreter = NULL;
	segment(&m);
	assert_null(fake_kernel_file(&small));
}

/*
 * Who waits for rows pays for a helper that gets stuck, whoever mapped the file first; who
 * is refused holds up nobody else.
 */
static void who_waits_is_charged(void **state)
{
	struct mapping m = map(SMALL, 0, 4);

	(void)state;
	files[SMALL].tenant = (struct tenant){.uid = 1000};
	decoder.nr_pages = 5;
	segment(&m);
	decoder.how = WORKER_REFUSED;
	want_of(&m, 1, 1000);
	assert_false(serve());
	assert_int_equal(fake_served.uid, 1000);
	decoder.how = WORKER_OK;
	want_of(&m, 1, 1001);
	assert_false(serve());
	assert_int_equal(fake_served.uid, 1001);
	assert_int_equal(decoder.nr_calls, 2);
	assert_pages(segment(&m), 0, 4, LB_PAGE_ROWS, 0);
}

/* Alice uses up her rules. */
static void use_rules(struct tenant alice)
{
	const size_t nr = LB_UNWIND_MAX_RULES / 4;
	struct lb_unwind_rule *rules = calloc(nr, sizeof(*rules));
	struct lb_unwind_row *rows = calloc(nr, sizeof(*rows));
	struct row_page page = {0, rows, (uint32_t)nr};
	struct row_pages pages = {.rules = rules,
				  .nr_rules = nr,
				  .pages = &page,
				  .nr_pages = 1,
				  .rows = rows,
				  .nr_rows = nr};

	for (size_t i = 0; i < nr; i++) {
		rules[i] = (struct lb_unwind_rule){.cfa = LB_CFA_SP,
						   .cfa_off = 100000 + (int32_t)i};
		rows[i] = (struct lb_unwind_row){(uint16_t)i, (uint16_t)i};
	}
	unwind_tables_serve(tables, alice);
	assert_int_equal(
		unwind_object_fill(tables, unwind_object_add(tables, 1), &pages, NULL, 0),
		0);
	free(rules);
	free(rows);
}

/* Alice, who used up her places, maps a file before Bob does: he has its rows. */
static void the_first_who_maps_does_not_decide(void **state)
{
	const struct tenant alice = {.uid = 1000}, bob = {.uid = 1001};
	struct mapping m = map(SMALL, 0, 4), other = map(OTHER, 0, 4);
	uint32_t object;
	int found;

	(void)state;
	unwind_tables_share(tables);
	decoder.nr_pages = 5;
	files[SMALL].payers = files[OTHER].payers = payers_of_one(alice);
	use_rules(alice);
	object = segment(&m);
	want_of(&m, 1, alice.uid);
	assert_false(serve());
	assert_int_equal(fake_kernel_rule(object, 1 << 16, &found).cfa,
			 LB_CFA_UNSUPPORTED);
	payers_add(&files[SMALL].payers, bob);
	assert_int_equal(segment(&m), object);
	assert_pages(object, 0, 4, LB_PAGE_ABSENT, 0);
	want_of(&m, 1, alice.uid);
	assert_false(serve());
	assert_pages(object, 0, 4, LB_PAGE_ROWS, 0);
	/* Her pages, too. */
	unwind_tables_serve(tables, alice);
	while (unwind_object_add(tables, 1000) != UNWIND_NO_OBJECT)
		;
	while (unwind_object_add(tables, 1) != UNWIND_NO_OBJECT)
		;
	assert_false(has_rows(&other));
	payers_add(&files[OTHER].payers, bob);
	assert_true(has_rows(&other));
}

/* Who had no room for a file is served when there is some again. */
static void a_file_is_shared_later(void **state)
{
	const struct tenant alice = {.uid = 1000};
	struct lb_unwind_file_key small = {.inode = 1000 + SMALL, .dev = 8 << 20 | 1};
	struct lb_unwind_file_key many = {.inode = 1};
	struct lb_unwind_file file = {.nr_pages = 1};
	struct tenant payer;
	struct mapping m = map(SMALL, 1, 3);

	(void)state;
	files[SMALL].payers = payers_of_one(alice);
	unwind_tables_share(tables);
	unwind_tables_serve(tables, alice);
	while (!unwind_file_share(tables, &many, &file, &payer))
		;
	segment(&m);
	unwind_file_unshare(tables, &many, alice);
	segment(&m);
	assert_null(fake_kernel_file(&small)); /* asked for once a second */
	fake_now_ns += SECOND_NS;
	segment(&m);
	assert_non_null(fake_kernel_file(&small));
}

/* ---- large files ---- */

static void pages_around_a_request_are_read(void **state)
{
	struct mapping m = map(LARGE, 100, 1999);
	uint32_t object = segment(&m);

	(void)state;
	decoder.nr_pages = 1900;
	assert_false(serve_early());
	assert_int_equal(decoder.nr_calls, 0);
	want(&m, 137);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 1);
	assert_call(0, LARGE, 128, 143, (uint64_t[]){137}, 1);
	assert_pages(object, 0, 27, LB_PAGE_ABSENT, 0);
	assert_pages(object, 28, 43, LB_PAGE_ROWS, 128);
	assert_pages(object, 44, 1899, LB_PAGE_ABSENT, 0);
	want(&m, 101); /* only what is mapped */
	assert_false(serve());
	assert_call(1, LARGE, 100, 111, (uint64_t[]){101}, 1);
	want(&m, 1999); /* without rows, like the pages before it */
	assert_false(serve());
	assert_call(2, LARGE, 1984, 1999, (uint64_t[]){1999}, 1);
	assert_pages(object, 1884, 1899, LB_PAGE_EMPTY, 0);
}

static void requests_of_a_file_are_joined(void **state)
{
	struct mapping m = map(LARGE, 0, 1999), small = map(SMALL, 0, 4);

	(void)state;
	decoder.nr_pages = 2000;
	segment(&m);
	segment(&small);
	want(&m, 999);
	want(&m, 3);
	want(&m, 1);
	want(&m, 20);
	want(&m, 3);
	want(&small, 2);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 4);
	assert_call(0, SMALL, 0, 4, (uint64_t[]){2}, 1);
	/* No more pages at once than are around one request, if another one can wait. */
	assert_call(1, LARGE, 0, 15, (uint64_t[]){1, 3}, 2);
	assert_call(2, LARGE, 16, 31, (uint64_t[]){20}, 1);
	assert_call(3, LARGE, 992, 1007, (uint64_t[]){999}, 1);
}

static void requests_wait_for_time(void **state)
{
	struct mapping m = map(LARGE, 0, 1999);

	(void)state;
	segment(&m);
	decoder.took_ns = SECOND_NS;
	want(&m, 500);
	want(&m, 3);
	/* Each call serves something, also on a machine where it begins too late. */
	assert_true(unwind_files_serve(f, fake_now_ns));
	assert_int_equal(decoder.nr_calls, 1);
	assert_call(0, LARGE, 0, 15, (uint64_t[]){3}, 1);
	assert_false(serve());
	assert_call(1, LARGE, 496, 511, (uint64_t[]){500}, 1);
	for (int i = 0; i < 4100; i++)
		want(&m, 1000);
	assert_int_equal(totals.nr_requests_dropped, 4);
}

/* Fills three blocks of LARGE, pages 0 to 15, 100 to 111 ... of it. */
static void request_three(const struct mapping *m)
{
	for (uint64_t i = 0; i < 3; i++) {
		assert_false(unwind_files_serve_ahead(f));
		want(m, 32 * i);
		assert_false(serve());
	}
	forget_calls();
}

static void after_three_requests_all_is_read(void **state)
{
	struct mapping m = map(LARGE, 0, 99);
	uint32_t object = segment(&m);
	size_t nr = 0;

	(void)state;
	decoder.nr_pages = 2000;
	request_three(&m);
	assert_pages(object, 16, 31, LB_PAGE_ABSENT, 0);
	while (unwind_files_serve_ahead(f))
		nr++;
	assert_int_equal(nr, 4);
	assert_int_equal(decoder.nr_calls, 4);
	assert_call(0, LARGE, 16, 31, NULL, 0);
	assert_call(1, LARGE, 48, 63, NULL, 0);
	assert_call(2, LARGE, 80, 95, NULL, 0);
	assert_call(3, LARGE, 96, 99, NULL, 0);
	assert_pages(object, 0, 99, LB_PAGE_ROWS, 0);
	assert_false(unwind_files_serve_ahead(f));
}

static void all_may_be_read_without_a_request(void **state)
{
	struct mapping m = map(LARGE, 0, 199);
	size_t nr = 0;

	(void)state;
	unwind_files_read_all(f);
	segment(&m);
	while (unwind_files_serve_ahead(f))
		nr++;
	assert_int_equal(nr, 13);
	assert_call(12, LARGE, 192, 199, NULL, 0);
}

/* A page that the decoder left out stays absent, until it is needed. */
static void pages_may_be_left_out(void **state)
{
	struct mapping m = map(LARGE, 0, 1999);
	uint32_t object = segment(&m);

	(void)state;
	decoder.nr_pages = 2000;
	decoder.left_out = 5;
	want(&m, 3);
	assert_false(serve());
	assert_pages(object, 0, 4, LB_PAGE_ROWS, 0);
	assert_pages(object, 5, 5, LB_PAGE_ABSENT, 0);
	assert_pages(object, 6, 15, LB_PAGE_ROWS, 6);
	decoder.left_out = 0;
	want(&m, 5);
	assert_false(serve());
	assert_call(1, LARGE, 5, 5, (uint64_t[]){5}, 1);
	assert_pages(object, 5, 5, LB_PAGE_ROWS, 5);
}

static void a_command_is_read_in_advance(void **state)
{
	struct mapping m = map(LARGE, 100, 699);

	(void)state;
	decoder.nr_pages = 2000;
	decoder.took_ns = SECOND_NS;
	segment(&m);
	unwind_files_read(f, &m, fake_now_ns + SECOND_NS + 1);
	assert_int_equal(decoder.nr_calls, 2); /* the time is over then */
	for (size_t i = 0; i < decoder.nr_asked; i++) {
		assert_int_equal(decoder.asked[i].page, 100 + i);
		assert_true(decoder.asked[i].is_needed);
	}
	assert_int_equal(decoder.calls[0].nr, 256);
	assert_int_equal(decoder.calls[1].nr, 256);
}

/* ---- a slow decoder, and tenants who share it ---- */

/* fake_decoder_is_late: nobody waits for it, and one request is sent at a time. */
static void a_late_answer_is_taken_when_it_comes(void **state)
{
	struct mapping small = map(SMALL, 0, 4), other = map(OTHER, 0, 4);
	uint32_t object = segment(&small), second = segment(&other);

	(void)state;
	decoder.nr_pages = 5;
	decoder.is_whole = true;
	fake_decoder_is_late = true;
	want(&small, 3);
	assert_false(serve());
	want(&other, 3);
	assert_false(serve());
	assert_false(serve_early());
	assert_int_equal(unwind_files_work(f), UNWIND_FILES_WANTED);
	assert_int_equal(decoder.nr_calls, 1);
	assert_pages(object, 0, 4, LB_PAGE_ABSENT, 0);
	shared_worker_go_on(&shared);
	assert_pages(object, 0, 4, LB_PAGE_ABSENT, 0);
	fake_decoder_is_late = false;
	shared_worker_go_on(&shared);
	assert_pages(object, 0, 4, LB_PAGE_ROWS, 0);
	assert_false(serve());
	assert_pages(second, 0, 4, LB_PAGE_ROWS, 0);
	assert_int_equal(decoder.nr_calls, 2);
}

/* The answer is about a file whose place another one has taken, or that was closed. */
static void a_late_answer_for_another_file_is_dropped(void **state)
{
	struct mapping m = map(SMALL, 0, 4), closed = map(OTHER, 0, 4);
	uint32_t object;

	(void)state;
	decoder.nr_pages = 5;
	decoder.is_whole = true;
	segment(&m);
	fake_decoder_is_late = true;
	want(&m, 3);
	assert_false(serve());
	files[SMALL].use++;
	object = segment(&m);
	fake_decoder_is_late = false;
	shared_worker_go_on(&shared);
	assert_pages(object, 0, 4, LB_PAGE_ABSENT, 0);

	object = segment(&closed);
	fake_decoder_is_late = true;
	want(&closed, 3);
	assert_false(serve());
	files[OTHER].fd = -1;
	fake_decoder_is_late = false;
	shared_worker_go_on(&shared);
	assert_pages(object, 0, 4, LB_PAGE_ABSENT, 0);
	assert_int_equal(totals.nr_failed, 0);
}

static void who_had_less_is_first(void **state)
{
	struct mapping large = map(LARGE, 0, 1999), small = map(SMALL, 0, 4),
		       other = map(OTHER, 0, 4);

	(void)state;
	decoder.nr_pages = 5;
	segment(&large);
	segment(&small);
	segment(&other);
	decoder.took_ns = SECOND_NS;
	want_of(&large, 100, 1000);
	assert_false(serve());
	decoder.took_ns = 0;
	fake_decoder_is_late = true;
	want_of(&small, 3, 1001);
	assert_false(serve());
	want_of(&large, 200, 1000);
	want_of(&other, 3, 1001);
	assert_false(serve());
	fake_decoder_is_late = false;
	shared_worker_go_on(&shared);
	assert_int_equal(decoder.nr_calls, 2);
	/* The file of 1000 comes first in the list. */
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 3);
	assert_int_equal(decoder.calls[2].fd, FD(OTHER));
	assert_int_equal(unwind_files_work(f), UNWIND_FILES_WANTED);
	assert_int_equal(shared.share.nr_put_off, 1);
	/* Nobody else waits any more. */
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 4);
	assert_int_equal(decoder.calls[3].fd, FD(LARGE));
	assert_int_equal(unwind_files_work(f), UNWIND_FILES_EARLY);
}

/* After four seconds of work he waits six, for what nobody requested, too. */
static void a_user_with_slow_files_gets_a_quarter(void **state)
{
	struct mapping large = map(LARGE, 0, 1999), small = map(SMALL, 0, 4);
	uint64_t begin_ns = fake_now_ns;

	(void)state;
	decoder.nr_pages = 5;
	files[SMALL].tenant.uid = 1000;
	segment(&large);
	segment(&small);
	decoder.took_ns = 2 * SECOND_NS;
	for (uint64_t i = 1; i <= 4; i++) {
		want_of(&large, 100 * i, 1000);
		unwind_files_serve(f, UINT64_MAX);
		unwind_files_serve_early(f, UINT64_MAX);
	}
	assert_int_equal(decoder.nr_calls, 2);
	fake_now_ns = begin_ns + 10 * SECOND_NS - 1;
	unwind_files_serve(f, UINT64_MAX);
	assert_int_equal(decoder.nr_calls, 2);
	/* Others are served meanwhile. */
	want_of(&large, 1001, 1001);
	unwind_files_serve(f, UINT64_MAX);
	assert_int_equal(decoder.nr_calls, 3);
	assert_call(2, LARGE, 992, 1007, (uint64_t[]){1001}, 1);
	unwind_files_serve(f, UINT64_MAX);
	assert_int_equal(decoder.nr_calls, 4);
	assert_call(3, LARGE, 192, 207, (uint64_t[]){200}, 1);
}

/* A file of which more and more is requested does not keep the others waiting. */
static void files_take_turns(void **state)
{
	struct mapping large = map(LARGE, 0, 1999), other = map(OTHER, 0, 4);

	(void)state;
	decoder.nr_pages = 5;
	segment(&large);
	segment(&other);
	want(&large, 100);
	want(&other, 1);
	assert_true(unwind_files_serve(f, 0));
	want(&large, 500);
	assert_true(unwind_files_serve(f, 0));
	assert_false(unwind_files_serve(f, 0));
	assert_int_equal(decoder.nr_calls, 3);
	assert_int_equal(decoder.calls[0].fd, FD(LARGE));
	assert_int_equal(decoder.calls[1].fd, FD(OTHER));
	assert_int_equal(decoder.calls[2].fd, FD(LARGE));
}

/* Also if the look begins late, and the first in turn may have no more time. */
static void a_tenant_without_time_does_not_hold_the_turn(void **state)
{
	struct mapping large = map(LARGE, 0, 1999), other = map(OTHER, 0, 4);

	(void)state;
	decoder.nr_pages = 5;
	segment(&large);
	segment(&other);
	time_share_took(&shared.share, (struct tenant){.uid = 1000},
			fake_now_ns - 9 * SECOND_NS, fake_now_ns);
	want_of(&large, 100, 1000);
	want_of(&other, 1, 1001);
	unwind_files_serve(f, fake_now_ns);
	assert_int_equal(decoder.nr_calls, 1);
	assert_int_equal(decoder.calls[0].fd, FD(OTHER));
}

/* A decoder does not start for the user who owns it, for instance. */
static void who_wants_a_file_that_pauses_keeps_nobody_waiting(void **state)
{
	struct mapping large = map(LARGE, 0, 1999), other = map(OTHER, 0, 4);

	(void)state;
	decoder.nr_pages = 5;
	segment(&large);
	segment(&other);
	decoder.how = WORKER_CANNOT_START;
	want_of(&large, 100, 1000);
	serve();
	decoder.how = WORKER_OK;
	/* It had more than 1000, so that it would wait for it. */
	time_share_took(&shared.share, (struct tenant){.uid = 1001},
			fake_now_ns - SECOND_NS, fake_now_ns);
	forget_calls();
	fake_now_ns += SECOND_NS / 5;
	want_of(&large, 100, 1000);
	want_of(&other, 1, 1001);
	serve();
	assert_int_equal(decoder.nr_calls, 1);
	assert_int_equal(decoder.calls[0].fd, FD(OTHER));
}

static void a_tenant_without_time_does_not_end_reading_ahead(void **state)
{
	struct mapping large = map(LARGE, 0, 1999), other = map(OTHER, 0, 1999);

	(void)state;
	decoder.nr_pages = 2000;
	add_file(OTHER, 2000);
	files[LARGE].tenant = (struct tenant){.uid = 1000};
	segment(&other);
	segment(&large);
	for (uint64_t i = 0; i < 3; i++) { /* then all is read */
		want(&other, 100 * i);
		serve();
	}
	for (uint64_t i = 0; i < 3; i++) {
		want(&large, 100 * i);
		serve();
	}
	time_share_took(&shared.share, (struct tenant){.uid = 1000},
			fake_now_ns - 9 * SECOND_NS, fake_now_ns);
	forget_calls();
	assert_true(unwind_files_serve_ahead(f));
	assert_int_equal(decoder.nr_calls, 1);
	assert_int_equal(decoder.calls[0].fd, FD(OTHER));
}

static void has_no_time(uint32_t uid)
{
	time_share_took(&shared.share, (struct tenant){.uid = uid},
			fake_now_ns - 9 * SECOND_NS, fake_now_ns);
}

static void want_many(const struct mapping *m, uint64_t first, uint64_t nr, uint32_t uid)
{
	for (uint64_t i = first; i < first + nr; i++)
		want_of(m, i, uid);
}

/* The requests of tenants who wait leave room for those of others. */
static void requests_that_wait_leave_room(void **state)
{
	struct mapping large = map(LARGE, 0, 1999), other = map(OTHER, 0, 4);

	(void)state;
	decoder.nr_pages = 5;
	segment(&large);
	segment(&other);
	for (uint32_t uid = 1000; uid < 1004; uid++) {
		has_no_time(uid);
		want_many(&large, 0, 1000, uid);
	}
	assert_int_equal(totals.nr_requests_dropped, 4 * (1000 - 512));
	want(&other, 3);
	assert_false(serve());
	assert_int_equal(totals.nr_requests_dropped, 4 * (1000 - 512));
	assert_int_equal(decoder.nr_calls, 1);
	assert_int_equal(decoder.calls[0].fd, FD(OTHER));
}

static struct tenant refused_tenant;
static uint64_t nr_refused;

static void on_refused(void *ctx, const struct quota *q, struct tenant who, uint64_t nr)
{
	(void)ctx;
	(void)q;
	refused_tenant = who;
	nr_refused += nr;
}

/* A place is given back when its page is read, or was wanted twice. */
static void places_in_the_queue_are_given_back(void **state)
{
	struct mapping large = map(LARGE, 0, 1999);

	(void)state;
	decoder.nr_pages = 2000;
	segment(&large);
	has_no_time(1000);
	want_many(&large, 0, 250, 1000);
	want_many(&large, 0, 250, 1000);
	assert_false(serve());
	want_many(&large, 250, 262, 1000);
	assert_int_equal(totals.nr_requests_dropped, 0);
	want_many(&large, 512, 1, 1000);
	assert_int_equal(totals.nr_requests_dropped, 1);
	fake_now_ns += 100 * SECOND_NS;
	assert_false(serve());
	assert_int_equal(unwind_files_work(f), UNWIND_FILES_EARLY);
	want_many(&large, 0, 512, 1000);
	assert_int_equal(totals.nr_requests_dropped, 1);
	assert_false(serve()); /* they were read meanwhile */
	want_many(&large, 0, 512, 1000);
	assert_int_equal(totals.nr_requests_dropped, 1);
	nr_refused = 0;
	unwind_files_each_refused(f, on_refused, NULL);
	assert_int_equal(nr_refused, 1);
	assert_int_equal(refused_tenant.uid, 1000);
}

static void who_is_an_interpreter_may_be_known_later(void **state)
{
	static const struct lb_unwind_file_key key = {.inode = 1000 + SMALL,
						      .dev = 8 << 20 | 1};
	struct mapping m = map(SMALL, 0, 4);

	(void)state;
	fake_interpreter = &files[SMALL];
	fake_facts_again_ns = 0;
	segment(&m);
	assert_null(fake_kernel_file(&key));
	fake_facts_again_ns = fake_now_ns + 10 * SECOND_NS;
	segment(&m);
	assert_null(fake_kernel_file(&key));
	fake_facts_again_ns = UINT64_MAX;
	fake_interpreter = NULL;
	segment(&m);
	assert_non_null(fake_kernel_file(&key));
}

/* ---- what goes wrong ---- */

static void a_file_that_fails_has_no_rows(void **state)
{
	static const enum worker_answer answers[] = {WORKER_FAILED, WORKER_BAD_REPLY};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct mapping m = map(LARGE, 100, 1999);
		uint32_t object = segment(&m);

		decoder.nr_pages = 2000;
		want(&m, 300);
		assert_false(serve());
		decoder.how = answers[i];
		want(&m, 137);
		assert_false(serve());
		assert_int_equal(totals.nr_failed, 1);
		assert_pages(object, 0, 187, LB_PAGE_EMPTY, 0);
		assert_pages(object, 188, 203, LB_PAGE_ROWS, 288); /* stay */
		assert_pages(object, 204, 1899, LB_PAGE_EMPTY, 0);
		assert_false(has_rows(&m));
		want(&m, 400);
		assert_false(serve());
		assert_int_equal(decoder.nr_calls, 2);
		tear_down(state);
		begin(0);
	}
}

/* The file's first late answer; pages 188 to 203 of the object had rows before. */
static uint32_t be_late(struct mapping *m)
{
	uint32_t object;

	*m = map(LARGE, 100, 1999);
	object = segment(m);
	decoder.nr_pages = 2000;
	want(m, 300);
	assert_false(serve());
	decoder.how = WORKER_DEADLINE;
	want(m, 137);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 2);
	assert_int_equal(totals.nr_failed, 1);
	return object;
}

/* One read that takes long condemns the file for some seconds only. */
static void a_late_file_is_asked_about_again(void **state)
{
	struct mapping m;
	uint32_t object = be_late(&m);

	(void)state;
	assert_pages(object, 0, 187, LB_PAGE_EMPTY, 0);
	assert_pages(object, 188, 203, LB_PAGE_ROWS, 288); /* stay */
	assert_pages(object, 204, 1899, LB_PAGE_EMPTY, 0);
	assert_true(has_rows(&m));
	decoder.how = WORKER_OK;
	fake_now_ns += 10 * SECOND_NS - 1;
	unwind_files_retry(f);
	want(&m, 400);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 2);
	fake_now_ns++;
	unwind_files_retry(f);
	assert_pages(object, 0, 187, LB_PAGE_ABSENT, 0);
	assert_pages(object, 188, 203, LB_PAGE_ROWS, 288);
	want(&m, 400);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 3);
	assert_pages(object, 300, 300, LB_PAGE_ROWS, 400);
	assert_pages(object, 200, 200, LB_PAGE_ROWS, 300);
	assert_int_equal(totals.nr_failed, 1);
}

/* Lets @seconds of a pause pass in which the file is not asked about, then asks again. */
static void be_asked_after(struct mapping *m, uint64_t seconds)
{
	size_t nr = decoder.nr_calls;
	uint64_t page = 288 + 32 * nr; /* no other request is near it */

	fake_now_ns += seconds * SECOND_NS - 1;
	unwind_files_retry(f);
	want(m, page);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, nr);
	fake_now_ns++;
	unwind_files_retry(f);
	want(m, page);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, nr + 1);
}

static void the_pauses_of_a_late_file_double(void **state)
{
	struct mapping m;

	(void)state;
	be_late(&m);
	for (uint64_t s = 10; s < 2560; s *= 2)
		be_asked_after(&m, s);
	be_asked_after(&m, 2560);
	be_asked_after(&m, 2560);
	assert_int_equal(totals.nr_failed, 11);
	decoder.how = WORKER_OK;
	be_asked_after(&m, 2560);
	/* It was not late for less time than the last pause took: it is still suspected. */
	fake_now_ns += 2560 * SECOND_NS - 1;
	want(&m, 400);
	assert_false(serve());
	decoder.how = WORKER_DEADLINE;
	want(&m, 500);
	assert_false(serve());
	assert_int_equal(totals.nr_failed, 12);
	be_asked_after(&m, 2560);
	decoder.how = WORKER_OK;
	be_asked_after(&m, 2560);
	fake_now_ns += 2560 * SECOND_NS;
	want(&m, 600);
	assert_false(serve());
	decoder.how = WORKER_DEADLINE;
	want(&m, 700);
	assert_false(serve());
	be_asked_after(&m, 10);
}

/* What is mapped, or was evicted, while a file pauses is walked by frame pointers, too. */
static void no_stack_is_cut_while_a_file_pauses(void **state)
{
	struct mapping m = map(LARGE, 0, 15), more = map(LARGE, 100, 199);
	struct mapping small = map(SMALL, 0, 4);
	uint32_t object = segment(&m), next;
	struct unwind_totals held = {0};

	(void)state;
	decoder.nr_rows = 65536; /* four pages fill the slab */
	decoder.nr_pages = 3;
	want(&m, 0);
	assert_false(serve());
	assert_pages(object, 0, 2, LB_PAGE_ROWS, 0);
	decoder.how = WORKER_DEADLINE;
	next = segment(&more);
	want(&more, 100);
	assert_false(serve());
	assert_int_equal(totals.nr_failed, 1);
	assert_pages(next, 0, 99, LB_PAGE_EMPTY, 0);
	more = map(LARGE, 200, 299);
	next = segment(&more);
	assert_pages(next, 0, 99, LB_PAGE_EMPTY, 0);
	decoder.how = WORKER_OK;
	decoder.nr_pages = 5;
	decoder.is_whole = true;
	segment(&small);
	want(&small, 0);
	assert_false(serve());
	unwind_tables_totals(tables, &held);
	assert_int_not_equal(held.nr_pages_evicted, 0);
	assert_pages(object, 0, 0, LB_PAGE_ABSENT, 0);
	want(&m, 0);
	assert_pages(object, 0, 0, LB_PAGE_EMPTY, 0);
	assert_int_not_equal(unwind_files_work(f), UNWIND_FILES_WANTED);
}

/* Another file has nothing of the pauses of the one before it. */
static void a_late_file_is_forgotten_with_its_pauses(void **state)
{
	struct mapping m;
	uint32_t object;

	(void)state;
	be_late(&m);
	be_asked_after(&m, 10);
	files[LARGE].use++;
	decoder.how = WORKER_OK;
	object = segment(&m);
	want(&m, 300);
	assert_false(serve());
	assert_pages(object, 200, 200, LB_PAGE_ROWS, 300);
	decoder.how = WORKER_DEADLINE;
	want(&m, 400);
	assert_false(serve());
	be_asked_after(&m, 10);
}

static void each_late_file_has_its_own_pause(void **state)
{
	struct mapping small = map(SMALL, 0, 4), other = map(OTHER, 0, 4);

	(void)state;
	segment(&small);
	segment(&other);
	decoder.how = WORKER_DEADLINE;
	want(&small, 0);
	assert_false(serve());
	fake_now_ns += 4 * SECOND_NS;
	want(&other, 0);
	assert_false(serve());
	forget_calls();
	fake_now_ns += 6 * SECOND_NS;
	unwind_files_retry(f);
	want(&other, 0);
	want(&small, 0);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 1);
	assert_int_equal(decoder.calls[0].fd, FD(SMALL));
	fake_now_ns += 4 * SECOND_NS;
	unwind_files_retry(f);
	want(&other, 0);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 2);
	assert_int_equal(decoder.calls[1].fd, FD(OTHER));
}

/* It may lack memory: the file is asked about once more, not each time it kills one. */
static void a_decoder_that_dies_is_asked_once_more(void **state)
{
	struct mapping m = map(LARGE, 100, 1999);
	uint32_t object = segment(&m);

	(void)state;
	decoder.nr_pages = 2000;
	decoder.how = WORKER_DIED;
	want(&m, 300);
	assert_false(serve());
	fake_now_ns += SECOND_NS - 1;
	decoder.how = WORKER_OK;
	want(&m, 300);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 1);
	assert_int_equal(totals.nr_failed, 0);
	fake_now_ns++;
	assert_true(has_rows(&m));
	want(&m, 300);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 2);
	assert_pages(object, 200, 200, LB_PAGE_ROWS, 300);
	decoder.how = WORKER_DIED;
	want(&m, 500);
	assert_false(serve());
	assert_int_equal(totals.nr_failed, 1);
	assert_false(has_rows(&m));
}

/* Without a decoder requests are dropped, and nothing counts as read. */
static void a_decoder_that_does_not_start_is_asked_later(void **state)
{
	struct mapping m = map(LARGE, 0, 99);
	uint32_t object = segment(&m);

	(void)state;
	decoder.nr_pages = 2000;
	decoder.how = WORKER_CANNOT_START;
	want(&m, 3);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 1);
	decoder.how = WORKER_OK;
	for (int i = 0; i < 5; i++) {
		want(&m, 3);
		assert_false(serve());
	}
	assert_int_equal(decoder.nr_calls, 1);
	assert_int_equal(totals.nr_failed, 0);
	fake_now_ns += SECOND_NS;
	assert_true(has_rows(&m));
	want(&m, 3);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 2);
	assert_pages(object, 0, 15, LB_PAGE_ROWS, 0);
	assert_int_equal(decoder.calls[1].nr, 16);
	assert_false(unwind_files_serve_ahead(f)); /* only one request was served */
	assert_int_equal(decoder.nr_calls, 2);
}

/* Pages that could not be read in idle time are read in another one. */
static void idle_reads_are_not_skipped(void **state)
{
	struct mapping m = map(LARGE, 0, 99);
	uint32_t object = segment(&m);

	(void)state;
	decoder.nr_pages = 2000;
	request_three(&m);
	decoder.how = WORKER_CANNOT_START;
	for (int i = 0; i < 100 && unwind_files_serve_ahead(f); i++)
		;
	assert_false(unwind_files_serve_ahead(f));
	assert_int_equal(decoder.nr_calls, 1);
	decoder.how = WORKER_OK;
	fake_now_ns += SECOND_NS;
	for (uint64_t i = 0; i < 3; i++) {
		want(&m, 16 + 32 * i);
		assert_false(serve());
	}
	while (unwind_files_serve_ahead(f))
		;
	assert_pages(object, 0, 99, LB_PAGE_ROWS, 0);
}

static void closed_files_are_not_read(void **state)
{
	struct mapping m = map(LARGE, 0, 1999), small = map(SMALL, 0, 3);
	uint32_t object = segment(&m);

	(void)state;
	segment(&small);
	want(&m, 3);
	files[LARGE].fd = files[SMALL].fd = -1;
	assert_false(serve());
	assert_false(serve_early());
	assert_int_equal(decoder.nr_calls, 0);
	assert_pages(object, 0, 15, LB_PAGE_ABSENT, 0);
}

/* An entry that the process table reused is another file, whose rows are not the old one's. */
static void a_reused_entry_is_another_file(void **state)
{
	struct mapping m = map(LARGE, 0, 1999);
	uint32_t object = segment(&m), next;

	(void)state;
	decoder.nr_pages = 2000;
	want(&m, 3);
	files[LARGE].use++;
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 0);
	assert_pages(object, 0, 15, LB_PAGE_ABSENT, 0);
	next = segment(&m);
	assert_int_not_equal(next, object);
	want(&m, 3);
	assert_false(serve());
	assert_pages(next, 0, 15, LB_PAGE_ROWS, 0);
}

/* When its descriptor is closed, another file may get the number of its inode. */
static void a_closed_file_is_not_shared(void **state)
{
	struct lb_unwind_file_key key = {.inode = 1000 + SMALL, .dev = 8 << 20 | 1};
	struct mapping m = map(SMALL, 0, 3);

	(void)state;
	segment(&m);
	unwind_files_forget(f);
	assert_non_null(fake_kernel_file(&key));
	files[SMALL].fd = -1;
	unwind_files_forget(f);
	assert_null(fake_kernel_file(&key));
	files[SMALL].fd = FD(SMALL); /* it runs again */
	unwind_files_forget(f);
	segment(&m);
	assert_non_null(fake_kernel_file(&key));
}

/* Containers have mounts of their own of an image's layer, in which the kernel has it once. */
static void files_with_one_key_are_shared_by_turns(void **state)
{
	struct lb_unwind_file_key key = {.inode = 1000 + SMALL, .dev = 8 << 20 | 1};
	struct mapping m = map(SMALL, 0, 3), other = map(OTHER, 0, 3);

	(void)state;
	other.inode = m.inode;
	segment(&m);
	segment(&other);
	assert_int_equal(fake_kernel_file(&key)->first_page, segment(&other));
	segment(&m); /* not at each new process of one of them */
	assert_int_equal(fake_kernel_file(&key)->first_page, segment(&other));
	files[SMALL].fd = -1; /* the first container ends */
	unwind_files_forget(f);
	assert_non_null(fake_kernel_file(&key));
	assert_int_equal(fake_kernel_file(&key)->first_page, segment(&other));
	files[SMALL].fd = FD(SMALL);
	files[OTHER].fd = -1; /* the second one does */
	unwind_files_forget(f);
	assert_null(fake_kernel_file(&key));
	fake_now_ns += SECOND_NS;
	segment(&m);
	assert_non_null(fake_kernel_file(&key));
	assert_int_equal(fake_kernel_file(&key)->first_page, segment(&m));
}

static void closed_files_are_kept_for_a_minute(void **state)
{
	struct lb_unwind_file_key key = {.inode = 1000 + SMALL, .dev = 8 << 20 | 1};
	struct mapping m = map(SMALL, 0, 3);
	struct unwind_totals held = {0};

	(void)state;
	segment(&m);
	files[SMALL].fd = -1;
	unwind_files_forget(f);
	fake_now_ns += 60 * SECOND_NS;
	unwind_files_forget(f);
	unwind_tables_totals(tables, &held);
	assert_int_equal(held.nr_objects, 1);
	files[SMALL].fd = FD(SMALL); /* it runs again */
	unwind_files_forget(f);
	files[SMALL].fd = -1;
	fake_now_ns += 60 * SECOND_NS;
	unwind_files_forget(f);
	unwind_tables_totals(tables, &held);
	assert_int_equal(held.nr_objects, 1);
	fake_now_ns += 60 * SECOND_NS + 1;
	unwind_files_forget(f);
	unwind_tables_totals(tables, &held);
	assert_int_equal(held.nr_objects, 0);
	assert_null(fake_kernel_file(&key));
}

/* Of a file that was filled, only requested pages come back after an eviction. */
static void evicted_pages_are_read_alone(void **state)
{
	struct mapping m = map(SMALL, 0, 4);
	uint32_t object = segment(&m);
	struct unwind_totals held = {0};

	(void)state;
	decoder.nr_pages = 4;
	decoder.nr_rows = 65536; /* four pages fill the slab */
	decoder.is_whole = true;
	assert_false(serve_early());
	assert_pages(object, 4, 4, LB_PAGE_EMPTY, 0);
	unwind_tables_grace(tables);
	unwind_tables_totals(tables, &held);
	assert_int_equal(held.nr_pages_evicted, 1);
	assert_pages(object, 0, 0, LB_PAGE_ABSENT, 0);
	unwind_tables_grace(tables);
	decoder.nr_rows = 1;
	want(&m, 0);
	assert_false(serve());
	assert_call(1, SMALL, 0, 0, (uint64_t[]){0}, 1);
	assert_pages(object, 0, 3, LB_PAGE_ROWS, 0);
	segment(&m);
	assert_false(serve_early());
	assert_int_equal(decoder.nr_calls, 2);
}

/* Without room the file pauses for a second. Then only the requested page comes back. */
static void without_room_a_file_pauses(void **state)
{
	struct mapping m = map(SMALL, 0, 4);
	uint32_t object = segment(&m);

	(void)state;
	decoder.nr_pages = 5;
	decoder.nr_rows = 65536;
	decoder.is_whole = true;
	assert_false(serve_early());
	assert_int_equal(decoder.nr_calls, 1);
	assert_pages(object, 4, 4, LB_PAGE_ABSENT, 0);
	want(&m, 4);
	assert_false(serve());
	assert_int_equal(decoder.nr_calls, 1);
	fake_now_ns += SECOND_NS;
	unwind_tables_grace(tables);
	unwind_tables_grace(tables);
	decoder.nr_rows = 1;
	want(&m, 4);
	assert_false(serve());
	assert_call(1, SMALL, 4, 4, (uint64_t[]){4}, 1);
	assert_pages(object, 0, 0, LB_PAGE_ABSENT, 0); /* was evicted */
	assert_pages(object, 4, 4, LB_PAGE_ROWS, 4);
}

/* A mapping may go far beyond the end of its file: that takes no pages. */
static void pages_beyond_the_file_take_no_room(void **state)
{
	struct mapping m = map(SMALL, 3, 40000), beyond = map(SMALL, 5, 9);
	struct mapping other = map(OTHER, 0, 4), all = map(SMALL, 0, 4);
	struct mapping large = map(LARGE, 1990, 40000);
	struct lb_unwind_segment s, of_large;

	(void)state;
	unwind_files_segment(f, &m, &s);
	assert_int_equal(s.start, m.start);
	assert_int_equal(s.end, MAPPED_AT + 5 * PAGE);
	assert_int_equal(s.flags, 0);
	unwind_files_segment(f, &large, &of_large);
	assert_int_equal(of_large.end, MAPPED_AT + 2000 * PAGE);
	assert_int_equal(of_large.first_page, s.first_page + 5);
	assert_int_equal(segment(&other), of_large.first_page + 10);
	assert_int_equal(segment(&all), s.first_page);
	assert_false(has_rows(&beyond));
	decoder.nr_pages = 5;
	decoder.is_whole = true;
	want(&m, 4);
	assert_false(serve());
	assert_pages(s.first_page, 0, 4, LB_PAGE_ROWS, 0);
}

/* Ranges of a large file that a program chooses leave room for those of others. */
static void ranges_of_a_large_file_leave_room(void **state)
{
	const struct tenant alice = {.uid = 1000}, bob = {.uid = 1001};
	struct mapping all = map(LARGE, 0, 1999), usual = map(LARGE, 400, 1600);

	(void)state;
	unwind_tables_share(tables);
	unwind_tables_serve(tables, alice);
	for (uint64_t i = 0; i < 20; i++) {
		struct mapping m = map(LARGE, 500 - i, 500 + i);

		assert_true(has_rows(&m));
	}
	unwind_tables_serve(tables, bob);
	assert_int_equal(segment(&usual), segment(&all));
}

/* Root maps the file, so nobody pays for its usual ranges. */
static void ranges_that_nobody_else_has_are_paid_for(void **state)
{
	const struct tenant alice = {.uid = 1000}, bob = {.uid = 1001};
	struct mapping first = map(LARGE, 9, 9), second = map(LARGE, 8, 9);
	struct mapping third = map(LARGE, 7, 9);

	(void)state;
	unwind_tables_share(tables);
	unwind_tables_serve(tables, alice);
	while (unwind_object_add(tables, 1000) != UNWIND_NO_OBJECT)
		;
	while (unwind_object_add(tables, 1) != UNWIND_NO_OBJECT)
		;
	nr_refused = 0;
	unwind_tables_each_refused(tables, on_refused, NULL);
	nr_refused = 0;
	assert_true(has_rows(&first));
	assert_true(has_rows(&second));
	assert_false(has_rows(&third));
	unwind_tables_each_refused(tables, on_refused, NULL);
	assert_int_equal(nr_refused, 3);
	assert_int_equal(refused_tenant.uid, alice.uid);
	unwind_tables_serve(tables, bob);
	assert_true(has_rows(&third));
}

/* Rows that nobody asked for reach no object. */
static void answers_that_lie_reach_no_other_file(void **state)
{
	struct mapping m = map(SMALL, 0, 4), next = map(LARGE, 0, 99);
	uint32_t object = segment(&m), neighbour = segment(&next);

	(void)state;
	assert_int_equal(neighbour, object + 5);
	decoder.nr_pages = 2000; /* more than the file has */
	decoder.is_whole = true;
	assert_false(serve_early());
	assert_pages(object, 0, 4, LB_PAGE_ROWS, 0);
	assert_pages(neighbour, 0, 99, LB_PAGE_ABSENT, 0);
	decoder.is_whole = false;
	decoder.lie = 50;
	want(&next, 3);
	assert_false(serve());
	assert_int_equal(totals.nr_failed, 1);
	assert_pages(neighbour, 0, 99, LB_PAGE_EMPTY, 0);
}

#define TEST(t)     cmocka_unit_test_setup_teardown(t, set_up, tear_down)
#define TEST_ONE(t) cmocka_unit_test_setup_teardown(t, set_up_one_slab, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_small_file_is_read_as_a_whole),
		TEST(early_files_wait_for_time),
		TEST(the_vdso_is_read_at_once),
		TEST(files_without_rows),
		TEST(files_are_shared),
		TEST(who_waits_is_charged),
		TEST(the_first_who_maps_does_not_decide),
		TEST(a_file_is_shared_later),
		TEST(pages_around_a_request_are_read),
		TEST(requests_of_a_file_are_joined),
		TEST(requests_wait_for_time),
		TEST(after_three_requests_all_is_read),
		TEST(all_may_be_read_without_a_request),
		TEST(pages_may_be_left_out),
		TEST(a_command_is_read_in_advance),
		TEST(a_late_answer_is_taken_when_it_comes),
		TEST(a_late_answer_for_another_file_is_dropped),
		TEST(who_had_less_is_first),
		TEST(a_user_with_slow_files_gets_a_quarter),
		TEST(requests_that_wait_leave_room),
		TEST(places_in_the_queue_are_given_back),
		TEST(who_is_an_interpreter_may_be_known_later),
		TEST(files_take_turns),
		TEST(a_tenant_without_time_does_not_hold_the_turn),
		TEST(who_wants_a_file_that_pauses_keeps_nobody_waiting),
		TEST(a_tenant_without_time_does_not_end_reading_ahead),
		TEST(a_file_that_fails_has_no_rows),
		TEST(a_late_file_is_asked_about_again),
		TEST(the_pauses_of_a_late_file_double),
		TEST_ONE(no_stack_is_cut_while_a_file_pauses),
		TEST(a_late_file_is_forgotten_with_its_pauses),
		TEST(each_late_file_has_its_own_pause),
		TEST(a_decoder_that_dies_is_asked_once_more),
		TEST(a_decoder_that_does_not_start_is_asked_later),
		TEST(idle_reads_are_not_skipped),
		TEST(closed_files_are_not_read),
		TEST(a_reused_entry_is_another_file),
		TEST(a_closed_file_is_not_shared),
		TEST(files_with_one_key_are_shared_by_turns),
		TEST(closed_files_are_kept_for_a_minute),
		TEST_ONE(evicted_pages_are_read_alone),
		TEST_ONE(without_room_a_file_pauses),
		TEST(pages_beyond_the_file_take_no_room),
		TEST(ranges_of_a_large_file_leave_room),
		TEST(ranges_that_nobody_else_has_are_paid_for),
		TEST(answers_that_lie_reach_no_other_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
