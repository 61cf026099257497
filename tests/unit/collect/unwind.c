// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of a child whose frames are all known: assembly on its own stack, with rows
 * that the test writes into the kernel's tables, and Python frames made of structs at
 * chosen addresses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <asm/prctl.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/sampler.h"

/* ---- the code: tables use offsets from text_begin ---- */

extern const char text_begin[], text_end[];
extern const char leaf[], leaf_pushed[];
extern const char middle[], middle_set[], middle_return[];
extern const char outer[], outer_pushed[], outer_down[], outer_return[];
extern const char top[], top_return[];
extern const char deep[], deep_down[], deep_return[], deep_top[], deep_top_return[];
extern const char by_reg[], by_reg_spin[], by_reg_top[], by_reg_return[];
extern const char kept[], kept_spin[], kept_top[], kept_return[];
extern const char bare_top[], bare[], liar_top[], liar[];
extern const char handler[], restorer[], raise_top[], raise_spin[], null_top[];
extern const char zero_top[], zero_spin[], zero_call_top[], zero_return[], zero_called[];

__asm__(".text\n"
	".balign 4096\n"
	"text_begin:\n"
	"leaf: nop\n"
	"leaf_pushed: jmp leaf_pushed\n"
	/* Sets up a frame pointer; the CFA is relative to it. */
	"middle: push %rbp\n"
	"  mov %rsp, %rbp\n"
	"middle_set: sub $64, %rsp\n"
	"  call leaf\n"
	"middle_return: ud2\n"
	/* Saves rbp, then puts another value in it. */
	"outer: push %rbp\n"
	"outer_pushed: sub $40, %rsp\n"
	"outer_down: mov $0xdead, %ebp\n"
	"  call middle\n"
	"outer_return: ud2\n"
	"top: call outer\n"
	"top_return: ud2\n"
	/* Calls itself %edi times. */
	"deep: sub $24, %rsp\n"
	"deep_down: dec %edi\n"
	"  jz deep_down_spin\n"
	"  call deep\n"
	"deep_return: ud2\n"
	"deep_down_spin: jmp deep_down_spin\n"
	"deep_top: mov $600, %edi\n"
	"  call deep\n"
	"deep_top_return: ud2\n"
	/* Aligns its stack and keeps the CFA in r10. */
	"by_reg: lea 8(%rsp), %r10\n"
	"  and $-64, %rsp\n"
	"by_reg_spin: jmp by_reg_spin\n"
	"by_reg_top: call by_reg\n"
	"by_reg_return: ud2\n"
	/* Stores its entry SP on its aligned stack, as OpenSSL does. */
	"kept: mov %rsp, %rax\n"
	"  and $-64, %rsp\n"
	"  sub $64, %rsp\n"
	"  mov %rax, 24(%rsp)\n"
	"kept_spin: jmp kept_spin\n"
	"kept_top: call kept\n"
	"kept_return: ud2\n"
	/* A signal handler on an alternate stack. */
	"bare_top: call bare\n"
	"bare: jmp bare\n"
	/* Its frame pointer points to a number where a return address would be. */
	"liar_top: push $0x12345\n"
	"  push $0\n"
	"  mov %rsp, %rbp\n"
	"liar: jmp liar\n"
	/* The same with data of the program. */
	"data_top: lea data_of_program(%rip), %rax\n"
	"  push %rax\n"
	"  push $0\n"
	"  mov %rsp, %rbp\n"
	"data_spin: jmp data_spin\n"

	"handler: jmp handler\n"
	"  nop\n" /* as before glibc's: the return address is looked up minus 1 */
	"restorer: mov $15, %eax\n"
	"  syscall\n"
	"raise_top: call raise_spin\n"
	"raise_return: ud2\n"
	"raise_spin: jmp raise_spin\n"
	"null_top: xor %eax, %eax\n"
	"  call *%rax\n"
	/* Stacks that begin with a return address of 0. */
	"zero_top: push $0\n"
	"zero_spin: jmp zero_spin\n"
	"zero_call_top: push $0\n"
	"  call zero_called\n"
	"zero_return: ud2\n"
	"zero_called: jmp zero_called\n"
	"text_end:\n");
extern const char raise_return[], data_top[], data_spin[];
const char data_of_program[64] = "no code";

#define AT(label) ((uint16_t)((label)-text_begin))

static const struct lb_unwind_rule rules[] = {
	{LB_CFA_NONE, 0, 0, 0},
	{LB_CFA_SP, LB_FP_SAME, 0, 8},
	{LB_CFA_SP, LB_FP_AT_CFA, -16, 16},
	{LB_CFA_FP, LB_FP_AT_CFA, -16, 16},
	{LB_CFA_SP, LB_FP_AT_CFA, -16, 56},
	{LB_CFA_END, LB_FP_SAME, 0, 0},
	{LB_CFA_SP, LB_FP_SAME, 0, 32},
	{LB_CFA_REG + 10, LB_FP_SAME, 0, 0},
	{LB_CFA_SIGNAL, LB_FP_SAME, 0, 0},
	{LB_CFA_UNSUPPORTED, LB_FP_SAME, 0, 0},
	{LB_CFA_SP, LB_FP_SAME, 0, -8},
	{LB_CFA_DEREF_SP_8, LB_FP_SAME, 0, 24},
	{LB_CFA_DEREF_SP_8, LB_FP_SAME | LB_FP_DERIVED, 0, 24},
	{LB_CFA_SP, LB_FP_SAME | LB_FP_UNCALLED, 0, 8},
	{LB_CFA_SIGNAL, LB_FP_SAME | LB_FP_DERIVED, 0, 0},
};
enum {
	NONE,
	SP_8,
	SP_16,
	FP_16,
	SP_56,
	END,
	SP_32,
	R10,
	SIGNAL,
	UNSUPPORTED,
	SHRINKS,
	KEPT_SP,
	KEPT_DERIVED,
	SP_8_UNCALLED,
	SIGNAL_DERIVED,
};

/* The program's own stacks, so that addresses on them are known. */
#define STACK_BYTES 65536
static uint8_t stacks[2][STACK_BYTES] __attribute__((aligned(4096)));
#define STACK_TOP ((uintptr_t)stacks[0] + STACK_BYTES)

static void __attribute__((noreturn)) run_on_stack(const char *entry, uintptr_t sp)
{
	__asm__ volatile("mov %1, %%rsp\n xor %%ebp, %%ebp\n jmp *%0" ::"r"(entry),
			 "r"(sp)
			 : "memory");
	__builtin_unreachable();
}

/* ---- what a test receives ---- */

struct stack {
	struct sample sample; /* the last one of this stack, with ips below */
	__u64 ips[LB_MAX_FRAMES];
	uint64_t nr_samples;
};

struct seen {
	struct lb_unwind_request requests[64];
	size_t nr_requests;
	struct stack stacks[4];
	const struct stack *most; /* the most frequent stack, after look() */
	size_t nr_stacks;
	uint64_t nr_in_all;
	bool is_open; /* samples are recorded */
	struct lb_image other; /* image of a sample of the child's child */
	uint64_t nr_of_other;
};

struct fixture {
	struct sampler *sampler;
	struct unwind_kmaps maps;
	pid_t pid;
	struct lb_image image;
	struct seen seen;
	struct lb_interp_code codes[8];
	size_t nr_codes;
	struct sampler_handlers handlers;
};

static int lookup(int fd, const void *key, void *value)
{
	return bpf_map_lookup_elem(fd, key, value) ? -errno : 0;
}

static void note_request(void *ctx, const struct lb_unwind_request *request)
{
	struct seen *seen = &((struct fixture *)ctx)->seen;

	if (seen->nr_requests < 64)
		seen->requests[seen->nr_requests++] = *request;
}

static void note_code(void *ctx, const struct lb_interp_code *code, size_t size_bytes)
{
	struct fixture *f = ctx;

	assert_int_equal(size_bytes,
			 offsetof(struct lb_interp_code, table) + code->table_copied);
	if (f->nr_codes < 8)
		memcpy(&f->codes[f->nr_codes++], code, size_bytes);
}

/* Is a jump to itself at @ip, as GNU as and clang write it? */
static bool spins_at(uintptr_t ip)
{
	const void *code = (const void *)ip; /* the same here as in the child */

	return ip >= (uintptr_t)text_begin && ip < (uintptr_t)text_end &&
	       (memcmp(code, "\xeb\xfe", 2) == 0 ||
		memcmp(code, "\xe9\xfb\xff\xff\xff", 5) == 0);
}

static bool is_stack_of(const struct stack *stack, const struct sample *s)
{
	return s->nr_user == stack->sample.nr_user && s->status == stack->sample.status &&
	       memcmp(s->user_ips, stack->ips, s->nr_user * 8) == 0;
}

static void note_sample(void *ctx, const struct sample *s)
{
	struct fixture *f = ctx;
	struct seen *seen = &f->seen;
	struct stack *stack;
	size_t at;

	/* Only where a program has arrived; it may take faults on its way there. */
	if (!seen->is_open || !s->nr_user || !spins_at(s->user_ips[0]))
		return;
	if (s->tgid != (uint32_t)f->pid) {
		seen->other =
			(struct lb_image){s->start_boottime_ns, s->tgid, s->exec_id};
		seen->nr_of_other += s->count;
	}
	seen->nr_in_all += s->count;
	for (at = 0; at < seen->nr_stacks; at++)
		if (is_stack_of(&seen->stacks[at], s))
			break;
	assert_true(at < ARRAY_SIZE(seen->stacks));
	seen->nr_stacks += at == seen->nr_stacks;
	stack = &seen->stacks[at];
	stack->nr_samples += s->count;
	stack->sample = *s;
	memcpy(stack->ips, s->user_ips, s->nr_user * 8);
}

static bool notices(struct fixture *f)
{
	return sampler_notices(f->sampler, &f->handlers);
}

static void wait_ms(long ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
}

static void start_child(struct fixture *f, const char *entry, void (*prepare)(void))
{
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (prepare)
		prepare();
	run_on_stack(entry, STACK_TOP);
}

static void end_child(struct fixture *f)
{
	if (f->pid <= 0)
		return;
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
	f->pid = 0;
}

static const struct lb_unwind_request *find_request(const struct fixture *f,
						    uint32_t kind)
{
	for (size_t i = 0; i < f->seen.nr_requests; i++)
		if (f->seen.requests[i].kind == kind)
			return &f->seen.requests[i];
	return NULL;
}

/* Samples the child until the kernel side requests its tables. */
static void start(struct fixture *f, const char *entry, void (*prepare)(void),
		  uint32_t max_frames)
{
	struct sampler_config config = {.freq_hz = 1999,
					.keep_tid = false,
					.kernel_stacks = true,
					.walk_user = true,
					.max_frames = max_frames};
	const struct lb_unwind_request *request = NULL;
	struct error err = {0};

	if (geteuid() != 0) {
		print_message("skip: loading BPF programs needs root\n");
		skip();
	}
	f->handlers = (struct sampler_handlers){.ctx = f,
						.unwind_request = note_request,
						.interp_code = note_code,
						.sample = note_sample};
	if (sampler_new(&config, &f->sampler, &err))
		fail_msg("%s", err.text);
	sampler_unwind_kmaps(f->sampler, &f->maps);
	start_child(f, entry, prepare);
	if (sampler_add_target(f->sampler, (uint32_t)f->pid, &err) ||
	    sampler_start(f->sampler, &err))
		fail_msg("%s", err.text);
	for (int i = 0; i < 1000 && !request; i++) {
		wait_ms(10);
		notices(f);
		request = find_request(f, LB_REQUEST_PROCESS);
	}
	assert_non_null(request);
	assert_int_equal(request->image.tgid, f->pid);
	f->image = request->image;
}

/* Discards the samples until now, then receives new ones. */
static void look(struct fixture *f)
{
	sampler_drain(f->sampler, &f->handlers);
	f->seen = (struct seen){.is_open = true};
	for (int i = 0; i < 1200 && f->seen.nr_in_all < 50; i++) {
		wait_ms(50);
		notices(f);
		assert_int_equal(sampler_drain(f->sampler, &f->handlers), 0);
	}
	f->seen.most = &f->seen.stacks[0];
	for (size_t i = 1; i < f->seen.nr_stacks; i++)
		if (f->seen.stacks[i].nr_samples > f->seen.most->nr_samples)
			f->seen.most = &f->seen.stacks[i];
	assert_true(f->seen.nr_in_all >= 20);
	/* A sample on each CPU may have begun before a table changed. */
	assert_true(f->seen.nr_in_all - f->seen.most->nr_samples <= 2);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	end_child(f);
	sampler_free(f->sampler);
	free(f);
	return 0;
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

/* ---- filling the tables ---- */

#define FIRST_ROW 100 /* not at the start of a map value */
#define STAMP     7
#define PAGE      3

static void write_rules(struct fixture *f)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(rules); i++)
		assert_int_equal(kmap_update(f->maps.rules_fd, &i, &rules[i]), 0);
}

static void write_page(struct fixture *f, const struct lb_unwind_row *rows, size_t nr)
{
	const struct lb_unwind_page page = {.first_row = LB_SLAB_ROWS + FIRST_ROW,
					    .last_row = (uint16_t)(nr - 1),
					    .state = LB_PAGE_ROWS};
	const uint32_t index = PAGE;
	const uint32_t slab_numbers[] = {0, 1};
	_cleanup_close_ int unused = kmap_new_slab(), fd = kmap_new_slab();
	const int slabs[] = {unused, fd};
	struct lb_unwind_row *slab;

	assert_true(unused >= 0 && fd >= 0);
	write_rules(f); /* first: the walk caches the rules that rows lead to */
	slab = kmap_map(fd, LB_SLAB_VALUES * sizeof(struct lb_unwind_rows));
	assert_non_null(slab);
	memcpy(slab + FIRST_ROW, rows, nr * sizeof(*rows));
	kmap_unmap(slab, LB_SLAB_VALUES * sizeof(struct lb_unwind_rows));
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			kmap_update(f->maps.slabs_fd, &slab_numbers[i], &slabs[i]), 0);
	assert_true(kmap_has(f->maps.slabs_fd, slab_numbers[1]));
	assert_false(kmap_has(f->maps.slabs_fd, slab_numbers[1] + 1));
	assert_int_equal(kmap_update(f->maps.pages_fd, &index, &page), 0);
	/* The page now describes another object: cached rules are invalid. */
	++*f->maps.pages_generation;
}

static void write_process(struct fixture *f, uint64_t generation, uint32_t flags,
			  uint32_t interp, int32_t interp_tls_off)
{
	const struct lb_unwind_segment run[] = {
		{.start = 99},
		{.start = 4096, .end = 8192},
		{.start = (uintptr_t)text_begin,
		 .end = (uintptr_t)text_end,
		 .bias = (uintptr_t)text_begin,
		 .first_page = PAGE,
		 .flags = flags},
	};
	const struct lb_unwind_process process = {.generation = generation,
						  .stamp = STAMP,
						  .nr_segments = ARRAY_SIZE(run) - 1,
						  .interp = interp,
						  .interp_tls_off = interp_tls_off};

	for (uint32_t i = 0; i < ARRAY_SIZE(run); i++) {
		uint32_t index = STAMP + i;

		assert_int_equal(kmap_update(f->maps.segments_fd, &index, &run[i]), 0);
	}
	assert_int_equal(kmap_update(f->maps.processes_fd, &f->image, &process), 0);
	++f->maps.image_changes[f->image.tgid % LB_IMAGE_CHANGES];
}

/* @low  of text_begin, in the rows' page: a multiple of 4096 */
static void write_tables_at(struct fixture *f, uint16_t low)
{
	struct lb_unwind_row rows[] = {
		{0, NONE},
		{0, SP_8},
		{AT(middle), SP_8},
		{AT(middle) + 1, SP_16},
		{AT(middle_set), FP_16},
		{AT(outer), SP_8},
		{AT(outer_pushed), SP_16},
		{AT(outer_down), SP_56},
		{AT(top), END},
		{AT(deep), SP_8},
		{AT(deep_down), SP_32},
		{AT(deep_top), END},
		{AT(by_reg), SP_8},
		{AT(by_reg_spin), R10},
		{AT(by_reg_top), END},
		{AT(kept), SP_8},
		{AT(kept_spin), KEPT_SP},
		{AT(kept_top), END},
		{AT(bare_top), NONE},
		{AT(handler), SP_8},
		{AT(restorer) - 1, SIGNAL},
		{AT(raise_top), END},
		{AT(raise_spin), SP_8},
	};
	size_t first = low ? 0 : 1;

	for (size_t i = 1; i < ARRAY_SIZE(rows); i++)
		rows[i].pc_low = (uint16_t)(rows[i].pc_low + low);
	write_page(f, rows + first, ARRAY_SIZE(rows) - first);
}

static void write_tables(struct fixture *f)
{
	write_tables_at(f, 0);
}

static void expect(const struct fixture *f, enum lb_stack_status status, const __u64 *ips,
		   size_t nr)
{
	assert_int_equal(f->seen.most->sample.status, status);
	for (size_t i = 0; i < nr && i < f->seen.most->sample.nr_user; i++)
		if (f->seen.most->ips[i] != ips[i])
			fail_msg("frame %zu is %llx, not %llx", i,
				 (unsigned long long)f->seen.most->ips[i],
				 (unsigned long long)ips[i]);
	assert_int_equal(f->seen.most->sample.nr_user, nr);
}

#define IP(label) ((__u64)(uintptr_t)(label))

/* ---- native frames ---- */

static void rows_lead_to_the_outermost_frame(void **state)
{
	const __u64 ips[] = {IP(leaf_pushed), IP(middle_return), IP(outer_return),
			     IP(top_return)};
	const uint32_t index = PAGE;
	struct fixture *f = *state;
	struct lb_unwind_page page;
	struct sampler_totals totals;

	start(f, top, NULL, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	look(f);
	expect(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
	assert_int_equal(f->seen.most->sample.callers, 0);
	assert_int_equal(f->seen.nr_requests, 0);
	assert_int_equal(lookup(f->maps.pages_fd, &index, &page), 0);
	assert_int_equal(page.used, 1);
	sampler_totals(f->sampler, &totals);
	assert_true(totals.ctr.n[LB_CTR_USER_FRAMES] >= 4 * f->seen.nr_in_all);
	print_message("%u instructions verified\n", sampler_verified_insns(f->sampler));
	assert_true(sampler_verified_insns(f->sampler) < 14000); /* clang 19: 12,650 */
}

/*
 * Marks the page as unused, begins @nr_generations, and samples; in this order, because
 * the child is sampled meanwhile. Return: whether a walk has read the page.
 */
static bool page_is_read(struct fixture *f, uint32_t nr_generations)
{
	const uint32_t index = PAGE;
	struct lb_unwind_page page;

	assert_int_equal(lookup(f->maps.pages_fd, &index, &page), 0);
	page.used = 0;
	assert_int_equal(kmap_update(f->maps.pages_fd, &index, &page), 0);
	*f->maps.pages_generation += nr_generations;
	look(f);
	assert_int_equal(lookup(f->maps.pages_fd, &index, &page), 0);
	return page.used;
}

/* A page is read once in each generation of pages; then the cache has its rules. */
static void a_cached_rule_does_not_read_its_page(void **state)
{
	struct fixture *f = *state;
	bool is_cached = false;

	start(f, by_reg_top, NULL, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	look(f);
	/* At first one of both rules may take the other's place in the cache. */
	for (int i = 0; i < 4 && !is_cached; i++) {
		assert_true(page_is_read(f, 1));
		is_cached = !page_is_read(f, 0);
	}
	assert_true(is_cached);
}

/*
 * Return addresses a few bytes apart, as of a function that calls itself twice, do not
 * replace each other in the cache for ever: some walk finds all of them.
 */
static void neighbours_are_cached_together(void **state)
{
	struct fixture *f = *state;
	bool is_cached = false;

	start(f, top, NULL, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	assert_true(AT(top_return) - AT(outer_return) < 8);
	for (int i = 0; i < 50 && !is_cached; i++)
		is_cached = !page_is_read(f, 0);
	assert_true(is_cached);
}

/* Requests are at least LB_REQUEST_PAUSE_NS apart. */
static void an_unknown_process_is_asked_for(void **state)
{
	struct fixture *f = *state;
	struct timespec from, to;
	uint64_t ns;

	start(f, top, NULL, 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	look(f);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000 +
	     (uint64_t)(to.tv_nsec - from.tv_nsec);
	assert_int_equal(f->seen.most->sample.status, LB_STACK_NO_MAPPING);
	assert_int_equal(f->seen.most->ips[0], IP(leaf_pushed));
	assert_true(f->seen.nr_requests >= 1);
	assert_true(f->seen.nr_requests <= ns / LB_REQUEST_PAUSE_NS + 2);
	/* Segments whose stamp was reused for another process are not used. */
	write_tables(f);
	write_process(f, 98, 0, 0, 0);
	look(f);
	assert_int_equal(f->seen.most->sample.status, LB_STACK_NO_MAPPING);
	assert_non_null(find_request(f, LB_REQUEST_PROCESS));
}

/* Lets the segment of the code end at @end. */
static void end_segment(struct fixture *f, uint64_t end)
{
	const uint32_t index = STAMP + 2;
	struct lb_unwind_segment segment;

	assert_int_equal(lookup(f->maps.segments_fd, &index, &segment), 0);
	segment.end = end;
	assert_int_equal(kmap_update(f->maps.segments_fd, &index, &segment), 0);
}

static void what_is_missing_is_asked_for(void **state)
{
	const __u64 ips[] = {IP(leaf_pushed), IP(middle_return)};
	const struct lb_unwind_request *request;
	struct fixture *f = *state;

	start(f, top, NULL, 0);
	write_rules(f);
	write_process(f, 99, 0, 0, 0);
	look(f);
	expect(f, LB_STACK_NO_TABLE, ips, 1);
	request = find_request(f, LB_REQUEST_PAGE);
	assert_non_null(request);
	assert_int_equal(request->ip, IP(leaf_pushed));
	assert_memory_equal(&request->image, &f->image, sizeof(f->image));
	/* The leaf's code has a segment, its caller's does not. */
	write_tables(f);
	end_segment(f, IP(middle));
	look(f);
	expect(f, LB_STACK_NO_MAPPING, ips, 2);
	request = find_request(f, LB_REQUEST_MAPPING);
	assert_non_null(request);
	assert_int_equal(request->ip, IP(middle_return) - 1);
}

/* ---- mappings without segments ---- */

/* The mapping of the code, as the kernel tells it. */
struct text_mapping {
	struct lb_unwind_file_key key;
	struct lb_unwind_file file;
	uint64_t offset; /* of text_begin in the file */
};

static struct text_mapping find_text(void)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	struct text_mapping ret = {0};
	unsigned long start, end, offset, inode;
	unsigned int major, minor;
	struct stat st;
	char line[4352];

	assert_non_null(maps);
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu", &start, &end, &offset,
			   &major, &minor, &inode) != 6 ||
		    IP(text_begin) < start || IP(text_begin) >= end)
			continue;
		ret.key.inode = inode;
		ret.key.dev = major << 20 | minor;
		ret.offset = IP(text_begin) - start + offset;
		ret.file.first_page = PAGE;
		ret.file.page = (uint32_t)(offset >> 16);
		ret.file.nr_pages = (uint32_t)(((offset + end - start - 1) >> 16) -
					       ret.file.page + 1);
		ret.file.size_bytes = (uint64_t)st.st_size;
		ret.file.mtime_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
	}
	assert_int_not_equal(ret.key.inode, 0);
	return ret;
}

/* Makes rows of the code's page in the file, and the file known to the kernel side. */
static struct text_mapping share_text(struct fixture *f)
{
	struct text_mapping text = find_text();

	/* The page that has the code is the one with the rows. */
	text.file.first_page -= (uint32_t)(text.offset >> 16) - text.file.page;
	write_tables_at(f, (uint16_t)text.offset);
	assert_int_equal(kmap_update(f->maps.files_fd, &text.key, &text.file), 0);
	return text;
}

static void expect_whole(const struct fixture *f)
{
	const __u64 ips[] = {IP(leaf_pushed), IP(middle_return), IP(outer_return),
			     IP(top_return)};

	expect(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
}

static void a_file_that_is_known_needs_no_segments(void **state)
{
	struct fixture *f = *state;

	start(f, top, NULL, 0);
	share_text(f);
	look(f);
	expect_whole(f);
	assert_int_equal(f->seen.most->sample.callers, 0);
	assert_non_null(find_request(f, LB_REQUEST_PROCESS));
	assert_null(find_request(f, LB_REQUEST_MAPPING));
	/* A process whose segments do not have the code yet. */
	write_process(f, 99, 0, 0, 0);
	end_segment(f, IP(text_begin));
	look(f);
	expect_whole(f);
	assert_null(find_request(f, LB_REQUEST_PROCESS));
	assert_non_null(find_request(f, LB_REQUEST_MAPPING));
}

/* Each of these is another file, or another content. */
static void a_file_that_changed_is_not_known(void **state)
{
	struct text_mapping text;
	struct fixture *f = *state;

	start(f, top, NULL, 0);
	text = share_text(f);
	for (int i = 0; i < 4; i++) {
		struct lb_unwind_file_key key = text.key;
		struct lb_unwind_file file = text.file;

		file.size_bytes += i == 0;
		file.mtime_ns += i == 1;
		file.nr_pages -= i == 2;
		file.page += i == 3;
		assert_int_equal(kmap_update(f->maps.files_fd, &key, &file), 0);
		look(f);
		assert_int_equal(f->seen.most->sample.status, LB_STACK_NO_MAPPING);
	}
	kmap_delete(f->maps.files_fd, &text.key);
	text.key.inode++;
	assert_int_equal(kmap_update(f->maps.files_fd, &text.key, &text.file), 0);
	look(f);
	assert_int_equal(f->seen.most->sample.status, LB_STACK_NO_MAPPING);
	text.key.inode--;
	text.key.dev++;
	assert_int_equal(kmap_update(f->maps.files_fd, &text.key, &text.file), 0);
	look(f);
	assert_int_equal(f->seen.most->sample.status, LB_STACK_NO_MAPPING);
	text.key.dev--;
	assert_int_equal(kmap_update(f->maps.files_fd, &text.key, &text.file), 0);
	look(f);
	expect_whole(f);
}

/* Without the interpreter's frames a stack through its code is not whole. */
static void an_awaited_interpreter_is_missing(void **state)
{
	const uint32_t index = STAMP + 2;
	struct lb_unwind_segment segment;
	struct fixture *f = *state;

	start(f, top, NULL, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	assert_int_equal(lookup(f->maps.segments_fd, &index, &segment), 0);
	segment.flags = LB_SEGMENT_AWAITED;
	assert_int_equal(kmap_update(f->maps.segments_fd, &index, &segment), 0);
	look(f);
	assert_int_equal(f->seen.most->sample.status, LB_STACK_NO_TABLE);
	assert_int_equal(f->seen.most->sample.nr_user, 4);
	assert_null(find_request(f, LB_REQUEST_PAGE));
	write_process(f, 99, 0, 0, 0);
	look(f);
	expect_whole(f);
}

static void data_of_a_known_file_is_no_code(void **state)
{
	const __u64 ips[] = {IP(data_spin)};
	struct text_mapping text;
	struct fixture *f = *state;

	start(f, data_top, NULL, 0);
	text = share_text(f);
	/* The pages include all of the file. */
	text.file.first_page = PAGE - (uint32_t)(text.offset >> 16);
	text.file.page = 0;
	text.file.nr_pages = (uint32_t)(text.file.size_bytes >> 16) + 1;
	assert_int_equal(kmap_update(f->maps.files_fd, &text.key, &text.file), 0);
	look(f);
	expect(f, LB_STACK_NO_MAPPING, ips, 1);
	assert_int_equal(f->seen.most->sample.callers, 0);
}

static void damaged_stacks_end(void **state)
{
	const struct lb_unwind_row rows[] = {{0, SHRINKS}};
	const struct lb_unwind_row unsupported[] = {{0, SP_8}, {AT(middle), UNSUPPORTED}};
	const struct lb_unwind_row leaf_only[] = {{0, SP_8}, {AT(middle), R10}};
	const __u64 ips[] = {IP(leaf_pushed), IP(middle_return)};
	struct fixture *f = *state;

	start(f, top, NULL, 0);
	write_page(f, rows, ARRAY_SIZE(rows));
	write_process(f, 99, 0, 0, 0);
	look(f);
	expect(f, LB_STACK_BAD_CFA, ips, 1);
	write_page(f, unsupported, ARRAY_SIZE(unsupported));
	look(f);
	expect(f, LB_STACK_UNSUPPORTED, ips, 2);
	/* At callers, a CFA in another register than SP or FP is unknown. */
	write_page(f, leaf_only, ARRAY_SIZE(leaf_only));
	look(f);
	expect(f, LB_STACK_UNSUPPORTED, ips, 2);
}

static void a_register_counts_at_the_leaf(void **state)
{
	const __u64 ips[] = {IP(by_reg_spin), IP(by_reg_return)};
	struct fixture *f = *state;

	start(f, by_reg_top, NULL, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	look(f);
	expect(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
}

/* A caller that was found by a rule made from machine code is marked. */
static void derived_rules_are_marked(void **state)
{
	const struct lb_unwind_row rows[] = {
		{AT(kept), SP_8}, {AT(kept_spin), KEPT_DERIVED}, {AT(kept_top), END}};
	const __u64 ips[] = {IP(kept_spin), IP(kept_return)};
	struct fixture *f = *state;

	start(f, kept_top, NULL, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	look(f);
	expect(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
	assert_int_equal(f->seen.most->sample.callers, 0);
	write_page(f, rows, ARRAY_SIZE(rows));
	look(f);
	expect(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
	assert_int_equal(f->seen.most->sample.callers, LB_CALLERS_DERIVED);
}

static void the_stack_pointer_of_the_entry_may_be_kept(void **state)
{
	const __u64 ips[] = {IP(kept_spin), IP(kept_return)};
	struct fixture *f = *state;

	start(f, kept_top, NULL, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	look(f);
	expect(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
}

static void frame_pointers_where_there_are_no_rows(void **state)
{
	const struct lb_unwind_row rows[] = {{0, SP_8}, {AT(middle), NONE}};
	/* middle's frame pointer is valid, the value that outer left in it is not. */
	const __u64 ips[] = {IP(leaf_pushed), IP(middle_return), IP(outer_return)};
	struct fixture *f = *state;

	start(f, top, NULL, 0);
	write_page(f, rows, ARRAY_SIZE(rows));
	write_process(f, 99, 0, 0, 0);
	look(f);
	expect(f, LB_STACK_BAD_FP, ips, ARRAY_SIZE(ips));
	assert_int_equal(f->seen.most->sample.callers, LB_CALLERS_GUESSED);
	/* Frame pointers from the leaf on skip the leaf's caller. */
	write_process(f, 99, LB_SEGMENT_NO_ROWS, 0, 0);
	look(f);
	assert_int_equal(f->seen.most->ips[1], IP(outer_return));
	assert_int_equal(f->seen.most->sample.callers, LB_CALLERS_GUESSED);
	assert_null(find_request(f, LB_REQUEST_LIST));
}

/*
 * Code without rows and without a frame pointer: whether it is the outermost frame is
 * a guess. A number on its stack does not become a caller.
 */
static void frame_pointers_are_guesses(void **state)
{
	const __u64 bare_ips[] = {IP(bare)}, liar_ips[] = {IP(liar)};
	struct fixture *f = *state;

	start(f, bare_top, NULL, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	look(f);
	expect(f, LB_STACK_GUESSED_END, bare_ips, 1);
	end_child(f);
	sampler_free(take_ptr(f->sampler));

	start(f, liar_top, NULL, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	look(f);
	expect(f, LB_STACK_NO_MAPPING, liar_ips, 1);
	assert_int_equal(f->seen.most->sample.callers, 0);
}

/* Frame pointers are used, and user space learns that code of a listed object ran. */
static void a_list_is_asked_for_what_is_not_known(void **state)
{
	const struct lb_unwind_request *request;
	struct fixture *f = *state;

	start(f, top, NULL, 0);
	write_tables(f);
	write_process(f, 99, LB_SEGMENT_NO_ROWS | LB_SEGMENT_LISTED, 0, 0);
	look(f);
	assert_int_equal(f->seen.most->ips[1], IP(outer_return));
	request = find_request(f, LB_REQUEST_LIST);
	assert_non_null(request);
	assert_int_equal(request->ip, IP(leaf_pushed));
	assert_memory_equal(&request->image, &f->image, sizeof(f->image));
}

static void deep_stacks_are_cut(void **state)
{
	static const uint32_t most[] = {3, 127, LB_MAX_FRAMES};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(most); i++) {
		start(f, deep_top, NULL, most[i] == LB_MAX_FRAMES ? 0 : most[i]);
		write_tables(f);
		write_process(f, 99, 0, 0, 0);
		look(f);
		assert_int_equal(f->seen.most->sample.status, LB_STACK_TRUNCATED);
		assert_int_equal(f->seen.most->sample.nr_user, most[i]);
		for (uint32_t at = 1; at < most[i]; at++)
			assert_int_equal(f->seen.most->ips[at], IP(deep_return));
		end_child(f);
		sampler_free(take_ptr(f->sampler));
	}
}

/* Handles the signal on another stack; the interrupted frames are on the first. */
static void handle_on(uintptr_t stack)
{
	const stack_t alternate = {.ss_sp = (void *)stack, .ss_size = STACK_BYTES};
	const struct {
		const char *handler;
		unsigned long flags;
		const char *restorer;
		uint64_t mask;
	} action = {handler, 0x04000000UL /* SA_RESTORER */ | SA_ONSTACK | SA_SIGINFO,
		    restorer, 0};

	sigaltstack(&alternate, NULL);
	syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 8);
	syscall(SYS_rt_sigaction, SIGSEGV, &action, NULL, 8);
}

static void handle_above(void)
{
	handle_on((uintptr_t)stacks[1]);
}

static void signal_frames_are_passed(void **state)
{
	const struct lb_unwind_row derived[] = {{AT(handler), SP_8},
						{AT(restorer) - 1, SIGNAL_DERIVED},
						{AT(raise_top), END},
						{AT(raise_spin), SP_8}};
	const __u64 ips[] = {IP(handler), IP(restorer), IP(raise_spin), IP(raise_return)};
	struct fixture *f = *state;

	start(f, raise_top, handle_above, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	look(f);
	expect(f, LB_STACK_COMPLETE, ips + 2, 2);
	kill(f->pid, SIGUSR1);
	wait_ms(50); /* until the signal was handled */
	look(f);
	expect(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
	assert_int_equal(f->seen.most->sample.callers, 0);
	write_page(f, derived, ARRAY_SIZE(derived));
	look(f);
	expect(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
	assert_int_equal(f->seen.most->sample.callers, LB_CALLERS_DERIVED);
}

/* A return address of 0 is the begin of a stack, but not in code that no call enters. */
static void a_stack_may_begin_with_0(void **state)
{
	const struct lb_unwind_row called[] = {{0, SP_8}},
				   uncalled[] = {{0, SP_8_UNCALLED}};
	const struct {
		const char *entry;
		__u64 ips[2];
		size_t nr;
	} cases[] = {{zero_top, {IP(zero_spin)}, 1},
		     {zero_call_top, {IP(zero_called), IP(zero_return)}, 2}};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		start(f, cases[i].entry, NULL, 0);
		write_page(f, called, 1);
		write_process(f, 99, 0, 0, 0);
		look(f);
		expect(f, LB_STACK_COMPLETE, cases[i].ips, cases[i].nr);
		write_page(f, uncalled, 1);
		look(f);
		expect(f, LB_STACK_BAD_CFA, cases[i].ips, cases[i].nr);
		assert_int_equal(f->seen.most->sample.callers, 0);
		end_child(f);
		sampler_free(take_ptr(f->sampler));
	}
}

/* The interrupted frame is there, although its instruction is not. */
static void a_signal_at_0_is_no_begin(void **state)
{
	const __u64 ips[] = {IP(handler), IP(restorer)};
	struct fixture *f = *state;

	start(f, null_top, handle_above, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	look(f);
	expect(f, LB_STACK_BAD_CFA, ips, ARRAY_SIZE(ips));
}

/* ---- processes ---- */

static int *go; /* shared with the child */

static void fork_when_told(void)
{
	while (!__atomic_load_n(go, __ATOMIC_ACQUIRE))
		;
	if (!fork())
		prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void children_are_known_from_their_first_sample(void **state)
{
	const __u64 ips[] = {IP(leaf_pushed), IP(middle_return), IP(outer_return),
			     IP(top_return)};
	struct lb_unwind_process known;
	struct fixture *f = *state;
	int rc = 0;

	go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(go != MAP_FAILED);
	start(f, top, fork_when_told, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	__atomic_store_n(go, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 20 && !f->seen.nr_of_other; i++)
		look(f);
	expect(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
	assert_true(f->seen.nr_of_other > 0);
	assert_null(find_request(f, LB_REQUEST_PROCESS));
	assert_int_equal(lookup(f->maps.inherited_fd, &f->seen.other, &known), 0);
	assert_int_equal(known.generation, 99);
	/* It takes no place of those that are shared. */
	assert_int_equal(lookup(f->maps.processes_fd, &f->seen.other, &known), -ENOENT);
	/* The process entry goes when its last thread ends. */
	kill((pid_t)f->seen.other.tgid, SIGKILL);
	for (int i = 0; i < 6000 && !rc; i++) {
		wait_ms(10);
		rc = lookup(f->maps.inherited_fd, &f->seen.other, &known);
	}
	assert_int_equal(rc, -ENOENT);
	munmap(go, 4096);
}

/* A child that sleeps, so that it has no sample, and then a child of it. */
static void fork_twice_when_told(void)
{
	while (!__atomic_load_n(go, __ATOMIC_ACQUIRE))
		;
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fork())
		pause();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* The copy of a copy serves until user space has written an entry, which counts before it. */
static void what_user_space_wrote_counts_before_a_copy(void **state)
{
	const __u64 ips[] = {IP(leaf_pushed), IP(middle_return), IP(outer_return),
			     IP(top_return)};
	const struct lb_unwind_process gone = {.generation = 98, .stamp = STAMP};
	const struct lb_unwind_request *request;
	struct fixture *f = *state;
	struct lb_image other;

	go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(go != MAP_FAILED);
	start(f, top, fork_twice_when_told, 0);
	write_tables(f);
	write_process(f, 99, 0, 0, 0);
	__atomic_store_n(go, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 20 && !f->seen.nr_of_other; i++)
		look(f);
	expect(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
	assert_true(f->seen.nr_of_other > 0);
	assert_null(find_request(f, LB_REQUEST_PROCESS));
	other = f->seen.other;
	assert_int_equal(kmap_update(f->maps.processes_fd, &other, &gone), 0);
	++f->maps.image_changes[other.tgid % LB_IMAGE_CHANGES];
	kill(f->pid, SIGSTOP); /* only the other one is sampled */
	assert_int_equal(waitpid(f->pid, NULL, WUNTRACED), f->pid);
	look(f);
	request = find_request(f, LB_REQUEST_PROCESS);
	assert_non_null(request);
	assert_int_equal(request->image.tgid, other.tgid);
	munmap(go, 4096);
}

/* ---- Python ---- */

struct py_frame {
	uint64_t previous, code, ip;
	uint8_t owner, pad[7];
};

struct py_cframe {
	uint64_t frame, previous;
};

struct py_code {
	uint64_t refs, type, size, file, name, table;
	uint32_t first_line, pad;
	uint16_t code[100];
};

struct py_str {
	uint64_t length;
	uint32_t state, pad;
	union {
		char ascii[48];
		uint16_t wide[24];
	} data;
};

struct py_bytes {
	uint64_t refs, type, size;
	uint8_t data[40];
};

/* The state bits of a str that is compact and ASCII, or has two bytes a character. */
#define ASCII    (1 << 2 | 1 << 5 | 1 << 6)
#define WIDE     (2 << 8 | 1 << 11 | 3)
#define NR_CALLS 1000

static struct py_str file_str = {10, ASCII, 0, {"/x/file.py"}};
static struct py_str name_strs[2] = {{5, ASCII, 0, {"outer"}},
				     {3, WIDE, 0, {.wide = {0xe9, 0x20ac, 'z'}}}};
static struct py_bytes table = {.size = 5, .data = "12345"};
static struct py_code py_codes[2];
static struct py_frame frames[NR_CALLS];
static struct py_cframe root_cframe;
static struct {
	uint64_t frame, cframe;
} py_state;
static __thread uint64_t py_state_addr;
static uint64_t list_state_addr;
static char long_name[LB_INTERP_TEXT_BYTES + 8];

#define KIND 5 /* the runtime's kind, part of each frame's value */

static const struct lb_interp py_layout = {
	.kind = KIND,
	.version = 0x030d,
	.ts_frame = 0,
	.ts_cframe = 8,
	.cframe_frame = offsetof(struct py_cframe, frame),
	.cframe_previous = offsetof(struct py_cframe, previous),
	.frame_code = offsetof(struct py_frame, code),
	.frame_previous = offsetof(struct py_frame, previous),
	.frame_ip = offsetof(struct py_frame, ip),
	.frame_owner = offsetof(struct py_frame, owner),
	.owner_entry = 3,
	.owner_shim = 3,
	.code_tag_mask = 1,
	.frame_bytes = sizeof(struct py_frame),
	.code_bytecode = offsetof(struct py_code, code),
	.code_filename = offsetof(struct py_code, file),
	.code_qualname = offsetof(struct py_code, name),
	.code_linetable = offsetof(struct py_code, table),
	.code_firstlineno = offsetof(struct py_code, first_line),
	.code_identity = {offsetof(struct py_code, type), offsetof(struct py_code, name)},
	.str_length = offsetof(struct py_str, length),
	.str_state = offsetof(struct py_str, state),
	.str_ascii = offsetof(struct py_str, data),
	.str_wide = offsetof(struct py_str, data),
	.bytes_size = offsetof(struct py_bytes, size),
	.bytes_data = offsetof(struct py_bytes, data),
	.code_bytes = offsetof(struct py_code, code),
};

/* Addresses in the C frames of outer and middle. */
#define IN_OUTER  (STACK_TOP - 56)
#define IN_MIDDLE (STACK_TOP - 136)

static uint64_t at(const void *p)
{
	return (uintptr_t)p;
}

/* frames[i] runs code i % 2 at instruction 10 + i; its caller is frames[i + 1]. */
static void make_frames(void)
{
	for (size_t i = 0; i < 2; i++) {
		py_codes[i] = (struct py_code){.type = 0x1234,
					       .size = 100,
					       .file = at(&file_str),
					       .name = at(&name_strs[i]),
					       .table = at(&table),
					       .first_line = (uint32_t)i + 7};
	}
	for (size_t i = 0; i < NR_CALLS; i++) {
		frames[i] =
			(struct py_frame){.code = at(&py_codes[i % 2]) | 1,
					  .ip = at(&py_codes[i % 2].code[10 + i % 10])};
		if (i + 1 < NR_CALLS)
			frames[i].previous = at(&frames[i + 1]);
	}
	py_state_addr = at(&py_state);
	py_state.frame = at(&frames[0]);
}

/* middle evaluates frames[0] and [1], outer evaluates [2]. */
static void make_shims(void)
{
	struct py_frame *shim = (struct py_frame *)IN_MIDDLE;

	make_frames();
	frames[1].previous = at(shim);
	*shim = (struct py_frame){.previous = at(&frames[2]), .owner = 3};
	shim = (struct py_frame *)IN_OUTER;
	frames[2].previous = at(shim);
	*shim = (struct py_frame){.owner = 4};
}

static void make_cframes(void)
{
	struct py_cframe *middles = (struct py_cframe *)IN_MIDDLE;
	struct py_cframe *outers = (struct py_cframe *)IN_OUTER;

	make_frames();
	frames[1].owner = frames[2].owner = 3;
	py_state.frame = at(middles);
	*middles = (struct py_cframe){at(&frames[0]), at(outers)};
	*outers = (struct py_cframe){at(&frames[2]), at(&root_cframe)};
}

/* The same, with entry frames that are not Python functions. */
static void make_entries(void)
{
	make_cframes();
	frames[1].owner = frames[2].owner = 0;
	frames[1].previous = at(&frames[10]);
	frames[10] = (struct py_frame){.owner = 3, .previous = at(&frames[2])};
	frames[2].previous = at(&frames[11]);
	frames[11] = (struct py_frame){.owner = 3};
}

static void make_objects(void)
{
	make_frames();
	((struct py_cframe *)IN_MIDDLE)->previous = IN_OUTER;
	((struct py_cframe *)IN_OUTER)->previous = at(&root_cframe);
	py_state.cframe = IN_MIDDLE;
	frames[0].ip = 10;
	frames[1].ip = 11;
	frames[1].previous = 0;
}

/* leaf leaves frames[0], whose CFrame is dropped already. */
static void make_left(void)
{
	make_objects();
	frames[0].owner = 1;
	frames[1].previous = at(&frames[2]);
	frames[2].ip = 12;
	frames[2].previous = 0;
}

/*
 * Each frame lies in the C frame that evaluates it. Names are C strings. The program
 * writes them so that their pages are present: the kernel reads without page faults.
 */
static void make_list(void)
{
	static char file_text[16], name_text[16];

	struct py_frame *inner = (struct py_frame *)IN_MIDDLE;
	struct py_frame *outermost = (struct py_frame *)IN_OUTER;

	make_frames();
	strcpy(file_text, "/x/file.toy");
	strcpy(name_text, "outer");
	for (size_t i = 0; i < 2; i++) {
		py_codes[i].file = at(file_text);
		py_codes[i].name = at(i ? long_name : name_text);
	}
	*inner = (struct py_frame){at(outermost), at(&py_codes[0]), 10, 0, {0}};
	*outermost = (struct py_frame){0, at(&py_codes[1]), 11, 0, {0}};
	py_state.frame = at(inner);
	list_state_addr = at(&py_state);
}

static void start_python(struct fixture *f, void (*prepare)(void),
			 const struct lb_interp *layout)
{
	const uint32_t index = 5;
	uint64_t fs = 0;

	start(f, top, prepare, 0);
	write_tables(f);
	assert_int_equal(kmap_update(f->maps.interps_fd, &index, layout), 0);
	syscall(SYS_arch_prctl, ARCH_GET_FS, &fs);
	write_process(f, 99, 0, index + 1, (int32_t)(at(&py_state_addr) - fs));
}

/* Python frames are compared by code number and instruction. */
#define PY(code, index) (LB_FRAME_TAG | (code) << 20 | (index))

static uint64_t code_id(const struct fixture *f, uint64_t code)
{
	for (size_t i = 0; i < f->nr_codes; i++)
		if (f->codes[i].code_addr == at(&py_codes[code]))
			return f->codes[i].code_id;
	return 0;
}

static void expect_python(struct fixture *f, enum lb_stack_status status,
			  const __u64 *ips, size_t nr)
{
	__u64 real[16];

	assert_int_equal(f->nr_codes, 2); /* each code is announced once */
	for (size_t i = 0; i < nr; i++) {
		uint64_t id = ips[i] & LB_FRAME_TAG ? code_id(f, LB_FRAME_ID(ips[i])) : 0;

		real[i] = id ? LB_FRAME_OF(KIND, id, LB_FRAME_INDEX(ips[i])) : ips[i];
	}
	expect(f, status, real, nr);
}

static void python_frames_have_their_places(void **state)
{
	const __u64 runs[] = {IP(leaf_pushed), IP(middle_return), PY(0ULL, 10ULL),
			      PY(1ULL, 11ULL), IP(outer_return),  PY(0ULL, 12ULL),
			      IP(top_return)};
	const __u64 single[] = {IP(leaf_pushed),  IP(middle_return), PY(0ULL, 10ULL),
				IP(outer_return), PY(1ULL, 11ULL),   IP(top_return)};
	struct {
		enum lb_interp_link link;
		bool entry_has_code;
		void (*prepare)(void);
	} kinds[] = {{LB_LINK_SHIM, false, make_shims},
		     {LB_LINK_CFRAME, true, make_cframes},
		     {LB_LINK_CFRAME, false, make_entries},
		     {LB_LINK_OBJECT, false, make_objects},
		     {LB_LINK_LIST, false, make_list},
		     {LB_LINK_EVAL, false, make_objects}};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		bool is_list = kinds[i].prepare == make_list;
		bool is_single = kinds[i].prepare == make_objects || is_list;
		struct lb_interp layout = py_layout;

		layout.link = kinds[i].link;
		layout.entry_has_code = kinds[i].entry_has_code;
		layout.ip_is_index = is_single;
		if (is_list) {
			layout.state_off = at(&list_state_addr);
			layout.text = LB_TEXT_C;
		}
		if (layout.link == LB_LINK_EVAL) {
			layout.eval_lo = IP(middle);
			layout.eval_hi = IP(top);
		}
		f->nr_codes = 0;
		start_python(f, kinds[i].prepare, &layout);
		look(f);
		expect_python(f, LB_STACK_COMPLETE, is_single ? single : runs,
			      is_single ? ARRAY_SIZE(single) : ARRAY_SIZE(runs));
		assert_int_equal(f->seen.nr_requests, 0);
		end_child(f);
		sampler_free(take_ptr(f->sampler));
	}
}

/* A fork's copy of an entry has the number of a layout that another one has replaced. */
static void a_layout_that_was_given_back_is_not_used(void **state)
{
	const __u64 ips[] = {IP(leaf_pushed), IP(middle_return), IP(outer_return),
			     IP(top_return)};
	struct lb_interp layout = py_layout;
	struct fixture *f = *state;

	layout.link = LB_LINK_SHIM;
	layout.use = 1;
	start_python(f, make_shims, &layout);
	look(f);
	assert_int_equal(f->nr_codes, 0);
	expect(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
}

static void a_frame_outlives_its_cframe(void **state)
{
	const __u64 ips[] = {IP(leaf_pushed), PY(0ULL, 10ULL),  IP(middle_return),
			     PY(1ULL, 11ULL), IP(outer_return), PY(0ULL, 12ULL),
			     IP(top_return)};
	struct lb_interp layout = py_layout;
	struct fixture *f = *state;

	layout.link = LB_LINK_OBJECT;
	layout.ip_is_index = 1;
	start_python(f, make_left, &layout);
	look(f);
	expect_python(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
}

/*
 * middle is being entered: its CFrame is linked, but has what was on the C stack instead of
 * a frame.
 */
static uint64_t not_yet_a_frame;

static void make_entered(void)
{
	make_cframes();
	((struct py_cframe *)IN_MIDDLE)->frame = not_yet_a_frame;
	/* An entry frame of an earlier call. */
	frames[20].owner = 3;
	frames[20].previous = at(&frames[30]);
	/* This one led to a frame that is in use again. */
	frames[21].previous = at(&frames[2]);
	/* These have no end. */
	frames[22].previous = at(&frames[23]);
	frames[23].previous = at(&frames[22]);
	frames[24].previous = 8;
}

static void a_frame_that_is_not_entered_yet_is_none(void **state)
{
	const uint64_t words[] = {0,
				  8,
				  UINT64_C(0xffffffff81000000),
				  at(&frames[20]),
				  at(&frames[21]),
				  at(&frames[22]),
				  at(&frames[24]),
				  at(&file_str)};
	struct lb_interp layout = py_layout;
	struct fixture *f = *state;

	layout.link = LB_LINK_CFRAME;
	layout.entry_has_code = true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		__u64 ips[] = {IP(leaf_pushed), IP(middle_return), IP(outer_return), 0,
			       IP(top_return)};

		not_yet_a_frame = words[i];
		f->nr_codes = 0;
		start_python(f, make_entered, &layout);
		look(f);
		ips[3] = LB_FRAME_OF(KIND, code_id(f, 0), 12);
		expect(f, LB_STACK_COMPLETE, ips, ARRAY_SIZE(ips));
		end_child(f);
		sampler_free(take_ptr(f->sampler));
	}
}

static void code_objects_come_with_their_names(void **state)
{
	struct lb_interp layout = py_layout;
	struct fixture *f = *state;

	layout.link = LB_LINK_SHIM;
	start_python(f, make_shims, &layout);
	look(f);
	assert_int_equal(f->nr_codes, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct lb_interp_code *code = &f->codes[i];
		size_t nr = code->code_addr == at(&py_codes[1]);

		assert_memory_equal(&code->image, &f->image, sizeof(f->image));
		assert_int_equal(code->version, 0x030d);
		assert_int_equal(code->first_line, 7 + nr);
		assert_int_equal(code->file_chars, 10);
		assert_int_equal(code->file_width, 1);
		assert_memory_equal(code->file, "/x/file.py", 10);
		assert_int_equal(code->name_chars, nr ? 3 : 5);
		assert_int_equal(code->name_width, nr ? 2 : 1);
		assert_memory_equal(code->name, &name_strs[nr].data, nr ? 6 : 5);
		assert_int_equal(code->table_addr, at(&table));
		assert_int_equal(code->table_bytes, 5);
		assert_int_equal(code->table_copied, 5);
		assert_memory_equal(code->table, "12345", 5);
	}
}

static void names_may_be_c_strings(void **state)
{
	struct lb_interp layout = py_layout;
	struct fixture *f = *state;

	layout.link = LB_LINK_LIST;
	layout.text = LB_TEXT_C;
	layout.state_off = at(&list_state_addr);
	layout.ip_is_index = 1;
	memset(long_name, 'n', sizeof(long_name) - 1);
	start_python(f, make_list, &layout);
	look(f);
	assert_int_equal(f->nr_codes, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct lb_interp_code *code = &f->codes[i];
		bool is_long = code->code_addr == at(&py_codes[1]);

		assert_int_equal(code->file_chars, 11);
		assert_int_equal(code->file_width, 1);
		assert_memory_equal(code->file, "/x/file.toy", 11);
		assert_int_equal(code->name_chars, is_long ? LB_INTERP_NOT_READ : 5);
		assert_memory_equal(code->name, is_long ? long_name : "outer",
				    is_long ? LB_INTERP_TEXT_BYTES - 1 : 5);
		assert_int_equal(code->table_bytes, 0);
		assert_int_equal(code->table_copied, 0);
	}
}

static void huge_names(void)
{
	make_shims();
	file_str.length = 1ULL << 60; /* copied up to the limit */
	name_strs[0].length = 0;
	name_strs[1].state = 0; /* not compact */
	table.size = 1ULL << 60;
	py_codes[0].table = 8; /* not mapped */
}

static void names_that_lie_are_bounded(void **state)
{
	struct lb_interp layout = py_layout;
	struct fixture *f = *state;

	layout.link = LB_LINK_SHIM;
	start_python(f, huge_names, &layout);
	look(f);
	assert_int_equal(f->nr_codes, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct lb_interp_code *code = &f->codes[i];
		size_t nr = code->code_addr == at(&py_codes[1]);

		assert_int_equal(code->file_chars, UINT32_MAX);
		assert_memory_equal(code->file, &file_str.data, 48);
		assert_int_equal(code->name_chars, 0);
		/* Unreadable, too: one table is unmapped, the other too long. */
		assert_int_equal(code->table_bytes, LB_INTERP_NOT_READ);
		assert_int_equal(code->table_copied, nr ? LB_INTERP_TABLE_BYTES : 0);
	}
}

/* Without tables for the rest, the Python frames follow the last native frame. */
static void python_frames_follow_a_walk_that_ends(void **state)
{
	const struct lb_unwind_row rows[] = {{0, SP_8}, {AT(middle), UNSUPPORTED}};
	const __u64 ips[] = {IP(leaf_pushed), IP(middle_return), PY(0ULL, 10ULL),
			     PY(1ULL, 11ULL), PY(0ULL, 12ULL)};
	struct lb_interp layout = py_layout;
	struct fixture *f = *state;

	layout.link = LB_LINK_SHIM;
	start_python(f, make_shims, &layout);
	write_page(f, rows, ARRAY_SIZE(rows));
	look(f);
	expect_python(f, LB_STACK_UNSUPPORTED, ips, ARRAY_SIZE(ips));
}

static void make_stale(void)
{
	make_shims();
	/* The inner run is anchored at an address that belongs to no C frame. */
	frames[1].previous = at(&stacks[0][0]);
	memcpy(&stacks[0][0], (void *)IN_MIDDLE, sizeof(struct py_frame));
	/* The frame has not begun: it is before its first instruction. */
	frames[2].ip = at(&py_codes[0].code[0]) - 2;
}

static void a_run_without_its_place_is_dropped(void **state)
{
	const __u64 ips[] = {IP(leaf_pushed), IP(middle_return), IP(outer_return),
			     PY(0ULL, LB_FRAME_INDEX_UNKNOWN), IP(top_return)};
	struct lb_interp layout = py_layout;
	struct sampler_totals totals;
	struct fixture *f = *state;

	layout.link = LB_LINK_SHIM;
	start_python(f, make_stale, &layout);
	look(f);
	expect_python(f, LB_STACK_BAD_CFA, ips, ARRAY_SIZE(ips));
	sampler_totals(f->sampler, &totals);
	assert_true(totals.ctr.n[LB_CTR_PYTHON_STALE] >= f->seen.nr_in_all);
}

static void make_loop(void)
{
	make_shims();
	frames[1].previous = at(&frames[0]);
}

static void make_gap(void)
{
	make_shims();
	frames[1].previous = 16;
}

static void make_recursion(void)
{
	make_shims();
	frames[1].previous = at(&frames[2]);
	frames[2].previous = at(&frames[3]);
	frames[NR_CALLS - 1].previous = IN_MIDDLE;
	((struct py_frame *)IN_MIDDLE)->previous = 0;
}

static void lists_that_lie_are_bounded(void **state)
{
	const __u64 gap[] = {IP(leaf_pushed), IP(middle_return), IP(outer_return),
			     IP(top_return),  PY(0ULL, 10ULL),   PY(1ULL, 11ULL)};
	const __u64 loop[] = {IP(leaf_pushed), IP(middle_return), IP(outer_return),
			      IP(top_return),  PY(0ULL, 10ULL),   PY(1ULL, 11ULL),
			      PY(0ULL, 10ULL)};
	void (*prepares[])(void) = {make_loop, make_gap, make_recursion};
	struct lb_interp layout = py_layout;
	struct fixture *f = *state;

	layout.link = LB_LINK_SHIM;
	for (size_t i = 0; i < ARRAY_SIZE(prepares); i++) {
		struct sampler_totals totals;

		f->nr_codes = 0;
		start_python(f, prepares[i], &layout);
		look(f);
		sampler_totals(f->sampler, &totals);
		if (prepares[i] == make_gap) {
			expect_python(f, LB_STACK_BAD_CFA, gap, ARRAY_SIZE(gap));
		} else if (prepares[i] == make_loop) {
			expect_python(f, LB_STACK_BAD_CFA, loop, ARRAY_SIZE(loop));
		} else {
			assert_int_equal(f->seen.most->sample.status, LB_STACK_TRUNCATED);
			assert_int_equal(f->seen.most->sample.nr_user, LB_MAX_FRAMES);
		}
		/* Deep recursion is no broken list: its frames are in their place. */
		if (prepares[i] == make_recursion) {
			assert_int_equal(f->seen.most->ips[1], IP(middle_return));
			assert_int_equal(f->seen.most->ips[2],
					 LB_FRAME_OF(KIND, code_id(f, 0), 10));
			assert_int_equal(totals.ctr.n[LB_CTR_PYTHON_FAULT], 0);
		} else {
			assert_true(totals.ctr.n[LB_CTR_PYTHON_FAULT] >=
				    f->seen.nr_in_all);
		}
		end_child(f);
		sampler_free(take_ptr(f->sampler));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_lead_to_the_outermost_frame, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(neighbours_are_cached_together, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_cached_rule_does_not_read_its_page,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_unknown_process_is_asked_for, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_missing_is_asked_for, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_is_known_needs_no_segments,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_changed_is_not_known, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(an_awaited_interpreter_is_missing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(data_of_a_known_file_is_no_code, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(damaged_stacks_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_register_counts_at_the_leaf, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			the_stack_pointer_of_the_entry_may_be_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(derived_rules_are_marked, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(frame_pointers_are_guesses, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(frame_pointers_where_there_are_no_rows,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_list_is_asked_for_what_is_not_known,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(deep_stacks_are_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(signal_frames_are_passed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_stack_may_begin_with_0, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_signal_at_0_is_no_begin, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			what_user_space_wrote_counts_before_a_copy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			children_are_known_from_their_first_sample, set_up, tear_down),
		cmocka_unit_test_setup_teardown(python_frames_have_their_places, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(code_objects_come_with_their_names,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_may_be_c_strings, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(names_that_lie_are_bounded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_layout_that_was_given_back_is_not_used,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_frame_that_is_not_entered_yet_is_none,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_frame_outlives_its_cframe, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(python_frames_follow_a_walk_that_ends,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_without_its_place_is_dropped,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(lists_that_lie_are_bounded, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
