/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For the tests of the DWARF reader: builds programs, finds probes, stores answers. */
#ifndef TESTS_DWARF_WORKLOAD_H
#define TESTS_DWARF_WORKLOAD_H

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "decode/dwarf/dwarf.h"
#include "lib/scratch.h"

static char sources[PATH_MAX]; /* tests/workloads/dwarf; set by setup */
static char dir[SCRATCH_BYTES]; /* directory for everything built; set by setup */

__attribute__((format(printf, 1, 2))) static inline int shell(const char *fmt, ...)
{
	char command[8192], quiet[sizeof(command) + 64];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	snprintf(quiet, sizeof(quiet), "{ %s ; } >%s/log 2>&1", command, dir);
	return system(quiet);
}

static inline bool have(const char *program)
{
	return shell("command -v %s", program) == 0;
}

static inline int setup_dir(void **state)
{
	(void)state;
	scratch_make(dir, 0700);
	return realpath("tests/workloads/dwarf", sources) ? 0 : -1;
}

static inline int remove_dir(void **state)
{
	(void)state;
	scratch_remove(dir);
	return 0;
}

/* A copy of one answer. */
struct got {
	unsigned int nr_calls;
	enum miss miss;
	size_t nr;
	struct frame frames[FRAMES_MAX_INLINE];
};

static inline void keep(void *ctx, size_t i, enum miss miss, const struct frame *frames,
			size_t nr)
{
	struct got *got = (struct got *)ctx + i;

	got->nr_calls++;
	got->miss = miss;
	got->nr = nr;
	for (size_t f = 0; f < nr; f++) {
		got->frames[f] = frames[f];
		got->frames[f].function = strdup(frames[f].function);
		got->frames[f].system_name = strdup(frames[f].system_name);
		got->frames[f].file = strdup(frames[f].file);
	}
}

static inline void forget(struct got *got, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		for (size_t f = 0; f < got[i].nr; f++) {
			free((char *)got[i].frames[f].function);
			free((char *)got[i].frames[f].system_name);
			free((char *)got[i].frames[f].file);
		}
}

/* Which companion files are served, and how many were requested. */
struct needs {
	bool refuse;
	unsigned int nr[NEED_DWP + 1];
	const char *dwo_from; /* if set, .dwo files come from this directory */
};

static inline int answer_need(void *ctx, const struct need *need)
{
	struct needs *needs = ctx;
	char path[2 * PATH_MAX + 2];
	const char *base = strrchr(need->name, '/');

	needs->nr[need->kind]++;
	if (needs->refuse)
		return -1;
	if (need->kind == NEED_DWP)
		snprintf(path, sizeof(path), "%s/program.dwp", dir);
	else if (need->kind == NEED_DWO && needs->dwo_from)
		snprintf(path, sizeof(path), "%s/%s", needs->dwo_from,
			 base ? base + 1 : need->name);
	else if (need->kind == NEED_DWO && need->name[0] != '/')
		snprintf(path, sizeof(path), "%s/%s", need->comp_dir, need->name);
	else if (need->kind == NEED_DWZ && need->name[0] != '/')
		snprintf(path, sizeof(path), "%s/%s", dir, need->name);
	else
		snprintf(path, sizeof(path), "%s", need->name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Opens "dir/@file". The caller must close *@fd after elf_end(). */
static inline Elf *elf_of(const char *file, int *fd)
{
	char path[PATH_MAX];
	Elf *elf;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	elf = elf_begin(*fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(elf);
	return elf;
}

/* The vaddr of symbol @name in "dir/@file"; 0: not found. */
static inline uint64_t symbol(const char *file, const char *name)
{
	uint64_t vaddr = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;
	int fd;
	Elf *elf = elf_of(file, &fd);

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data = elf_getdata(scn, NULL);

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; gelf_getsym(data, i, &sym); i++)
			if (!strcmp(elf_strptr(elf, sh.sh_link, sym.st_name), name))
				vaddr = sym.st_value;
	}
	elf_end(elf);
	close(fd);
	return vaddr;
}

/* Start and size of .text in "dir/@file". */
static inline uint64_t text_of(const char *file, uint64_t *start)
{
	uint64_t size = 0;
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Shdr sh;
	int fd;
	Elf *elf = elf_of(file, &fd);

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) &&
		    !strcmp(elf_strptr(elf, names, sh.sh_name), ".text")) {
			*start = sh.sh_addr;
			size = sh.sh_size;
		}
	elf_end(elf);
	close(fd);
	assert_true(size > 0);
	return size;
}

/* Like symbol(), but the test fails if it is missing. */
static inline uint64_t probe(const char *file, const char *name)
{
	uint64_t vaddr = symbol(file, name);

	if (!vaddr)
		fail_msg("no symbol %s in %s", name, file);
	return vaddr;
}

/* Number of the first line of a source file that contains @text, from 1. */
static inline uint32_t line_with(const char *source, const char *text)
{
	char path[2 * PATH_MAX], line[1024];
	uint32_t number = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", sources, source);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		number++;
		if (strstr(line, text)) {
			fclose(f);
			return number;
		}
	}
	fail_msg("no \"%s\" in %s", text, path);
	return 0;
}

/* Opens the file as the decoder does. Free @ret before @binary. */
static inline int open_source(int fd, dwarf_need_fn need, void *ctx,
			      struct binary **binary, struct dwarf_source **ret)
{
	int r = binary_open(fd, binary);

	return r ? r : dwarf_source_open(*binary, need, ctx, ret);
}

/* Opens "dir/@file" and resolves; each address must be answered exactly once. */
static inline void resolve(const char *file, struct needs *needs, const uint64_t *vaddrs,
			   size_t nr, struct got *got, struct dwarf_stats *stats)
{
	_cleanup_(binary_freep) struct binary *b = NULL;
	_cleanup_(dwarf_source_freep) struct dwarf_source *d = NULL;
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(open_source(fd, needs ? answer_need : NULL, needs, &b, &d), 0);
	assert_int_equal(dwarf_source_resolve(d, vaddrs, nr, keep, got), 0);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(got[i].nr_calls, 1);
	if (stats)
		dwarf_source_stats(d, stats);
}

static inline bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), end_len = strlen(end);

	return len >= end_len && !strcmp(s + len - end_len, end);
}

#endif
