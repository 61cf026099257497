// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of all kinds, in which a real decoder must find call frame information. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/rows.h"
#include "unwind/ask.h"
#include "lib/scratch.h"

static char dir[64];
static struct worker *decoder;

static int set_up(void **state)
{
	const struct worker_config config = {.kind = WORKER_DECODER};

	(void)state;
	scratch_make(dir, 0700);
	return worker_new(&config, &decoder, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	worker_free(decoder);
	scratch_remove(dir);
	return 0;
}

/* ---- files ---- */

/* Functions of 32 bytes: CFA = SP + 8 for 8 bytes, then SP + 16. "more": more rules. */
static const char many_functions[] =
	".text\n.globl first\nfirst:\n"
	".rept %d\n"
	".cfi_startproc\n.nops 8\n.cfi_def_cfa_offset 16\nmore\n.nops 24\n.cfi_endproc\n"
	".endr\n";

#define NOTHING_MORE ".macro more\n.endm\n"
#define ARGS_SIZE_8  "0x2e,1,0x2e,1,0x2e,1,0x2e,1,0x2e,1,0x2e,1,0x2e,1,0x2e,1"
#define ARGS_SIZE_40 \
	ARGS_SIZE_8 "," ARGS_SIZE_8 "," ARGS_SIZE_8 "," ARGS_SIZE_8 "," ARGS_SIZE_8
#define PADDED                                                                     \
	".macro more\n.cfi_escape " ARGS_SIZE_40 "," ARGS_SIZE_40 "," ARGS_SIZE_40 \
	"," ARGS_SIZE_40 "\n.endm\n"

/* Builds dir/name with @nr functions and gcc's @flags. Return: a descriptor. */
static int build(const char *name, unsigned int nr, const char *before, const char *flags)
{
	char path[128], command[512];
	int fd;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(*before ? before : NOTHING_MORE, f);
	fprintf(f, many_functions, nr);
	fclose(f);
	snprintf(command, sizeof(command),
		 "gcc -shared -nostdlib -o %s/%s %s %s && rm %s", dir, name, flags, path,
		 path);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* As tools that shrink files do. */
static void strip_section_headers(int fd)
{
	Elf64_Ehdr eh;

	assert_int_equal(pread(fd, &eh, sizeof(eh), 0), sizeof(eh));
	eh.e_shoff = 0;
	eh.e_shnum = eh.e_shstrndx = 0;
	assert_int_equal(pwrite(fd, &eh, sizeof(eh), 0), sizeof(eh));
}

static Elf64_Phdr program_header(int fd, uint32_t type, uint32_t flags)
{
	Elf64_Phdr ph = {0};
	Elf64_Ehdr eh;

	assert_int_equal(pread(fd, &eh, sizeof(eh), 0), sizeof(eh));
	for (size_t i = 0; i < eh.e_phnum; i++) {
		assert_int_equal(
			pread(fd, &ph, sizeof(ph), (off_t)(eh.e_phoff + i * sizeof(ph))),
			sizeof(ph));
		if (ph.p_type == type && (ph.p_flags & flags) == flags)
			return ph;
	}
	fail_msg("no such program header");
	return ph;
}

/* File offset of the text segment. */
static uint64_t text_off(int fd)
{
	return program_header(fd, PT_LOAD, PF_X).p_offset;
}

/* ---- answers ---- */

static struct row_pages ask(int fd, const struct asked_page *pages, size_t nr)
{
	struct row_pages p;

	assert_int_equal(rows_of_file(decoder, fd, pages, nr, &p), WORKER_OK);
	return p;
}

static struct row_pages ask_one(int fd, uint64_t page)
{
	return ask(fd, &(struct asked_page){page, true}, 1);
}

/* The rule at an address of the object; NULL: its page is missing. */
static const struct lb_unwind_rule *rule_at(const struct row_pages *p, uint64_t at)
{
	for (size_t i = 0; i < p->nr_pages; i++) {
		const struct row_page *page = &p->pages[i];
		uint32_t k = 0;

		if (page->page != at >> 16)
			continue;
		while (k + 1 < page->nr_rows && page->rows[k + 1].pc_low <= (at & 0xffff))
			k++;
		return &p->rules[page->rows[k].rule];
	}
	return NULL;
}

/* Checks the rows of the @i-th function. */
static void assert_function(const struct row_pages *p, uint64_t text, unsigned int i)
{
	static const struct {
		unsigned int at;
		int32_t cfa_off;
	} places[] = {{0, 8}, {7, 8}, {8, 16}, {31, 16}};

	for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
		const struct lb_unwind_rule *rule =
			rule_at(p, text + (uint64_t)i * 32 + places[k].at);

		assert_non_null(rule);
		assert_int_equal(rule->cfa, LB_CFA_SP);
		assert_int_equal(rule->cfa_off, places[k].cfa_off);
	}
}

static bool is_empty(const struct row_pages *p, uint64_t at)
{
	const struct lb_unwind_rule *rule = rule_at(p, at);

	return !rule || rule->cfa == LB_CFA_NONE;
}

/* ---- small files: all pages are answered at once ---- */

static void assert_small(int fd, unsigned int nr)
{
	uint64_t text = text_off(fd);
	struct row_pages p = ask_one(fd, 0);

	assert_true(p.whole);
	for (unsigned int i = 0; i < nr; i++)
		assert_function(&p, text, i);
	assert_true(is_empty(&p, text + (uint64_t)nr * 32));
	assert_true(is_empty(&p, text - 1));
	row_pages_deinit(&p);
}

static void test_small(void **state)
{
	_cleanup_close_ int fd = build("small", 5000, "", "");

	(void)state;
	assert_small(fd, 5000);
	strip_section_headers(fd);
	assert_small(fd, 5000);
}

/* No index, as when a linker could not make one. */
static void test_no_index(void **state)
{
	_cleanup_close_ int fd = build("no-index", 100, "", "-Wl,--no-eh-frame-hdr");

	(void)state;
	assert_small(fd, 100);
}

/* An index header without a table, and no section headers: a 0 ends the frames. */
static void test_header_only(void **state)
{
	_cleanup_close_ int fd = build("header", 100, "", "");
	Elf64_Phdr ph = program_header(fd, PT_GNU_EH_FRAME, 0);
	const uint8_t none[] = {1, 0x1b, 0xff, 0xff};

	(void)state;
	strip_section_headers(fd);
	assert_int_equal(pwrite(fd, none, sizeof(none), (off_t)ph.p_offset), 4);
	assert_small(fd, 100);
}

static void test_debug_frame(void **state)
{
	static const char only[] = NOTHING_MORE ".cfi_sections .debug_frame\n";
	_cleanup_close_ int plain = build("plain", 500, only, "");
	_cleanup_close_ int zlib =
		build("zlib", 500, only, "-Wl,--compress-debug-sections=zlib");
	_cleanup_close_ int gnu =
		build("gnu", 500, only, "-Wl,--compress-debug-sections=zlib-gnu");

	(void)state;
	assert_small(plain, 500);
	assert_small(zlib, 500);
	assert_small(gnu, 500);
}

/* The text's address differs from its file offset. */
static void test_bias(void **state)
{
	_cleanup_close_ int fd = build(
		"bias", 3000, "", "-Wl,-Ttext-segment=0x7654000 -Wl,-z,noseparate-code");
	Elf64_Phdr ph = program_header(fd, PT_LOAD, PF_X);
	struct row_pages p = ask_one(fd, 0);
	const struct lb_unwind_rule *rule = NULL;
	uint64_t at = 0;

	(void)state;
	assert_int_equal(ph.p_offset, 0); /* headers and text in one segment */
	while (!rule || rule->cfa == LB_CFA_NONE)
		rule = rule_at(&p, ++at);
	for (unsigned int i = 0; i < 3000; i++)
		assert_function(&p, at, i);
	row_pages_deinit(&p);
}

/* Go's frames are only used without a frame pointer; for others it is better. */
static void test_go(void **state)
{
	_cleanup_close_ int fd =
		build("go", 200,
		      NOTHING_MORE
		      ".cfi_sections .debug_frame\n.section .gopclntab,\"a\"\n.byte 1\n",
		      "");
	uint64_t text = text_off(fd);
	struct row_pages p = ask_one(fd, 0);

	(void)state;
	for (unsigned int i = 0; i < 200; i++) {
		const struct lb_unwind_rule *rule =
			rule_at(&p, text + (uint64_t)i * 32 + 7);

		assert_non_null(rule);
		assert_int_equal(rule->cfa, LB_CFA_SP);
		assert_int_equal(rule->cfa_off, 8);
		assert_int_equal(rule->fp, LB_FP_SAME);
		assert_true(is_empty(&p, text + (uint64_t)i * 32 + 8));
		assert_true(is_empty(&p, text + (uint64_t)i * 32 + 31));
	}
	row_pages_deinit(&p);
}

/* clone: 8 bytes of the caller, 8 of the new thread; rt0_go: 16; cloned: 16. */
static const char go_starts[] = NOTHING_MORE
	".cfi_sections .debug_frame\n.section .gopclntab,\"a\"\n.byte 1\n"
	".macro function name\n.type \\name,@function\n\\name:\n.cfi_startproc\n"
	".nops 5\nmov %rsi,%rsp\n.nops 8\n.cfi_endproc\n.size \\name,.-\\name\n.endm\n"
	".section .text.starts,\"ax\"\n"
	"function runtime.clone.abi0\nfunction runtime.rt0_go\nfunction runtime.cloned\n";

/* The first function of a Go thread has no caller. */
static void test_go_starts(void **state)
{
	_cleanup_close_ int fd = build("starts", 200, go_starts, "");
	uint64_t starts = text_off(fd) + 200 * 32;
	struct row_pages p = ask_one(fd, 0);

	(void)state;
	for (unsigned int at = 0; at < 48; at++) {
		const struct lb_unwind_rule *rule = rule_at(&p, starts + at);

		assert_non_null(rule);
		assert_int_equal(rule->cfa, at < 8 || at >= 32 ? LB_CFA_SP : LB_CFA_END);
	}
	assert_true(is_empty(&p, starts + 48));
	row_pages_deinit(&p);
}

/* ---- big files: only the requested pages are answered ---- */

#define NR_BIG 60000 /* 1.9 MB of text, 1.4 MB of .eh_frame */

static void assert_big(int fd)
{
	uint64_t text = text_off(fd), last = (text + (uint64_t)NR_BIG * 32 - 1) >> 16;
	const struct asked_page pages[] = {{9, true},    {last + 1, true},   {3, false},
					   {4, true},    {UINT64_MAX, true}, {3, true},
					   {last, false}};
	struct row_pages p = ask(fd, pages, ARRAY_SIZE(pages));

	assert_false(p.whole);
	assert_int_equal(p.nr_pages, 4);
	for (unsigned int i = 0; i < NR_BIG; i++) {
		uint64_t page = (text + (uint64_t)i * 32) >> 16;

		if (page == 3 || page == 4 || page == 9 || page == last)
			assert_function(&p, text, i);
		else
			assert_null(rule_at(&p, text + (uint64_t)i * 32));
	}
	row_pages_deinit(&p);
	p = ask_one(fd, last + 5);
	assert_int_equal(p.nr_pages, 0);
	row_pages_deinit(&p);
}

static void test_big(void **state)
{
	_cleanup_close_ int fd = build("big", NR_BIG, "", "");

	(void)state;
	assert_big(fd);
	strip_section_headers(fd);
	assert_big(fd);
}

/* Without an index a page costs as much as all: more pages are answered. */
static void test_big_without_index(void **state)
{
	_cleanup_close_ int fd = build("unsorted", NR_BIG, "", "-Wl,--no-eh-frame-hdr");
	_cleanup_close_ int bigger =
		build("bigger", NR_BIG / 2, PADDED, "-Wl,--no-eh-frame-hdr");
	uint64_t text = text_off(bigger);
	struct row_pages p;

	(void)state;
	p = ask_one(fd, 0);
	assert_true(p.whole);
	assert_function(&p, text_off(fd), 0);
	assert_function(&p, text_off(fd), NR_BIG - 1);
	row_pages_deinit(&p);
	p = ask_one(bigger, 9);
	assert_false(p.whole);
	assert_int_equal(p.nr_pages, 1);
	assert_function(&p, text, (unsigned int)(((9u << 16) - text) / 32 + 1));
	row_pages_deinit(&p);
}

#define NR_PADDED 6752 /* 0.2 MB of text, 1.2 MB of .eh_frame */

/* Three functions of 40,000 bytes without call frame information, after the others. */
static const char bare_functions[] = PADDED
	".section .text.bare,\"ax\"\n"
	".irp n,1,2,3\n.type bare\\n,@function\nbare\\n:\npush %rbx\n"
	".fill 39998,1,0x90\nret\n.size bare\\n,.-bare\\n\n.endr\n";

/* A page that nobody needs is not answered if some of its code has to be read for it. */
static void test_left_out(void **state)
{
	_cleanup_close_ int fd = build("bare", NR_PADDED, bare_functions, "");
	uint64_t bare = text_off(fd) + NR_PADDED * 32;
	uint64_t first = bare >> 16, end = (bare + 3 * 40000) >> 16;
	struct asked_page pages[] = {{first - 1, false}, {first, false}, {end, false}};
	struct row_pages p = ask(fd, pages, 3);

	(void)state;
	assert_int_equal(end, first + 2);
	assert_int_equal(p.nr_pages, 1);
	assert_int_equal(p.pages[0].page, first - 1);
	assert_int_equal(p.nr_left_out, 2);
	assert_true(page_is_left_out(&p, first) && page_is_left_out(&p, end));
	row_pages_deinit(&p);

	pages[2].is_needed = true;
	p = ask(fd, pages, 3);
	assert_int_equal(p.nr_pages, 2);
	assert_int_equal(p.pages[1].page, end);
	assert_int_equal(p.nr_left_out, 1);
	assert_int_equal(rule_at(&p, bare + 3 * 40000 - 1)->cfa_off, 16);
	row_pages_deinit(&p);

	/* The second function begins in a page that is left out because of the first. */
	pages[0].page = end + 1; /* not in the file */
	pages[2] = (struct asked_page){first + 1, true};
	p = ask(fd, pages, 3);
	assert_int_equal(p.nr_pages, 1);
	assert_int_equal(p.nr_left_out, 1);
	assert_null(rule_at(&p, bare + 40001));
	assert_int_equal(rule_at(&p, (first + 1) << 16)->cfa_off, 16);
	row_pages_deinit(&p);
}

/* A function without call frame information between two others, as small as they get. */
static void test_smallest_gap(void **state)
{
	_cleanup_close_ int fd =
		build("gap", NR_PADDED,
		      PADDED ".section .text.bare,\"ax\"\n.type bare,@function\n"
			     "bare:\npush %rbx\n.fill 14,1,0x90\nret\n.size bare,.-bare\n"
			     ".cfi_startproc\n.nops 32\n.cfi_endproc\n",
		      "");
	uint64_t bare = text_off(fd) + NR_PADDED * 32;
	struct row_pages p = ask_one(fd, bare >> 16);

	(void)state;
	assert_int_equal(rule_at(&p, bare)->cfa_off, 8);
	assert_int_equal(rule_at(&p, bare + 1)->cfa_off, 16);
	assert_int_equal(rule_at(&p, bare + 16)->cfa_off, 8);
	row_pages_deinit(&p);
}

/*
 * Returns from signals as in musl, which has no call frame information: with a symbol and
 * without; in a function that has a rule; and what only looks like one.
 */
static const char signal_returns[] = NOTHING_MORE
	".section .text.bare,\"ax\"\n"
	".type before,@function\nbefore:\nsub $8,%rsp\nud2\n.size before,.-before\n"
	"nop\n.type restore,@function\nrestore:\nmov $15,%rax\nsyscall\n"
	".size restore,.-restore\n"
	".balign 64\n.nops 64\nmov $15,%eax\nsyscall\n"
	".balign 64\n.nops 64\nmov $15,%ecx\nsyscall\n.nops 57\n"
	"mov $15,%r8d\nsyscall\n.nops 56\n"
	".balign 64\n.cfi_startproc\nnop\nmov $15,%eax\nsyscall\n.nops 56\n"
	".cfi_endproc\n";

static void assert_signal_return(const struct row_pages *p, uint64_t at, uint64_t len)
{
	static const struct lb_unwind_rule signal = {.cfa = LB_CFA_SIGNAL,
						     .fp = LB_FP_DERIVED};

	/* The walk looks up the byte before the address that a handler returns to. */
	for (uint64_t i = at - 1; i < at + len; i++)
		assert_memory_equal(rule_at(p, i), &signal, sizeof(signal));
	assert_int_not_equal(rule_at(p, at - 2)->cfa, LB_CFA_SIGNAL);
	assert_int_not_equal(rule_at(p, at + len)->cfa, LB_CFA_SIGNAL);
}

/* A handler returns to code that is known by what it does. */
static void test_signal_returns(void **state)
{
	_cleanup_close_ int fd = build("returns", 200, signal_returns, "");
	_cleanup_close_ int stripped = build("nameless", 200, signal_returns, "-s");
	uint64_t bare = text_off(fd) + 200 * 32;
	struct row_pages p = ask_one(fd, 0);

	(void)state;
	assert_int_equal(rule_at(&p, bare + 4)->cfa, LB_CFA_SP);
	assert_signal_return(&p, bare + 7, 9);
	assert_signal_return(&p, bare + 128, 7);
	assert_true(is_empty(&p, bare + 256));
	assert_true(is_empty(&p, bare + 320 + 2)); /* %r8d */
	assert_int_equal(rule_at(&p, bare + 384 + 1)->cfa, LB_CFA_SP);
	row_pages_deinit(&p);

	p = ask_one(stripped, 0);
	assert_signal_return(&p, text_off(stripped) + 200 * 32 + 7, 9);
	row_pages_deinit(&p);
}

/* Code that begins in one page and ends in the next, each of which is read alone. */
static void test_signal_return_of_two_pages(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 10; i++) {
		char before[4096];
		uint64_t first;
		struct row_pages p;
		int fd;

		snprintf(before, sizeof(before),
			 "%s.section .text.bare,\"ax\"\n.balign 0x10000\n.nops %u\n"
			 "mov $15,%%rax\nsyscall\n.nops 100\n",
			 PADDED, 0x10000 - i);
		fd = build("pages", NR_PADDED, before, "");
		first = text_off(fd) + NR_PADDED * 32;
		first = ((first + 0xffff) & ~UINT64_C(0xffff)) + 0x10000 - i;
		p = ask_one(fd, (first - 1) >> 16);
		assert_int_equal(rule_at(&p, first - 1)->cfa, LB_CFA_SIGNAL);
		row_pages_deinit(&p);
		p = ask_one(fd, (first + 8) >> 16);
		assert_int_equal(rule_at(&p, first + 8)->cfa, LB_CFA_SIGNAL);
		assert_true(is_empty(&p, first + 9));
		row_pages_deinit(&p);
		close(fd);
	}
}

/* ---- real files ---- */

static void test_libc(void **state)
{
	glob_t found;
	int fd, nr_signals = 0, nr_ends = 0;
	struct row_pages p;

	(void)state;
	assert_int_equal(glob("/lib/*/libc.so.6", 0, NULL, &found), 0);
	fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	globfree(&found);
	p = ask_one(fd, 0);
	close(fd);
	assert_true(p.whole);
	assert_true(p.nr_rows > 10000);
	for (size_t i = 0; i < p.nr_rows; i++) {
		nr_signals += p.rules[p.rows[i].rule].cfa == LB_CFA_SIGNAL;
		nr_ends += p.rules[p.rows[i].rule].cfa == LB_CFA_END;
	}
	assert_int_equal(nr_signals, 1); /* __restore_rt() */
	assert_true(nr_ends > 0); /* clone3() */
	row_pages_deinit(&p);
}

/* The vdso's image in memory has the layout of its file. */
static void test_vdso(void **state)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	_cleanup_close_ int fd = memfd_create("vdso", MFD_CLOEXEC);
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)image;
	struct row_pages p;
	size_t size;

	(void)state;
	if (!image) {
		print_message("skipped: this kernel maps no vdso\n");
		skip();
	}
	size = (eh->e_shoff + eh->e_shnum * sizeof(Elf64_Shdr) + 4095) & ~4095ul;
	assert_int_equal(write(fd, image, size), size);
	p = ask_one(fd, 0);
	assert_true(p.whole);
	assert_int_equal(p.nr_pages, 1);
	assert_true(p.nr_rows > 10);
	assert_true(p.nr_rules >= 3);
	row_pages_deinit(&p);
}

/* ---- invalid files ---- */

static void assert_nothing(int fd)
{
	struct row_pages p = ask_one(fd, 0);

	assert_true(p.whole);
	assert_int_equal(p.nr_pages, 0);
	row_pages_deinit(&p);
}

static void test_others(void **state)
{
	_cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int text = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int fd = build("other", 10, "", "");
	const uint16_t arm = EM_AARCH64, x86 = EM_X86_64;
	const uint8_t class32 = ELFCLASS32, class64 = ELFCLASS64;
	const off_t machine_at = offsetof(Elf64_Ehdr, e_machine);

	(void)state;
	assert_nothing(null);
	assert_nothing(text);
	assert_int_equal(pwrite(fd, &arm, 2, machine_at), 2);
	assert_nothing(fd);
	assert_int_equal(pwrite(fd, &x86, 2, machine_at), 2);
	assert_small(fd, 10);
	assert_int_equal(pwrite(fd, &class32, 1, EI_CLASS), 1);
	assert_nothing(fd);
	assert_int_equal(pwrite(fd, &class64, 1, EI_CLASS), 1);
	assert_int_equal(ftruncate(fd, 600), 0);
	assert_nothing(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_no_index),
		cmocka_unit_test(test_header_only),
		cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_bias),
		cmocka_unit_test(test_go),
		cmocka_unit_test(test_go_starts),
		cmocka_unit_test(test_big),
		cmocka_unit_test(test_big_without_index),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_smallest_gap),
		cmocka_unit_test(test_signal_returns),
		cmocka_unit_test(test_signal_return_of_two_pages),
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
