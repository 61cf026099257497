// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of JITs: built by gcc and given addresses as a JIT does; and Numba's, whose
 * relocated frames are compared with the memory of the running process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "decode/cfi/object.h"
#include "decode/jit/interface.h"
#include "process/file.h"
#include "lib/scratch.h"
#include "runtime/jit/list_walk.h"
#include "lib/rows.h"
#include "unwind/ask.h"

#define MAX_STEPS 1000000

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

/* ---- objects of gcc ---- */

/* A function of 32 bytes: CFA = SP + 8 for 8 bytes, then SP + @off. */
#define FUNCTION(off) \
	".cfi_startproc\n.nops 8\n.cfi_def_cfa_offset " off "\n.nops 24\n.cfi_endproc\n"

static const char two_texts[] = ".section .text.a,\"ax\"\n" FUNCTION("16")
	FUNCTION("24") ".section .text.b,\"ax\"\n" FUNCTION("32");

/* Assembles dir/o, then runs @then in dir. Return: a descriptor of dir/o. */
static int build(const char *source, const char *then)
{
	char path[128], command[1024];
	int fd;
	FILE *f;

	snprintf(path, sizeof(path), "%s/o.s", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(source, f);
	fclose(f);
	snprintf(command, sizeof(command), "cd %s && gcc -c -o o o.s && %s", dir, then);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/o", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

#define LOADED                                                     \
	"objcopy --change-section-address .text.a=0x7f0000001000 " \
	"--change-section-address .text.b=0x7f0000003000 "         \
	"--change-section-address .eh_frame=0x7f0000005000 o"

struct seen {
	struct jit_text texts[4];
	size_t pieces[4];
	size_t nr;
};

static void note(void *ctx, size_t piece, struct jit_text *text)
{
	struct seen *seen = ctx;

	assert_true(seen->nr < 4);
	seen->pieces[seen->nr] = piece;
	seen->texts[seen->nr++] = *text;
	text->pages = (struct row_pages){0};
}

static void forget(struct seen *seen)
{
	for (size_t i = 0; i < seen->nr; i++)
		row_pages_deinit(&seen->texts[i].pages);
	seen->nr = 0;
}

static struct seen ask(int fd)
{
	const struct jit_piece piece = {0, (uint64_t)lseek(fd, 0, SEEK_END)};
	struct seen seen = {0};

	assert_int_equal(rows_of_jit(decoder, fd, &piece, 1, note, &seen), WORKER_OK);
	return seen;
}

/* Compares the rows of the text's only page, each as "at cfa_off". */
static void assert_rows(const struct jit_text *text, const char *expected)
{
	const struct row_pages *p = &text->pages;
	char all[256] = "", line[64];

	assert_int_equal(p->nr_pages, 1);
	assert_int_equal(p->pages[0].page, 0);
	for (size_t i = 0; i < p->nr_rows; i++) {
		snprintf(line, sizeof(line), "%d %d\n", p->rows[i].pc_low,
			 p->rules[p->rows[i].rule].cfa_off);
		strcat(all, line);
	}
	assert_string_equal(all, expected);
}

static void test_object(void **state)
{
	_cleanup_close_ int fd = build(two_texts, LOADED);
	struct seen seen = ask(fd);

	(void)state;
	assert_int_equal(seen.nr, 2);
	assert_int_equal(seen.texts[0].start, 0x7f0000001000);
	assert_int_equal(seen.texts[0].end, 0x7f0000001040);
	assert_rows(&seen.texts[0], "0 8\n8 16\n32 8\n40 24\n64 0\n");
	assert_int_equal(seen.texts[1].start, 0x7f0000003000);
	assert_int_equal(seen.texts[1].end, 0x7f0000003020);
	assert_rows(&seen.texts[1], "0 8\n8 32\n32 0\n");
	forget(&seen);
}

/* Without relocations the base of its addresses is unknown: no rows. */
static void test_no_relocations(void **state)
{
	_cleanup_close_ int fd =
		build(two_texts, LOADED " && objcopy --remove-relocations=.eh_frame o");
	struct seen seen = ask(fd);

	(void)state;
	assert_int_equal(seen.nr, 2);
	assert_int_equal(seen.texts[0].pages.nr_pages, 0);
	assert_int_equal(seen.texts[1].pages.nr_pages, 0);
	forget(&seen);
}

/* A linked object needs no relocation. */
static void test_linked(void **state)
{
	_cleanup_close_ int fd = build(
		two_texts, "ld -e 0 -Ttext=0x7f0000001000 -o linked o && mv linked o");
	struct seen seen = ask(fd);

	(void)state;
	assert_int_equal(seen.nr, 1);
	assert_int_equal(seen.texts[0].start, 0x7f0000001000);
	assert_rows(&seen.texts[0], "0 8\n8 16\n32 8\n40 24\n64 8\n72 32\n96 0\n");
	forget(&seen);
}

/* Invalid pieces around a valid one. */
static void test_pieces(void **state)
{
	_cleanup_close_ int fd = build(two_texts, LOADED " && truncate -s 8192 o");
	const struct jit_piece pieces[] = {{1, 8191}, {8192, 1}, {UINT64_MAX, 2},
					   {0, 8192}, {0, 8193}, {0, 64},
					   {0, 0}};
	struct seen seen = {0};

	(void)state;
	assert_int_equal(
		rows_of_jit(decoder, fd, pieces, ARRAY_SIZE(pieces), note, &seen),
		WORKER_OK);
	assert_int_equal(seen.nr, 2);
	assert_int_equal(seen.pieces[0], 3);
	assert_int_equal(seen.pieces[1], 3);
	forget(&seen);
}

/* A function without call frame information: rows come from its code. */
static void test_no_frames(void **state)
{
	static const char bare[] = ".section .text.a,\"ax\"\n" FUNCTION(
		"16") ".type f,@function\nf: push %rbx\npop %rbx\nret\n.size f,.-f\n"
		      ".section .text.b,\"ax\"\nnop\n";
	_cleanup_close_ int fd = build(bare, LOADED);
	struct seen seen = ask(fd);

	(void)state;
	assert_int_equal(seen.nr, 2);
	assert_rows(&seen.texts[0], "0 8\n8 16\n32 8\n33 16\n34 8\n35 0\n");
	assert_int_equal(seen.texts[1].pages.nr_pages, 0);
	forget(&seen);
}

/* Relocations outside the section or of unknown type are ignored. */
static void test_bad_relocations(void **state)
{
	_cleanup_close_ int fd = build(two_texts, LOADED);
	uint8_t bytes[16384], changed[sizeof(bytes)];
	ssize_t len = pread(fd, bytes, sizeof(bytes), 0);
	unsigned int nr_without = 0;

	(void)state;
	assert_true(len > 0 && len < (ssize_t)sizeof(bytes));
	for (ssize_t at = 0; at < len; at++) {
		uint64_t steps = MAX_STEPS;
		struct cfi_object *o = calloc(1, sizeof(*o));
		bool has_rows = false;

		assert_non_null(o);
		memcpy(changed, bytes, (size_t)len);
		changed[at] ^= 0xff;
		assert_int_equal(cfi_object_read(changed, (size_t)len, &steps, o), 0);
		for (size_t i = 0; i < o->nr_texts; i++) {
			const struct cfi_rows *rows = &o->texts[i].rows;

			assert_true(o->texts[i].start < o->texts[i].end);
			for (size_t k = 0; k < rows->nr; k++)
				has_rows |= rows->items[k].rule.cfa == LB_CFA_SP;
		}
		nr_without += !has_rows;
		cfi_object_deinit(o);
		free(o);
	}
	assert_true(nr_without > 20); /* changes in magic, headers, relocations */
}

/* ---- Numba ---- */

#define NUMBA_PYTHON "build/venv/numba-new/bin/python"
#define NUMBA_LLVM                                                          \
	"build/venv/numba-new/lib/python3*/site-packages/llvmlite/binding/" \
	"libllvmlite.so"

static const char numba_script[] = "import numba, os, time\n"
				   "@numba.njit\n"
				   "def f(n):\n"
				   "    a = 0.0\n"
				   "    for i in range(n):\n"
				   "        a += i ** 0.5\n"
				   "    return a\n"
				   "f(10)\n"
				   "os.write(1, b'x')\n"
				   "time.sleep(60)\n";

static pid_t start_numba(void)
{
	char byte;
	int tell[2];
	pid_t pid;

	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		dup2(tell[1], STDOUT_FILENO);
		execl(NUMBA_PYTHON, NUMBA_PYTHON, "-c", numba_script, NULL);
		_exit(1);
	}
	close(tell[1]);
	assert_int_equal(read(tell[0], &byte, 1), 1);
	close(tell[0]);
	return pid;
}

/* The load address of a library in a process. */
static uint64_t base_of(pid_t pid, const char *name)
{
	unsigned long start = 0;
	char path[64], line[1024];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (!start && fgets(line, sizeof(line), f))
		if (strstr(line, name))
			assert_int_equal(sscanf(line, "%lx-", &start), 1);
	fclose(f);
	assert_true(start);
	return start;
}

struct numba {
	pid_t pid;
	unsigned int nr_objects, nr_rows;
};

/* Relocates the object's .eh_frame as the JIT did. Return: heap; NULL: it has none. */
static uint8_t *relocated_frames(const void *bytes, size_t len, Elf64_Shdr *ret)
{
	uint64_t steps = MAX_STEPS;
	struct jit_image m;
	uint8_t *copy;

	assert_true(image_open(bytes, len, &m));
	for (size_t i = 1; i < m.nr_sections; i++) {
		*ret = image_section(&m, i);
		if (ret->sh_type == SHT_NOBITS || !ret->sh_addr ||
		    strcmp(image_section_name(&m, ret), ".eh_frame") != 0)
			continue;
		copy = malloc(ret->sh_size);
		assert_non_null(copy);
		memcpy(copy, image_section_bytes(&m, ret), ret->sh_size);
		assert_true(m.header.e_type != ET_REL ||
			    image_relocate(&m, i, copy, &steps));
		return copy;
	}
	return NULL;
}

static void compare_object(void *ctx, const struct list_object *listed,
			   enum list_state state, const void *bytes)
{
	struct numba *numba = ctx;
	Elf64_Shdr section;
	_cleanup_free_ uint8_t *frames =
		relocated_frames(bytes, listed->size_bytes, &section);
	_cleanup_free_ uint8_t *memory = NULL;
	_cleanup_free_ struct cfi_object *o = calloc(1, sizeof(*o));
	uint64_t steps = MAX_STEPS;
	struct iovec local, remote;

	assert_int_equal(state, LIST_NEW);
	assert_non_null(o);
	if (!frames) /* an object with only data */
		return;
	memory = malloc(section.sh_size);
	assert_non_null(memory);
	local = (struct iovec){memory, section.sh_size};
	remote = (struct iovec){(void *)section.sh_addr, section.sh_size};
	assert_int_equal(process_vm_readv(numba->pid, &local, 1, &remote, 1, 0),
			 section.sh_size);
	assert_memory_equal(frames, memory, section.sh_size);

	assert_int_equal(cfi_object_read((void *)bytes, listed->size_bytes, &steps, o),
			 0);
	assert_int_equal(o->nr_texts, 1);
	assert_int_equal(o->texts[0].rows.stats.nr_malformed, 0);
	assert_true(o->texts[0].rows.stats.nr_fdes > 0);
	/* The first function has rows even if LLVM wrote no frame for it. */
	assert_int_equal(o->texts[0].rows.items[0].vaddr, o->texts[0].start);
	assert_int_equal(o->texts[0].rows.items[0].rule.cfa, LB_CFA_SP);
	numba->nr_rows += (unsigned int)o->texts[0].rows.nr;
	numba->nr_objects++;
	cfi_object_deinit(o);
}

static void test_numba(void **state)
{
	const struct worker_config config = {.kind = WORKER_READER};
	_cleanup_(worker_freep) struct worker *reader = NULL;
	_cleanup_close_ int fd = -1;
	struct numba numba = {0};
	const struct jit_interface *point;
	struct file_facts facts;
	glob_t found;

	(void)state;
	if (access(NUMBA_PYTHON, X_OK) || glob(NUMBA_LLVM, 0, NULL, &found)) {
		print_message("skipped: there is no %s\n", NUMBA_PYTHON);
		skip();
	}
	fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	globfree(&found);
	assert_int_equal(worker_new(&config, &reader, NULL), 0);
	assert_int_equal(file_facts_read(decoder, (struct tenant){0}, fd, &facts), 0);
	point = file_facts_of(&facts, RUNTIME_JIT);
	assert_non_null(point);
	numba.pid = start_numba();
	assert_int_equal(jit_list_walk(reader, numba.pid,
				       base_of(numba.pid, "libllvmlite.so") +
					       point->descriptor_vaddr,
				       UINT64_MAX, NULL, 0, NULL, compare_object, &numba,
				       NULL),
			 WORKER_OK);
	print_message("%u objects of Numba, %u rows\n", numba.nr_objects, numba.nr_rows);
	assert_true(numba.nr_objects > 1);
	assert_true(numba.nr_rows > 10);
	kill(numba.pid, SIGKILL);
	waitpid(numba.pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object), cmocka_unit_test(test_no_relocations),
		cmocka_unit_test(test_linked), cmocka_unit_test(test_no_frames),
		cmocka_unit_test(test_pieces), cmocka_unit_test(test_bad_relocations),
		cmocka_unit_test(test_numba),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
