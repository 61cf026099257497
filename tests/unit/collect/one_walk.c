// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One walk at a time, of stacks in this program: what it does at most, whatever the stack
 * says (how many code objects of an interpreter it reads and sends, how many requests),
 * and that nobody can know its hash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/sampler.h"
#include "lineburn_filter.h"
#include "lineburn_unwind.h"
#include "order.skel.h"
#include "sampler.skel.h"

#define STAMP     10
#define TEXT      0x10000000ULL /* not mapped: the walk does not read code */
#define TEXT_END  0x50000000ULL
#define NR_CODES  768
#define NR_SENT   300 /* of those, where a test receives them */
#define NR_NATIVE 12
#define A_WALK    128 /* CODES_A_WALK of bpf/interp_code.h */
#define REQUESTS  8 /* REQUESTS_A_WALK of bpf/tables.h */
#define PAGE      5
#define PAGE_SIZE 4096

/* ---- an interpreter and its stack ---- */

struct frame {
	uint64_t previous, code, ip, owner;
};

struct cframe {
	uint64_t frame, previous;
};

struct code {
	uint64_t refs, type, size, file, name, table;
	uint32_t first_line, pad;
};

struct str {
	uint64_t length;
	uint32_t state, pad;
	char text[8];
};

struct bytes {
	uint64_t refs, type, size;
	uint8_t data[LB_INTERP_TABLE_BYTES];
};

#define ASCII       (1 << 2 | 1 << 5 | 1 << 6)
#define OWNER_ENTRY 3

static struct str name = {5, ASCII, 0, "spin"};
static struct bytes table = {.size = LB_INTERP_TABLE_BYTES, .data = {1}};
static struct code codes[NR_CODES];
static struct frame frames[NR_CODES];
static uint64_t thread_state; /* nothing but the address of the first CFrame */
/* The stack grows down: what comes first is below the native frames. */
static struct {
	struct cframe cframes[4];
	uint64_t native[NR_NATIVE + 1][2]; /* the caller's fp, and the return address */
} stack;

static const struct lb_interp layout = {
	.link = LB_LINK_CFRAME,
	.kind = 1,
	.version = 0x030c,
	.cframe_frame = offsetof(struct cframe, frame),
	.cframe_previous = offsetof(struct cframe, previous),
	.frame_code = offsetof(struct frame, code),
	.frame_previous = offsetof(struct frame, previous),
	.frame_ip = offsetof(struct frame, ip),
	.frame_owner = offsetof(struct frame, owner),
	.owner_entry = OWNER_ENTRY,
	.entry_has_code = 1,
	.frame_bytes = sizeof(struct frame),
	.ip_is_index = 1,
	.code_filename = offsetof(struct code, file),
	.code_qualname = offsetof(struct code, name),
	.code_linetable = offsetof(struct code, table),
	.code_firstlineno = offsetof(struct code, first_line),
	.code_identity = {offsetof(struct code, type)},
	.str_length = offsetof(struct str, length),
	.str_state = offsetof(struct str, state),
	.str_ascii = offsetof(struct str, text),
	.str_wide = offsetof(struct str, text),
	.bytes_size = offsetof(struct bytes, size),
	.bytes_data = offsetof(struct bytes, data),
	.code_bytes = sizeof(struct code),
	.state_off = 8,
};

static uint64_t at(const void *p)
{
	return (uintptr_t)p;
}

/* Runs of @nr frames, below the native ones; each frame has a code object of its own. */
static void make_runs(size_t nr_runs, size_t nr)
{
	for (size_t i = 0; i < nr_runs * nr; i++) {
		codes[i] = (struct code){.type = 1,
					 .file = at(&name),
					 .name = at(&name),
					 .table = at(&table),
					 .first_line = (uint32_t)i + 1};
		frames[i] = (struct frame){.code = at(&codes[i])};
		if (i + 1 < nr_runs * nr)
			frames[i].previous = at(&frames[i + 1]);
		frames[i].owner = i % nr == nr - 1 ? OWNER_ENTRY : 0;
	}
	memset(&stack, 0, sizeof(stack));
	/* Each is below the one before: as of another stack. */
	for (size_t i = 0; i < nr_runs; i++)
		stack.cframes[nr_runs - 1 - i] = (struct cframe){
			at(&frames[i * nr]),
			i + 1 < nr_runs ? at(&stack.cframes[nr_runs - 2 - i]) : 0};
	for (size_t i = 0; i < NR_NATIVE; i++) {
		stack.native[i][0] = at(stack.native[i + 1]);
		stack.native[i][1] = TEXT + 0x100 + ((uint64_t)i << 16);
	}
	thread_state = at(&stack.cframes[nr_runs - 1]);
}

/* ---- fixture ---- */

struct fixture {
	struct order_bpf *skel;
	struct ring_buffer *ring, *requests;
	size_t nr_requests, nr_codes;
	uint32_t lines[NR_CODES + 1]; /* how often each was sent, by first line */
};

static void update(const struct bpf_map *map, const void *key, const void *value)
{
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY), 0);
}

static int note_code(void *ctx, void *data, size_t size)
{
	struct fixture *f = ctx;
	const struct lb_interp_code *code = data;

	assert_true(size >= offsetof(struct lb_interp_code, table));
	assert_in_range(code->first_line, 1, NR_CODES);
	f->lines[code->first_line]++;
	f->nr_codes++;
	return 0;
}

static int note_request(void *ctx, void *data, size_t size)
{
	struct fixture *f = ctx;

	(void)data;
	assert_int_equal(size, sizeof(struct lb_unwind_request));
	f->nr_requests++;
	return 0;
}

static void set_segment(struct fixture *f, uint32_t flags)
{
	const uint32_t stamp = STAMP, next = STAMP + 1;
	const struct lb_unwind_segment first = {.start = STAMP + 1},
				       text = {.start = TEXT,
					       .end = TEXT_END,
					       .flags = LB_SEGMENT_NO_ROWS | flags};

	update(f->skel->maps.segments, &stamp, &first);
	update(f->skel->maps.segments, &next, &text);
}

static void skip_without_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skip: loading BPF programs needs root\n");
	skip();
}

static void begin(struct fixture *f)
{
	static uint64_t state;
	const uint32_t index = 2;
	const struct lb_unwind_process process = {.generation = STAMP + 1,
						  .stamp = STAMP,
						  .nr_segments = 1,
						  .interp = LB_INTERP_NUMBER(index, 0),
						  .interp_bias = at(&state) - 8};

	skip_without_root();
	state = at(&thread_state);
	f->skel = order_bpf__open_and_load();
	assert_non_null(f->skel);
	f->ring = ring_buffer__new(bpf_map__fd(f->skel->maps.interp_codes), note_code, f,
				   NULL);
	f->requests = ring_buffer__new(bpf_map__fd(f->skel->maps.requests), note_request,
				       f, NULL);
	assert_non_null(f->ring);
	assert_non_null(f->requests);
	f->skel->bss->image = (struct lb_image){.tgid = (uint32_t)getpid()};
	f->skel->bss->ip = TEXT;
	f->skel->bss->now =
		1; /* requests are not sent again, however long a test takes */
	f->skel->bss->fp = at(stack.native[0]);
	set_segment(f, 0);
	update(f->skel->maps.interps, &index, &layout);
	update(f->skel->maps.processes, &f->skel->bss->image, &process);
}

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	ring_buffer__free(f->ring);
	ring_buffer__free(f->requests);
	order_bpf__destroy(f->skel);
	return 0;
}

static void walk(struct fixture *f)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);

	assert_int_equal(
		bpf_prog_test_run_opts(bpf_program__fd(f->skel->progs.walk_once), &run),
		0);
	assert_int_equal(f->skel->bss->nr_faults, 0);
}

/* Walks, then receives. Return: how many code objects came. */
static size_t codes_of_walk(struct fixture *f)
{
	size_t before = f->nr_codes;

	walk(f);
	ring_buffer__consume(f->ring);
	return f->nr_codes - before;
}

/* ---- tests ---- */

/* Runs that are not on the stack are dropped, but their code objects were read. */
static void code_objects_that_are_read(void **state)
{
	struct fixture *f = *state;

	make_runs(1, NR_CODES);
	begin(f);
	walk(f);
	assert_int_equal(f->skel->bss->nr_identified, LB_MAX_FRAMES);
	assert_false(f->skel->bss->is_cut); /* they do not fit the stack */
	make_runs(3, NR_CODES / 3);
	walk(f);
	assert_int_equal(f->skel->bss->nr_stale, 2);
	assert_int_equal(f->skel->bss->nr_identified, LB_MAX_FRAMES);
	assert_true(f->skel->bss->is_cut);
}

/* What a walk did not send comes with the next ones. */
static void code_objects_that_are_sent(void **state)
{
	struct fixture *f = *state;

	make_runs(1, NR_SENT);
	begin(f);
	assert_int_equal(codes_of_walk(f), A_WALK);
	assert_int_equal(codes_of_walk(f), A_WALK);
	assert_int_equal(codes_of_walk(f), NR_SENT - 2 * A_WALK);
	assert_int_equal(codes_of_walk(f), 0);
	for (size_t i = 1; i <= NR_SENT; i++)
		assert_int_equal(f->lines[i], 1);
	assert_int_equal(f->skel->bss->nr_codes_dropped, 0);
}

/* When one has no room, those after it are not tried. */
static void nothing_is_sent_without_room(void **state)
{
	struct fixture *f = *state;

	make_runs(1, NR_SENT);
	begin(f);
	walk(f);
	walk(f); /* 256 code objects of more than 4 KB: the ring has 1 MB */
	assert_int_equal(f->skel->bss->nr_codes_dropped, 1);
	walk(f);
	assert_int_equal(f->skel->bss->nr_codes_dropped, 1);
	ring_buffer__consume(f->ring);
	codes_of_walk(f);
	assert_int_equal(f->skel->bss->nr_codes_dropped, 0);
	assert_int_equal(f->nr_codes, NR_SENT);
}

/* Frames in a page each of a JIT's memory: user space walks the list once for all. */
static void a_list_is_asked_for_once(void **state)
{
	struct fixture *f = *state;

	make_runs(1, 1);
	begin(f);
	set_segment(f, LB_SEGMENT_LISTED);
	walk(f);
	ring_buffer__consume(f->requests);
	assert_int_equal(f->skel->bss->nr_native, NR_NATIVE + 1);
	assert_int_equal(f->nr_requests, 1);
	assert_int_equal(f->skel->bss->nr_requests_dropped, 0);
}

/* Tables of a file serve, so that the walk goes on beyond mappings that are not known. */
static void share_file(struct fixture *f, const struct stat *st)
{
	const struct lb_unwind_file_key key = {
		.inode = st->st_ino,
		.dev = major(st->st_dev) << 20 | minor(st->st_dev),
	};
	const struct lb_unwind_file file = {
		.size_bytes = PAGE_SIZE,
		.mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 +
			    st->st_mtim.tv_nsec,
		.first_page = PAGE,
		.nr_pages = 1,
	};
	const struct lb_unwind_page page = {.state = LB_PAGE_EMPTY};
	const uint32_t nr = PAGE;

	update(f->skel->maps.unwind_files, &key, &file);
	update(f->skel->maps.pages, &nr, &page);
}

/* Each frame is in a mapping of its own, which is new. */
static void requests_of_a_walk_are_few(void **state)
{
	_cleanup_close_ int fd = memfd_create("text", 0);
	struct fixture *f = *state;
	void *text[NR_NATIVE];
	struct stat st;

	make_runs(1, 1);
	begin(f);
	assert_int_equal(ftruncate(fd, PAGE_SIZE), 0);
	assert_int_equal(fstat(fd, &st), 0);
	share_file(f, &st);
	for (size_t i = 0; i < NR_NATIVE; i++) {
		text[i] = mmap((void *)(TEXT_END + (i << 20)), PAGE_SIZE,
			       PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
			       fd, 0);
		assert_true(text[i] != MAP_FAILED);
		stack.native[i][1] = at(text[i]) + 100;
	}
	walk(f);
	ring_buffer__consume(f->requests);
	assert_int_equal(f->skel->bss->nr_native, NR_NATIVE + 1);
	assert_int_equal(f->nr_requests, REQUESTS);
	assert_int_equal(f->skel->bss->nr_requests_dropped, NR_NATIVE - REQUESTS);
	/* Those are sent by the next walk. */
	walk(f);
	ring_buffer__consume(f->requests);
	assert_int_equal(f->nr_requests, NR_NATIVE);
	for (size_t i = 0; i < NR_NATIVE; i++)
		munmap(text[i], PAGE_SIZE);
}

static uint64_t hash_with(uint64_t factor)
{
	struct fixture f = {0};
	uint64_t hash;

	f.skel = order_bpf__open();
	assert_non_null(f.skel);
	f.skel->rodata->hash_factor = factor;
	assert_int_equal(order_bpf__load(f.skel), 0);
	f.skel->bss->ip = TEXT;
	walk(&f);
	hash = f.skel->bss->body_hash;
	order_bpf__destroy(f.skel);
	return hash;
}

/* Two samplers have different factors. */
static void hashes_are_not_known(void **state)
{
	struct sampler_config config = {.freq_hz = 99};
	uint64_t factors[2];
	struct error err;

	(void)state;
	skip_without_root();
	for (size_t i = 0; i < 2; i++) {
		struct sampler *s = NULL;

		assert_int_equal(sampler_new(&config, &s, &err), 0);
		factors[i] = sampler_skel(s)->rodata->hash_factor;
		sampler_free(s);
		assert_true(factors[i] & 1);
	}
	assert_true(factors[0] != factors[1]);
	assert_true(hash_with(factors[0]) != hash_with(factors[1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(code_objects_that_are_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(code_objects_that_are_sent, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_sent_without_room, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_list_is_asked_for_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(requests_of_a_walk_are_few, set_up,
						tear_down),
		cmocka_unit_test(hashes_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
